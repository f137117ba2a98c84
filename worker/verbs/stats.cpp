#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/push_out/subscribers.hpp"
#include "worker/command_line/operation_verbs.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/words/due_text.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

double seconds_since(std::optional<Milliseconds> then, Milliseconds now) {
  return then ? std::max(0.0, std::chrono::duration<double>(now - *then).count()) : 0;
}

}  // namespace

int run_verb(const StatsVerb&, const VerbContext& context) {
  const auto fleet = or_fail(Fleet(context.store).figures());
  const auto stream = or_fail(EventStream(context.store).figures());
  const auto told = or_fail(Subscribers(context.store).counts());
  const double oldest_due = seconds_since(fleet.oldest_due, fleet.now);
  json::object states;
  std::string states_text;
  for (const auto& [state, count] : fleet.states) {
    states[state] = count;
    if (count > 0) states_text += fmt::format("{}{} {}", states_text.empty() ? ": " : ", ", count, state);
  }
  std::vector<std::pair<std::string, std::string>> lines = {
      {"feeds", fmt::format("{}{}", fleet.feeds, states_text)},
      {"due",
       oldest_due > 0 ? fmt::format("{}, the oldest for {:.0f} s", fleet.due, oldest_due) : std::to_string(fleet.due)},
      {"in line", fmt::format("{} for their hosts", fleet.waiting)},
      {"being fetched", std::to_string(fleet.claimed)},
      {"workers", std::to_string(fleet.workers)},
      {"signals", fmt::format("{} of at most {}", grouped(std::int64_t(stream.records)),
                              grouped(std::int64_t(stream.hard_limit)))}};
  json::array groups;
  for (const StreamFigures::Group& group : stream.groups) {
    const double behind = seconds_since(group.oldest, stream.now);
    groups.push_back({{"name", group.name}, {"lag_records", group.lag}, {"lag_seconds", behind}});
    lines.emplace_back("group " + group.name, fmt::format("{} behind, the oldest for {:.0f} s", group.lag, behind));
  }
  if (told.any()) {
    lines.emplace_back("webhooks",
                       fmt::format("{}, {} of them suspended", told.webhooks_active + told.webhooks_suspended,
                                   told.webhooks_suspended));
    lines.emplace_back("hub subscribers",
                       fmt::format("{}, {} not verified yet", told.hub_active + told.hub_pending, told.hub_pending));
    if (told.due) lines.emplace_back("waiting for them", fmt::format("{} are told now, or in back-off", *told.due));
  }
  json::object row = {{"at", rfc3339(fleet.now)},         {"feeds", fleet.feeds},
                      {"states", std::move(states)},      {"due", fleet.due},
                      {"oldest_due_seconds", oldest_due}, {"waiting", fleet.waiting},
                      {"claimed", fleet.claimed},         {"workers", fleet.workers},
                      {"stream_records", stream.records}, {"stream_limit_records", stream.hard_limit},
                      {"groups", std::move(groups)},      {"push_out", subscriber_counts_json(told)}};
  if (const Partition mine = context.config.partition(); !mine.is_whole()) row["partition"] = mine.index;
  context.terminal.tell(std::move(row), lines, 20);
  return exits::done;
}

}  // namespace feedmill
