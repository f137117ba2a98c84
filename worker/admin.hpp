// The admin listener: probes and metrics, for people and machines of the house (OPERATIONS §6, RELIABILITY §9).
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
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/system/result.hpp>

namespace feedmill {

/// One thing a probe depends on. `detail` is for people, shown with ?verbose.
struct Check {
  std::string name;
  bool passed = false;
  std::string detail;
};

/// What the listener asks when it is asked. Called on its executor; must not block.
struct Health {
  std::function<std::vector<Check>()> live;   ///< loops and pools tick; never Redis, DNS or origins (RELIABILITY H1)
  std::function<std::vector<Check>()> ready;  ///< store usable, not draining … (RELIABILITY H2)
  std::function<std::string()> metrics;       ///< Prometheus text
};

/// Why the listener could not be opened; the caller exits 78.
struct AdminError {
  std::string detail;  ///< names the address and the flag
};

[[noreturn]] void throw_exception_from_error(const AdminError& error, const boost::source_location&);

class Admin {
 public:
  struct Options {
    boost::asio::ip::tcp::endpoint listen;
    std::size_t connections = 32;               ///< at once; more wait in the kernel's queue
    std::chrono::milliseconds timeout{10'000};  ///< for a request to arrive whole, for an answer to be taken
  };
  using Response = boost::beast::http::response<boost::beast::http::string_body>;

  /// Binds and listens; connections are answered once serve() runs. All on `executor`, which has one thread.
  static boost::system::result<std::unique_ptr<Admin>, AdminError> open(const boost::asio::any_io_executor& executor,
                                                                        const Options& options, Health health);
  Admin(const Admin&) = delete;
  Admin& operator=(const Admin&) = delete;

  /// Where it listens: the port that was found when 0 was asked for.
  boost::asio::ip::tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

  /// Answers until cancelled; when it returns no connection is left.
  boost::asio::awaitable<void> serve();

  /// The answer to one request. Pure but for what Health says.
  Response answer(boost::beast::http::verb method, std::string_view target);

 private:
  Admin(boost::asio::ip::tcp::acceptor acceptor, const Options& options, Health health)
      : acceptor_(std::move(acceptor)), options_(options), health_(std::move(health)) {}

  boost::asio::awaitable<void> lane();
  boost::asio::awaitable<void> converse(boost::asio::ip::tcp::socket socket);

  boost::asio::ip::tcp::acceptor acceptor_;
  Options options_;
  Health health_;
  bool started_ = false;  ///< was ready once (RELIABILITY H3)
};

}  // namespace feedmill
