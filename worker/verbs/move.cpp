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
Move last_move(Store& store, const std::string& url) {
  const std::optional<FeedRecord> record = all_records(store, {url}).front();
  return !record || record->state.address.moves.empty() ? Move() : record->state.address.moves.back();
}

void tell_moved(const std::string& url, const VerbContext& context) {
  const Move move = last_move(context.store, url);
  // What was said of the old URL, a long back-off say, must not keep the new one waiting.
  const auto woken =
      or_fail(Feeds(context.store).wake(std::span(&url, 1), context.config.schedule.manual_floor, false));
  context.terminal.tell(
      {{"url", url}, {"result", "moved"}, {"from", move.from}, {"to", move.to}, {"due", time_json(woken.front().at)}},
      fmt::format("moved {}: {} is requested from now on, no more {}", visible(url), visible(move.to),
                  visible(move.from)));
}

}  // namespace

int run_verb(const MoveVerb& verb, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const std::string url = feed_url(terminal, verb.url, "nothing was moved");
  const std::string to = verb.undo ? "" : feed_url(terminal, verb.to, "nothing was moved");
  const auto result = or_fail(verb.undo ? Feeds(context.store).undo_move(url) : Feeds(context.store).move(url, to));
  switch (result) {
    case MoveResult::moved:
      tell_moved(url, context);
      return exits::done;
    case MoveResult::same:
      terminal.tell({{"url", url}, {"result", "same"}, {"to", to}},
                    fmt::format("same {}: {} is what is requested already", visible(url), visible(to)));
      return exits::done;
    case MoveResult::unknown:
      throw no_such_feed(url);
    case MoveResult::taken:
      throw VerbFailure{exits::no,
                        fmt::format("{} is a feed already and nothing is merged; remove one of the two first",
                                    to.empty() ? "the URL it was moved from" : visible(to))};
    case MoveResult::nothing:
      throw VerbFailure{
          exits::no,
          fmt::format("{0} was not moved within the last 90 days; say where to: feedmill move {0} NEW", visible(url))};
    case MoveResult::busy:
      throw VerbFailure{exits::unfinished,
                        fmt::format("{} was moved by somebody else at this moment; look at it (feedmill show) and "
                                    "try again",
                                    visible(url))};
  }
  return exits::bug;
}

}  // namespace feedmill
