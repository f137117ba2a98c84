#include <span>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/feeds/feeds.hpp"
#include "storage/store/partition.hpp"
#include "worker/command_line/values.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/refusals.hpp"
#include "worker/verbs/table.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

void tell_moved(const std::string& url, const VerbContext& context) {
  const std::optional<FeedRecord> record = all_records(context.store, {url}).front();
  if (!record || record->state.address.moves.empty()) throw no_such_feed(context.store, url);  // removed concurrently
  const Move& move = record->state.address.moves.back();
  context.terminal.tell({{"url", url},
                         {"result", "moved"},
                         {"from", move.from},
                         {"to", move.to},
                         {"due", time_json(record->due.value_or(Milliseconds(0)))}},
                        fmt::format("moved {}: fetching {} from now on instead of {}", visible(url), visible(move.to),
                                    visible(move.from)));
  warn_of_refusals({move.to}, read_settings(record->state.settings), context);
}

/// Whether another partition has the feed: the store would not notice that a move makes two feeds one.
bool is_feed_elsewhere(const std::string& url, const Config& config) {
  const unsigned its = partition_of(url, config.redis.partitions);
  return its != config.partition().index && has_all(config, its, {url});
}

void check_move(const OperationValues& given) {
  if (given.truth("undo") && given.has("NEW")) refuse("NEW and --undo exclude each other");
  if (!given.truth("undo") && !given.has("NEW")) refuse("NEW is missing (or --undo)");
}

int move_feed(const OperationValues& given, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const bool undo = given.truth("undo");
  const std::string url = feed_url(terminal, given.text("URL"), "nothing was moved");
  const std::string to = undo ? "" : feed_url(terminal, given.text("NEW"), "nothing was moved");
  const bool taken = !undo && is_feed_elsewhere(to, context.config);
  const auto result = taken ? MoveResult::taken
                            : or_fail(undo ? Feeds(context.store).undo_move(url) : Feeds(context.store).move(url, to));
  switch (result) {
    case MoveResult::moved:
      tell_moved(url, context);
      return exits::done;
    case MoveResult::same:
      terminal.tell({{"url", url}, {"result", "same"}, {"to", to}},
                    fmt::format("same {}: already fetching {}", visible(url), visible(to)));
      return exits::done;
    case MoveResult::unknown:
      throw no_such_feed(context.store, url);
    case MoveResult::taken:
      throw VerbFailure{exits::no,
                        fmt::format("{} is already a feed, and feeds are not merged; remove one of the two first",
                                    to.empty() ? "the URL it was moved from" : visible(to))};
    case MoveResult::nothing:
      throw VerbFailure{
          exits::no, fmt::format("{0} was not moved within the last 90 days; give the new URL: feedmill move {0} NEW",
                                 visible(url))};
    case MoveResult::busy:
      throw VerbFailure{exits::unfinished,
                        fmt::format("{} was moved concurrently; check it (feedmill show) and try again", visible(url))};
  }
  return exits::bug;
}

}  // namespace

VerbRow move_verb() {
  using Kind = OperationField::Kind;
  static constexpr std::array taken{
      fields::argument("URL", "Address of a feed, as it was added", Kind::address),
      fields::optional(fields::argument("NEW", "URL to fetch from now on", Kind::address)),
      fields::flag("--undo", "Fetch again from the URL before the last move (90 days)")};
  return {.name = "move",
          .about = "Fetch a feed from another URL; its keys and entries stay",
          .example = "feedmill move https://example.org/old.xml https://example.org/new.xml",
          .exits = "75 if it was moved concurrently",
          .fields = taken,
          .check = check_move,
          .run = move_feed};
}

}  // namespace feedmill
