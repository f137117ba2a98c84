#include "worker/verbs/admin_client.hpp"

#include <algorithm>
#include <chrono>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "parsers/text/strings.hpp"
#include "worker/base/exits.hpp"
#include "worker/observe/store_failure.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::chrono::seconds answer_timeout{5};
constexpr std::chrono::milliseconds between_looks{100};
constexpr std::size_t most_bytes = 4U << 20;

/// Uses loopback if the listener is bound to all addresses.
tcp::endpoint reachable(const tcp::endpoint& listen) {
  if (!listen.address().is_unspecified()) return listen;
  if (listen.address().is_v4()) return {asio::ip::address_v4::loopback(), listen.port()};
  return {asio::ip::address_v6::loopback(), listen.port()};
}

AdminAnswer answer_in(const std::string& text, const boost::system::error_code& failed) {
  AdminAnswer answer;
  const std::size_t space = std::min(text.find(' '), text.size());  // HTTP/1.1 200 OK
  answer.status = leading_number<int>(std::string_view(text).substr(std::min(space + 1, text.size())));
  const std::size_t body = text.find("\r\n\r\n");
  if (body != std::string::npos) answer.body = text.substr(body + 4);
  if (answer.status == 0) answer.body = failed ? failed.message() : "no answer";
  return answer;
}

}  // namespace

AdminClient AdminClient::open(const Config& config) {
  const ListenAddress& listen = config.admin.listen;
  if (!listen || listen->port() == 0) {
    throw VerbFailure{exits::configuration,
                      fmt::format("admin.listen is {}: there is no listener to query; set an address with a port",
                                  listen ? "port 0" : "off")};
  }
  return AdminClient(reachable(*listen), config.admin.token, config.redis.partition);
}

AdminAnswer AdminClient::get(const std::string& target, const std::function<bool()>& go_on) const {
  std::string request = "GET " + target + " HTTP/1.0\r\nHost: localhost\r\n";  // 1.0: the server closes
  if (!token_.empty()) request += "Authorization: Bearer " + token_ + "\r\n";
  request += "\r\n";
  std::string text;
  boost::system::error_code failed;
  asio::io_context loop(1);
  tcp::socket socket(loop);
  const auto read = [&](const boost::system::error_code& error, std::size_t) {
    if (error != asio::error::eof) failed = error;
  };
  const auto written = [&](const boost::system::error_code& error, std::size_t) {
    failed = error;
    if (!error) asio::async_read(socket, asio::dynamic_buffer(text, most_bytes), read);
  };
  socket.async_connect(endpoint_, [&](const boost::system::error_code& error) {
    failed = error;
    if (!error) asio::async_write(socket, asio::buffer(request), written);
  });
  const auto deadline = std::chrono::steady_clock::now() + answer_timeout;
  while (!loop.stopped()) {
    loop.run_for(between_looks);
    if (loop.stopped()) break;
    if (go_on && !go_on()) return {0, "cancelled"};
    if (std::chrono::steady_clock::now() >= deadline)
      return {0, boost::system::error_code(asio::error::timed_out).message()};
  }
  return answer_in(text, failed);
}

AdminAnswer AdminClient::get_of_store(const std::string& target, const std::function<bool()>& go_on) const {
  constexpr int not_found = 404;
  if (partition_) {
    AdminAnswer answer = get(fmt::format("/p{}{}", *partition_, target), go_on);
    if (answer.status != not_found) return answer;
  }
  return get(target, go_on);
}

std::string AdminClient::address() const {
  const std::string host = endpoint_.address().to_string();
  return fmt::format("{}:{}", endpoint_.address().is_v6() ? "[" + host + "]" : host, endpoint_.port());
}

std::string AdminClient::nobody(const AdminAnswer& answer) const {
  return fmt::format("no answer on {} (admin.listen): {}; is feedmill run running?", address(), answer.body);
}

}  // namespace feedmill
