// Options of every refresh from claim to commit, whatever its source.
#pragma once

#include <chrono>
#include <filesystem>

#include "storage/records/host_records.hpp"
#include "storage/redis/values.hpp"
#include "storage/store/partition.hpp"
#include "worker/config/host_rules.hpp"
#include "worker/policy/attempt.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill {

struct RefreshOptions {
  ReadingOptions reading;
  PolicyOptions policy;
  Milliseconds lease{90'000};         ///< a commit is retried until it ends (RELIABILITY E1)
  HostLimits host;                    ///< for hosts that redirects lead to (HTTP H6)
  HostRules hosts;                    ///< which hosts share a read queue, or are fetched elsewhere
  Partition partition;                ///< the partition of the feeds
  Milliseconds memory_wait{10'000};   ///< for memory to read a document (SECURITY M3)
  std::filesystem::path keep_poison;  ///< directory for documents that trigger a bug, "" = none (SECURITY Q4)
};

}  // namespace feedmill
