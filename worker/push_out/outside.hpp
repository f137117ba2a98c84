// Public endpoints of a store: topics at unguessable URLs, the hub and the live stream (WEBSUB §10, OPERATIONS V1).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/result.hpp>

#include "storage/queues/subscribers.hpp"
#include "worker/http/egress_view.hpp"
#include "worker/listener/by_partition.hpp"
#include "worker/listener/client_share.hpp"
#include "worker/listener/connection.hpp"
#include "worker/listener/listener.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/push_out/live_streams.hpp"
#include "worker/push_out/topic_pages.hpp"
#include "worker/push_out/verification_limit.hpp"
#include "worker/store/store_calls.hpp"

namespace feedmill {

/// The endpoints of one store. Lives on the loop's thread.
class Outside {
 public:
  struct Options {
    std::string public_url;   ///< base of topic URLs, without a trailing slash; "": only /events is served
    std::string of_listener;  ///< base URL of the listener, which all stores share
    std::string token;        ///< grants events of all feeds; "": disabled
    SubscriberBounds bounds;
  };

  /// `fetch`: how callbacks are reached. The objects passed by reference must outlive this.
  Outside(const boost::asio::any_io_executor& executor, const StoreOptions& store, Options options, FetchOptions fetch,
          LiveStreams& streams, TopicCache& documents, VerificationLimit& sites, Metrics& metrics);

  /// Answers "/events" after the head was read: takes over the connection, or returns an error. `client`: see
  /// LiveQuery.
  boost::asio::awaitable<HttpReply> follow(Visit& visit, std::string_view query,
                                           const std::optional<boost::asio::ip::address>& client);
  /// Answers any other request. `path`: decoded, without the path of public_url.
  boost::asio::awaitable<HttpReply> answer(Visit& visit, std::string_view path, std::string_view query);
  /// Sets the options for later requests.
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

// push_out.listen: accepts requests from the public (WEBSUB §10, OPERATIONS V1).

/// Lives on the loop's thread.
class OutsideListener {
 public:
  struct Options {
    boost::asio::ip::tcp::endpoint listen;
    std::string base;  ///< path of push_out.public_url, which a proxy may strip
    Listener::Places places{.connections = 512, .per_network = 64};  ///< limits of requests being answered
    double per_second = 200, burst = 1'000;                          ///< limit of requests except for the live stream;
                                                                     ///< above it 503
    double streams_burst = 10'000;                        ///< limit of live streams: all clients may reconnect at once
    double network_per_second = 50, network_burst = 300;  ///< limit per client network, including streams
    TrustedProxies proxies{};
    RequestLimits limits{};
  };

  /// `outside`: at least one endpoint; all must outlive the listener. `bug`: called with the text of an exception.
  static boost::system::result<std::unique_ptr<OutsideListener>, ListenError> open(
      const boost::asio::any_io_executor& executor, Options options, ByPartition<Outside> outside,
      std::function<void(const char* what)> bug);

  /// Runs until cancelled, or until close() and the end of running requests.
  boost::asio::awaitable<void> serve();
  /// Stops accepting connections; clients can use another worker.
  void close() { listener_->close(); }
  boost::asio::ip::tcp::endpoint endpoint() const { return listener_->endpoint(); }

 private:
  OutsideListener(std::unique_ptr<Listener> listener, Options options, ByPartition<Outside> outside,
                  std::function<void(const char* what)> bug);

  boost::asio::awaitable<HttpReply> answer(Visit& visit);

  const Options options_;
  const ByPartition<Outside> outside_;
  const std::function<void(const char* what)> bug_;
  std::unique_ptr<Listener> listener_;
  TokenBucket requests_, streams_;
  NetworkBuckets networks_;
};

}  // namespace feedmill
