#include "worker/commands_health.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

namespace feedmill {
namespace {

using boost::asio::ip::tcp;

constexpr std::chrono::seconds patience{5};

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
  tcp::iostream stream;
  stream.expires_after(patience);
  stream.connect(endpoint);
  if (!stream) return {0, stream.error().message()};
  stream << "GET " << path << " HTTP/1.0\r\nHost: localhost\r\n\r\n" << std::flush;
  std::string line, body;
  std::getline(stream, line);  // HTTP/1.1 200 OK
  ProbeAnswer answer;
  const std::size_t space = std::min(line.find(' '), line.size());
  std::from_chars(line.data() + std::min(space + 1, line.size()), line.data() + line.size(), answer.status);
  while (std::getline(stream, line) && line != "\r") {
  }
  while (answer.body.size() < 65'536 && std::getline(stream, line)) answer.body += line + '\n';
  if (answer.status == 0) answer.body = stream.error() ? stream.error().message() : "no answer";
  return answer;
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
    row["detail"] = visible(answer.body);
    terminal.line(row);
  } else if (answer.status != 0) {
    for (std::size_t begin = 0; begin < answer.body.size();) {
      const std::size_t end = std::min(answer.body.find('\n', begin), answer.body.size());
      terminal.line(visible(answer.body.substr(begin, end - begin)));
      begin = end + 1;
    }
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
