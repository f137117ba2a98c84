#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/queues/subscribers.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/table.hpp"
#include "worker/words/explanation.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

double seconds_since(std::optional<Milliseconds> then, Milliseconds now) {
  return then ? std::max(0.0, std::chrono::duration<double>(now - *then).count()) : 0;
}

/// Figures of a store, or sums over all partitions.
struct Figures {
  FleetFigures fleet;
  StreamFigures stream;
  SubscriberCounts told;
};

Figures figures_of(Store& store) {
  return {or_fail(Fleet(store).figures()), or_fail(EventStream(store).figures()), or_fail(Subscribers(store).counts())};
}

/// Adds counts. Ages take the maximum, as do workers, because a worker may serve several partitions.
void add(Figures& all, const Figures& one) {
  FleetFigures& fleet = all.fleet;
  for (const auto& [state, count] : one.fleet.states) {
    const auto known = std::ranges::find(fleet.states, state, &std::pair<std::string, std::uint64_t>::first);
    if (known == fleet.states.end())
      fleet.states.emplace_back(state, count);
    else
      known->second += count;
  }
  fleet.feeds += one.fleet.feeds;
  fleet.due += one.fleet.due;
  fleet.waiting += one.fleet.waiting;
  fleet.claimed += one.fleet.claimed;
  fleet.workers = std::max(fleet.workers, one.fleet.workers);
  fleet.other_workers = std::max(fleet.other_workers, one.fleet.other_workers);
  if (one.fleet.oldest_due)
    fleet.oldest_due = std::min(fleet.oldest_due.value_or(*one.fleet.oldest_due), *one.fleet.oldest_due);
  all.stream.records += one.stream.records;
  all.stream.hard_limit += one.stream.hard_limit;
  for (const StreamFigures::Group& group : one.stream.groups) {
    const auto known = std::ranges::find(all.stream.groups, group.name, &StreamFigures::Group::name);
    if (known == all.stream.groups.end()) {
      all.stream.groups.push_back(group);
      continue;
    }
    known->lag += group.lag;
    if (group.oldest) known->oldest = std::min(known->oldest.value_or(*group.oldest), *group.oldest);
  }
  all.told.webhooks_active += one.told.webhooks_active;
  all.told.webhooks_suspended += one.told.webhooks_suspended;
  all.told.hub_pending += one.told.hub_pending;
  all.told.hub_active += one.told.hub_active;
  if (one.told.due) all.told.due = all.told.due.value_or(0) + *one.told.due;
}

json::object row_of(const Figures& figures) {
  const auto& [fleet, stream, told] = figures;
  json::object states;
  for (const auto& [state, count] : fleet.states) states[state] = count;
  json::array groups;
  for (const StreamFigures::Group& group : stream.groups) {
    groups.push_back(
        {{"name", group.name}, {"lag_records", group.lag}, {"lag_seconds", seconds_since(group.oldest, stream.now)}});
  }
  return {{"at", rfc3339(fleet.now)},
          {"feeds", fleet.feeds},
          {"states", std::move(states)},
          {"due", fleet.due},
          {"oldest_due_seconds", seconds_since(fleet.oldest_due, fleet.now)},
          {"waiting", fleet.waiting},
          {"claimed", fleet.claimed},
          {"workers", fleet.workers + fleet.other_workers},
          {"workers_fetching", fleet.workers},
          {"stream_records", stream.records},
          {"stream_limit_records", stream.hard_limit},
          {"groups", std::move(groups)},
          {"push_out", subscriber_counts_json(told)}};
}

std::vector<std::pair<std::string, std::string>> lines_of(const Figures& figures) {
  const auto& [fleet, stream, told] = figures;
  const double oldest_due = seconds_since(fleet.oldest_due, fleet.now);
  std::string states;
  for (const auto& [state, count] : fleet.states) {
    if (count > 0) states += fmt::format("{}{} {}", states.empty() ? ": " : ", ", count, state);
  }
  std::vector<std::pair<std::string, std::string>> lines = {
      {"feeds", fmt::format("{}{}", fleet.feeds, states)},
      {"due",
       oldest_due > 0 ? fmt::format("{}, the oldest for {:.0f} s", fleet.due, oldest_due) : std::to_string(fleet.due)},
      {"in line", fmt::format("{} for their hosts", fleet.waiting)},
      {"being fetched", std::to_string(fleet.claimed)},
      {"workers", fleet.other_workers == 0
                      ? std::to_string(fleet.workers)
                      : fmt::format("{} (fetching: {})", fleet.workers + fleet.other_workers, fleet.workers)},
      {"signals", fmt::format("{} of at most {}", grouped(std::int64_t(stream.records)),
                              grouped(std::int64_t(stream.hard_limit)))}};
  for (const StreamFigures::Group& group : stream.groups) {
    lines.emplace_back("group " + group.name, fmt::format("{} pending, the oldest for {:.0f} s", group.lag,
                                                          seconds_since(group.oldest, stream.now)));
  }
  if (told.any()) {
    lines.emplace_back("webhooks",
                       fmt::format("{}, {} of them suspended", told.webhooks_active + told.webhooks_suspended,
                                   told.webhooks_suspended));
    lines.emplace_back("hub subscribers",
                       fmt::format("{}, {} not verified yet", told.hub_active + told.hub_pending, told.hub_pending));
    if (told.due) lines.emplace_back("deliveries", fmt::format("{} in progress or backing off", *told.due));
  }
  return lines;
}

int tell_stats(const OperationValues&, std::span<const VerbContext> stores) {
  Terminal& terminal = stores.front().terminal;
  std::optional<Figures> all;
  for (const VerbContext& context : stores) {
    const Figures figures = figures_of(context.store);
    if (terminal.json()) {
      json::object row = row_of(figures);
      if (const Partition mine = context.config.partition(); !mine.is_whole()) row["partition"] = mine.index;
      terminal.tell(std::move(row), "");
    } else if (all) {
      add(*all, figures);
    } else {
      all = figures;
    }
  }
  if (all) terminal.tell({}, lines_of(*all), 20);
  return exits::done;
}

}  // namespace

VerbRow stats_verb() {
  return {.name = "stats",
          .about = "Show figures of all workers and the whole store",
          .example = "feedmill stats --json",
          .use = reads,
          .run = tell_stats};
}

}  // namespace feedmill
