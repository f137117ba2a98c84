// The store as coroutines see it: blocking calls beside the loop, whatever waits pipelined together.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "storage/ingest/ingest.hpp"
#include "storage/store/store.hpp"
#include "worker/base/blocking_calls.hpp"

namespace feedmill {

/// `connections` for look-ups and commits, each a Store of its own; one more for claims and heartbeats, one for what
/// looks after the fleet. All members are called on the loop's thread alone. Must outlive every call under
/// way.
class StorePool {
 public:
  StorePool(boost::asio::any_io_executor executor, const StoreOptions& options, std::size_t connections);
  StorePool(const StorePool&) = delete;
  StorePool& operator=(const StorePool&) = delete;

  /// One of the documents that are read and not stored yet; given back at its end. The pool outlives it.
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
  /// Waits for one of a few, in turn: what is read faster than the store takes it would pile up in memory. Not
  /// cancellable: it ends when a document before it is stored or given up.
  boost::asio::awaitable<Place> place();

  /// Not cancellable: they end within the store's timeout.
  boost::asio::awaitable<StoreResult<StoredFeed>> stored_feed(const Claim& claim);
  boost::asio::awaitable<StoreResult<StoredSnapshot>> look_up(const LookUp& wanted);
  boost::asio::awaitable<StoreResult<Committed>> commit(const Commit& commit);

  /// Runs `work(store)` over the connection for everything else that cannot wait: claims, heartbeats.
  template <class Work>
  auto call(Work work) -> boost::asio::awaitable<std::invoke_result_t<Work, Store&>> {
    return run_on(control_->calls,
                  [this, losses = losses_, work = std::move(work)]() mutable { return work(control_->ready(losses)); });
  }

  /// The same over one that nothing urgent waits for: figures of the fleet, what is put in order now and then.
  template <class Work>
  auto call_aside(Work work) -> boost::asio::awaitable<std::invoke_result_t<Work, Store&>> {
    return run_on(aside_->calls,
                  [this, losses = losses_, work = std::move(work)]() mutable { return work(aside_->ready(losses)); });
  }

  /// Those of all partitions on this loop, in their order, this among them, where it serves all (RELIABILITY L29). They
  /// live as long as this.
  void set_partitions(std::vector<StorePool*> partitions) { partitions_ = std::move(partitions); }

  /// Runs `work(store)` with the store of another partition of this deployment (RELIABILITY L27): as call() where this
  /// loop serves that one, too, else one call after another of all these.
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

  /// Waits for a wish as Ingest does, one at a time, over a connection of its own.
  boost::asio::awaitable<StoreResult<bool>> wait_for_wish(Milliseconds longest);
  /// Ends that with an error.
  void break_wait() {
    if (wishes_) wishes_->store.break_wait();
  }
  /// The server may not answer any more: the same, and whoever asks next asks over a new connection, instead of finding
  /// out over each of the old ones.
  void suspect_server() {
    ++losses_;
    break_wait();
  }

  /// Runs `work(store)` over every connection, one after another.
  template <class Work>
  boost::asio::awaitable<void> for_each(Work work) {
    for (const auto& connection : connections_) co_await run_on(connection->calls, [&] { work(connection->store); });
    for (Connection* const connection : {control_.get(), aside_.get()}) {
      co_await run_on(connection->calls, [&] { work(connection->store); });
    }
  }

  /// Of all connections, for redis_reconnects_total. From any thread.
  std::uint64_t reconnects() const { return reconnects_; }
  /// How many connections there are for look-ups and commits, and how long they were busy, all of them together. From
  /// any thread.
  std::size_t connections() const { return connections_.size(); }
  std::chrono::nanoseconds busy() const { return std::chrono::nanoseconds(busy_ns_); }

 private:
  struct Waiting;
  /// What stored_feed(), look_up() and commit() were given.
  using Request = std::variant<FeedToRead, LookUp, const Commit*>;
  struct Connection {
    explicit Connection(const StoreOptions& options) : store(options) {}
    /// The store, for the next call. `known`: losses_ as of then.
    Store& ready(std::uint64_t known);
    Store store;
    bool busy = false;
    std::uint64_t losses = 0;  // that it knows of
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

  template <class Answer>
  boost::asio::awaitable<Answer> ask(Request request);
  void leave();
  void start_if_idle();
  boost::asio::awaitable<void> serve(Connection& connection);
  static void exchange(Store& store, const std::vector<Waiting*>& batch);

  boost::asio::any_io_executor executor_;
  const StoreOptions options_;
  std::deque<Waiting*> waiting_;                    // on the frames of suspended coroutines
  std::deque<boost::asio::steady_timer*> readers_;  // likewise: who waits for a place
  std::size_t places_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::unique_ptr<Connection> control_, aside_;
  std::vector<StorePool*> partitions_;       // none: this loop serves but this one
  std::unique_ptr<Connection> wishes_;       // from the first wait on
  std::unique_ptr<OtherPartitions> others_;  // from the first that is asked on
  std::uint64_t losses_ = 0;                 // of the server, as far as anybody suspects
  std::atomic<std::uint64_t> reconnects_ = 0;
  std::atomic<std::int64_t> busy_ns_ = 0;
};

}  // namespace feedmill
