// A small real DNS server on loopback (UDP), scripted per name, for tests of name resolution.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>

namespace feedmill::test {

/// The answer for one name.
struct DnsAnswer {
  std::vector<std::string> addresses{};  ///< of both families; a query gets those of its type
  std::uint32_t ttl = 300;
  std::string cname{};     ///< the name that has the addresses
  std::uint8_t rcode = 0;  ///< response code: 2 SERVFAIL, 3 NXDOMAIN
  bool silent = false;     ///< never answer
  std::string raw{};       ///< sent after the query's id instead of all other fields
};

/// Serves from its own thread until destroyed. All members may be called from any thread.
class DnsServer {
 public:
  using Handler = std::function<DnsAnswer(const std::string& name)>;

  /// Listens on `address`; port 0 takes a free one.
  explicit DnsServer(const std::string& address = "127.0.0.1", std::uint16_t port = 0);
  ~DnsServer();
  DnsServer(const DnsServer&) = delete;
  DnsServer& operator=(const DnsServer&) = delete;

  /// "127.0.0.1:PORT"
  std::string address() const;

  /// Sets the answer for a name. All other names get that of serve_rest(), or do not exist.
  void serve(const std::string& name, DnsAnswer answer);
  void serve(const std::string& name, Handler handler);
  void serve_rest(Handler handler);

  /// Queries so far for a name (a lookup sends two: A and AAAA), and the ports that queries came from.
  std::size_t count(const std::string& name) const;
  std::set<std::uint16_t> source_ports() const;

 private:
  boost::asio::awaitable<void> receive();
  std::string respond(const std::string& query);

  mutable std::mutex mutex_;  ///< protects the next four
  std::map<std::string, Handler> handlers_;
  Handler rest_;
  std::map<std::string, std::size_t> counts_;
  std::set<std::uint16_t> ports_;

  boost::asio::io_context context_{1};
  boost::asio::ip::udp::socket socket_;
  std::thread thread_;
};

}  // namespace feedmill::test
