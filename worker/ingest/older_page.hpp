// A page of older posts, fetched instead of the feed's own document (HTTP P16, G1).
#pragma once

#include "worker/ingest/fetched_document.hpp"

namespace feedmill {

/// Fetched like a document (through the host's gate, within the same limits), but without validators. All constructor
/// arguments must outlive this; `options` may change.
class OlderPage final : public DocumentSource {
 public:
  /// is_for_page(`claim`) holds.
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

}  // namespace feedmill
