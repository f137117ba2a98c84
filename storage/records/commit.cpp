#include "storage/records/commit.hpp"

#include <algorithm>

#include <boost/json.hpp>

namespace feedmill {

std::uint64_t Retention::count() const {
  if (strict) return entries;
  return std::min(std::max(entries, listed), hard_cap);
}

FeedEvent moved_event(const Move& move) {
  const boost::json::object data{{"from", move.from}, {"to", move.to}};
  return {"feed_moved", "updated", boost::json::serialize(data), ""};
}

void remember_move(FeedAddress& address, const Move& move) {
  constexpr std::size_t most = 8;
  if (address.moves.size() >= most) {
    address.moves.erase(address.moves.begin(), address.moves.end() - static_cast<std::ptrdiff_t>(most - 1));
  }
  address.moves.push_back(move);
}

}  // namespace feedmill
