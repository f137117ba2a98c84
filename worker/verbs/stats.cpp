#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/fleet.hpp"
#include "worker/command_line/operation_verbs.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/words/moments.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

double seconds_since(std::optional<Milliseconds> then, Milliseconds now) {
  return then ? std::max(0.0, std::chrono::duration<double>(now - *then).count()) : 0;
}

}  // namespace

int run_verb(const StatsVerb&, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const auto fleet = or_fail(Fleet(context.store).figures());
  const auto stream = or_fail(EventStream(context.store).figures());
  const double oldest_due = seconds_since(fleet.oldest_due, fleet.now);
  if (terminal.json()) {
    json::object row = json_row();
    row["at"] = rfc3339(fleet.now);
    row["feeds"] = fleet.feeds;
    json::object& states = row["states"].emplace_object();
    for (const auto& [state, count] : fleet.states) states[state] = count;
    row["due"] = fleet.due;
    row["oldest_due_seconds"] = oldest_due;
    row["claimed"] = fleet.claimed;
    row["workers"] = fleet.workers;
    row["stream_records"] = stream.records;
    row["stream_limit_records"] = stream.hard_limit;
    json::array& groups = row["groups"].emplace_array();
    for (const StreamFigures::Group& group : stream.groups) {
      groups.push_back(
          {{"name", group.name}, {"lag_records", group.lag}, {"lag_seconds", seconds_since(group.oldest, stream.now)}});
    }
    terminal.line(row);
    return exits::done;
  }
  Columns table(terminal, {{"", 20}, {"", 0}});
  std::string states;
  for (const auto& [state, count] : fleet.states) {
    if (count > 0) states += fmt::format("{}{} {}", states.empty() ? "" : ", ", count, state);
  }
  table.row({"feeds", states.empty() ? std::to_string(fleet.feeds) : fmt::format("{}: {}", fleet.feeds, states)});
  table.row({"due", oldest_due > 0 ? fmt::format("{}, the oldest for {:.0f} s", fleet.due, oldest_due)
                                   : std::to_string(fleet.due)});
  table.row({"being fetched", std::to_string(fleet.claimed)});
  table.row({"workers", std::to_string(fleet.workers)});
  table.row({"signals", fmt::format("{} of at most {}", stream.records, stream.hard_limit)});
  for (const StreamFigures::Group& group : stream.groups) {
    table.row({"group " + group.name,
               fmt::format("{} behind, the oldest for {:.0f} s", group.lag, seconds_since(group.oldest, stream.now))});
  }
  return exits::done;
}

}  // namespace feedmill
