#include "storage/records/feed_state.hpp"

namespace feedmill {

void remember_move(FeedAddress& address, const Move& move) {
  constexpr std::size_t most = 8;
  if (address.moves.size() >= most) {
    address.moves.erase(address.moves.begin(), address.moves.end() - static_cast<std::ptrdiff_t>(most - 1));
  }
  address.moves.push_back(move);
}

}  // namespace feedmill
