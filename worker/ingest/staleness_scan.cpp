#include "worker/ingest/staleness_scan.hpp"

#include <algorithm>

#include "storage/feeds/feeds.hpp"

namespace feedmill {
namespace {

constexpr std::size_t page_size = 500, pages_per_step = 4;

}  // namespace

std::optional<Milliseconds> StalenessScan::step(Store& store) {
  for (std::size_t i = 0; i < pages_per_step; ++i) {
    Feeds feeds(store);
    const auto urls = feeds.urls_after(after_, page_size);
    const auto successes =
        urls ? feeds.last_successes(*urls) : StoreResult<std::vector<std::optional<Milliseconds>>>(urls.error());
    if (!successes) {
      *this = StalenessScan();
      return std::nullopt;
    }
    for (const std::optional<Milliseconds> success : *successes) {
      if (success && success->count() != 0) oldest_ = std::min(oldest_.value_or(*success), *success);
    }
    if (urls->size() == page_size) {
      after_ = urls->back();
      continue;
    }
    const Milliseconds oldest = oldest_.value_or(Milliseconds(0));
    *this = StalenessScan();
    return oldest;
  }
  return std::nullopt;
}

}  // namespace feedmill
