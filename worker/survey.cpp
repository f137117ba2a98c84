#include "worker/survey.hpp"

#include <algorithm>
#include <functional>

#include "worker/web_url.hpp"

namespace feedmill {
namespace {

constexpr std::size_t page_size = 200, pages_per_step = 10;

}  // namespace

std::optional<SurveyFigures> Survey::step(Store& store, const std::vector<std::string>& groups) {
  std::optional<SurveyFigures> figures;
  for (std::size_t page = 0; page < pages_per_step && !figures; ++page) {
    const StoreResult<bool> ended = look_at_some(store, groups);
    if (!ended) {
      *this = Survey();
      return std::nullopt;
    }
    if (!*ended) continue;
    figures.emplace();
    figures->hosts_backing_off = backing_off_;
    if (oldest_) figures->oldest_success_age = std::max(Milliseconds(0), now_ - *oldest_);
    *this = Survey();
  }
  return figures;
}

/// True when the round has ended.
StoreResult<bool> Survey::look_at_some(Store& store, const std::vector<std::string>& groups) {
  const auto now = store.now();
  if (!now) return now.error();
  now_ = *now;
  const StoreResult<FeedPage> page = store.feed_page(cursor_, page_size);
  if (!page) return page.error();
  const auto records = store.feed_records(page->feed_urls);
  if (!records) return records.error();
  std::vector<std::string> gates;
  for (const std::optional<FeedRecord>& record : *records) {
    if (!record) continue;
    const FeedState& state = record->state;
    const bool seen = state.last_success.count() > 0;
    if (state.state == "healthy" && seen) oldest_ = std::min(oldest_.value_or(state.last_success), state.last_success);
    std::string host = host_of(state.fetch_url.empty() ? record->feed_url : state.fetch_url);
    if (hosts_.insert(std::hash<std::string>{}(host)).second) gates.push_back(std::move(host));
  }
  cursor_ = page->next;
  const bool ended = cursor_ == "0";
  if (ended) {
    for (const std::string& group : groups) gates.push_back("group:" + group);
  }
  const StoreResult<std::size_t> closed = store.hosts_backing_off(gates);
  if (!closed) return closed.error();
  backing_off_ += *closed;
  return ended;
}

}  // namespace feedmill
