// The admin listener: probes, metrics, status pages and pings for operators and their tools (OPERATIONS §6, RELIABILITY
// H1).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
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

/// The result of a ping.
struct Pinged {
  std::size_t feeds = 0;    ///< registered feeds among the URLs; they will be fetched soon
  std::size_t unknown = 0;  ///< URLs that are not registered feeds
  bool store_away = false;  ///< the store, or one of the partitions, did not answer
};

/// Callbacks of the listener; called on its executor, must not block.
struct Health {
  std::function<std::vector<Check>()> live;   ///< checks that loops and pools tick, and nothing else (RELIABILITY H1)
  std::function<std::vector<Check>()> ready;  ///< whether the store is usable, not draining … (RELIABILITY H2)
  std::function<std::string()> metrics;       ///< Prometheus text
  /// Handles a ping for these feeds; invalid URLs are ignored.
  std::function<boost::asio::awaitable<Pinged>(std::vector<std::string> urls)> ping{};
  std::function<void(const char* what)> bug{};  ///< called with the text of an exception in answering a request
};

/// A page or a redirect. HTML gets the headers of SECURITY O4.
struct AdminPage {
  unsigned status = 200;
  std::string type, body;
  std::string location{};          ///< with status 302: the target, relative to the requested path
  std::chrono::seconds refresh{};  ///< after which browsers request it again; 0: not
};

/// Additional pages; "/" redirects to "/status" if that page exists. Paths are decoded once and matched exactly
/// (SECURITY O5).
struct AdminPages {
  std::vector<std::string> paths;
  /// Called with one of the paths and the raw query. Must finish in bounded time and must not throw.
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
    /// Host names accepted without a token, in addition to IP addresses and localhost; without ports.
    std::vector<std::string> hosts{};
  };
  using Response = HttpReply;

  /// Binds and listens; serve() answers connections. Everything runs on `executor`, which must have one thread.
  static boost::system::result<std::unique_ptr<Admin>, ListenError> open(const boost::asio::any_io_executor& executor,
                                                                         const Options& options, Health health,
                                                                         AdminPages pages = {});
  Admin(const Admin&) = delete;
  Admin& operator=(const Admin&) = delete;

  /// The bound endpoint, with the actual port if port 0 was requested.
  boost::asio::ip::tcp::endpoint endpoint() const { return listener_->endpoint(); }

  /// Serves until cancelled; closes all connections before it returns.
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
  bool started_ = false;  ///< the worker has been ready once (RELIABILITY H2)
};

}  // namespace feedmill
