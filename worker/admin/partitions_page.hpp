// The overview of all partitions that a process serves, for "/status" (RELIABILITY L29).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "worker/admin/page_parts.hpp"
#include "worker/admin/status.hpp"

namespace feedmill {

/// A partition and what the process knows about it without querying its store; of `status.store`, only `fleet` is set.
struct PartitionStatus {
  std::uint32_t partition = 0;
  Status status;
};

/// The verdict on all of them, as verdict() for one.
std::string verdict_of_all(std::span<const PartitionStatus> partitions);

/// The main part: problems, each with its partitions, then figures of each partition, with a link to its own page.
/// `partitions` is not empty.
Html partitions_page(std::span<const PartitionStatus> partitions);

}  // namespace feedmill
