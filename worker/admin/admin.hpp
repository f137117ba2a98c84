// The admin listener: probes, metrics, pages and pings for operators and their tools (OPERATIONS §6, RELIABILITY H1).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/result.hpp>

#include "worker/listener/listener.hpp"
#include "worker/observe/store_health.hpp"

namespace feedmill {

/// Result of a ping.
struct Pinged {
  std::size_t feeds = 0;    ///< known feeds among the URLs; they are fetched soon
  std::size_t unknown = 0;  ///< URLs without a feed
  bool store_away = false;  ///< the store, or a partition, did not answer
};

/// Callbacks of the listener, called on its executor; must not block.
struct Health {
  std::function<std::vector<Check>()> live;   ///< loops and pools tick; never Redis, DNS or origins (RELIABILITY H1)
  std::function<std::vector<Check>()> ready;  ///< store usable, not draining … (RELIABILITY H2)
  std::function<std::string()> metrics;       ///< Prometheus text
  /// Handles a ping for these feeds; invalid URLs are ignored.
  std::function<boost::asio::awaitable<Pinged>(std::vector<std::string> urls)> ping{};
  std::function<void(const char* what)> bug{};  ///< called with an exception's text when answering a request threw
};

/// A page or redirect. HTML gets the headers of SECURITY O4.
struct AdminPage {
  unsigned status = 200;
  std::string type, body;
  std::string location{};  ///< with status 302: target, relative to the requested path
};

/// Additional pages; "/" redirects to "/status" if it is among them. Paths are matched after decoding once (SECURITY
/// O5).
struct AdminPages {
  std::vector<std::string> paths;
  /// Called for one of the paths with the raw query; bounded in time and does not throw.
  std::function<boost::asio::awaitable<AdminPage>(std::string path, std::string query)> answer;
  /// Answers requests under /api/, which have their own tokens; may be empty.
  std::function<boost::asio::awaitable<HttpReply>(Visit&)> programs{};
};

class Admin {
 public:
  struct Options {
    boost::asio::ip::tcp::endpoint listen;
    Listener::Places places{};
    RequestLimits limits{};
    std::string token{};  ///< required except for probes and local pings (SECURITY T33); "" = none
    /// Host names accepted without a token, in addition to IP addresses and localhost; without a port.
    std::vector<std::string> hosts{};
  };
  using Response = HttpReply;

  /// Binds and listens; serve() answers connections. Runs on `executor`, which has one thread.
  static boost::system::result<std::unique_ptr<Admin>, ListenError> open(const boost::asio::any_io_executor& executor,
                                                                         const Options& options, Health health,
                                                                         AdminPages pages = {});
  Admin(const Admin&) = delete;
  Admin& operator=(const Admin&) = delete;

  /// The bound endpoint, with the actual port if 0 was requested.
  boost::asio::ip::tcp::endpoint endpoint() const { return listener_->endpoint(); }

  /// Serves until cancelled; returns after all connections are closed.
  boost::asio::awaitable<void> serve();

 private:
  Admin(std::unique_ptr<Listener> listener, const Options& options, Health health, AdminPages pages)
      : listener_(std::move(listener)), options_(options), health_(std::move(health)), pages_(std::move(pages)) {}

  boost::asio::awaitable<Response> answer(Visit& visit);
  boost::asio::awaitable<Response> show(std::string_view path, std::string_view target);
  Response probe(std::string_view path, bool verbose);
  boost::asio::awaitable<Response> ping(Visit& visit, bool near);

  std::unique_ptr<Listener> listener_;
  Options options_;
  Health health_;
  AdminPages pages_;
  bool started_ = false;  ///< has been ready (RELIABILITY H2)
};

}  // namespace feedmill
