// Reads pushed documents and commits them like fetched ones, without contacting the origin (WEBSUB P4).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "storage/records/commit.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"
#include "worker/base/log.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/base/report.hpp"
#include "worker/ingest/document_source.hpp"
#include "worker/ingest/reading_threads.hpp"
#include "worker/ingest/refresh.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/websub/push_store.hpp"

namespace feedmill {

// A document pushed by a hub, read in place of a response from the feed's origin (WEBSUB P4).

/// A delivery with a valid signature that the store has recorded, so that the feed is fetched if processing fails.
struct Pushed {
  std::string hash;  ///< hash of the subscription's token
  std::string feed_url;
  std::string content_type, content_encoding;
  std::string body;                             ///< as received
  std::unique_ptr<MemoryBudget::Share> memory;  ///< share of the memory budget that covers `body`
};

/// Source of one pushed document. All constructor arguments must outlive it.
class PushedDocument final : public DocumentSource {
 public:
  PushedDocument(ReadingThreads& threads, const RefreshOptions& options, Pushed& pushed)
      : threads_(threads), options_(options), pushed_(pushed) {}

  boost::asio::awaitable<Attempt> attempt(const Claim& claim, RefreshObserver& seen) override;
  /// A no-op: a push is always parsed completely.
  boost::asio::awaitable<void> read_all(const Claim&, Attempt&) override { co_return; }
  /// Returns Deferral, so that the feed is fetched, if the document was not read completely, or if a complete feed is
  /// needed but a push may be partial: before the feed's first import, and when its posts get a new identity (DESIGN
  /// §5).
  DecisionResult decide(const Claim& claim, Attempt& attempt, const StoredSnapshot& known, Milliseconds now) override;

  /// Whether changed posts lack a later modification time, so that the feed must be polled.
  bool leaves_doubt() const { return leaves_doubt_; }

 private:
  ReadingThreads& threads_;
  const RefreshOptions& options_;
  Pushed& pushed_;
  bool other_identity_ = false;  // its posts are identified differently than before
  bool leaves_doubt_ = false;
};

/// Queue of pushed documents, processed by lanes. Lives on one loop. All constructor arguments must outlive run().
class PushIntake {
 public:
  struct Options {
    std::string worker;                                 ///< 32 hex digits: prefix of its claim ids
    std::size_t lanes = 8;                              ///< pushes processed concurrently
    std::size_t per_feed = 8;                           ///< pushes held for one feed
    std::size_t most = 1000;                            ///< pushes held in total
    std::function<void(const Report&)> tell = nullptr;  ///< called on the loop for each push that was read and compared
  };

  PushIntake(const boost::asio::any_io_executor& executor, Refresher& refresher, ReadingThreads& threads,
             PushStore& pushes, Metrics& metrics, Log& log, Options options);

  /// False if the queue is full: the push then only causes a fetch.
  bool has_room(const std::string& feed_url) const;
  void take(Pushed pushed);

  /// Processes pushes until finish(), then the rest of the queue.
  boost::asio::awaitable<void> run();
  void finish();
  std::size_t held() const { return queue_.size() + busy_.size(); }

 private:
  boost::asio::awaitable<void> lane();
  std::deque<Pushed>::iterator next();
  boost::asio::awaitable<void> handle(Pushed& pushed);
  boost::asio::awaitable<void> write(const Claim& claim, Pushed& pushed);
  boost::asio::awaitable<void> give_back(const Claim& claim);
  boost::asio::awaitable<void> fetch_instead(const std::string& hash);

  Refresher& refresher_;
  ReadingThreads& threads_;
  PushStore& pushes_;
  Metrics& metrics_;
  Log& log_;
  Options options_;
  std::deque<Pushed> queue_;
  std::map<std::string, std::size_t> held_;  // pushes by feed, including those being processed
  std::set<std::string> busy_;               // feeds with a push being written, one at a time
  boost::asio::steady_timer changed_;        // cancelled when lanes have something to do
  bool finishing_ = false;
  std::uint64_t claims_ = 0;
};

}  // namespace feedmill
