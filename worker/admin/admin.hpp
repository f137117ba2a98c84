// The admin listener: probes, metrics, pages and pings, for people and machines of the house (OPERATIONS §6,
// RELIABILITY §9).
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
#include "worker/observe/check.hpp"

namespace feedmill {

/// What became of a ping.
struct Pinged {
  std::size_t feeds = 0;    ///< of its URLs: known feeds, which are to be fetched soon
  std::size_t unknown = 0;  ///< no feed has this URL
  bool store_away = false;  ///< nothing could be noted
};

/// What the listener asks when it is asked. Called on its executor; must not block.
struct Health {
  std::function<std::vector<Check>()> live;   ///< loops and pools tick; never Redis, DNS or origins (RELIABILITY H1)
  std::function<std::vector<Check>()> ready;  ///< store usable, not draining … (RELIABILITY H2)
  std::function<std::string()> metrics;       ///< Prometheus text
  /// Somebody says that the feeds at these URLs have changed. What is no URL is counted nowhere.
  std::function<boost::asio::awaitable<Pinged>(std::vector<std::string> urls)> ping{};
  std::function<void(const char* what)> bug{};  ///< answering one request threw
};

/// A page: what it answers with. HTML gets the headers of SECURITY O4.
struct AdminPage {
  unsigned status = 200;
  std::string type, body;
  std::string location{};  ///< with the status 302: where it stands in truth, relative to what was asked for
};

/// What is answered besides; "/" leads to "/status" when that is among them. The paths stand as they are matched,
/// decoded once (SECURITY O5).
struct AdminPages {
  std::vector<std::string> paths;
  /// Called for one of the paths with the query as it was sent; ends soon whatever it waits for, and does not throw.
  std::function<boost::asio::awaitable<AdminPage>(std::string path, std::string query)> answer;
  /// Answers whatever is asked under /api/, for tokens of its own; may be empty.
  std::function<boost::asio::awaitable<HttpReply>(Visit&)> programs{};
};

class Admin {
 public:
  struct Options {
    boost::asio::ip::tcp::endpoint listen;
    Listener::Places places{};
    RequestLimits limits{};
    std::string token{};  ///< needed for all but probes and pings from near (SECURITY T33); "" = none
    /// What it is called by in requests that need no token, besides addresses and "localhost": names without a port.
    std::vector<std::string> hosts{};
  };
  using Response = HttpReply;

  /// Binds and listens; connections are answered once serve() runs. All on `executor`, which has one thread.
  static boost::system::result<std::unique_ptr<Admin>, ListenError> open(const boost::asio::any_io_executor& executor,
                                                                         const Options& options, Health health,
                                                                         AdminPages pages = {});
  Admin(const Admin&) = delete;
  Admin& operator=(const Admin&) = delete;

  /// Where it listens: the port that was found when 0 was asked for.
  boost::asio::ip::tcp::endpoint endpoint() const { return listener_->endpoint(); }

  /// Answers until cancelled; when it returns no connection is left.
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
  bool started_ = false;  ///< was ready once (RELIABILITY H3)
};

}  // namespace feedmill
