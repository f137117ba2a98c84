// push_out.listen: what strangers may ask, each behind an address that nobody can guess (WEBSUB §10, OPERATIONS V1).
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/result.hpp>

#include "storage/push_out/subscribers.hpp"
#include "worker/base/log.hpp"
#include "worker/http/egress_view.hpp"
#include "worker/hub/topic_pages.hpp"
#include "worker/listener/listener.hpp"
#include "worker/live/live_streams.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/push_out/store_thread.hpp"

namespace feedmill {

/// Lives on the loop's thread.
class OutsideListener {
 public:
  struct Options {
    boost::asio::ip::tcp::endpoint listen;
    std::string public_url;  ///< what addresses begin with, no slash at its end
    std::string token;       ///< who shows it may follow events of all feeds; "" = nobody may
    Listener::Places places{.connections = 512, .per_network = 64};  ///< of requests that are being answered
    double per_second = 200, burst = 1'000;                          ///< requests; above that 503
    double streams_burst = 10'000;  ///< of those for the live stream: all may come again at once
    SubscriberBounds bounds;
  };
  /// All outlive it.
  struct Parts {
    LiveStreams& streams;
    Metrics& metrics;
    Log& log;
  };

  /// `fetch`: how callbacks will be reached.
  static boost::system::result<std::unique_ptr<OutsideListener>, ListenError> open(
      const boost::asio::any_io_executor& executor, const StoreOptions& store, Options options, FetchOptions fetch,
      const Parts& parts);

  /// Until cancelled.
  boost::asio::awaitable<void> serve();
  boost::asio::ip::tcp::endpoint endpoint() const { return listener_->endpoint(); }
  /// For requests from now on.
  void set_fetch_options(FetchOptions fetch) { egress_ = EgressViewer(std::move(fetch)); }

 private:
  OutsideListener(std::unique_ptr<Listener> listener, const StoreOptions& store, Options options, FetchOptions fetch,
                  const Parts& parts);

  boost::asio::awaitable<HttpReply> answer(Visit& visit);
  boost::asio::awaitable<HttpReply> ask_hub(Visit& visit);
  boost::asio::awaitable<HttpReply> follow(Visit& visit, std::string_view query);
  std::string objection_to_callback(const std::string& callback) const;
  std::string site_of(const std::string& callback) const;
  const Options options_;
  const std::string base_;  // the path of public_url, which a proxy before us may have taken off or not
  Parts parts_;
  EgressViewer egress_;
  StoreThread store_;
  TopicPages pages_;
  std::unique_ptr<Listener> listener_;
  /// A token bucket: a flood is not the loop's only work.
  class Bucket {
   public:
    Bucket(double per_second, double burst) : per_second_(per_second), burst_(burst), tokens_(burst) {}
    bool take();

   private:
    const double per_second_, burst_;
    double tokens_;
    std::chrono::steady_clock::time_point counted_ = std::chrono::steady_clock::now();
  };
  Bucket requests_, streams_;
};

}  // namespace feedmill
