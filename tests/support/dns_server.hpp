// A small real DNS server on loopback (UDP), scripted per name, for tests of resolving.
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

struct DnsAnswer {
  std::vector<std::string> addresses{};  ///< of both families; each question gets its own
  std::uint32_t ttl = 300;
  std::string cname{};     ///< the addresses are this name's
  std::uint8_t rcode = 0;  ///< 2 SERVFAIL, 3 NXDOMAIN
  bool silent = false;     ///< never answer
  std::string raw{};       ///< sent instead of all that, after the question's id
};

/// Serves from its own thread until destroyed. All members may be called from any thread.
class DnsServer {
 public:
  using Handler = std::function<DnsAnswer(const std::string& name)>;

  /// On a free port of loopback unless told otherwise.
  explicit DnsServer(const std::string& address = "127.0.0.1", std::uint16_t port = 0);
  ~DnsServer();
  DnsServer(const DnsServer&) = delete;
  DnsServer& operator=(const DnsServer&) = delete;

  /// "127.0.0.1:PORT"
  std::string address() const;

  /// Names without an answer of their own do not exist.
  void serve(const std::string& name, DnsAnswer answer);
  void serve(const std::string& name, Handler handler);
  void serve_rest(Handler handler);

  /// Questions so far (a name that is looked up has two: A and AAAA), and from which ports.
  std::size_t count(const std::string& name) const;
  std::set<std::uint16_t> source_ports() const;

 private:
  boost::asio::awaitable<void> receive();
  std::string respond(const std::string& query);

  mutable std::mutex mutex_;  ///< over the next four
  std::map<std::string, Handler> handlers_;
  Handler rest_;
  std::map<std::string, std::size_t> counts_;
  std::set<std::uint16_t> ports_;

  boost::asio::io_context context_{1};
  boost::asio::ip::udp::socket socket_;
  std::thread thread_;
};

}  // namespace feedmill::test
