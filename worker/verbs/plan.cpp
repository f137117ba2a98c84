#include "worker/verbs/plan.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

#include "worker/config/feed_settings.hpp"
#include "worker/egress/web_url.hpp"

namespace feedmill {
namespace {

constexpr std::int64_t day_ms = 24 * 3'600'000L, hour_ms = 3'600'000, minute_ms = 60'000;
constexpr double week_s = 7.0 * day_ms / 1000;
constexpr std::size_t most_busiest = 10;

/// Hash of `word` and `seed` in [0, 1).
double fraction(std::string_view word, std::uint64_t seed) {
  return static_cast<double>(XXH3_64bits_withSeed(word.data(), word.size(), seed) >> 11U) * 0x1p-53;
}

DueContext context_of(const PlannedFeed& feed, Milliseconds now) {
  DueContext context;
  context.phase = phase_of(feed.url);
  context.now = now;
  context.last_new = feed.last_new;
  context.not_before = feed.not_before;
  context.interval_min = feed.interval_min;
  context.interval_max = feed.interval_max;
  return context;
}

std::uint32_t in_seconds(Milliseconds at) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(at.count() / 1000, 0, UINT32_MAX));
}

}  // namespace

std::optional<PlannedFeed> planned_feed(const FeedRecord& record) {
  if (!record.due) return {};
  const FeedState& state = record.state;
  PlannedFeed feed;
  feed.url = record.feed_url;
  feed.host = server_of(state.address.requested(record.feed_url));
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
  context.not_before = Milliseconds(0);  // applies only now
  const NextDue next = due_after_success(schedule, context, feed.new_per_week, feed.hints);
  return static_cast<double>(day_ms) / static_cast<double>(std::max<std::int64_t>((next.due - now).count(), 1));
}

double requests_a_day(const HostLimits& limits) {
  return limits.spacing.count() <= 0 ? 0 : static_cast<double>(day_ms) / static_cast<double>(limits.spacing.count());
}

Simulation::Simulation(PlanOptions options)
    : options_(std::move(options)),
      start_(options_.start.count()),
      end_(start_ + static_cast<std::int64_t>(options_.days) * day_ms),
      gate_places_(1024),
      minutes_(static_cast<std::size_t>((end_ - start_) / minute_ms)) {
  plan_.by_hour.resize(options_.days * std::size_t{24});
}

void Simulation::add(const PlannedFeed& planned) {
  const HostRule rule = options_.hosts.of(planned.host);
  PlannedFeed feed = planned;
  respect(feed, rule);
  const std::uint32_t gate = gate_of(rule);
  ++gates_[gate].feeds;
  gates_[gate].wanted_a_day += static_cast<float>(polls_a_day(feed, options_.schedule, options_.start));
  if (feed.not_before > options_.start) not_before_[static_cast<std::uint32_t>(feeds_.size())] = feed.not_before;
  const double arrivals = feed.new_per_week * std::log(2.0) / week_s;  // S decays by half in a week
  feeds_.push_back({.phase = phase_of(feed.url),
                    .due = feed.due.count(),
                    .last_at = in_seconds(feed.last_at),
                    .last_new = in_seconds(feed.last_new),
                    .terms = terms_of(feed, rule.limits.spacing),
                    .gate = gate,
                    .new_per_week = static_cast<float>(feed.new_per_week),
                    .arrivals = static_cast<float>(arrivals),
                    .pending = 0,
                    .fetched = feed.fetched,
                    .validators = feed.validators,
                    .held = false,
                    .put_off = feed.not_before > options_.start});
}

std::uint32_t Simulation::gate_of(const HostRule& rule) {
  const auto find = [&](std::string_view name) {
    std::size_t at = XXH3_64bits(name.data(), name.size()) & (gate_places_.size() - 1);
    while (gate_places_[at] != 0 && name_of(gate_places_[at] - 1) != name) at = (at + 1) & (gate_places_.size() - 1);
    return at;
  };
  if (gates_.size() * 2 >= gate_places_.size()) {
    gate_places_.assign(gate_places_.size() * 2, 0);
    for (std::uint32_t i = 0; i < gates_.size(); ++i) gate_places_[find(name_of(i))] = i + 1;
  }
  const std::size_t at = find(rule.gate);
  if (gate_places_[at] == 0) {
    gates_.push_back({.name = static_cast<std::uint32_t>(names_.size()),
                      .possible_a_day = static_cast<float>(requests_a_day(rule.limits))});
    names_ += rule.gate;
    gate_places_[at] = static_cast<std::uint32_t>(gates_.size());
  }
  return gate_places_[at] - 1;
}

std::string_view Simulation::name_of(std::uint32_t gate) const {
  const std::size_t begin = gates_[gate].name;
  const std::size_t end = gate + 1 < gates_.size() ? gates_[gate + 1].name : names_.size();
  return std::string_view(names_).substr(begin, end - begin);
}

std::uint32_t Simulation::terms_of(const PlannedFeed& feed, Milliseconds spacing) {
  const Terms terms{feed.hints, feed.interval_min, feed.interval_max, spacing};
  const std::string text =
      fmt::format("{} {} {} {}", to_text(terms.hints), terms.interval_min.value_or(Milliseconds(-1)).count(),
                  terms.interval_max.value_or(Milliseconds(-1)).count(), spacing.count());
  const std::size_t hash = std::hash<std::string>()(text);
  const auto [begin, end] = terms_by_hash_.equal_range(hash);
  for (auto same = begin; same != end; ++same) {
    if (terms_[same->second] == terms) return same->second;
  }
  terms_.push_back(terms);
  terms_by_hash_.emplace(hash, static_cast<std::uint32_t>(terms_.size() - 1));
  return static_cast<std::uint32_t>(terms_.size() - 1);
}

Plan Simulation::run(const std::function<void(std::size_t)>& each_hour) {
  plan_.feeds = feeds_.size();
  plan_.hosts = gates_.size();
  place_all();
  running_ = true;
  for (minute_ = 0; minute_ < minutes_.size(); ++minute_) {
    if (each_hour && minute_ % 60 == 0) each_hour(minute_ / 60);
    std::vector<Event> events;
    events.swap(minutes_[minute_]);
    queue_ = decltype(queue_)(Later(), std::move(events));
    while (!queue_.empty()) {
      const Event event = queue_.top();
      queue_.pop();
      happen(event.feed, start_ + static_cast<std::int64_t>(minute_) * minute_ms + event.ms);
    }
  }
  end_second();
  gather_gates();
  return std::move(plan_);
}

/// Overdue feeds start oldest first at the pace of HTTP P12, all others when due.
void Simulation::place_all() {
  std::vector<std::uint32_t> overdue;
  for (std::uint32_t i = 0; i < feeds_.size(); ++i) {
    if (feeds_[i].due < start_) {
      overdue.push_back(i);
    } else {
      place(i, feeds_[i].due);
    }
  }
  std::ranges::sort(overdue, {}, [this](std::uint32_t feed) { return std::pair(feeds_[feed].due, feed); });
  for (std::size_t i = 0; i < overdue.size(); ++i) {
    const auto wait = options_.catch_up_rate == 0 ? 0 : i * 1000 / options_.catch_up_rate;
    place(overdue[i], start_ + static_cast<std::int64_t>(wait));
  }
}

void Simulation::place(std::uint32_t feed, std::int64_t at) {
  if (at >= end_) return;
  const auto minute = static_cast<std::size_t>((at - start_) / minute_ms);
  const Event event{feed, static_cast<std::uint16_t>((at - start_) % minute_ms)};
  if (running_ && minute == minute_) {
    queue_.push(event);
  } else {
    minutes_[minute].push_back(event);
  }
}

void Simulation::happen(std::uint32_t index, std::int64_t now) {
  Feed& feed = feeds_[index];
  Gate& gate = gates_[feed.gate];
  const std::int64_t spacing = terms_[feed.terms].spacing.count();
  if (now >= gate.last_start + spacing) {
    gate.last_start = now;
    poll(index, now);
    place(index, feed.due);
    return;
  }
  std::int64_t at = now + spacing;
  if (!feed.held) {
    gate.tail = std::max(gate.tail, now) + spacing;
    at = gate.tail;
    feed.held = true;
  }
  ++plan_.deferrals;
  place(index, std::max(at, now + 100));
}

void Simulation::poll(std::uint32_t index, std::int64_t now) {
  count(index, now);
  Feed& feed = feeds_[index];
  const std::uint32_t now_s = in_seconds(Milliseconds(now));
  const std::uint32_t elapsed = feed.last_at == 0 ? 0 : now_s - std::min(feed.last_at, now_s);
  feed.pending += feed.arrivals * static_cast<float>(elapsed);
  const float come = std::min(std::floor(feed.pending), 1000.0F);
  feed.pending -= come;
  if (feed.fetched) {
    feed.new_per_week = static_cast<float>(
        decayed_rate(feed.new_per_week, std::chrono::seconds(elapsed), static_cast<std::uint32_t>(come)));
  }
  if (come > 0 || !feed.fetched) ++plan_.bringing;
  if (come > 0) feed.last_new = now_s;
  feed.last_at = now_s;
  feed.fetched = true;
  const ScheduleHints& hints = terms_[feed.terms].hints;
  feed.due = due_after_success(options_.schedule, context_of(index, now), feed.new_per_week, hints).due.count();
  feed.held = false;
}

namespace {

double bytes_of(const MemoryUse& use, double feeds, double posts, double values) {
  return static_cast<double>(use.shared_bytes) + feeds * use.feed_bytes + posts * (use.post_bytes - use.values_bytes) +
         values;
}

/// tests/bench/memory, hashes as listpacks: documents with a short text a post, and documents of the real web.
MemoryUse mix(double feed_bytes, double post_bytes, double posts) {
  constexpr double server = 2'500'000, event = 600, most_events = 100'000;  // signals.max_len
  MemoryUse use;
  use.feed_bytes = feed_bytes;
  use.post_bytes = post_bytes;
  use.shared_bytes = static_cast<std::uint64_t>(server + event * std::min(posts, most_events));
  return use;
}

}  // namespace

Needs needs_of(const Plan& plan, std::uint32_t kept, const StoredFeeds& stored) {
  // tests/bench/end_to_end, rounded up: CPU seconds of the worker and of Redis for a poll with a 304, and for a
  // document of 60 KB with a new and an edited post.
  constexpr double worker_same = 0.25e-3, worker_new = 1.0e-3, redis_same = 0.15e-3, redis_new = 0.7e-3;
  constexpr double full = 0.7;  // of a loop or a core: above it bursts make feeds late
  // Capacity of a 32 GiB server with room for copy-on-write during saves, loaded within minutes.
  constexpr std::uint64_t primary_bytes = std::uint64_t{25} << 30U;
  constexpr std::uint64_t header_bytes = 500, document_bytes = 16'000;  // compressed
  Needs needs;
  const double planned = static_cast<double>(plan.feeds), posts = planned * kept;
  const auto made_up = [&](double post_bytes) {
    return static_cast<std::uint64_t>(bytes_of(mix(2'100, post_bytes, posts), planned, posts, 0));
  };
  needs.redis_bytes = needs.redis_bytes_full = made_up(5'700);
  needs.redis_bytes_least = made_up(2'800);
  if (stored.feeds > 0) {
    const auto feeds = static_cast<double>(stored.feeds), there = static_cast<double>(stored.posts);
    const auto values = static_cast<double>(stored.bytes);
    needs.redis_bytes = static_cast<std::uint64_t>(bytes_of(stored.use, feeds, there, values));
    if (stored.posts > 0 && stored.use.posts > 0) {
      const double later = std::max(there, feeds * kept);
      needs.redis_bytes_full = static_cast<std::uint64_t>(bytes_of(stored.use, feeds, later, values * later / there));
      needs.redis_bytes_least = needs.redis_bytes_full;
    }
  }
  needs.redis_primaries = std::max<std::uint64_t>((needs.redis_bytes_full + primary_bytes - 1) / primary_bytes, 1);
  if (plan.requests == 0) return needs;
  const double share_new = static_cast<double>(plan.bringing) / static_cast<double>(plan.requests);
  const double a_second = static_cast<double>(*std::ranges::max_element(plan.by_hour)) / 3600;
  needs.loop_use = a_second * std::lerp(worker_same, worker_new, share_new);
  needs.redis_use = a_second * std::lerp(redis_same, redis_new, share_new);
  needs.event_loops = static_cast<std::uint64_t>(std::ceil(std::max(needs.loop_use, 0.01) / full));
  needs.redis_primaries =
      std::max(needs.redis_primaries, static_cast<std::uint64_t>(std::ceil(needs.redis_use / full)));
  const double days = static_cast<double>(plan.by_hour.size()) / 24;
  needs.received_bytes = static_cast<std::uint64_t>(
      static_cast<double>(plan.requests * header_bytes + plan.bringing * document_bytes) / days);
  return needs;
}

DueContext Simulation::context_of(std::uint32_t index, std::int64_t now) const {
  const Feed& feed = feeds_[index];
  const Terms& terms = terms_[feed.terms];
  DueContext context;
  context.phase = feed.phase;
  context.now = Milliseconds(now);
  context.last_new = std::chrono::seconds(feed.last_new);
  if (feed.put_off) context.not_before = not_before_.at(index);
  if (context.not_before <= context.now) context.not_before = Milliseconds(0);
  context.interval_min = terms.interval_min;
  context.interval_max = terms.interval_max;
  return context;
}

void Simulation::count(std::uint32_t index, std::int64_t now) {
  const Feed& feed = feeds_[index];
  ++plan_.requests;
  ++plan_.by_hour[static_cast<std::size_t>((now - start_) / hour_ms)];
  ++gates_[feed.gate].requests;
  if (feed.fetched && feed.validators) ++plan_.conditional;
  if (now < feed.due) ++plan_.early;
  plan_.latest = std::max(plan_.latest, Milliseconds(now - std::max(feed.due, start_)));
  const std::int64_t second = (now - start_) / 1000;
  if (second != second_) end_second();
  second_ = second;
  ++in_second_;
}

void Simulation::end_second() {
  if (in_second_ > plan_.busiest_second_requests) {
    plan_.busiest_second_requests = in_second_;
    plan_.busiest_second = Milliseconds(second_ * 1000);
  }
  in_second_ = 0;
}

HostLoad Simulation::load_of(std::uint32_t index) const {
  const Gate& gate = gates_[index];
  return {std::string(name_of(index)), gate.feeds, gate.requests, gate.wanted_a_day, gate.possible_a_day};
}

void Simulation::gather_gates() {
  for (std::uint32_t i = 0; i < gates_.size(); ++i) {
    if (HostLoad load = load_of(i); !load.fits()) plan_.do_not_fit.push_back(std::move(load));
  }
  std::sort(plan_.do_not_fit.begin(), plan_.do_not_fit.end(), [](const HostLoad& a, const HostLoad& b) {
    return std::tie(b.wanted_a_day, a.host) < std::tie(a.wanted_a_day, b.host);
  });
  std::vector<std::uint32_t> busiest(gates_.size());
  std::iota(busiest.begin(), busiest.end(), 0);
  const auto shown = static_cast<std::ptrdiff_t>(std::min(most_busiest, busiest.size()));
  std::partial_sort(busiest.begin(), busiest.begin() + shown, busiest.end(), [this](std::uint32_t a, std::uint32_t b) {
    const auto name_a = name_of(a), name_b = name_of(b);
    return std::tie(gates_[b].requests, name_a) < std::tie(gates_[a].requests, name_b);
  });
  for (std::ptrdiff_t i = 0; i < shown; ++i) plan_.busiest.push_back(load_of(busiest[static_cast<std::size_t>(i)]));
}

}  // namespace feedmill
