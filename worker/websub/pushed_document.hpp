// A document pushed by a hub, instead of a response of the feed's origin (WEBSUB P4).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "storage/records/claim.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/ingest/document_source.hpp"
#include "worker/ingest/reading_threads.hpp"
#include "worker/ingest/refresh_options.hpp"

namespace feedmill {

/// A delivery with a valid signature that has been noted: the feed is fetched if processing it fails.
struct Pushed {
  std::string hash;  ///< of the subscription's token
  std::string feed_url;
  std::string content_type, content_encoding;
  std::string body;                             ///< as received
  std::unique_ptr<MemoryBudget::Share> memory;  ///< the memory that holds it
};

/// All constructor arguments must outlive this.
class PushedDocument final : public DocumentSource {
 public:
  PushedDocument(ReadingThreads& threads, const RefreshOptions& options, Pushed& pushed)
      : threads_(threads), options_(options), pushed_(pushed) {}

  boost::asio::awaitable<Attempt> attempt(const Claim& claim, RefreshObserver& seen) override;
  /// No items are ever skipped.
  boost::asio::awaitable<void> read_all(const Claim&, Attempt&) override { co_return; }
  /// Releases the feed for a fetch if the document could not be read completely, or if a complete one is needed, which
  /// a push may not be: before the feed's first import, and when its posts get a new identity (DESIGN §5).
  DecisionResult decide(const Claim& claim, Attempt& attempt, const StoredSnapshot& known, Milliseconds now) override;

  /// Whether changed posts do not state a later time: the feed must be polled.
  bool leaves_doubt() const { return leaves_doubt_; }

 private:
  ReadingThreads& threads_;
  const RefreshOptions& options_;
  Pushed& pushed_;
  bool other_identity_ = false;  // at the time of reading
  bool leaves_doubt_ = false;
};

}  // namespace feedmill
