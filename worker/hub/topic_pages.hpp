// Documents of topics as they are asked for: pages, conditional requests (WEBSUB U1, RFC 5005 §3, RFC 9110 §13).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "storage/records/stored_entry.hpp"
#include "storage/records/topic.hpp"
#include "worker/base/one_at_a_time.hpp"
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
  /// `public_url`: what addresses begin with, without a slash at its end. `cache` outlives this.
  TopicPages(const boost::asio::any_io_executor& executor, const StoreOptions& store, std::string public_url,
             TopicCache& cache)
      : store_(store), public_url_(std::move(public_url)), cache_(cache), making_(executor) {}

  /// The answer to a GET or HEAD; 404 where there is no such topic, or it may not be shown to others; 503 without
  /// memory for another document.
  boost::asio::awaitable<HttpReply> answer(const Visit& visit, const TopicTarget& target);

  /// What a token stands for, while that may be shown to others.
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
  OneAtATime making_;  // a document: those who wait for the same one find it in the cache
};

}  // namespace feedmill
