// The hot path: one claimed feed, its document read, looked up, decided and committed.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <type_traits>

#include <boost/asio/awaitable.hpp>

#include "storage/records/claim.hpp"
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
#include "worker/ingest/refresh_options.hpp"
#include "worker/ingest/store_pool.hpp"
#include "worker/trace/refresh_observer.hpp"

namespace feedmill {

/// Told what became of a commit each time it was sent, and how long the answer took.
using CommitObserver = std::function<void(const StoreResult<Committed>&, std::chrono::duration<double>)>;

/// Lives on one loop. What it is given must outlive every refresh() under way.
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

  /// For refreshes that begin from now on; those under way take over what they have not asked for yet. The store's id
  /// stays.
  void set_options(RefreshOptions options) {
    options.reading.store_id = std::move(options_.reading.store_id);
    options_ = std::move(options);
  }
  /// Store::id() of the store, once it is known: before anything is refreshed.
  void set_store_id(std::string id) { options_.reading.store_id = std::move(id); }

  /// Memory is too short to begin with anything new (SECURITY M3).
  bool is_short_of_memory() const { return memory_.is_short(); }

  /// Of commits that the store has not answered yet. From any thread.
  std::uint64_t unanswered_bytes() const { return unanswered_bytes_; }
  /// Refreshes whose result the store did not take, and that are going to offer it again.
  std::uint64_t waiting_for_store() const { return waiting_for_store_; }
  /// Why the last of them was not taken.
  const StoreError& store_trouble() const { return store_trouble_; }

  /// As they are now.
  const RefreshOptions& options() const { return options_; }

  /// process() of what the feed's origin has: its document, or the next page of older posts (HTTP P16).
  boost::asio::awaitable<Report> refresh(Claim claim, RefreshTrace* trace = nullptr);
  /// Cancellation unwinds with operation_aborted while `source` gets its document; once that is read it is also
  /// committed. `patience`: from the beginning on, how long a store that is away is waited for. `trace` is told of each
  /// step; null: nobody wants to know. All outlive this.
  boost::asio::awaitable<Report> process(const Claim& claim, DocumentSource& source, Milliseconds patience,
                                         RefreshTrace* trace = nullptr);

 private:
  using Deadline = RefreshObserver::Clock::time_point;  ///< end of the lease

  /// What the store knows of a document's posts, as of nothing when it is none. May give them the guids of another
  /// identity (feed_identity.hpp).
  boost::asio::awaitable<StoreResult<StoredSnapshot>> look_up(const Claim& claim, DocumentSource& source,
                                                              Attempt& attempt, Deadline deadline);
  /// Compares the document with all posts of its feed. Items that were passed over are
  /// read first, so that the attempt may have another document afterwards, or none.
  boost::asio::awaitable<StoreResult<StoredSnapshot>> compare(const Claim& claim, DocumentSource& source,
                                                              Attempt& attempt, StoredSnapshot looked_up,
                                                              Deadline deadline);
  /// `ask()` until it is answered, or trying again is no use (RELIABILITY E1).
  template <class Ask>
  auto answer_of(const Ask& ask, Deadline deadline) -> std::invoke_result_t<const Ask&>;
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
  std::uint64_t highest_entry_ = 0;  // that the store has given out to us (RELIABILITY L8)
  EventPlace last_event_{};          // likewise
};

}  // namespace feedmill
