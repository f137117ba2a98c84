#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/feeds/feeds.hpp"
#include "storage/feeds/hosts.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/base/units.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/operations/subscriptions.hpp"
#include "worker/process/run_options.hpp"
#include "worker/verbs/input_file.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/plan.hpp"
#include "worker/verbs/table.hpp"
#include "worker/words/explanation.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr Milliseconds made_up_start{1'767'225'600'000};  // 2026-01-01: equal inputs give equal output
constexpr std::uint64_t most_made_up = 10'000'000;
constexpr std::size_t shown_unfit = 20;

struct Asked {
  unsigned days = 1;
  std::string host;   ///< "" = all
  std::string feeds;  ///< "" = the stored ones; a number; else a file, "-" = stdin
};

struct PlannedFleet {
  Simulation simulation;
  std::string source;  ///< for people
  StoredFeeds stored{};
};

/// Reads the quotas of the gates.
void learn_quotas(Store& store, std::span<const PlannedFeed> feeds, Simulation& simulation) {
  std::set<std::string> shared;
  for (const PlannedFeed& feed : feeds) shared.insert(simulation.rules().of(feed.host).gate);
  const std::vector<std::string> gates(shared.begin(), shared.end());
  const std::vector<HostState> states = or_fail(Hosts(store).states(gates));
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Milliseconds pace = learned_pace(states[i]);
    if (pace.count() > 0) simulation.learn(gates[i], pace);
  }
}

PlannedFleet stored(const Asked& asked, const Config& config, Terminal& terminal) {
  StoreSession session = StoreSession::open(config, StoreUse::read);
  Store& store = session.store();
  PlannedFleet fleet{Simulation(plan_options(config, or_fail(store.now()), asked.days)), "stored"};
  const std::uint64_t feeds = or_fail(Feeds(store).count());
  if (asked.host.empty()) fleet.simulation.reserve(feeds);
  Progress progress(terminal, "reading", feeds);
  FeedSample sample;
  std::size_t read = 0;
  over_all_feeds(store, [&](const auto& page) {
    progress.reached(read);
    read += page.size();
    std::vector<PlannedFeed> planned;
    for (const std::optional<FeedRecord>& record : or_fail(Feeds(store).records(page))) {
      if (!record) continue;
      std::optional<PlannedFeed> feed = planned_feed(*record);
      if (!asked.host.empty() && (!feed || host_of_gate(feed->host) != asked.host)) continue;
      sample.add(record->feed_url);
      ++fleet.stored.feeds;
      fleet.stored.posts += record->entries;
      fleet.stored.bytes += record->bytes;
      if (feed) planned.push_back(std::move(*feed));
    }
    learn_quotas(store, planned, fleet.simulation);
    for (const PlannedFeed& feed : planned) fleet.simulation.add(feed);
  });
  fleet.stored.use = or_fail(memory_use(store, sample.urls()));
  return fleet;
}

PlannedFleet made_up(const Asked& asked, std::uint64_t number, const PlanOptions& options) {
  PlannedFleet fleet{Simulation(options), "made-up"};
  fleet.simulation.reserve(number);
  for (std::uint64_t i = 0; i < number; ++i) {
    fleet.simulation.add(made_up_feed(i, number, asked.host, options.schedule, options.start));
  }
  return fleet;
}

/// A fleet from a list, as after an import: first fetches are spread, rates made up.
PlannedFleet listed(const Asked& asked, const PlanOptions& options, std::uint64_t rate) {
  const SubscriptionList list =
      read_subscriptions(read_input(asked.feeds, max_opml_bytes, " (--feeds takes a number or a file)"));
  PlannedFleet fleet{Simulation(options), "of " + asked.feeds};
  for (const Subscription& subscription : list.feeds) {
    PlannedFeed feed;
    feed.host = server_of(subscription.feed_url);
    if (!asked.host.empty() && host_of_gate(feed.host) != asked.host) continue;
    feed.url = subscription.feed_url;
    feed.new_per_week = made_up_rate(feed.url);
    feed.validators = true;
    if (const auto least = settings_of(subscription, list).interval_min) {
      feed.interval_min = std::chrono::seconds(std::min<std::uint64_t>(*least, std::uint64_t{30} * 86'400));
    }
    const std::uint64_t wait = rate == 0 ? 0 : fleet.simulation.feeds() * 1000 / rate;
    feed.due = options.start + Milliseconds(static_cast<std::int64_t>(wait));
    fleet.simulation.add(feed);
  }
  if (fleet.simulation.feeds() == 0)
    throw VerbFailure{exits::bad_input, fmt::format("{} lists no feeds", visible(asked.feeds))};
  return fleet;
}

PlannedFleet fleet_of(const Asked& asked, const Config& config, Terminal& terminal) {
  if (asked.feeds.empty()) return stored(asked, config, terminal);
  const PlanOptions options = plan_options(config, made_up_start, asked.days);
  std::uint64_t number = 0;
  const char* const end = asked.feeds.data() + asked.feeds.size();
  const auto [read_to, error] = std::from_chars(asked.feeds.data(), end, number);
  if (read_to != end || error == std::errc::invalid_argument)
    return listed(asked, options, config.schedule.import_rate);
  if (error != std::errc{} || number < 1 || number > most_made_up) {
    throw VerbFailure{exits::usage, fmt::format("--feeds: a number from 1 to {}, or a file", most_made_up)};
  }
  return made_up(asked, number, options);
}

std::int64_t rounded(double number) {
  return std::llround(number);
}

json::array hosts_json(const std::vector<HostLoad>& hosts) {
  json::array rows;
  for (const HostLoad& host : hosts) {
    rows.push_back({{"host", host.host},
                    {"feeds", host.feeds},
                    {"requests", host.requests},
                    {"wanted_a_day", rounded(host.wanted_a_day)},
                    {"possible_a_day", host.possible_a_day == 0 ? json::value() : rounded(host.possible_a_day)}});
  }
  return rows;
}

double hundredths(double number) {
  return std::round(number * 100) / 100;
}

json::object plan_json(const Plan& plan, const Asked& asked, const Needs& needs) {
  json::object row = json_row();
  row["days"] = asked.days;
  row["feeds"] = plan.feeds;
  row["hosts"] = plan.hosts;
  row["requests"] = plan.requests;
  row["requests_by_hour"] = json::value_from(plan.by_hour);
  row["conditional_requests"] = plan.conditional;
  row["early_polls"] = plan.early;
  row["deferrals"] = plan.deferrals;
  row["latest_s"] = plan.latest.count() / 1000;
  row["busiest_second"] = {{"at_s", plan.busiest_second.count() / 1000}, {"requests", plan.busiest_second_requests}};
  row["requests_with_news"] = plan.bringing;
  row["needs"] = {{"event_loops", needs.event_loops},           {"loop_use", hundredths(needs.loop_use)},
                  {"redis_use", hundredths(needs.redis_use)},   {"redis_bytes", needs.redis_bytes},
                  {"redis_bytes_full", needs.redis_bytes_full}, {"redis_bytes_least", needs.redis_bytes_least},
                  {"redis_primaries", needs.redis_primaries},   {"received_bytes_a_day", needs.received_bytes}};
  row["busiest_hosts"] = hosts_json(plan.busiest);
  row["hosts_that_cannot_fit"] = hosts_json(plan.do_not_fit);
  return row;
}

std::string clock_text(Milliseconds since_start) {
  const std::int64_t seconds = since_start.count() / 1000;
  return fmt::format("day {} {:02}:{:02}:{:02}", seconds / 86'400 + 1, seconds / 3600 % 24, seconds / 60 % 60,
                     seconds % 60);
}

std::string count_text(std::uint64_t number) {
  return grouped(static_cast<std::int64_t>(number));
}

/// Prints a line per hour for one day, else a line per day.
void tell_hours(const Plan& plan, Terminal& terminal) {
  const auto line = [&](const std::string& name, const std::string& value) {
    terminal.line(fmt::format("{:<16}{}", name, value));
  };
  if (plan.by_hour.size() == 24) {
    for (std::size_t hour = 0; hour < 24; ++hour) line(fmt::format("hour {}", hour), count_text(plan.by_hour[hour]));
    return;
  }
  for (std::size_t day = 0; day * 24 < plan.by_hour.size(); ++day) {
    const auto hours = std::span(plan.by_hour).subspan(day * 24, 24);
    std::uint64_t sum = 0;
    for (const std::uint64_t hour : hours) sum += hour;
    line(fmt::format("day {}", day + 1), fmt::format("{} an hour on average, {} to {}", count_text(sum / 24),
                                                     count_text(*std::min_element(hours.begin(), hours.end())),
                                                     count_text(*std::max_element(hours.begin(), hours.end()))));
  }
}

/// "31.2 MiB for 29 posts a feed as stored, 52.0 MiB for 50", "119.2 GiB to 256.3 GiB for 50 posts a feed".
std::string memory_text(const Needs& needs, const StoredFeeds& stored, std::uint32_t kept) {
  const std::string full = bytes_text(needs.redis_bytes_full), least = bytes_text(needs.redis_bytes_least);
  std::string later =
      fmt::format("{} for {} posts a feed", least == full ? full : fmt::format("{} to {}", least, full), kept);
  if (stored.feeds == 0) return later;
  const double posts = static_cast<double>(stored.posts) / static_cast<double>(stored.feeds);
  const std::string now = fmt::format("{} for {:.0f} posts a feed as stored", bytes_text(needs.redis_bytes), posts);
  return posts < kept ? fmt::format("{}, {}", now, later) : now;
}

void tell_plan(const Plan& plan, const Asked& asked, const PlannedFleet& fleet, const Needs& needs, std::uint32_t kept,
               Terminal& terminal) {
  const auto line = [&](const char* name, const std::string& value) {
    terminal.line(fmt::format("{:<16}{}", name, visible(value)));
  };
  line("feeds",
       fmt::format("{} {}, on {} host{}, {} day{}", count_text(plan.feeds), fleet.source, count_text(plan.hosts),
                   plan.hosts == 1 ? "" : "s", asked.days, asked.days == 1 ? "" : "s"));
  line("requests", fmt::format("{}, {} an hour on average", count_text(plan.requests),
                               count_text(plan.requests / plan.by_hour.size())));
  line("conditional", plan.requests == 0 ? std::string("-")
                                         : fmt::format("{:.1f} %", 100.0 * static_cast<double>(plan.conditional) /
                                                                       static_cast<double>(plan.requests)));
  line("early polls", count_text(plan.early));
  line("latest poll", fmt::format("{} s after its due time; {} delayed by host limits",
                                  grouped(plan.latest.count() / 1000), count_text(plan.deferrals)));
  line("busiest second", fmt::format("{} request{} at {}", count_text(plan.busiest_second_requests),
                                     plan.busiest_second_requests == 1 ? "" : "s", clock_text(plan.busiest_second)));
  line("needs", fmt::format("{} event loop{}, busy to {:.1f} %, and {:.1f} % of a core for Redis", needs.event_loops,
                            needs.event_loops == 1 ? "" : "s",
                            100 * needs.loop_use / static_cast<double>(needs.event_loops), 100 * needs.redis_use));
  const std::string servers =
      needs.redis_primaries == 1 ? "one server" : fmt::format("{} primaries of a cluster", needs.redis_primaries);
  line("memory of Redis", fmt::format("{}; {}", memory_text(needs, fleet.stored, kept), servers));
  line("received", fmt::format("{} a day", bytes_text(needs.received_bytes)));
  tell_hours(plan, terminal);
  for (const HostLoad& host : plan.busiest) {
    line("busy host",
         fmt::format("{}: {} requests to {} feeds", host.host, count_text(host.requests), count_text(host.feeds)));
  }
}

void warn_of_hosts(const Plan& plan, Terminal& terminal) {
  for (std::size_t i = 0; i < std::min(shown_unfit, plan.do_not_fit.size()); ++i) {
    const HostLoad& host = plan.do_not_fit[i];
    terminal.note(
        fmt::format("feedmill: warning: {}: its {} feeds need {} polls a day, but only {} fit; poll them less often "
                    "(add --interval-min) or, if the host allows it, lower host.spacing",
                    visible(host.host), count_text(host.feeds), grouped(rounded(host.wanted_a_day)),
                    grouped(rounded(host.possible_a_day))));
  }
  if (plan.do_not_fit.size() > shown_unfit) {
    terminal.note(fmt::format("feedmill: warning: {} more hosts do not fit (--json lists all)",
                              plan.do_not_fit.size() - shown_unfit));
  }
}

/// Reads only; needs Redis only for the stored feeds.
int plan_schedule(const OperationValues& given, const Config& config, Terminal& terminal) {
  note_interrupts();
  const Asked asked{static_cast<unsigned>(given.number("days", 1)), given.text("host"), given.text("feeds")};
  PlannedFleet fleet = fleet_of(asked, config, terminal);
  if (fleet.simulation.feeds() == 0) terminal.note("no feeds to plan for: feedmill plan --feeds 100000 simulates some");
  Plan plan;
  {
    Progress progress(terminal, "simulating", asked.days * std::size_t{24});
    plan = fleet.simulation.run([&](std::size_t hour) {
      stop_if_interrupted();
      progress.reached(hour);
    });
  }
  const std::uint32_t kept = config.retention.entries;
  const Needs needs = needs_of(plan, kept, fleet.stored);
  if (terminal.json())
    terminal.line(plan_json(plan, asked, needs));
  else
    tell_plan(plan, asked, fleet, needs, kept, terminal);
  terminal.flush();
  warn_of_hosts(plan, terminal);
  return exits::done;
}

}  // namespace

PlanOptions plan_options(const Config& config, Milliseconds start, unsigned days) {
  PlanOptions options;
  options.schedule = refresh_options(config, RunMode::selected).policy.schedule;
  options.hosts = HostRules(config);
  options.catch_up_rate = config.schedule.catch_up_rate;
  options.start = start;
  options.days = days;
  return options;
}

VerbRow plan_verb() {
  static constexpr std::array taken{
      fields::number("--days", "N", "Days to simulate (1)", 1, 365),
      fields::option("--host", "HOST", "Only feeds of this host"),
      fields::option("--feeds", "N|FILE",
                     "Instead of the stored feeds: N made-up feeds, or those of an OPML file or list of URLs")};
  return {.name = "plan",
          .about = "Simulate the schedule: requests per hour, busiest hosts, hosts with more feeds than fit",
          .example = "feedmill plan --days 7 --feeds 100000",
          .fields = taken,
          .run = plan_schedule};
}

}  // namespace feedmill
