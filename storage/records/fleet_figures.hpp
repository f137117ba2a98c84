// Figures of the whole store, of its workers and of its server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/redis/values.hpp"

namespace feedmill {

/// What the ids of a process' workers, which are its loops, have in common.
inline std::string_view process_of(std::string_view worker) {
  return worker.substr(0, 28);
}

/// What a worker tells of itself.
struct WorkerRecord {
  std::string id;
  Milliseconds alive_at{};
  Fields fields;  ///< host, pid, version, in_flight
};

/// A replica that may be the primary tomorrow.
struct StandbyFacts {
  std::string address;  ///< "host:port", as the primary tells it
  std::string trouble;  ///< why it could not be asked, "" when it could; then the others say nothing
  std::string policy;   ///< maxmemory-policy, "" where any will do (store.allow_eviction)
  bool append_only = false;
  Milliseconds now{};   ///< its clock, when it was asked …
  Milliseconds then{};  ///< … and that of the primary
};

/// What the server itself is like, for `doctor`.
struct ServerFacts {
  std::string server;  ///< "redis 7.0.15"
  std::string
      link;  ///< how it is reached: "TLSv1.3", "TCP without TLS", "unix socket"; of sentinels and clusters, where it is
  std::string role;    ///< "master", "slave"
  std::string policy;  ///< maxmemory-policy
  bool append_only = false;
  std::uint64_t used_memory = 0, max_memory = 0;  ///< bytes; 0 = no limit
  std::uint64_t clients = 0, max_clients = 0;     ///< connections; 0 = it does not say
  std::optional<std::uint64_t> replicas;          ///< of one that others are to stand by for (sentinels, a cluster)
  std::vector<StandbyFacts> standbys;             ///< those of them that it names, 16 at most
  std::string last_save;                          ///< "ok" unless the last write to disk failed
  Milliseconds now{};                             ///< its clock
  std::uint64_t failovers = 0;                    ///< times that another server took its place (RELIABILITY L24)
  Milliseconds failed_over_at{};                  ///< the last of them
  std::string write_error;                        ///< why a key could not be written, "" when it could
};

/// Figures of the whole store, for gauges and `stats`.
struct FleetFigures {
  std::uint64_t feeds = 0, due = 0, claimed = 0, workers = 0, stream_records = 0;
  std::uint64_t waiting = 0;        ///< due, and in the lines of their hosts (HTTP H1); not counted in `due`
  std::uint64_t open_circuits = 0;  ///< that back off; groups of hosts count as one
  bool is_indexed = true;           ///< the index of feeds by URL has as many as there are
  std::vector<std::pair<std::string, std::uint64_t>> states;
  std::vector<std::pair<std::string, std::uint64_t>> push_states;  ///< feeds by PushStanding::state
  Milliseconds now{};
  Milliseconds oldest_success{};           ///< of the healthy feed that had none for longest, once noted; 0 = none
  std::optional<Milliseconds> oldest_due;  ///< due time of the feed that waits longest
  /// Who looks for due feeds soonest of the processes that live in a partition (RELIABILITY L30), as what the ids of
  /// its workers begin with (process_of()); "" = none does, or the store is in one piece.
  std::string first;
};

}  // namespace feedmill
