// Store access for coroutines: blocking calls run on threads, and waiting requests are pipelined.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "storage/ingest/ingest.hpp"
#include "storage/store/store.hpp"
#include "worker/base/blocking_calls.hpp"
#include "worker/store/batches.hpp"
#include "worker/store/store_calls.hpp"

namespace feedmill {

/// Has `connections` connections for look-ups and commits, one for claims and heartbeats, and one for fleet upkeep,
/// each with its own Store. All members are called on the loop's thread. Must outlive all running calls.
class StorePool {
 public:
  StorePool(boost::asio::any_io_executor executor, const StoreOptions& options, std::size_t connections);
  StorePool(const StorePool&) = delete;
  StorePool& operator=(const StorePool&) = delete;

  /// A slot for a document that is being read and not yet stored; freed by the destructor. The pool must outlive it.
  class Place {
   public:
    explicit Place(StorePool& pool) : pool_(&pool) {}
    Place(Place&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (pool_ != nullptr) pool_->leave();
    }

   private:
    StorePool* pool_;
  };
  /// Waits for a read slot, in order; there are only a few, so that documents do not pile up in memory when they are
  /// read faster than stored. Not cancellable: ends when an earlier document is stored or dropped.
  boost::asio::awaitable<Place> place();

  /// Batched with concurrent calls. Not cancellable; they end within the store's timeout.
  boost::asio::awaitable<StoreResult<StoredFeed>> stored_feed(const Claim& claim, std::optional<std::uint64_t> texts);
  boost::asio::awaitable<StoreResult<StoredSnapshot>> look_up(const LookUp& wanted);
  boost::asio::awaitable<StoreResult<Committed>> commit(const Commit& commit);

  /// Runs `work(store)` on the connection for other urgent calls: claims, heartbeats.
  template <class Work>
  auto call(Work work) -> boost::asio::awaitable<std::invoke_result_t<Work, Store&>> {
    return call_on(*control_, std::move(work));
  }

  /// Runs `work(store)` on the connection for calls that are not urgent: fleet figures and upkeep.
  template <class Work>
  auto call_aside(Work work) -> boost::asio::awaitable<std::invoke_result_t<Work, Store&>> {
    return call_on(*aside_, std::move(work));
  }

  /// Sets the pools of all partitions on this loop, in order and including this one, if the loop serves all of them
  /// (RELIABILITY L29). They must outlive this.
  void set_partitions(std::vector<StorePool*> partitions) { partitions_ = std::move(partitions); }

  /// Runs `work(store)` on another partition of this deployment (RELIABILITY L27): like call() if this loop serves that
  /// partition; else one call at a time for all other partitions.
  template <class Work>
  auto call_at(unsigned partition, Work work) -> boost::asio::awaitable<std::invoke_result_t<Work, Store&>> {
    if (!partitions_.empty()) return partitions_[partition]->call(std::move(work));
    if (!others_) others_ = std::make_unique<OtherPartitions>(options_);
    return run_on(others_->calls, [others = others_.get(), partition, work = std::move(work)]() mutable {
      Store& store = others->at(partition);
      store.leave_closed();
      return work(store);
    });
  }

  /// Runs Ingest's wait for a wish on its own connection; one at a time.
  boost::asio::awaitable<StoreResult<bool>> wait_for_wish(Milliseconds longest);
  /// Makes a running wait_for_wish() fail.
  void break_wait() {
    if (wishes_) wishes_->break_wait();
  }
  /// Call when the server may have failed: breaks the wait and makes each connection reconnect at its next call,
  /// instead of waiting for each to time out.
  void suspect_server() {
    ++losses_;
    break_wait();
  }

  /// Runs `work(store)` on every connection for look-ups, commits, claims and upkeep, one after another.
  template <class Work>
  boost::asio::awaitable<void> for_each(Work work) {
    for (const auto& connection : connections_) co_await run_on(connection->calls, [&] { work(connection->store); });
    for (Connection* const connection : {control_.get(), aside_.get()}) {
      co_await run_on(connection->calls, [&] { work(connection->store); });
    }
  }

  /// Number of reconnects of all connections, for redis_reconnects_total. From any thread.
  std::uint64_t reconnects() const { return reconnects_; }
  /// The number of connections for look-ups and commits, and their total busy time. From any thread.
  std::size_t connections() const { return connections_.size(); }
  std::chrono::nanoseconds busy() const { return std::chrono::nanoseconds(busy_ns_); }

 private:
  /// Of stored_feed(), look_up() and commit().
  using Requests = Batches<
      std::variant<FeedToRead, LookUp, const Commit*>,
      std::variant<std::monostate, StoreResult<StoredFeed>, StoreResult<StoredSnapshot>, StoreResult<Committed>>>;
  struct Connection {
    explicit Connection(const StoreOptions& options) : store(options) {}
    /// Returns the store for the next call, after dropping a connection that is suspect. `known`: losses_ at the time.
    Store& ready(std::uint64_t known);
    Store store;
    std::uint64_t losses = 0;  // losses already handled
    std::uint64_t reconnects = 0;
    BlockingCalls calls;
  };

  struct OtherPartitions {
    explicit OtherPartitions(const StoreOptions& mine) : options(mine) {}
    Store& at(unsigned partition);
    StoreOptions options;
    std::map<unsigned, Store> stores;
    BlockingCalls calls;
  };

  template <class Work>
  auto call_on(Connection& on, Work work) -> boost::asio::awaitable<std::invoke_result_t<Work, Store&>> {
    return run_on(on.calls,
                  [&on, losses = losses_, work = std::move(work)]() mutable { return work(on.ready(losses)); });
  }
  void leave();
  boost::asio::awaitable<void> exchange(Connection& connection, const Requests::Batch& batch);

  boost::asio::any_io_executor executor_;
  const StoreOptions options_;
  Requests requests_;
  std::deque<boost::asio::steady_timer*> readers_;  // on the frames of coroutines that wait for a slot
  std::size_t places_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::unique_ptr<Connection> control_, aside_;
  std::vector<StorePool*> partitions_;       // empty: this loop serves only this partition
  std::unique_ptr<StoreCalls> wishes_;       // created by the first wait
  std::unique_ptr<OtherPartitions> others_;  // created by the first call
  std::uint64_t losses_ = 0;                 // how often the server was suspected to have failed
  std::atomic<std::uint64_t> reconnects_ = 0;
  std::atomic<std::int64_t> busy_ns_ = 0;
};

}  // namespace feedmill
