#include "worker/hub/topic_cache.hpp"

#include <utility>

namespace feedmill {

namespace {

constexpr std::size_t most_kept = std::size_t{16} << 20U, most_in_memory = std::size_t{32} << 20U;
constexpr std::size_t cost_of_one = 1'024;  // in addition to body and address
constexpr std::chrono::milliseconds kept_for{1'000};

}  // namespace

TopicCache::TopicCache(const boost::asio::any_io_executor& executor, MemoryBudget& budget)
    : memory_(budget, most_in_memory), oldest_(executor) {}

std::shared_ptr<const KeptDocument> TopicCache::find(const std::string& address) const {
  const auto found = places_.find(address);
  if (found == places_.end() || found->second->until <= Clock::now()) return nullptr;
  return found->second->document;
}

void TopicCache::keep(const std::string& address, std::shared_ptr<const KeptDocument> document) {
  if (const auto found = places_.find(address); found != places_.end()) drop(found->second);
  const std::size_t bytes = document->body->size() + 2 * address.size() + cost_of_one;
  while (!kept_.empty() && bytes_ + bytes > most_kept) drop(kept_.begin());
  if (bytes > most_kept) return;
  const bool first = kept_.empty();
  bytes_ += bytes;
  const auto place = kept_.insert(kept_.end(), {address, bytes, Clock::now() + kept_for, std::move(document)});
  places_.emplace(address, place);
  if (first) drop_old();
}

bool TopicCache::make_room(std::size_t bytes) {
  while (!kept_.empty() && !memory_.has_room(bytes)) drop(kept_.begin());
  return memory_.has_room(bytes);
}

void TopicCache::drop(Place place) {
  bytes_ -= place->bytes;
  places_.erase(place->address);
  kept_.erase(place);
}

void TopicCache::drop_old() {
  while (!kept_.empty() && kept_.front().until <= Clock::now()) drop(kept_.begin());
  if (kept_.empty()) return;
  oldest_.expires_at(kept_.front().until);
  oldest_.async_wait([this](const boost::system::error_code& ended) {
    if (!ended) drop_old();
  });
}

}  // namespace feedmill
