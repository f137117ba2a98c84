// Workers with a heartbeat, the server, and figures of the whole store.
#pragma once

#include <string>
#include <vector>

#include "storage/records/fleet_figures.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// Over a Store's connection.
class Fleet {
 public:
  /// `store` outlives this.
  explicit Fleet(Store& store) : impl_(store.impl()) {}

  /// Tells that this worker lives, for `ttl`; `fields`: host, pid, version, in flight.
  StoreResult<void> heartbeat(const std::string& worker, const Fields& fields, Milliseconds ttl);
  StoreResult<void> retire(const std::string& worker);
  /// Workers with a heartbeat, 1,000 at most.
  StoreResult<std::vector<WorkerRecord>> workers();

  StoreResult<FleetFigures> figures();
  /// What the server is like, whether or not open() would take it. Writes one key, for a second, to see whether it may.
  StoreResult<ServerFacts> server();

 private:
  Store::Impl& impl_;
};

}  // namespace feedmill
