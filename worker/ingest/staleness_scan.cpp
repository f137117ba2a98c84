#include "worker/ingest/staleness_scan.hpp"

#include <algorithm>

#include "storage/feeds/feeds.hpp"

namespace feedmill {
namespace {

constexpr std::size_t page_size = 200, pages_per_step = 10;

}  // namespace

std::optional<std::chrono::duration<double>> StalenessScan::step(Store& store) {
  for (std::size_t i = 0; i < pages_per_step; ++i) {
    const auto now = store.now();
    const auto page =
        now ? Feeds(store).page({.state = "", .part = "", .host = "", .after = place_, .limit = page_size})
            : StoreResult<FeedPage>(now.error());
    if (!page) {
      *this = StalenessScan();
      return std::nullopt;
    }
    for (const FeedRecord& record : page->feeds) {
      const FeedState& state = record.state;
      if (state.state != "healthy" || state.last.success.count() == 0) continue;
      oldest_ = std::min(oldest_.value_or(state.last.success), state.last.success);
    }
    place_ = page->next;
    if (place_) continue;
    const Milliseconds age = oldest_ ? std::max(Milliseconds(0), *now - *oldest_) : Milliseconds(0);
    *this = StalenessScan();
    return age;
  }
  return std::nullopt;
}

}  // namespace feedmill
