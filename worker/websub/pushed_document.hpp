// What a hub pushed, in place of an answer of the feed's origin (WEBSUB P4).
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

/// A delivery that was signed well and has been noted: the feed will be fetched should nothing come of it.
struct Pushed {
  std::string hash;  ///< of the subscription's token
  std::string feed_url;
  std::string content_type, content_encoding;
  std::string body;                             ///< as received
  std::unique_ptr<MemoryBudget::Share> memory;  ///< that it is held in
};

/// What it is given must outlive it.
class PushedDocument final : public DocumentSource {
 public:
  PushedDocument(ReadingThreads& threads, const RefreshOptions& options, Pushed& pushed)
      : threads_(threads), options_(options), pushed_(pushed) {}

  boost::asio::awaitable<Attempt> attempt(const Claim& claim, RefreshObserver& seen) override;
  /// Nothing of it is ever passed over.
  boost::asio::awaitable<void> read_all(const Claim&, Attempt&) override { co_return; }
  /// Puts the feed off when the document could not be read whole, or must be seen whole, which what is pushed may not
  /// be: before the feed was ever read, and when its posts are told apart anew (DESIGN §5).
  DecisionResult decide(const Claim& claim, Attempt& attempt, const StoredSnapshot& known, Milliseconds now) override;

  /// Posts that differ without saying that they are newer: the feed must be asked.
  bool leaves_doubt() const { return leaves_doubt_; }

 private:
  ReadingThreads& threads_;
  const RefreshOptions& options_;
  Pushed& pushed_;
  bool other_identity_ = false;  // as it was read
  bool leaves_doubt_ = false;
};

}  // namespace feedmill
