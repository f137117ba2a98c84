// What holds for every document on its way from a claim to its commit, wherever it comes from.
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
  Milliseconds lease{90'000};         ///< a commit is tried again until it has ended (RELIABILITY E1)
  HostLimits host;                    ///< for hosts that redirects lead to (HTTP H6)
  HostRules hosts;                    ///< which hosts are one when their documents are read, or asked elsewhere
  Partition partition;                ///< whose feeds these are
  Milliseconds memory_wait{10'000};   ///< for memory to read in (SECURITY M3)
  std::filesystem::path keep_poison;  ///< where documents go that meet a bug, "" = nowhere (SECURITY Q4)
};

}  // namespace feedmill
