// What is set for hosts, and what the fleet knows of them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "storage/records/host_records.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// Over a Store's connection.
class Hosts {
 public:
  /// `store` outlives this.
  explicit Hosts(Store& store) : impl_(store.impl()) {}

  /// Replaces the settings of all hosts, which the gates of claim() obey from then on.
  StoreResult<void> set(std::span<const HostSettings> hosts);
  /// What is known at a gate: reads only.
  StoreResult<HostState> state(const std::string& gate);
  /// The same of several in one round trip, in their order.
  StoreResult<std::vector<HostState>> states(std::span<const std::string> gates);
  /// Hosts that back off, those first that do so longest, at most `limit`; some may serve again by now. Reads only.
  StoreResult<std::vector<std::string>> backing_off(std::size_t limit);

 private:
  Store::Impl& impl_;
};

}  // namespace feedmill
