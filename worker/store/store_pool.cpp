#include "worker/store/store_pool.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "storage/ingest/ingest.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr std::size_t max_batch = 64;
constexpr std::size_t most_read = 2 * max_batch;  // one batch at the store, and the next

}  // namespace

StorePool::StorePool(asio::any_io_executor executor, const StoreOptions& options, std::size_t connections)
    : executor_(std::move(executor)),
      options_(options),
      requests_(executor_, connections, max_batch,
                [this](std::size_t i, const Requests::Batch& batch) { return exchange(*connections_[i], batch); }),
      places_(most_read),
      control_(std::make_unique<Connection>(options)),
      aside_(std::make_unique<Connection>(options)) {
  for (std::size_t i = 0; i < connections; ++i) connections_.push_back(std::make_unique<Connection>(options));
}

Store& StorePool::Connection::ready(std::uint64_t known) {
  if (std::exchange(losses, known) == known)
    store.leave_closed();
  else
    store.disconnect();
  return store;
}

Store& StorePool::OtherPartitions::at(unsigned partition) {
  options.partition.index = partition;
  return stores.try_emplace(partition, options).first->second;
}

asio::awaitable<StorePool::Place> StorePool::place() {
  if (places_ > 0) {
    --places_;
    co_return Place(*this);
  }
  asio::steady_timer turn(executor_, asio::steady_timer::time_point::max());
  readers_.push_back(&turn);
  co_await turn.async_wait(
      asio::bind_cancellation_slot(asio::cancellation_slot(), asio::as_tuple(asio::use_awaitable)));
  co_return Place(*this);
}

/// Passes the slot to the longest waiter.
void StorePool::leave() {
  if (readers_.empty()) {
    ++places_;
    return;
  }
  readers_.front()->cancel();
  readers_.pop_front();
}

asio::awaitable<StoreResult<StoredFeed>> StorePool::stored_feed(const Claim& claim,
                                                                std::optional<std::uint64_t> texts) {
  return requests_.ask<StoreResult<StoredFeed>>(FeedToRead{claim.feed_url, claim.failovers, texts});
}

asio::awaitable<StoreResult<StoredSnapshot>> StorePool::look_up(const LookUp& wanted) {
  return requests_.ask<StoreResult<StoredSnapshot>>(wanted);
}

asio::awaitable<StoreResult<Committed>> StorePool::commit(const Commit& commit) {
  return requests_.ask<StoreResult<Committed>>(&commit);
}

asio::awaitable<StoreResult<bool>> StorePool::wait_for_wish(Milliseconds longest) {
  if (!wishes_) wishes_ = std::make_unique<StoreCalls>(options_);
  return wishes_->wait([longest](Store& store) { return Ingest(store).begin_to_wait_for_wish(longest); },
                       [](Store& store) { return Ingest(store).hear_wish(); });
}

asio::awaitable<void> StorePool::exchange(Connection& connection, const Requests::Batch& batch) {
  const auto answer = [&, losses = losses_] {
    Ingest ingest(connection.ready(losses));
    Requests::answer<FeedToRead>(batch, [&](const auto& feeds) { return ingest.stored_feeds(feeds); });
    Requests::answer<LookUp>(batch, [&](const auto& wanted) { return ingest.look_up(wanted); });
    Requests::answer<const Commit*>(batch, [&](const auto& commits) { return ingest.commit(commits); });
  };
  const auto from = std::chrono::steady_clock::now();
  co_await run_on(connection.calls, answer);
  busy_ns_ += std::chrono::nanoseconds(std::chrono::steady_clock::now() - from).count();
  reconnects_ += connection.store.reconnects() - connection.reconnects;
  connection.reconnects = connection.store.reconnects();
}

}  // namespace feedmill
