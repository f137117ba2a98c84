#include "worker/ingest/store_pool.hpp"

#include <variant>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>

#include "storage/ingest/ingest.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr std::size_t max_batch = 64;

}  // namespace

/// A request that waits for its turn, and its answer; `done` is the event.
struct StorePool::Waiting {
  explicit Waiting(const asio::any_io_executor& executor) : done(executor, asio::steady_timer::time_point::max()) {}

  const std::string* feed_url = nullptr;  // one of the three is set
  const LookUp* look_up = nullptr;
  const Commit* commit = nullptr;
  std::optional<StoreResult<StoredFeed>> stored;
  std::optional<StoreResult<StoredSnapshot>> known;
  std::optional<StoreResult<Committed>> committed;
  asio::steady_timer done;
};

StorePool::StorePool(asio::any_io_executor executor, const StoreOptions& options, std::size_t connections)
    : executor_(std::move(executor)), control_(std::make_unique<Connection>(options)) {
  for (std::size_t i = 0; i < connections; ++i) connections_.push_back(std::make_unique<Connection>(options));
}

StorePool::~StorePool() {
  for (const auto& connection : connections_) connection->thread.join();
  control_->thread.join();
}

asio::awaitable<StoreResult<StoredFeed>> StorePool::stored_feed(const std::string& feed_url) {
  Waiting waiting(executor_);
  waiting.feed_url = &feed_url;
  co_await wait_for(waiting);
  co_return std::move(*waiting.stored);
}

asio::awaitable<StoreResult<StoredSnapshot>> StorePool::look_up(const LookUp& wanted) {
  Waiting waiting(executor_);
  waiting.look_up = &wanted;
  co_await wait_for(waiting);
  co_return std::move(*waiting.known);
}

asio::awaitable<StoreResult<Committed>> StorePool::commit(const Commit& commit) {
  Waiting waiting(executor_);
  waiting.commit = &commit;
  co_await wait_for(waiting);
  co_return std::move(*waiting.committed);
}

asio::awaitable<void> StorePool::wait_for(Waiting& waiting) {
  waiting_.push_back(&waiting);
  start_if_idle();
  // Without a cancellation slot: the thread writes into `waiting`, which must outlive that.
  co_await waiting.done.async_wait(
      asio::bind_cancellation_slot(asio::cancellation_slot(), asio::as_tuple(asio::use_awaitable)));
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
  // What else this turn of the loop brings shall travel along: round trips are the cost, not commands.
  co_await asio::post(executor_, asio::use_awaitable);
  std::vector<Waiting*> batch;
  while (!waiting_.empty()) {
    batch.clear();
    while (!waiting_.empty() && batch.size() < max_batch) {
      batch.push_back(waiting_.front());
      waiting_.pop_front();
    }
    co_await run_on(connection.thread, [&] { exchange(connection.store, batch); });
    for (Waiting* waiting : batch) waiting->done.cancel();
    reconnects_ += connection.store.reconnects() - connection.reconnects;
    connection.reconnects = connection.store.reconnects();
  }
  connection.busy = false;
}

void StorePool::exchange(Store& store, const std::vector<Waiting*>& batch) {
  std::vector<std::string_view> feed_urls;
  std::vector<Waiting*> asking;
  for (Waiting* waiting : batch) {
    if (waiting->feed_url == nullptr) continue;
    feed_urls.emplace_back(*waiting->feed_url);
    asking.push_back(waiting);
  }
  if (!feed_urls.empty()) {
    auto stored = Ingest(store).stored_feeds(feed_urls);
    for (std::size_t i = 0; i < asking.size(); ++i) asking[i]->stored = std::move(stored[i]);
  }
  std::vector<LookUp> look_ups;
  std::vector<Waiting*> looking;
  for (Waiting* waiting : batch) {
    if (waiting->look_up == nullptr) continue;
    look_ups.push_back(*waiting->look_up);
    looking.push_back(waiting);
  }
  if (!look_ups.empty()) {
    auto known = Ingest(store).look_up(look_ups);
    for (std::size_t i = 0; i < looking.size(); ++i) looking[i]->known = std::move(known[i]);
  }
  std::vector<const Commit*> commits;
  std::vector<Waiting*> committing;
  for (Waiting* waiting : batch) {
    if (waiting->commit == nullptr) continue;
    commits.push_back(waiting->commit);
    committing.push_back(waiting);
  }
  if (!commits.empty()) {
    auto committed = Ingest(store).commit(commits);
    for (std::size_t i = 0; i < committing.size(); ++i) committing[i]->committed = std::move(committed[i]);
  }
}

}  // namespace feedmill
