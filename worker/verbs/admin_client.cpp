#include "worker/verbs/admin_client.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/text/strings.hpp"
#include "storage/records/json_members.hpp"
#include "worker/base/terminal.hpp"
#include "worker/config/config.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/verbs/table.hpp"

namespace feedmill {
namespace {

/// The checks in /readyz?verbose; empty if the response is not a worker's.
boost::json::array checks_of(const std::string& body) {
  boost::system::error_code error;
  const boost::json::value answer = boost::json::parse(body, error);
  const boost::json::object* const object = error ? nullptr : answer.if_object();
  const boost::json::value* const checks = object == nullptr ? nullptr : object->if_contains("checks");
  return checks != nullptr && checks->is_array() ? checks->as_array() : boost::json::array();
}

void tell(const boost::json::value& check, Terminal& terminal) {
  const auto text = [&](const char* field) {
    return std::string(check.is_object() ? string_member(check.get_object(), field) : "");
  };
  const boost::json::value* const ok = check.is_object() ? check.as_object().if_contains("ok") : nullptr;
  const bool passed = ok != nullptr && ok->is_bool() && ok->as_bool();
  const std::string detail = text("detail");
  terminal.line(fmt::format("  {:<14}{}{}{}", visible(text("name")), passed ? "ok" : "failed",
                            detail.empty() ? "" : ": ", visible(detail)));
}

int check_health(const OperationValues& given, const Config& config, Terminal& terminal) {
  const AdminClient client = AdminClient::open(config);
  const std::string path = given.truth("ready") ? "/readyz" : "/livez";
  const AdminAnswer answer = client.get(path + "?verbose");
  const bool healthy = answer.status == 200;
  if (terminal.json()) {
    boost::json::object row = json_row();
    row["probe"] = path.substr(1);
    row["healthy"] = healthy;
    row["status"] = answer.status == 0 ? boost::json::value() : boost::json::value(answer.status);
    row["checks"] = checks_of(answer.body);
    terminal.line(row);
  } else if (answer.status != 0) {
    terminal.line(fmt::format("{} {}", path.substr(1), healthy ? "ok" : fmt::format("failed ({})", answer.status)));
    for (const boost::json::value& check : checks_of(answer.body)) tell(check, terminal);
  }
  if (healthy) return exits::done;
  terminal.flush();
  if (answer.status == 0) throw VerbFailure{exits::no, visible(client.nobody(answer))};
  return exits::no;
}

}  // namespace

VerbRow health_verb() {
  static constexpr std::array taken{fields::flag("--ready", "Also check whether it is ready to work")};
  return {.name = "health",
          .about = "Check whether the running worker on this machine is alive",
          .example = "feedmill health --ready",
          .exits = "1 when it is not, or does not answer",
          .fields = taken,
          .run = check_health};
}

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::chrono::seconds answer_timeout{5};
constexpr std::chrono::milliseconds between_looks{100};
constexpr std::size_t most_bytes = 4U << 20;

/// The address to connect to: loopback if the listener is bound to all addresses.
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
