// The hot path: one claimed feed, fetched, read, decided, committed.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <type_traits>

#include <boost/asio/awaitable.hpp>

#include "storage/records/claim.hpp"
#include "storage/records/commit.hpp"
#include "storage/records/host_records.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/store_error.hpp"
#include "storage/redis/values.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/base/report.hpp"
#include "worker/config/host_rules.hpp"
#include "worker/http/fetch.hpp"
#include "worker/ingest/reading_threads.hpp"
#include "worker/ingest/refresh_observer.hpp"
#include "worker/ingest/store_pool.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill {

struct RefreshOptions {
  ReadingOptions reading;
  PolicyOptions policy;
  Milliseconds lease{90'000};         ///< a commit is tried again until it has ended (RELIABILITY E1)
  HostLimits host;                    ///< for hosts that redirects lead to (HTTP H6)
  HostRules hosts;                    ///< which hosts are one when their documents are read
  Milliseconds memory_wait{10'000};   ///< for memory to read in (SECURITY M3)
  std::filesystem::path keep_poison;  ///< where documents go that meet a bug, "" = nowhere (SECURITY Q4)
};

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

  /// For refreshes that begin from now on; those under way take over what they have not asked for yet.
  void set_options(RefreshOptions options) { options_ = std::move(options); }

  /// Memory is too short to begin with anything new (SECURITY M3).
  bool is_short_of_memory() const { return memory_.is_short(); }

  /// Of commits that the store has not answered yet.
  std::uint64_t unanswered_bytes() const { return unanswered_bytes_; }
  /// Refreshes whose result the store did not take, and that are going to offer it again.
  std::uint64_t waiting_for_store() const { return waiting_for_store_; }
  /// Why the last of them was not taken.
  const StoreError& store_trouble() const { return store_trouble_; }

  /// What a document may have.
  std::uint64_t max_body_bytes() const { return options_.reading.max_body_bytes; }

  /// Cancellation unwinds with operation_aborted while fetching; once a document is read it is also committed.
  /// `trace` is told of each step and outlives this; null: nobody wants to know.
  boost::asio::awaitable<Report> refresh(Claim claim, RefreshTrace* trace = nullptr);

 private:
  using Deadline = RefreshObserver::Clock::time_point;  ///< end of the lease

  /// What came of asking the origin.
  struct Attempt {
    Exchange exchange;
    Reading reading;
  };

  boost::asio::awaitable<Attempt> attempt(const Claim& claim, MemoryBudget::Share& memory, RefreshObserver& seen);
  boost::asio::awaitable<Reading> read_in(const Claim& claim, const FetchRequest& request, FetchResult& fetched);
  boost::asio::awaitable<bool> enter_host(const Claim& claim, std::string host);
  boost::asio::awaitable<Reading> read_granted(FetchResult& fetched, const Claim& claim, MemoryBudget::Share& memory,
                                               ReadingOptions options);
  /// What the store knows of a document's posts, as of nothing when it is none. May give them the guids of another
  /// identity (feed_identity.hpp).
  boost::asio::awaitable<StoreResult<StoredSnapshot>> look_up(const Claim& claim, Reading& reading, Deadline deadline);
  /// `ask()` until it is answered, or trying again is no use (RELIABILITY E1).
  template <class Ask>
  auto answer_of(const Ask& ask, Deadline deadline) -> std::invoke_result_t<const Ask&>;
  boost::asio::awaitable<StoreResult<Committed>> commit(Commit& commit, Deadline deadline, RefreshObserver& seen);
  boost::asio::awaitable<Report> defer(const Claim& claim, const FetchError& error, RefreshObserver& seen);
  boost::asio::awaitable<Report> not_stored(const Claim& claim, const StoreError& error, RefreshObserver& seen);
  boost::asio::awaitable<bool> give_back(const Claim& claim, Milliseconds due);
  static boost::asio::awaitable<bool> worth_waiting(const StoreError& error, int attempt, Deadline deadline);

  Fetcher& fetcher_;
  ReadingThreads& threads_;
  StorePool& store_;
  MemoryBudget& memory_;
  RefreshOptions options_;
  CommitObserver observer_;
  std::uint64_t unanswered_bytes_ = 0, waiting_for_store_ = 0;
  StoreError store_trouble_;
  std::uint64_t highest_entry_ = 0;  // that the store has given out to us (RELIABILITY L8)
};

/// An exchange as far as policy cares.
Exchange exchange_of(const Claim& claim, const FetchRequest& request, const FetchResult& fetched);

}  // namespace feedmill
