// Gets a feed's document from its origin, within the limits of its host, and reads it.
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

/// All constructor arguments must outlive this; `options` may change.
class FetchedDocument final : public DocumentSource {
 public:
  FetchedDocument(Fetcher& fetcher, ReadingThreads& threads, StorePool& store, MemoryBudget& memory,
                  const RefreshOptions& options, const Claim& claim)
      : fetcher_(fetcher),
        threads_(threads),
        store_(store),
        memory_(memory, claim.state.document.wire_bytes),
        options_(options),
        texts_(texts_to_read(claim.state, options.policy.retention)) {}

  /// Fetches and reads the document; repeats both without content coding if that was broken (HTTP §4). Cancellation
  /// unwinds with operation_aborted.
  boost::asio::awaitable<Attempt> attempt(const Claim& claim, RefreshObserver& seen) override;
  boost::asio::awaitable<void> read_all(const Claim& claim, Attempt& attempt) override;
  /// Postpones the feed if memory or another host's slot was not available (SECURITY M3).
  DecisionResult decide(const Claim& claim, Attempt& attempt, const StoredSnapshot& known, Milliseconds now) override;
  bool holds_slots() const override { return !entered_.empty(); }
  boost::asio::awaitable<void> leave_hosts(const Claim& claim, const HostAnswer* answer) override;

 private:
  boost::asio::awaitable<Reading> read_in(const Claim& claim, FetchResult& fetched, std::optional<StoredFeed>& stored,
                                          bool is_followed);
  boost::asio::awaitable<bool> enter_host(const Claim& claim, std::string url);
  boost::asio::awaitable<bool> enter_first(const Claim& claim);
  boost::asio::awaitable<std::string> take_login(FetchRequest& request);
  boost::asio::awaitable<StoreResult<std::optional<Milliseconds>>> take_slot(const Claim& claim,
                                                                             const std::string& url);
  /// The partition that has the gate for requests to `server`.
  unsigned home_of(const std::string& server) const;
  ReadingOptions reading_options(const Claim& claim) const;
  std::string gate_of(const Claim& claim) const;
  std::optional<Reading> read_here(FetchResult& fetched, const Claim& claim, ReadingOptions options,
                                   std::uint64_t expected);
  boost::asio::awaitable<Reading> read_granted(FetchResult& fetched, const Claim& claim, ReadingOptions options);

  Fetcher& fetcher_;
  ReadingThreads& threads_;
  StorePool& store_;
  MemoryBudget::Share memory_;
  const RefreshOptions& options_;
  const TextsToRead texts_;
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

// A page of older posts, fetched instead of the feed's own document (HTTP P16, G1).

/// Fetches a page through the host's gate and within the limits of a document, but without validators. All constructor
/// arguments must outlive this; `options` may change.
class OlderPage final : public DocumentSource {
 public:
  /// Requires is_for_page(`claim`).
  OlderPage(Fetcher& fetcher, ReadingThreads& threads, StorePool& store, MemoryBudget& memory,
            const RefreshOptions& options, const Claim& claim);

  boost::asio::awaitable<Attempt> attempt(const Claim& claim, RefreshObserver& seen) override;
  boost::asio::awaitable<void> read_all(const Claim& claim, Attempt& attempt) override;
  /// Never postpones the feed: its own document must not wait for a page.
  DecisionResult decide(const Claim& claim, Attempt& attempt, const StoredSnapshot& known, Milliseconds now) override;
  bool holds_slots() const override { return document_.holds_slots(); }
  boost::asio::awaitable<void> leave_hosts(const Claim&, const HostAnswer* answer) override {
    return document_.leave_hosts(page_, answer);
  }

 private:
  const RefreshOptions& options_;
  const Claim page_;  // the feed's claim with the page's URL and no validators
  FetchedDocument document_;
};

// Keeps documents that triggered a bug, for debugging (SECURITY Q4, debug.keep_poison).

inline constexpr std::size_t most_kept_of_poison = 64U << 10U;

/// Writes the start of `body`, as received, to <feed id>.poison in `directory`, replacing an earlier file. False if
/// that fails. Blocks.
bool keep_poison(const std::filesystem::path& directory, std::string_view feed_url, std::string_view body);

}  // namespace feedmill
