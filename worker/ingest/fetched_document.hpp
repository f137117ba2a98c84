// Gets a feed's document from its origin, or the next page of older posts (HTTP P16, G1), within the limits of its
// host, and reads it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "storage/records/commit.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/http/fetch.hpp"
#include "worker/ingest/document_source.hpp"
#include "worker/ingest/reading_threads.hpp"
#include "worker/store/store_pool.hpp"

namespace feedmill {

/// The document of one claim, or a page if is_for_page(`claim`): that is fetched within the same limits, but without
/// validators. All constructor arguments must outlive this; `options` may change.
class FetchedDocument final : public DocumentSource {
 public:
  FetchedDocument(Fetcher& fetcher, ReadingThreads& threads, StorePool& store, MemoryBudget& memory,
                  const RefreshOptions& options, const Claim& claim);

  /// Fetches and reads the document; repeats both without content coding if that was broken (HTTP §4). Cancellation
  /// unwinds with operation_aborted.
  boost::asio::awaitable<Attempt> attempt(const Claim& claim, RefreshObserver& seen) override;
  boost::asio::awaitable<void> read_all(const Claim& claim, Attempt& attempt) override;
  /// Postpones the feed if memory or another host's slot was not available (SECURITY M3), but not for a page: its own
  /// document must not wait for one.
  DecisionResult decide(const Claim& claim, Attempt& attempt, const StoredSnapshot& known, Milliseconds now) override;
  bool holds_slots() const override { return !entered_.empty(); }
  boost::asio::awaitable<void> leave_hosts(const Claim& claim, const HostAnswer* answer) override;

 private:
  boost::asio::awaitable<Reading> read_in(FetchResult& fetched, std::optional<StoredFeed>& stored, bool is_followed);
  boost::asio::awaitable<bool> enter_host(std::string url);
  boost::asio::awaitable<bool> enter_first();
  boost::asio::awaitable<std::string> take_login(FetchRequest& request);
  boost::asio::awaitable<StoreResult<std::optional<Milliseconds>>> take_slot(const std::string& url);
  /// The partition that has the gate for requests to `server`.
  unsigned home_of(const std::string& server) const;
  ReadingOptions reading_options() const;
  std::string own_gate() const;
  std::optional<Reading> read_here(FetchResult& fetched, ReadingOptions options, std::uint64_t expected);
  boost::asio::awaitable<Reading> read_granted(FetchResult& fetched, ReadingOptions options);

  const std::optional<Claim> page_;  // the feed's claim with the page's URL and no validators
  const Claim& claim_;               // `page_`, or the feed's
  Fetcher& fetcher_;
  ReadingThreads& threads_;
  StorePool& store_;
  MemoryBudget::Share memory_;
  const RefreshOptions& options_;
  const TextsToRead texts_;
  const bool again_;  // request and read the document even if it is unchanged
  struct Entered {
    std::string server;
    bool is_own;  // on the feed's site
  };
  std::vector<Entered> entered_;           // servers entered through gates in other partitions
  Milliseconds host_wait_{};               // time until the host at which the redirects stopped is available, if known
  std::optional<StorePool::Place> place_;  // held while the document is read on the loop
  FetchResponse read_;                     // the response of a document with skipped posts, without its body
};

/// Extracts the facts of an exchange that the policy needs.
Exchange exchange_of(const Claim& claim, const FetchRequest& request, const FetchResult& fetched);

// Keeps documents that triggered a bug, for debugging (SECURITY Q4, debug.keep_poison).

inline constexpr std::size_t most_kept_of_poison = 64U << 10U;

/// Writes the start of `body`, as received, to <feed id>.poison in `directory`, replacing an earlier file. False if
/// that fails. Blocks.
bool keep_poison(const std::filesystem::path& directory, std::string_view feed_url, std::string_view body);

}  // namespace feedmill
