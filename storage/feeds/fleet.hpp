// Workers with a heartbeat, the Redis server, and figures of the whole store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/records/fleet_records.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// The fleet of one store, over a Store's connection.
class Fleet {
 public:
  /// `store` must outlive this object.
  explicit Fleet(Store& store) : impl_(store.impl()) {}

  /// Sends this worker's heartbeat, valid for `ttl`; `fields`: host, pid, version, in flight. Returns the number of
  /// live workers, including this one.
  StoreResult<std::uint64_t> heartbeat(const std::string& worker, const Fields& fields, Milliseconds ttl);
  /// Ends the worker's heartbeat and its leadership.
  StoreResult<void> retire(const std::string& worker);
  /// Workers with a heartbeat, at most 1,000.
  StoreResult<std::vector<WorkerRecord>> workers();

  /// `counts_claims`: by reading every worker's heartbeat; else the leader's latest count.
  StoreResult<FleetFigures> figures(bool counts_claims = true);

  /// Acquires or renews fleet leadership for `ttl`; heartbeats extend it. True if `worker` leads (RELIABILITY L23).
  StoreResult<bool> lead(const std::string& worker, Milliseconds ttl);
  /// Stores the leader's figures for other workers' figures(). `oldest_success`: empty = keep the stored one.
  StoreResult<void> note(std::uint64_t claimed, std::optional<Milliseconds> oldest_success);
  /// Facts about the server, even if open() would reject it. Writes one short-lived key to test write access.
  StoreResult<ServerFacts> server();

 private:
  Store::Impl& impl_;
};

}  // namespace feedmill
