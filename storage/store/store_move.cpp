// Moving a feed to another URL and back: what is requested changes, its keys stay (HTTP R8).
#include <boost/json.hpp>

#include "storage/records/signals.hpp"
#include "storage/records/state_fields.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

constexpr Milliseconds undo_within = std::chrono::days(90);

const std::string& requested(const FeedRecord& record) {
  return record.state.fetch_url.empty() ? record.feed_url : record.state.fetch_url;
}

}  // namespace

void remember_move(FeedState& state, const Move& move) {
  constexpr std::size_t most = 8;
  if (state.moves.size() >= most) {
    state.moves.erase(state.moves.begin(), state.moves.end() - static_cast<std::ptrdiff_t>(most - 1));
  }
  state.moves.push_back(move);
}

FeedSignal moved_signal(const Move& move) {
  const boost::json::object data{{"from", move.from}, {"to", move.to}};
  return {"feed_moved", "updated", boost::json::serialize(data), ""};
}

StoreResult<MoveResult> Store::Impl::move(FeedRecord record, const Move& move, const std::string& no_move_to) {
  remember_move(record.state, move);
  Commit frame;  // a signal speaks of its feed
  frame.feed_url = record.feed_url;
  Args args;
  args.add(std::string_view(keys.channel_prefix()));
  args.add(std::string_view(record.feed_url));
  args.own(json_string(record.feed_url));
  args.own(move.to == record.feed_url ? std::string() : move.to);
  args.own(move.from);
  args.add(options.signals_max_len);
  args.own(moves_text(record.state.moves));
  args.own(no_move_to);
  args.own(feed_signal(frame, moved_signal(move), move.at.count() / 1000));
  const auto reply = run(Script::move, args);
  if (!reply) return reply.error();
  const std::string_view word = reply->text();
  if (word == "ok") return MoveResult::moved;
  if (word == "taken") return MoveResult::taken;
  return word == "changed" ? MoveResult::busy : MoveResult::unknown;
}

StoreResult<MoveResult> Store::move_feed(const std::string& feed_url, const std::string& to) {
  const auto time = now();
  if (!time) return time.error();
  auto records = feed_records(std::span(&feed_url, 1));
  if (!records) return records.error();
  if (!records->front()) return MoveResult::unknown;
  FeedRecord& record = *records->front();
  if (requested(record) == to) return MoveResult::same;
  const Move move{*time, requested(record), to};
  return impl_->move(std::move(record), move, "");
}

StoreResult<MoveResult> Store::undo_move(const std::string& feed_url) {
  const auto time = now();
  if (!time) return time.error();
  auto records = feed_records(std::span(&feed_url, 1));
  if (!records) return records.error();
  if (!records->front()) return MoveResult::unknown;
  FeedRecord& record = *records->front();
  const std::vector<Move>& moves = record.state.moves;
  if (moves.empty() || *time - moves.back().at > undo_within) return MoveResult::nothing;
  const Move move{*time, requested(record), moves.back().from};
  return impl_->move(std::move(record), move, move.from);
}

}  // namespace feedmill
