// Simulates the schedule in virtual time over days (HTTP E1). Pure: equal inputs, equal output.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "storage/feeds/memory_use.hpp"
#include "storage/records/fleet_records.hpp"
#include "storage/redis/values.hpp"
#include "worker/config/host_rules.hpp"
#include "worker/policy/schedule.hpp"

namespace feedmill {

struct Config;

/// A feed in the simulation.
struct PlannedFeed {
  std::string url;
  std::string host;  ///< the requested server (server_of), after permanent redirects
  ScheduleHints hints;
  double new_per_week = 0;  ///< S of HTTP §3
  Milliseconds due{}, last_at{}, last_new{}, not_before{};
  std::optional<Milliseconds> interval_min, interval_max;
  bool fetched = false;     ///< fetched at least once
  bool validators = false;  ///< the server sends them; assumed for feeds never fetched
};

/// The feed of a record; empty if it is not scheduled.
std::optional<PlannedFeed> planned_feed(const FeedRecord& record);

/// A made-up feed with a long history. `number` determines its rate (0.1 to 70 entries a week, log-uniform), its
/// position in the schedule and its host: four of five feeds have their own host, the others share one with about 100.
/// With a non-empty `host`, all feeds are on it.
PlannedFeed made_up_feed(std::uint64_t number, std::uint64_t of, std::string_view host, const ScheduleOptions& schedule,
                         Milliseconds now);

/// A made-up rate for feeds with an unknown rate, determined by the URL.
double made_up_rate(std::string_view url);

/// Options of a simulation.
struct PlanOptions {
  ScheduleOptions schedule;
  HostRules hosts;
  std::uint32_t catch_up_rate = 0;  ///< overdue feeds a second at the start; 0 = all at once
  Milliseconds start{};             ///< unix milliseconds
  unsigned days = 1;
};

/// The options that the configuration sets, starting at `start`.
PlanOptions plan_options(const Config& config, Milliseconds start, unsigned days);

/// A host, or a group of hosts with one gate ("group:<name>"), and the demand of its feeds.
struct HostLoad {
  std::string host;
  std::uint64_t feeds = 0, requests = 0;
  double wanted_a_day = 0;    ///< polls without limits
  double possible_a_day = 0;  ///< requests allowed by host.spacing; 0 = no limit (HTTP E1)

  bool fits() const { return possible_a_day == 0 || wanted_a_day <= possible_a_day; }
  bool operator==(const HostLoad&) const = default;
};

/// Result of a simulation.
struct Plan {
  std::uint64_t feeds = 0, hosts = 0;
  std::uint64_t requests = 0, conditional = 0;
  std::uint64_t bringing = 0;   ///< requests that find new entries
  std::uint64_t deferrals = 0;  ///< requests deferred by the host's gate
  std::uint64_t early = 0;      ///< polls before their due time: a bug (HTTP N2)
  std::vector<std::uint64_t> by_hour;
  Milliseconds busiest_second{};  ///< since the start
  std::uint64_t busiest_second_requests = 0;
  Milliseconds latest{};             ///< longest delay after a due time
  std::vector<HostLoad> busiest;     ///< by requests, at most 10
  std::vector<HostLoad> do_not_fit;  ///< all overloaded hosts, by demand (HTTP E1)

  bool operator==(const Plan&) const = default;
};

/// Resources for a plan: CPU and traffic from the costs in docs/BENCHMARKS.md, memory as measured in the store.
struct Needs {
  double loop_use = 0;   ///< utilisation of one event loop and its reading threads, in the busiest hour
  double redis_use = 0;  ///< utilisation of one core, in the busiest hour
  std::uint64_t event_loops = 1;
  std::uint64_t redis_bytes = 0;        ///< of the stored feeds; of feeds that are not stored: redis_bytes_full
  std::uint64_t redis_bytes_full = 0;   ///< with `kept` posts in each feed
  std::uint64_t redis_bytes_least = 0;  ///< redis_bytes_full if posts are short and none are stored
  std::uint64_t redis_primaries = 1;    ///< for redis_bytes_full: 25 GiB and most of a core each
  std::uint64_t received_bytes = 0;     ///< from publishers, per day
};
/// The feeds that the store holds, planned or paused.
struct StoredFeeds {
  std::uint64_t feeds = 0, posts = 0;
  std::uint64_t bytes = 0;  ///< values of the posts, as their states count them
  MemoryUse use;            ///< measured on some of them
};
/// `kept`: posts that a feed keeps. `stored`: empty for feeds that are not stored.
Needs needs_of(const Plan& plan, std::uint32_t kept, const StoredFeeds& stored = {});

/// Simulates a fleet of feeds added one by one: polls take no time and are answered by 304, entries arrive at each
/// feed's rate S, host gates work as in the claim script (HTTP H1). Memory: about 60 bytes per feed, and 40 bytes plus
/// the name per gate.
class Simulation {
 public:
  explicit Simulation(PlanOptions options);

  /// Sets the quota of a gate (HTTP H10); call before adding its feeds.
  void learn(const std::string& gate, Milliseconds pace) { options_.hosts.learn(gate, pace); }
  const HostRules& rules() const { return options_.hosts; }
  /// Reserves memory for this many feeds.
  void reserve(std::size_t feeds) { feeds_.reserve(feeds); }
  void add(const PlannedFeed& planned);
  std::size_t feeds() const { return feeds_.size(); }
  /// Call once. `each_hour`, unless empty, is called with the number of simulated hours; it may throw. Cost: linear in
  /// polls, except for sorting within a minute.
  Plan run(const std::function<void(std::size_t hour)>& each_hour = {});

 private:
  /// Schedule settings of a feed from its document and the operator. Few feeds differ.
  struct Terms {
    ScheduleHints hints;
    std::optional<Milliseconds> interval_min, interval_max;
    Milliseconds spacing{};  ///< of its host

    bool operator==(const Terms&) const = default;
  };
  struct Feed {
    std::uint64_t phase;
    std::int64_t due;                 ///< unix milliseconds
    std::uint32_t last_at, last_new;  ///< unix seconds, 0 = never
    std::uint32_t terms, gate;        ///< indices into terms_, gates_
    float new_per_week;
    float arrivals;  ///< entries a second
    float pending;   ///< entries since the last poll, fractional
    bool fetched : 1, validators : 1;
    bool held : 1;     ///< has a reservation (HTTP H1)
    bool put_off : 1;  ///< is in not_before_
  };
  /// The gate of claim.lua, without slots: a simulated poll takes no time.
  struct Gate {
    std::int64_t last_start = 0, tail = 0;
    std::uint32_t name = 0;  ///< offset in names_; ends where the next one begins
    std::uint32_t feeds = 0, requests = 0;
    float possible_a_day = 0, wanted_a_day = 0;
  };
  /// A poll, `ms` after the start of its minute.
  struct Event {
    std::uint32_t feed;
    std::uint16_t ms;
  };
  struct Later {
    bool operator()(Event a, Event b) const { return std::tie(a.ms, a.feed) > std::tie(b.ms, b.feed); }
  };

  std::uint32_t gate_of(const HostRule& rule);
  std::uint32_t terms_of(const PlannedFeed& feed, Milliseconds spacing);
  std::string_view name_of(std::uint32_t gate) const;
  HostLoad load_of(std::uint32_t gate) const;
  DueContext context_of(std::uint32_t feed, std::int64_t now) const;
  void place_all();
  void place(std::uint32_t feed, std::int64_t at);
  void happen(std::uint32_t feed, std::int64_t at);
  void poll(std::uint32_t feed, std::int64_t now);
  void count(std::uint32_t feed, std::int64_t now);
  void end_second();
  void gather_gates();

  PlanOptions options_;
  std::int64_t start_, end_;
  std::vector<Feed> feeds_;
  std::unordered_map<std::uint32_t, Milliseconds> not_before_;  // feeds deferred by a server
  std::vector<Terms> terms_;
  std::unordered_multimap<std::size_t, std::uint32_t> terms_by_hash_;
  std::vector<Gate> gates_;
  std::vector<std::uint32_t> gate_places_;  // open addressing by name: a gate + 1, 0 = free; a power of two
  std::string names_;
  std::vector<std::vector<Event>> minutes_;                      // polls of each minute, unordered
  std::size_t minute_ = 0;                                       // the current one
  std::priority_queue<Event, std::vector<Event>, Later> queue_;  // rest of the current minute
  bool running_ = false;
  std::int64_t second_ = 0;
  std::uint64_t in_second_ = 0;
  Plan plan_;
};

/// Raises the feed's minimum interval to that of its host (HTTP H7).
void respect(PlannedFeed& feed, const HostRule& rule);

/// Polls per day of a feed that is alone on its host.
double polls_a_day(const PlannedFeed& feed, const ScheduleOptions& schedule, Milliseconds now);

/// Requests per day that a host accepts; 0 = unlimited (HTTP E1).
double requests_a_day(const HostLimits& limits);

}  // namespace feedmill
