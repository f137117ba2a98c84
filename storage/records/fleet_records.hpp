// Feeds, hosts, workers and the server as the store has them, and the results of requests to change a feed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/records/feed_state.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// A feed to register.
struct NewFeed {
  std::string feed_url{};  ///< canonical
  Milliseconds after{};    ///< first due this long from now
  std::string settings{};  ///< JSON object, "" for none
  /// The channel's own for it, "" removes that; without a channel, until the feed is read. Absent: none given.
  std::optional<std::string> title{};
  bool for_channels = false;  ///< added only as a member of channels (RELIABILITY L19)
  bool asked = false;         ///< its server asked for the pause `after`
};

/// A registered feed.
struct FeedRecord {
  std::string feed_url;
  FeedState state;
  Fields feed;                      ///< Feed:<feed_url>: the readers' record
  std::optional<Milliseconds> due;  ///< its due time; absent when it is paused
  /// It is due and queued in the line of its host's gate (HTTP H1).
  struct InLine {
    std::uint64_t ahead = 0;
    Milliseconds next_start{};  ///< when the first of the line may start, if known
  };
  std::optional<InLine> in_line;
  std::string claim;  ///< "" if no worker is refreshing it
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  ///< total entry_bytes(), as the scripts count it
};

/// Result of a request to refresh a feed now (RELIABILITY L10, HTTP P22).
struct Wake {
  enum class Result {
    due,        ///< due at `at`
    noted,      ///< it is being refreshed and will be due again right afterwards
    too_early,  ///< the manual floor or a Retry-After holds until `at`
    paused,     ///< only `resume` reactivates it
    unknown     ///< no such feed
  };
  Result result{};
  Milliseconds at{};
};

/// A position in a list of feeds that is sorted by score.
struct FeedPlace {
  std::int64_t score = 0;
  /// How many feeds with this score come before the position.
  std::uint64_t behind = 0;

  bool operator==(const FeedPlace&) const = default;
};

/// A page of a list of feeds.
struct FeedPage {
  std::vector<FeedRecord> feeds;
  std::uint64_t total = 0;        ///< feeds in the list, matching or not
  std::uint64_t looked_at = 0;    ///< feeds examined for this page
  std::optional<FeedPlace> next;  ///< absent at the end of the list
};

/// Result of a request to pause a feed.
enum class Paused { paused, already, unknown };

/// Result of a request to resume a paused feed.
struct Resumed {
  enum class Result { resumed, running, unknown };  ///< running: it was not paused
  Result result{};
  Milliseconds due{};
};

/// A feed to resume, due no sooner than `after` from now.
struct ResumedFeed {
  std::string feed_url;
  Milliseconds after{};
};

/// Result of a change of a feed's settings.
enum class SettingsChange { done, outdated, unknown };

/// Result of a request to move a feed (HTTP R8).
enum class MoveResult {
  moved,
  same,     ///< it is already fetched from there
  unknown,  ///< no such feed
  taken,    ///< the new URL is another feed
  nothing,  ///< undo: not moved within 90 days
  busy      ///< moved concurrently: read it again and retry
};

// State of a server and settings of a host: hash state:host:<gate> (HTTP §6, H1, H7).

/// Limits of the host gate, sent with each claim call (HTTP H1), for hosts without settings of their own.
struct HostLimits {
  std::uint32_t concurrency = 1;
  Milliseconds spacing{1000};
  std::string egress{};  ///< egress name of the worker, "" = none (HTTP H10)
};

/// A host's quota for one egress name, shared by all workers with that name (HTTP H10).
struct HostQuota {
  std::string egress;         ///< "" = no name
  Milliseconds pace{};        ///< minimum interval between two starts
  Milliseconds last_start{};  ///< under this name
  Milliseconds hold{};        ///< no start before then
  bool told = false;          ///< announced by the server; else inferred from its refusals
  bool open_to_wish = false;  ///< announced, and one manual request may start earlier

  bool operator==(const HostQuota&) const = default;
};

/// The host of a gate: all its ports share slots and spacing. Mirrors host_of_gate() of prelude.lua.
inline std::string_view host_of_gate(std::string_view gate) {
  if (gate.starts_with("group:") || gate.starts_with("hub:")) return gate;
  const std::size_t colon = gate.rfind(':');
  const bool has_port = colon != gate.npos && colon > 0 && gate[colon - 1] != ':' && colon + 1 < gate.size() &&
                        gate.find_first_not_of("0123456789", colon + 1) == gate.npos;
  return has_port ? gate.substr(0, colon) : gate;
}

/// The fleet's state of a server: hash state:host:<gate> (HTTP §6). All zero if there was no request recently.
struct HostState {
  Milliseconds last_start{};  ///< last request to the host, any port
  Milliseconds not_before{};  ///< end of its back-off
  std::uint32_t in_flight = 0;
  std::uint64_t waiting = 0;      ///< feeds in its line (HTTP H1)
  std::uint32_t slow = 1;         ///< factor of its spacing (HTTP H5)
  Milliseconds storm{};           ///< start of its storm (all its feeds fail), 0 = none (HTTP H11)
  std::vector<HostQuota> quotas;  ///< by name
  Fields other;                   ///< further fields, unchanged

  bool operator==(const HostState&) const = default;
};

/// An operator's settings for one host (HTTP H7); absent: those of HostLimits.
struct HostSettings {
  std::string host;
  std::optional<std::uint32_t> concurrency;
  std::optional<Milliseconds> spacing, min_interval;
  std::string group;  ///< hosts of one group share a gate; "" = alone
};

// Figures of the whole store, its workers and its server.

/// The common prefix of the ids of a process' workers (one per loop).
inline std::string_view process_of(std::string_view worker) {
  return worker.substr(0, 28);
}

/// A worker's heartbeat record.
struct WorkerRecord {
  std::string id;
  Milliseconds alive_at{};
  Fields fields;  ///< host, pid, version, in_flight, does ("fetch deliver push_out"; not from older builds)
  /// Digests of the options that workers should share, where they differ from the defaults: "egress.allow=1a2b3c4d …".
  /// Absent: an older build.
  std::optional<std::string> configuration{};
  bool fetches = true;
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

/// Numbers of feeds, by state.
using StateCounts = std::vector<std::pair<std::string, std::uint64_t>>;
/// The number of feeds in a state.
inline std::uint64_t feeds_in(const StateCounts& counts, std::string_view state) {
  const auto found = std::ranges::find(counts, state, &StateCounts::value_type::first);
  return found == counts.end() ? 0 : found->second;
}

/// Figures of the whole store, for gauges and `stats`.
struct FleetFigures {
  std::uint64_t feeds = 0, due = 0, claimed = 0, stream_records = 0;
  std::uint64_t workers = 0;           ///< live workers that fetch
  std::uint64_t other_workers = 0;     ///< live workers that do not fetch
  std::vector<std::string> differing;  ///< differing_options() of all workers
  std::uint64_t waiting = 0;           ///< due, but in the lines of their hosts (HTTP H1); not counted in `due`
  std::uint64_t open_circuits = 0;     ///< gates that back off; a group of hosts counts as one
  bool is_indexed = true;              ///< the index of feeds by URL has as many entries as there are feeds
  StateCounts states;
  StateCounts push_states;  ///< by PushStanding::state
  Milliseconds now{};
  Milliseconds oldest_success{};           ///< the oldest last success among healthy feeds, as last sampled; 0 = none
  std::optional<Milliseconds> oldest_due;  ///< due time of the feed that has waited longest
  /// The primary process of this partition, among those alive (RELIABILITY L30), as in process_of(); "" = no worker is
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
