#include "worker/ingest/store_pool.hpp"

#include <algorithm>
#include <variant>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "storage/ingest/ingest.hpp"
#include "worker/base/server_wait.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr std::size_t max_batch = 64;
constexpr std::size_t most_read = 2 * max_batch;  // one batch at the store, and the next one

}  // namespace

/// A queued request and its answer; cancelling `done` signals completion.
struct StorePool::Waiting {
  Waiting(const asio::any_io_executor& executor, Request what)
      : request(std::move(what)), done(executor, asio::steady_timer::time_point::max()) {}

  Request request;
  std::variant<std::monostate, StoreResult<StoredFeed>, StoreResult<StoredSnapshot>, StoreResult<Committed>> answer;
  asio::steady_timer done;
};

StorePool::StorePool(asio::any_io_executor executor, const StoreOptions& options, std::size_t connections)
    : executor_(std::move(executor)),
      options_(options),
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

/// Passes a read slot to the longest waiter.
void StorePool::leave() {
  if (readers_.empty()) {
    ++places_;
    return;
  }
  readers_.front()->cancel();
  readers_.pop_front();
}

asio::awaitable<StoreResult<StoredFeed>> StorePool::stored_feed(const Claim& claim) {
  return ask<StoreResult<StoredFeed>>(FeedToRead{claim.feed_url, claim.failovers});
}

asio::awaitable<StoreResult<StoredSnapshot>> StorePool::look_up(const LookUp& wanted) {
  return ask<StoreResult<StoredSnapshot>>(wanted);
}

asio::awaitable<StoreResult<Committed>> StorePool::commit(const Commit& commit) {
  return ask<StoreResult<Committed>>(&commit);
}

asio::awaitable<StoreResult<bool>> StorePool::wait_for_wish(Milliseconds longest) {
  if (!wishes_) wishes_ = std::make_unique<Connection>(options_);
  Ingest ingest(wishes_->store);
  const auto begin = [&] { return ingest.begin_to_wait_for_wish(longest); };
  const auto end = [&] { return ingest.hear_wish(); };
  co_return co_await wait_at_server(wishes_->calls, begin, end);
}

template <class Answer>
asio::awaitable<Answer> StorePool::ask(Request request) {
  Waiting waiting(executor_, std::move(request));
  waiting_.push_back(&waiting);
  start_if_idle();
  // Not cancellable: a thread writes into `waiting`, which must outlive the call.
  co_await waiting.done.async_wait(
      asio::bind_cancellation_slot(asio::cancellation_slot(), asio::as_tuple(asio::use_awaitable)));
  co_return std::get<Answer>(std::move(waiting.answer));
}

void StorePool::start_if_idle() {
  for (const auto& connection : connections_) {
    if (connection->busy) continue;
    connection->busy = true;
    asio::co_spawn(executor_, serve(*connection), [](const std::exception_ptr& error) {
      if (error) std::rethrow_exception(error);  // out of memory: ends the loop, main() reports it
    });
    return;
  }
}

asio::awaitable<void> StorePool::serve(Connection& connection) {
  // Collect the other requests of this loop iteration: round trips are expensive, commands are not.
  co_await asio::post(executor_, asio::use_awaitable);
  std::vector<Waiting*> batch;
  while (!waiting_.empty()) {
    batch.clear();
    while (!waiting_.empty() && batch.size() < max_batch) {
      batch.push_back(waiting_.front());
      waiting_.pop_front();
    }
    const auto from = std::chrono::steady_clock::now();
    co_await run_on(connection.calls, [&, losses = losses_] { exchange(connection.ready(losses), batch); });
    busy_ns_ += std::chrono::nanoseconds(std::chrono::steady_clock::now() - from).count();
    for (Waiting* waiting : batch) waiting->done.cancel();
    reconnects_ += connection.store.reconnects() - connection.reconnects;
    connection.reconnects = connection.store.reconnects();
  }
  connection.busy = false;
}

void StorePool::exchange(Store& store, const std::vector<Waiting*>& batch) {
  const auto send = [&batch]<class One>(std::type_identity<One>, const auto& call) {
    std::vector<One> requests;
    std::vector<Waiting*> asking;
    for (Waiting* waiting : batch) {
      const One* const request = std::get_if<One>(&waiting->request);
      if (request == nullptr) continue;
      requests.push_back(*request);
      asking.push_back(waiting);
    }
    if (requests.empty()) return;
    auto answers = call(requests);
    for (std::size_t i = 0; i < asking.size(); ++i) asking[i]->answer = std::move(answers[i]);
  };
  Ingest ingest(store);
  send(std::type_identity<FeedToRead>(), [&](const auto& feeds) { return ingest.stored_feeds(feeds); });
  send(std::type_identity<LookUp>(), [&](const auto& wanted) { return ingest.look_up(wanted); });
  send(std::type_identity<const Commit*>(), [&](const auto& commits) { return ingest.commit(commits); });
}

}  // namespace feedmill
