// The schedule in virtual time: what days of fetching will look like (HTTP E3, H9). Pure: equal inputs, equal output.
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

#include "storage/records/feed_record.hpp"
#include "storage/records/host_records.hpp"
#include "storage/redis/values.hpp"
#include "worker/config/host_rules.hpp"
#include "worker/policy/schedule.hpp"

namespace feedmill {

/// A feed as the simulation sees it.
struct PlannedFeed {
  std::string url;
  std::string host;  ///< the server (server_of) that is asked: of where it has moved to
  ScheduleHints hints;
  double new_per_week = 0;  ///< S of HTTP §3
  Milliseconds due{}, last_at{}, last_new{}, not_before{};
  std::optional<Milliseconds> interval_min, interval_max;
  bool fetched = false;     ///< once at least
  bool validators = false;  ///< the server sends them; of a feed never fetched it is assumed
};

/// As the store has it; none of a feed that is not in the schedule.
std::optional<PlannedFeed> planned_feed(const FeedRecord& record);

/// A made-up feed that has been fetched for long: `number` decides its rate (0.1 to 70 entries a week, every order of
/// magnitude equally often), its place in the schedule and its host: four of five have one to themselves, the others
/// share one among 100 or so. All are on `host` when that is not "".
PlannedFeed made_up_feed(std::uint64_t number, std::uint64_t of, std::string_view host, const ScheduleOptions& schedule,
                         Milliseconds now);

/// The rate that a feed of that address is given whose own is not known.
double made_up_rate(std::string_view url);

struct PlanOptions {
  ScheduleOptions schedule;
  HostRules hosts;
  std::uint32_t catch_up_rate = 0;  ///< overdue feeds a second at the start; 0 = all at once
  Milliseconds start{};             ///< unix milliseconds
  unsigned days = 1;
};

/// A host, or a group of hosts that share a gate ("group:<name>"), and what its feeds ask of it.
struct HostLoad {
  std::string host;
  std::uint64_t feeds = 0, requests = 0;
  double wanted_a_day = 0;    ///< polls, were there no limit
  double possible_a_day = 0;  ///< requests by host.spacing; 0 = no limit (HTTP H9)

  bool fits() const { return possible_a_day == 0 || wanted_a_day <= possible_a_day; }
  bool operator==(const HostLoad&) const = default;
};

struct Plan {
  std::uint64_t feeds = 0, hosts = 0;
  std::uint64_t requests = 0, conditional = 0;
  std::uint64_t bringing = 0;   ///< requests that find entries which were not there before
  std::uint64_t deferrals = 0;  ///< by the host's gate
  std::uint64_t early = 0;      ///< polls before they were due: a bug (HTTP N2)
  std::vector<std::uint64_t> by_hour;
  Milliseconds busiest_second{};  ///< since the start
  std::uint64_t busiest_second_requests = 0;
  Milliseconds latest{};             ///< the longest that a feed waited beyond its due time
  std::vector<HostLoad> busiest;     ///< by requests, at most 10
  std::vector<HostLoad> do_not_fit;  ///< by what they want, all (HTTP H9)

  bool operator==(const Plan&) const = default;
};

/// What a plan takes, by what docs/BENCHMARKS.md says that a poll and a post cost.
struct Needs {
  double loop_use = 0;   ///< in the busiest hour: of one event loop and the threads that read for it
  double redis_use = 0;  ///< likewise, of one core
  std::uint64_t event_loops = 1;
  std::uint64_t redis_bytes = 0;      ///< once each feed has `kept` posts
  std::uint64_t redis_primaries = 1;  ///< that this is shared out among: 25 GiB of it each, and most of a core
  std::uint64_t received_bytes = 0;   ///< a day, from publishers
};
/// `kept`: posts of a feed that are stored.
Needs needs_of(const Plan& plan, std::uint32_t kept);

/// A fleet whose feeds are given one after the other, and what becomes of it: each poll takes no time and is answered
/// by 304, entries come at each feed's rate S, the gate of each host is that of the claim script (HTTP H1). Holds some
/// 60 bytes a feed, and 40 and its name a gate.
class Simulation {
 public:
  explicit Simulation(PlanOptions options);

  /// The quota of a gate (HTTP H10): before the feeds that pass it are added.
  void learn(const std::string& gate, Milliseconds pace) { options_.hosts.learn(gate, pace); }
  const HostRules& rules() const { return options_.hosts; }
  /// For so many feeds in all.
  void reserve(std::size_t feeds) { feeds_.reserve(feeds); }
  void add(const PlannedFeed& planned);
  std::size_t feeds() const { return feeds_.size(); }
  /// Once. `each_hour`, when given, is called with the simulated hours that have passed; it may throw. Linear in polls
  /// but for the order within a minute.
  Plan run(const std::function<void(std::size_t hour)>& each_hour = {});

 private:
  /// What a feed is told by its document and the operator. Few are different.
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
    std::uint32_t terms, gate;        ///< places in terms_, gates_
    float new_per_week;
    float arrivals;  ///< entries a second
    float pending;   ///< entries that have come since the last poll, in parts
    bool fetched : 1, validators : 1;
    bool held : 1;     ///< has a reservation (HTTP H1)
    bool put_off : 1;  ///< is in not_before_
  };
  /// As claim.lua has it, slots apart: a simulated poll takes no time.
  struct Gate {
    std::int64_t last_start = 0, tail = 0;
    std::uint32_t name = 0;  ///< where it begins in names_; it ends where the next one begins
    std::uint32_t feeds = 0, requests = 0;
    float possible_a_day = 0, wanted_a_day = 0;
  };
  /// A poll, `ms` after its minute began.
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
  std::unordered_map<std::uint32_t, Milliseconds> not_before_;  // of feeds that a server has put off
  std::vector<Terms> terms_;
  std::unordered_multimap<std::size_t, std::uint32_t> terms_by_hash_;
  std::vector<Gate> gates_;
  std::vector<std::uint32_t> gate_places_;  // open addressing by name: a gate + 1, 0 = free; a power of two
  std::string names_;
  std::vector<std::vector<Event>> minutes_;                      // what happens in each, in no order
  std::size_t minute_ = 0;                                       // the one that runs
  std::priority_queue<Event, std::vector<Event>, Later> queue_;  // what is left of that one
  bool running_ = false;
  std::int64_t second_ = 0;
  std::uint64_t in_second_ = 0;
  Plan plan_;
};

/// Nothing shorter than what its host asks for between two polls of a feed (HTTP H7).
void respect(PlannedFeed& feed, const HostRule& rule);

/// How often a feed would be polled a day were it alone on its host.
double polls_a_day(const PlannedFeed& feed, const ScheduleOptions& schedule, Milliseconds now);

/// How many requests a day a host takes; 0 = any number (HTTP H9).
double requests_a_day(const HostLimits& limits);

}  // namespace feedmill
