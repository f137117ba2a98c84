// Serves topic documents: pages, conditional requests (WEBSUB U1, RFC 5005 §3, RFC 9110 §13).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "storage/records/stored_entry.hpp"
#include "storage/records/topic.hpp"
#include "worker/base/coroutines.hpp"
#include "worker/hub/topic_cache.hpp"
#include "worker/hub/topic_target.hpp"
#include "worker/listener/connection.hpp"
#include "worker/push_out/store_calls.hpp"
#include "worker/republish/topic_document.hpp"

namespace feedmill {

/// Whether an If-None-Match field names this tag (RFC 9110 §13.1.2).
bool names_etag(std::string_view if_none_match, std::string_view etag);

/// Lives on the loop's thread.
class TopicPages {
 public:
  /// `public_url`: base of the URLs, without a trailing slash. `cache` outlives this.
  TopicPages(const boost::asio::any_io_executor& executor, const StoreOptions& store, std::string public_url,
             TopicCache& cache)
      : store_(store), public_url_(std::move(public_url)), cache_(cache), making_(executor) {}

  /// Response to a GET or HEAD; 404 if the topic does not exist or is private; 503 without memory for another document.
  boost::asio::awaitable<HttpReply> answer(const Visit& visit, const TopicTarget& target);

  /// The topic of a token, unless it is private.
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
  OneAtATime making_;  // a document: concurrent requests for one find it in the cache
};

}  // namespace feedmill
