#include "worker/commands_health.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

namespace feedmill {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::chrono::seconds patience{5};
constexpr std::size_t most_bytes = 65'536;

/// What the listener answered; status 0 when it did not, `body` says why.
struct ProbeAnswer {
  int status = 0;
  std::string body;
};

/// A listener on all addresses is asked on loopback.
tcp::endpoint reachable(tcp::endpoint listen) {
  if (!listen.address().is_unspecified()) return listen;
  if (listen.address().is_v4()) return {boost::asio::ip::address_v4::loopback(), listen.port()};
  return {boost::asio::ip::address_v6::loopback(), listen.port()};
}

ProbeAnswer ask(const tcp::endpoint& endpoint, const std::string& path) {
  const std::string request = "GET " + path + " HTTP/1.0\r\nHost: localhost\r\n\r\n";  // 1.0: it closes when done
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
  socket.async_connect(endpoint, [&](const boost::system::error_code& error) {
    failed = error;
    if (!error) asio::async_write(socket, asio::buffer(request), written);
  });
  loop.run_for(patience);
  if (!loop.stopped()) failed = asio::error::timed_out;

  ProbeAnswer answer;
  const std::size_t space = std::min(text.find(' '), text.size());  // HTTP/1.1 200 OK
  std::from_chars(text.data() + std::min(space + 1, text.size()), text.data() + text.size(), answer.status);
  const std::size_t body = text.find("\r\n\r\n");
  if (body != std::string::npos) answer.body = text.substr(body + 4);
  if (answer.status == 0) answer.body = failed ? failed.message() : "no answer";
  return answer;
}

/// What /readyz?verbose lists; none of an answer that is not ours.
boost::json::array checks_of(const std::string& body) {
  boost::system::error_code error;
  const boost::json::value answer = boost::json::parse(body, error);
  const boost::json::object* const object = error ? nullptr : answer.if_object();
  const boost::json::value* const checks = object == nullptr ? nullptr : object->if_contains("checks");
  return checks != nullptr && checks->is_array() ? checks->as_array() : boost::json::array();
}

void tell(const boost::json::value& check, Terminal& terminal) {
  const auto text = [&](const char* field) {
    const boost::json::value* const value = check.is_object() ? check.as_object().if_contains(field) : nullptr;
    return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
  };
  const boost::json::value* const ok = check.is_object() ? check.as_object().if_contains("ok") : nullptr;
  const bool passed = ok != nullptr && ok->is_bool() && ok->as_bool();
  const std::string detail = text("detail");
  terminal.line(fmt::format("  {:<14}{}{}{}", visible(text("name")), passed ? "ok" : "failed",
                            detail.empty() ? "" : ": ", visible(detail)));
}

}  // namespace

int carry_out(const HealthVerb& verb, const Config& config, Terminal& terminal) {
  const ListenAddress& listen = config.admin.listen;
  if (!listen || listen->port() == 0) {
    terminal.error(fmt::format("health: admin.listen is {}: there is no listener to ask; set an address with a port",
                               listen ? "port 0" : "off"));
    return exits::configuration;
  }
  const tcp::endpoint endpoint = reachable(*listen);
  const std::string path = verb.ready ? "/readyz" : "/livez";
  const ProbeAnswer answer = ask(endpoint, path + "?verbose");
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
  if (answer.status == 0) {
    terminal.error(fmt::format("health: nobody answers on {}:{} (admin.listen): {}; is feedmill run running?",
                               endpoint.address().to_string(), endpoint.port(), visible(answer.body)));
  }
  return exits::no;
}

}  // namespace feedmill
