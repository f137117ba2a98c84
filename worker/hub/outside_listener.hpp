// push_out.listen: requests from the public (WEBSUB §10, OPERATIONS V1).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/result.hpp>

#include "worker/hub/outside.hpp"
#include "worker/listener/by_partition.hpp"
#include "worker/listener/client_share.hpp"
#include "worker/listener/listener.hpp"
#include "worker/listener/token_bucket.hpp"

namespace feedmill {

/// Lives on the loop's thread.
class OutsideListener {
 public:
  struct Options {
    boost::asio::ip::tcp::endpoint listen;
    std::string base;  ///< path of push_out.public_url; a proxy may strip it
    Listener::Places places{.connections = 512, .per_network = 64};  ///< for requests being answered
    double per_second = 200, burst = 1'000;                          ///< requests; above that 503
    double streams_burst = 10'000;                        ///< for the live stream: all clients may reconnect at once
    double network_per_second = 50, network_burst = 300;  ///< per client network, streams included
    TrustedProxies proxies{};
    RequestLimits limits{};
  };

  /// `outside`: the endpoints, at least one; outlive this. `bug`: called with an exception's text.
  static boost::system::result<std::unique_ptr<OutsideListener>, ListenError> open(
      const boost::asio::any_io_executor& executor, Options options, ByPartition<Outside> outside,
      std::function<void(const char* what)> bug);

  /// Until cancelled, or until close() and the end of running requests.
  boost::asio::awaitable<void> serve();
  /// Accepts no further connections: clients can use another worker.
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
