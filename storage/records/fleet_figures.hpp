// Figures of the whole store, its workers and its server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/redis/values.hpp"

namespace feedmill {

/// The common prefix of the ids of a process' workers (one per loop).
inline std::string_view process_of(std::string_view worker) {
  return worker.substr(0, 28);
}

/// A worker's heartbeat record.
struct WorkerRecord {
  std::string id;
  Milliseconds alive_at{};
  Fields fields;  ///< host, pid, version, in_flight
};

/// A replica that may become the primary.
struct StandbyFacts {
  std::string address;  ///< "host:port", as the primary reports it
  std::string trouble;  ///< why it could not be queried, "" = it was; if set, the other members mean nothing
  std::string policy;   ///< maxmemory-policy, "" if any is acceptable (store.allow_eviction)
  bool append_only = false;
  Milliseconds now{};   ///< its clock at the query …
  Milliseconds then{};  ///< … and the primary's
};

/// Facts about the Redis server, for `doctor`.
struct ServerFacts {
  std::string server;  ///< "redis 7.0.15"
  std::string link;    ///< "TLSv1.3", "TCP without TLS", "unix socket"; for sentinels and clusters with its address
  std::string role;    ///< "master", "slave"
  std::string policy;  ///< maxmemory-policy
  bool append_only = false;
  std::uint64_t used_memory = 0, max_memory = 0;  ///< bytes; 0 = no limit
  std::uint64_t clients = 0, max_clients = 0;     ///< connections; 0 = not reported
  std::optional<std::uint64_t> replicas;          ///< of a primary that needs standbys (sentinels, a cluster)
  std::vector<StandbyFacts> standbys;             ///< replicas it names, at most 16
  std::string last_save;                          ///< "ok" unless the last write to disk failed
  Milliseconds now{};                             ///< its clock
  std::uint64_t failovers = 0;                    ///< number of failovers (RELIABILITY L24)
  Milliseconds failed_over_at{};                  ///< time of the last failover
  std::string write_error;                        ///< why a test write failed, "" = it succeeded
};

/// Figures of the whole store, for gauges and `stats`.
struct FleetFigures {
  std::uint64_t feeds = 0, due = 0, claimed = 0, workers = 0, stream_records = 0;
  std::uint64_t waiting = 0;        ///< due, but in the lines of their hosts (HTTP H1); not counted in `due`
  std::uint64_t open_circuits = 0;  ///< gates that back off; a group of hosts counts as one
  bool is_indexed = true;           ///< the index of feeds by URL has as many entries as there are feeds
  std::vector<std::pair<std::string, std::uint64_t>> states;
  std::vector<std::pair<std::string, std::uint64_t>> push_states;  ///< feeds by PushStanding::state
  Milliseconds now{};
  Milliseconds oldest_success{};           ///< the oldest last success among healthy feeds, as last sampled; 0 = none
  std::optional<Milliseconds> oldest_due;  ///< due time of the feed that has waited longest
  /// Primary process of this partition among those alive (RELIABILITY L30), as process_of() its workers; "" = none is
  /// alive, or the store is not partitioned.
  std::string first;
};

// Backlog of requests from client programs (RELIABILITY Q3).

/// stream:requests: waiting requests and their bytes in Redis' memory; and the records in state:requests:poison, at
/// most 100, which stay until an operator deletes the key.
struct RequestFigures {
  std::uint64_t waiting = 0, bytes = 0, set_aside = 0;

  /// Whether the backlog needs an operator's attention.
  bool piles_up() const { return waiting > 10'000 || bytes > std::uint64_t{64} << 20U; }
};

}  // namespace feedmill
