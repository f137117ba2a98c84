#include "worker/diagnosis/plan.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

#include "worker/config/feed_settings.hpp"
#include "worker/egress/web_url.hpp"

namespace feedmill {
namespace {

constexpr std::int64_t day_ms = 24 * 3'600'000L, hour_ms = 3'600'000, minute_ms = 60'000;
constexpr double week_ms = 7.0 * day_ms;
constexpr std::size_t most_busiest = 10;

/// [0, 1), the same for equal words.
double fraction(std::string_view word, std::uint64_t seed) {
  return static_cast<double>(XXH3_64bits_withSeed(word.data(), word.size(), seed) >> 11U) * 0x1p-53;
}

DueContext context_of(const PlannedFeed& feed, Milliseconds now) {
  DueContext context;
  context.feed_url = feed.url;
  context.now = now;
  context.last_new = feed.last_new;
  context.not_before = feed.not_before;
  context.interval_min = feed.interval_min;
  context.interval_max = feed.interval_max;
  return context;
}

/// The gate of a host as claim.lua has it, slots apart: a simulated poll takes no time.
struct Gate {
  std::int64_t last_start = 0, tail = 0;
};

class Simulation {
 public:
  Simulation(std::vector<PlannedFeed> feeds, const PlanOptions& options)
      : options_(options),
        start_(options.start.count()),
        end_(start_ + static_cast<std::int64_t>(options.days) * day_ms),
        minutes_(static_cast<std::size_t>((end_ - start_) / minute_ms)) {
    plan_.feeds = feeds.size();
    plan_.by_hour.resize(options.days * std::size_t{24});
    feeds_ = std::move(feeds);
    course_.reserve(feeds_.size());
    std::unordered_map<std::string, std::uint32_t> numbers;
    for (PlannedFeed& feed : feeds_) {
      const HostRule rule = options.hosts.of(feed.host);
      const auto [found, is_new] = numbers.emplace(rule.gate, static_cast<std::uint32_t>(hosts_.size()));
      if (is_new) {
        hosts_.push_back({rule.gate, 0, 0, 0, requests_a_day(rule.limits)});
        gates_.emplace_back();
      }
      respect(feed, rule);
      HostLoad& host = hosts_[found->second];
      ++host.feeds;
      host.wanted_a_day += polls_a_day(feed, options.schedule, options.start);
      std::string().swap(feed.host);
      const double arrivals = feed.new_per_week * std::log(2.0) / week_ms;  // S decays by half in a week
      course_.push_back({arrivals, 0, rule.limits.spacing.count(), found->second, false});
    }
    plan_.hosts = hosts_.size();
    place_all();
  }

  Plan run(const std::function<void(std::size_t)>& each_hour) {
    for (minute_ = 0; minute_ < minutes_.size(); ++minute_) {
      if (each_hour && minute_ % 60 == 0) each_hour(minute_ / 60);
      std::vector<Event> events;
      events.swap(minutes_[minute_]);
      queue_ = decltype(queue_)(Later(), std::move(events));
      while (!queue_.empty()) {
        const Event event = queue_.top();
        queue_.pop();
        happen(event);
      }
    }
    end_second();
    gather_hosts();
    return std::move(plan_);
  }

 private:
  /// What a feed has besides what it began with.
  struct Course {
    double arrivals;  ///< entries a millisecond
    double pending;   ///< entries that have come since, in parts
    std::int64_t spacing;
    std::uint32_t host;
    bool held;  ///< has a reservation (HTTP H1)
  };
  struct Event {
    std::int64_t at;
    std::uint32_t feed;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const { return std::tie(a.at, a.feed) > std::tie(b.at, b.feed); }
  };

  /// Overdue feeds come oldest first at the pace of HTTP P12, all others when they are due.
  void place_all() {
    std::vector<Event> overdue;
    for (std::uint32_t i = 0; i < feeds_.size(); ++i) {
      const std::int64_t due = feeds_[i].due.count();
      if (due < start_) {
        overdue.push_back({due, i});
      } else {
        place({due, i});
      }
    }
    std::sort(overdue.begin(), overdue.end(), [](const Event& a, const Event& b) { return Later()(b, a); });
    for (std::size_t i = 0; i < overdue.size(); ++i) {
      const auto wait = options_.catch_up_rate == 0 ? 0 : i * 1000 / options_.catch_up_rate;
      place({start_ + static_cast<std::int64_t>(wait), overdue[i].feed});
    }
  }

  void place(Event event) {
    if (event.at >= end_) return;
    const auto minute = static_cast<std::size_t>((event.at - start_) / minute_ms);
    if (running() && minute == minute_) {
      queue_.push(event);
    } else {
      minutes_[minute].push_back(event);
    }
  }

  bool running() const { return minute_ != minutes_.size(); }

  void happen(Event event) {
    Course& course = course_[event.feed];
    Gate& gate = gates_[course.host];
    if (event.at >= gate.last_start + course.spacing) {
      gate.last_start = event.at;
      poll(feeds_[event.feed], course, Milliseconds(event.at));
      place({feeds_[event.feed].due.count(), event.feed});
      return;
    }
    std::int64_t at = event.at + course.spacing;
    if (!course.held) {
      gate.tail = std::max(gate.tail, event.at) + course.spacing;
      at = gate.tail;
      course.held = true;
    }
    ++plan_.deferrals;
    place({std::max(at, event.at + 100), event.feed});
  }

  void poll(PlannedFeed& feed, Course& course, Milliseconds now) {
    count(feed, course, now);
    const Milliseconds elapsed =
        feed.last_at.count() == 0 ? Milliseconds(0) : std::max(now - feed.last_at, Milliseconds(0));
    course.pending += course.arrivals * static_cast<double>(elapsed.count());
    const double come = std::min(std::floor(course.pending), 1000.0);
    course.pending -= come;
    if (feed.fetched) feed.new_per_week = decayed_rate(feed.new_per_week, elapsed, static_cast<std::uint32_t>(come));
    if (come > 0) feed.last_new = now;
    feed.last_at = now;
    feed.fetched = true;
    if (feed.not_before <= now) feed.not_before = Milliseconds(0);
    feed.due = due_after_success(options_.schedule, context_of(feed, now), feed.new_per_week, feed.hints).due;
    course.held = false;
  }

  void count(const PlannedFeed& feed, const Course& course, Milliseconds now) {
    ++plan_.requests;
    ++plan_.by_hour[static_cast<std::size_t>((now.count() - start_) / hour_ms)];
    ++hosts_[course.host].requests;
    if (feed.fetched && feed.validators) ++plan_.conditional;
    if (now < feed.due) ++plan_.early;
    plan_.latest = std::max(plan_.latest, now - std::max(feed.due, options_.start));
    const std::int64_t second = (now.count() - start_) / 1000;
    if (second != second_) end_second();
    second_ = second;
    ++in_second_;
  }

  void end_second() {
    if (in_second_ > plan_.busiest_second_requests) {
      plan_.busiest_second_requests = in_second_;
      plan_.busiest_second = Milliseconds(second_ * 1000);
    }
    in_second_ = 0;
  }

  void gather_hosts() {
    for (const HostLoad& host : hosts_) {
      if (!host.fits()) plan_.do_not_fit.push_back(host);
    }
    std::sort(plan_.do_not_fit.begin(), plan_.do_not_fit.end(), [](const HostLoad& a, const HostLoad& b) {
      return std::tie(b.wanted_a_day, a.host) < std::tie(a.wanted_a_day, b.host);
    });
    const std::size_t shown = std::min(most_busiest, hosts_.size());
    std::partial_sort(hosts_.begin(), hosts_.begin() + static_cast<std::ptrdiff_t>(shown), hosts_.end(),
                      [](const HostLoad& a, const HostLoad& b) {
                        return std::tie(b.requests, a.host) < std::tie(a.requests, b.host);
                      });
    plan_.busiest.assign(hosts_.begin(), hosts_.begin() + static_cast<std::ptrdiff_t>(shown));
  }

  const PlanOptions& options_;
  std::int64_t start_, end_;
  std::vector<PlannedFeed> feeds_;
  std::vector<Course> course_;  // of each feed
  std::vector<HostLoad> hosts_;
  std::vector<Gate> gates_;
  std::vector<std::vector<Event>> minutes_;                      // what happens in each, in no order
  std::size_t minute_ = minutes_.size();                         // the one that runs
  std::priority_queue<Event, std::vector<Event>, Later> queue_;  // what is left of that one
  std::int64_t second_ = 0;
  std::uint64_t in_second_ = 0;
  Plan plan_;
};

}  // namespace

std::optional<PlannedFeed> planned_feed(const FeedRecord& record) {
  if (!record.due) return {};
  const FeedState& state = record.state;
  PlannedFeed feed;
  feed.url = record.feed_url;
  feed.host = host_of(state.address.fetch_url.empty() ? record.feed_url : state.address.fetch_url);
  feed.hints = read_schedule_hints(state.document.hints);
  feed.new_per_week = state.rhythm.new_per_week;
  feed.due = *record.due;
  feed.last_at = state.last.at;
  feed.last_new = state.rhythm.last_new;
  feed.not_before = state.due.not_before;
  const FeedSettings settings = read_settings(state.settings);
  if (settings.interval_min) feed.interval_min = std::chrono::seconds(*settings.interval_min);
  if (settings.interval_max) feed.interval_max = std::chrono::seconds(*settings.interval_max);
  feed.fetched = state.last.at.count() != 0;
  feed.validators = !feed.fetched || !state.validators.etag.empty() || !state.validators.last_modified.empty();
  return feed;
}

double made_up_rate(std::string_view url) {
  return 0.1 * std::pow(700.0, fraction(url, 1)) / std::log(2.0);
}

PlannedFeed made_up_feed(std::uint64_t number, std::uint64_t of, std::string_view host, const ScheduleOptions& schedule,
                         Milliseconds now) {
  PlannedFeed feed;
  feed.host = !host.empty()     ? std::string(host)
              : number % 5 != 0 ? fmt::format("own{}.example", number)
                                : fmt::format("shared{}.example", number / 5 % (of / 500 + 1));
  feed.url = fmt::format("https://{}/feed/{}", feed.host, number);
  feed.new_per_week = made_up_rate(feed.url);
  feed.fetched = feed.validators = true;
  const auto poll = [&](Milliseconds at) {
    feed.last_at = feed.last_new = at;
    feed.due = due_after_success(schedule, context_of(feed, at), feed.new_per_week, feed.hints).due;
  };
  poll(now);
  const auto interval = static_cast<double>((feed.due - now).count());
  poll(now - Milliseconds(static_cast<std::int64_t>(interval * fraction(feed.url, 2))));
  if (feed.due < now) poll(feed.due);
  return feed;
}

void respect(PlannedFeed& feed, const HostRule& rule) {
  if (rule.min_interval.count() == 0) return;
  feed.interval_min = std::max(feed.interval_min.value_or(rule.min_interval), rule.min_interval);
}

double polls_a_day(const PlannedFeed& feed, const ScheduleOptions& schedule, Milliseconds now) {
  DueContext context = context_of(feed, now);
  context.not_before = Milliseconds(0);  // of the moment only
  const NextDue next = due_after_success(schedule, context, feed.new_per_week, feed.hints);
  return static_cast<double>(day_ms) / static_cast<double>(std::max<std::int64_t>((next.due - now).count(), 1));
}

double requests_a_day(const HostLimits& limits) {
  return limits.spacing.count() <= 0 ? 0 : static_cast<double>(day_ms) / static_cast<double>(limits.spacing.count());
}

Plan simulate(std::vector<PlannedFeed> feeds, const PlanOptions& options,
              const std::function<void(std::size_t hour)>& each_hour) {
  return Simulation(std::move(feeds), options).run(each_hour);
}

}  // namespace feedmill
