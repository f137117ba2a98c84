#include "storage/records/feed_state.hpp"

namespace feedmill {

void remember_move(FeedState& state, const Move& move) {
  constexpr std::size_t most = 8;
  if (state.moves.size() >= most) {
    state.moves.erase(state.moves.begin(), state.moves.end() - static_cast<std::ptrdiff_t>(most - 1));
  }
  state.moves.push_back(move);
}

}  // namespace feedmill
