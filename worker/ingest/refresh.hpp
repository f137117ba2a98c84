// The hot path: reads, looks up, decides and commits one claimed feed.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <type_traits>

#include <boost/asio/awaitable.hpp>

#include "storage/records/commit.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/store_error.hpp"
#include "storage/redis/values.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/base/report.hpp"
#include "worker/http/fetch.hpp"
#include "worker/ingest/document_source.hpp"
#include "worker/ingest/fetched_document.hpp"
#include "worker/ingest/reading_threads.hpp"
#include "worker/ingest/refresh_observer.hpp"
#include "worker/store/store_pool.hpp"

namespace feedmill {

/// Called with the result of each attempt to commit and the time it took.
using CommitObserver = std::function<void(const StoreResult<Committed>&, std::chrono::duration<double>)>;

/// Refreshes claimed feeds. Lives on one loop. All constructor arguments must outlive all running refresh() calls.
class Refresher {
 public:
  Refresher(Fetcher& fetcher, ReadingThreads& threads, StorePool& store, MemoryBudget& memory, RefreshOptions options,
            CommitObserver observer)
      : fetcher_(fetcher),
        threads_(threads),
        store_(store),
        memory_(memory),
        options_(std::move(options)),
        observer_(std::move(observer)) {}

  /// Sets the options of later refreshes; running ones use them from their next step on. Keeps the store's id.
  void set_options(RefreshOptions options) {
    options.reading.store_id = std::move(options_.reading.store_id);
    options_ = std::move(options);
  }
  /// Sets Store::id() once it is known, before any refresh.
  void set_store_id(std::string id) { options_.reading.store_id = std::move(id); }

  /// Whether memory is too short to start anything new (SECURITY M3).
  bool is_short_of_memory() const { return memory_.is_short(); }

  /// Bytes of commits that the store has not answered yet. From any thread.
  std::uint64_t unanswered_bytes() const { return unanswered_bytes_; }
  /// The number of refreshes that are retrying a call to the store.
  std::uint64_t waiting_for_store() const { return waiting_for_store_; }
  /// The store's most recent error.
  const StoreError& store_trouble() const { return store_trouble_; }

  /// The current options.
  const RefreshOptions& options() const { return options_; }

  /// Runs process() for the feed's document at its origin, or for the next page of older posts (HTTP P16). The
  /// arguments must outlive the call.
  boost::asio::awaitable<Report> refresh(const Claim& claim, TraceText* trace = nullptr);
  /// Gets, decides and commits the document of `source`. Cancellation unwinds with operation_aborted while `source`
  /// gets the document; a document that was read is also committed. `patience`: how long to wait for the store, counted
  /// from the start. `trace`: receives each step; may be null. All arguments must outlive the call.
  boost::asio::awaitable<Report> process(const Claim& claim, DocumentSource& source, Milliseconds patience,
                                         TraceText* trace = nullptr);

 private:
  using Deadline = RefreshObserver::Clock::time_point;  ///< when to stop retrying calls to the store

  /// Looks up the document's posts in the store; returns an empty snapshot if there is no document. May give the posts
  /// guids of another identity (feed_identity.hpp).
  boost::asio::awaitable<StoreResult<StoredSnapshot>> look_up(const Claim& claim, DocumentSource& source,
                                                              Attempt& attempt, Deadline deadline);
  /// Compares the document with all posts of its feed. Reads skipped items first, so that `attempt` may end up with
  /// another document, or none.
  boost::asio::awaitable<StoreResult<StoredSnapshot>> compare(const Claim& claim, DocumentSource& source,
                                                              Attempt& attempt, StoredSnapshot looked_up,
                                                              Deadline deadline);
  /// Repeats `ask()` until it succeeds or retrying is useless (RELIABILITY §6).
  template <class Ask>
  auto answer_of(const Ask& ask, Deadline deadline) -> std::invoke_result_t<const Ask&>;
  boost::asio::awaitable<StoreResult<StoredSnapshot>> ask(const LookUp& wanted, Deadline deadline);
  boost::asio::awaitable<StoreResult<Committed>> commit(Commit& commit, Deadline deadline, RefreshObserver& seen);
  boost::asio::awaitable<Report> put_off(const Claim& claim, const Deferral& why, RefreshObserver& seen);
  boost::asio::awaitable<Report> not_stored(const Claim& claim, const StoreError& error, RefreshObserver& seen);
  boost::asio::awaitable<bool> give_back(const Claim& claim, std::optional<Milliseconds> due);
  static boost::asio::awaitable<bool> worth_waiting(const StoreError& error, int attempt, Deadline deadline);

  Fetcher& fetcher_;
  ReadingThreads& threads_;
  StorePool& store_;
  MemoryBudget& memory_;
  RefreshOptions options_;
  CommitObserver observer_;
  std::atomic<std::uint64_t> unanswered_bytes_ = 0, waiting_for_store_ = 0;
  StoreError store_trouble_;
  std::uint64_t highest_entry_ = 0;  // the highest number the store has returned to us (RELIABILITY L8)
  EventPlace last_event_{};          // the last place the store has returned to us
};

}  // namespace feedmill
