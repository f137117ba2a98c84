// Moves a feed to another URL and back: the requested URL changes, its keys stay (HTTP R8).
#include "storage/feeds/feeds.hpp"
#include "storage/records/commit.hpp"
#include "storage/records/event_json.hpp"
#include "storage/records/state_fields.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

constexpr Milliseconds undo_within = std::chrono::days(90);

const std::string& requested(const FeedRecord& record) {
  return record.state.address.fetch_url.empty() ? record.feed_url : record.state.address.fetch_url;
}

}  // namespace

StoreResult<MoveResult> Feeds::run_verb(FeedRecord record, const Move& move, const std::string& no_move_to) {
  remember_move(record.state.address, move);
  Commit frame;  // events name the feed
  frame.feed_url = record.feed_url;
  Args args;
  args.add(std::string_view(impl_.keys.channel_prefix()));
  args.add(std::string_view(record.feed_url));
  args.own(json_string(record.feed_url));
  args.own(move.to == record.feed_url ? std::string() : move.to);
  args.own(move.from);
  args.own(impl_.options.stream_cap());
  args.own(moves_text(record.state.address.moves));
  args.own(no_move_to);
  args.own(feed_event(frame, moved_event(move), move.at.count() / 1000));
  const auto reply = impl_.run(Script::move, args);
  if (!reply) return reply.error();
  const std::string_view word = reply->text();
  if (word == "ok") return MoveResult::moved;
  if (word == "taken") return MoveResult::taken;
  return word == "changed" ? MoveResult::busy : MoveResult::unknown;
}

StoreResult<MoveResult> Feeds::move(const std::string& feed_url, const std::string& to) {
  const auto time = impl_.now();
  if (!time) return time.error();
  auto found = records(std::span(&feed_url, 1));
  if (!found) return found.error();
  if (!found->front()) return MoveResult::unknown;
  FeedRecord& record = *found->front();
  if (requested(record) == to) return MoveResult::same;
  const Move move{*time, requested(record), to};
  return run_verb(std::move(record), move, "");
}

StoreResult<MoveResult> Feeds::undo_move(const std::string& feed_url) {
  const auto time = impl_.now();
  if (!time) return time.error();
  auto found = records(std::span(&feed_url, 1));
  if (!found) return found.error();
  if (!found->front()) return MoveResult::unknown;
  FeedRecord& record = *found->front();
  const std::vector<Move>& moves = record.state.address.moves;
  if (moves.empty() || *time - moves.back().at > undo_within) return MoveResult::nothing;
  const Move move{*time, requested(record), moves.back().from};
  return run_verb(std::move(record), move, move.from);
}

}  // namespace feedmill
