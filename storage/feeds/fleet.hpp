// Workers with a heartbeat, the Redis server, and figures of the whole store.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "storage/records/fleet_records.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// The keys of options with different values in different workers, sorted, at most 20: `push_out.*` among workers that
/// push out, all others among workers that fetch. Pure.
std::vector<std::string> differing_options(std::span<const WorkerRecord> workers);

/// The fleet of one store, over a Store's connection.
class Fleet {
 public:
  /// `store` must outlive this object.
  explicit Fleet(Store& store) : impl_(store.impl()) {}

  /// Sends this worker's heartbeat, valid for `ttl`; `fields`: those of WorkerRecord, and configuration. Returns the
  /// number of live workers, including this one.
  StoreResult<std::uint64_t> heartbeat(const std::string& worker, const Fields& fields, Milliseconds ttl,
                                       bool fetches = true);
  /// Ends the worker's heartbeat and its leadership.
  StoreResult<void> retire(const std::string& worker);
  /// Workers with a heartbeat; those that fetch first.
  StoreResult<std::vector<WorkerRecord>> workers();

  /// `reads_workers`: claims and differing options from every worker's heartbeat; else as the leader noted them.
  StoreResult<FleetFigures> figures(bool reads_workers = true);

  /// Acquires or renews fleet leadership for `ttl`; heartbeats extend it. True if `worker` leads (RELIABILITY L23).
  StoreResult<bool> lead(const std::string& worker, Milliseconds ttl);
  /// Stores the leader's figures, claims and differing options, for other workers' figures(). `oldest_success`: empty =
  /// keep the stored one.
  StoreResult<void> note(const FleetFigures& figures, std::optional<Milliseconds> oldest_success);
  /// Facts about the server, even if open() would reject it. Writes one short-lived key to test write access.
  StoreResult<ServerFacts> server();

 private:
  StoreResult<std::vector<WorkerRecord>> records(std::span<const std::string> fetching,
                                                 std::span<const std::string> others);

  Store::Impl& impl_;
};

}  // namespace feedmill
