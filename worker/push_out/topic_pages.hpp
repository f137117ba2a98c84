// Serves topic documents, with pages and conditional requests (WEBSUB U1, RFC 5005 §3, RFC 9110 §13).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "storage/records/stored_entry.hpp"
#include "storage/records/topic.hpp"
#include "worker/base/coroutines.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/listener/connection.hpp"
#include "worker/push_out/outside_requests.hpp"
#include "worker/republish/topic_document.hpp"
#include "worker/store/store_calls.hpp"

namespace feedmill {

// A cache of recently requested topic documents, for all stores of a process (WEBSUB U1, SECURITY M5).

/// A topic document as sent.
struct KeptDocument {
  std::shared_ptr<const std::string> body;  ///< counted in the memory budget while it is referenced
  std::string content_type, etag;
  std::optional<std::chrono::sys_seconds> last_modified;
};

/// Keeps each document for 1 s, up to 16 MiB in total, so that a burst of requests reads the store only once. Lives on
/// the loop's thread.
class TopicCache {
 public:
  TopicCache(const boost::asio::any_io_executor& executor, MemoryBudget& budget);
  TopicCache(const TopicCache&) = delete;
  TopicCache& operator=(const TopicCache&) = delete;

  /// The cached document for a URL, or null.
  std::shared_ptr<const KeptDocument> find(const std::string& address) const;
  /// Caches a document for its URL; replaces an earlier one.
  void keep(const std::string& address, std::shared_ptr<const KeptDocument> document);
  /// Makes room for a document by dropping cached ones. False if too many bytes are being sent.
  bool make_room(std::size_t bytes);
  /// The memory of cached and outgoing bodies, at most 32 MiB.
  OutgoingMemory& memory() { return memory_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Kept {
    std::string address;
    std::size_t bytes;
    Clock::time_point until;
    std::shared_ptr<const KeptDocument> document;
  };
  using Place = std::list<Kept>::iterator;

  void drop(Place place);
  void drop_old();

  OutgoingMemory memory_;
  std::list<Kept> kept_;                              // oldest first
  std::map<std::string, Place, std::less<>> places_;  // by URL
  std::size_t bytes_ = 0;                             // total size of the cached documents
  boost::asio::steady_timer oldest_;                  // fires when the oldest document expires
};

/// Whether an If-None-Match field contains this tag (RFC 9110 §13.1.2).
bool names_etag(std::string_view if_none_match, std::string_view etag);

/// Answers requests for topic documents of one store. Lives on the loop's thread.
class TopicPages {
 public:
  /// `public_url`: base of the URLs, without a trailing slash. `cache` must outlive this.
  TopicPages(const boost::asio::any_io_executor& executor, const StoreOptions& store, std::string public_url,
             TopicCache& cache)
      : store_(store), public_url_(std::move(public_url)), cache_(cache), making_(executor) {}

  /// Answers a GET or HEAD: 404 if the topic does not exist or is private; 503 if the store is unavailable or there is
  /// no memory for another document.
  boost::asio::awaitable<HttpReply> answer(const Visit& visit, const TopicTarget& target);

  /// The topic with this token, unless it is private.
  boost::asio::awaitable<StoreResult<std::optional<Topic>>> topic_of(std::string token);

 private:
  enum class Is { there, not_there, store_away, no_memory };
  struct Found {
    Is is{};
    std::shared_ptr<const KeptDocument> document{};
  };
  boost::asio::awaitable<Is> resolve(TopicTarget& target);
  boost::asio::awaitable<Found> document_of(TopicTarget target);
  std::string address(const TopicTarget& target, const std::optional<EntryCursor>& before) const;

  StoreCalls store_;
  const std::string public_url_;
  TopicCache& cache_;
  OneAtATime making_;  // one document at a time, so that concurrent requests for it find it in the cache
};

}  // namespace feedmill
