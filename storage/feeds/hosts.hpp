// Host settings, and the state of each host as the whole fleet sees it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "storage/records/fleet_records.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// The hosts of one store, over a Store's connection.
class Hosts {
 public:
  /// `store` must outlive this object.
  explicit Hosts(Store& store) : impl_(store.impl()) {}

  /// Replaces the settings of all hosts; later claims use them.
  StoreResult<void> set(std::span<const HostSettings> hosts);
  /// State of a gate (a server, or the operator's group of hosts). Read-only.
  StoreResult<HostState> state(const std::string& gate);
  /// States of several gates in one round trip, in order.
  StoreResult<std::vector<HostState>> states(std::span<const std::string> gates);
  /// At most `limit` hosts in back-off, latest end first; some may have recovered. Read-only.
  StoreResult<std::vector<std::string>> backing_off(std::size_t limit);

 private:
  Store::Impl& impl_;
};

}  // namespace feedmill
