// Workers with a heartbeat, the server, and figures of the whole store.
#pragma once

#include <cstdint>
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

  /// Tells that this worker lives, for `ttl`; `fields`: host, pid, version, in flight. How many live, this one
  /// included.
  StoreResult<std::uint64_t> heartbeat(const std::string& worker, const Fields& fields, Milliseconds ttl);
  StoreResult<void> retire(const std::string& worker);
  /// Workers with a heartbeat, 1,000 at most.
  StoreResult<std::vector<WorkerRecord>> workers();

  /// `counts_claims`: by asking for the heartbeat of every worker; else as whoever leads has counted them.
  StoreResult<FleetFigures> figures(bool counts_claims = true);

  /// Whether `worker` looks after the affairs of the whole fleet for the next `ttl`: one does, until it retires
  /// (RELIABILITY L23).
  StoreResult<bool> lead(const std::string& worker, Milliseconds ttl);
  /// What the others read in figures(). `oldest_success`: nothing = not known anew.
  StoreResult<void> note(std::uint64_t claimed, std::optional<Milliseconds> oldest_success);
  /// What the server is like, whether or not open() would take it. Writes one key, for a second, to see whether it may.
  StoreResult<ServerFacts> server();

 private:
  Store::Impl& impl_;
};

}  // namespace feedmill
