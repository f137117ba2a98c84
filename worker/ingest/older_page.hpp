// A page of older posts, in place of the feed's own document (HTTP P16, G1).
#pragma once

#include "worker/ingest/fetched_document.hpp"

namespace feedmill {

/// Asked for like a document: past the host's gate, within the same limits, but without validators. What it is given
/// must outlive it; `options` may change meanwhile.
class OlderPage final : public DocumentSource {
 public:
  /// `claim` is_for_page().
  OlderPage(Fetcher& fetcher, ReadingThreads& threads, StorePool& store, MemoryBudget& memory,
            const RefreshOptions& options, const Claim& claim);

  boost::asio::awaitable<Attempt> attempt(const Claim& claim, RefreshObserver& seen) override;
  boost::asio::awaitable<void> read_all(const Claim& claim, Attempt& attempt) override;
  /// Never puts the feed off: its own document must not wait for a page.
  DecisionResult decide(const Claim& claim, Attempt& attempt, const StoredSnapshot& known, Milliseconds now) override;
  bool holds_slots() const override { return document_.holds_slots(); }
  boost::asio::awaitable<void> leave_hosts(const Claim&, const HostAnswer* answer) override {
    return document_.leave_hosts(page_, answer);
  }

 private:
  const RefreshOptions& options_;
  const Claim page_;  // the feed's, as if it were asked for there and nothing were known of that
  FetchedDocument document_;
};

}  // namespace feedmill
