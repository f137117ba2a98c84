#include <span>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/feeds/feeds.hpp"
#include "worker/command_line/feed_verbs.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

/// What is requested for the feed now, and since when anew.
StoreResult<Move> last_move(Store& store, const std::string& url) {
  const auto records = Feeds(store).records(std::span(&url, 1));
  if (records.has_error()) return records.error();
  if (!records->front() || records->front()->state.moves.empty()) return Move{};
  return records->front()->state.moves.back();
}

int tell_moved(const std::string& url, const VerbContext& context) {
  const auto move = last_move(context.store, url);
  if (move.has_error()) return fail(context.terminal, "move", move.error());
  // What was said of the old URL, a long back-off say, must not keep the new one waiting.
  const auto woken = Feeds(context.store).wake(std::span(&url, 1), context.config.schedule.manual_floor, false);
  if (woken.has_error()) return fail(context.terminal, "move", woken.error());
  if (!context.terminal.json()) {
    context.terminal.line(fmt::format("moved {}: {} is requested from now on, no more {}", visible(url),
                                      visible(move->to), visible(move->from)));
    return exits::done;
  }
  boost::json::object row = json_row();
  row["url"] = url;
  row["result"] = "moved";
  row["from"] = move->from;
  row["to"] = move->to;
  row["due"] = time_json(woken->front().at);
  context.terminal.line(row);
  return exits::done;
}

int tell_same(const std::string& url, const std::string& to, Terminal& terminal) {
  if (terminal.json()) {
    boost::json::object row = json_row();
    row["url"] = url;
    row["result"] = "same";
    row["to"] = to;
    terminal.line(row);
  } else {
    terminal.line(fmt::format("same {}: {} is what is requested already", visible(url), visible(to)));
  }
  return exits::done;
}

}  // namespace

int run_verb(const MoveVerb& verb, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const auto from = feed_urls(terminal, "move", {verb.url}, "nothing was moved");
  if (!from) return exits::bad_input;
  const std::string& url = from->front();
  std::string to;
  if (!verb.undo) {
    const auto target = feed_urls(terminal, "move", {verb.to}, "nothing was moved");
    if (!target) return exits::bad_input;
    to = target->front();
  }
  const auto result = verb.undo ? Feeds(context.store).undo_move(url) : Feeds(context.store).move(url, to);
  if (result.has_error()) return fail(terminal, "move", result.error());
  switch (*result) {
    case MoveResult::moved:
      return tell_moved(url, context);
    case MoveResult::same:
      return tell_same(url, to, terminal);
    case MoveResult::unknown:
      terminal.error(fmt::format("move: no such feed: {} (see feedmill list)", visible(url)));
      return exits::no;
    case MoveResult::taken:
      terminal.error(fmt::format("move: {} is a feed already and nothing is merged; remove one of the two first",
                                 to.empty() ? "the URL it was moved from" : visible(to)));
      return exits::no;
    case MoveResult::nothing:
      terminal.error(fmt::format("move: {} was not moved within the last 90 days; say where to: feedmill move {} NEW",
                                 visible(url), visible(url)));
      return exits::no;
    case MoveResult::busy:
      terminal.error(
          fmt::format("move: {} was moved by somebody else at this moment; look at it (feedmill show) and "
                      "try again",
                      visible(url)));
      return exits::unfinished;
  }
  return exits::bug;
}

}  // namespace feedmill
