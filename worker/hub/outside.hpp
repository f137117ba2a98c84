// Public endpoints of a store at unguessable URLs (WEBSUB §10, OPERATIONS V1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "storage/push_out/subscribers.hpp"
#include "worker/http/egress_view.hpp"
#include "worker/hub/topic_pages.hpp"
#include "worker/listener/connection.hpp"
#include "worker/listener/way_to_store.hpp"
#include "worker/live/live_streams.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/push_out/store_calls.hpp"
#include "worker/push_out/verification_limit.hpp"

namespace feedmill {

/// Lives on the loop's thread.
class Outside {
 public:
  struct Options {
    std::string public_url;   ///< base of topic URLs, without a trailing slash; "" = only /events is served
    std::string of_listener;  ///< base URL of the listener, shared by all its stores
    std::string token;        ///< grants events of all feeds; "" = disabled
    SubscriberBounds bounds;
  };

  /// `fetch`: how callbacks will be reached. References outlive this.
  Outside(const boost::asio::any_io_executor& executor, const StoreOptions& store, Options options, FetchOptions fetch,
          LiveStreams& streams, TopicCache& documents, VerificationLimit& sites, Metrics& metrics);

  /// Answers "/events" after its head was read: takes the connection over, or returns an error. `client`: as in
  /// LiveQuery.
  boost::asio::awaitable<HttpReply> follow(Visit& visit, std::string_view query,
                                           const std::optional<boost::asio::ip::address>& client);
  /// Answers any other request. `path`: decoded, without the path of public_url.
  boost::asio::awaitable<HttpReply> answer(Visit& visit, std::string_view path, std::string_view query);
  /// Applies to later requests.
  void set_fetch_options(FetchOptions fetch) { egress_ = EgressViewer(std::move(fetch)); }

 private:
  boost::asio::awaitable<HttpReply> ask_hub(Visit& visit);
  std::string objection_to_callback(const std::string& callback) const;
  std::string site_of(const std::string& callback) const;
  boost::asio::awaitable<std::optional<HttpReply>> objection_to_site(std::string site);

  const Options options_;
  LiveStreams& streams_;
  VerificationLimit& sites_;
  Metrics& metrics_;
  EgressViewer egress_;
  StoreCalls store_;
  TopicPages pages_;
  WayToStore way_;
};

}  // namespace feedmill
