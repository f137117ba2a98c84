// A plain HTTP client that sends any bytes, valid or not; for the tests' publishers, hubs and attackers.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace feedmill::test {

/// The response. `status` 0: no valid response within the time limit.
struct HttpAnswer {
  int status = 0;
  std::string head;     ///< up to and including the empty line
  std::string body;     ///< dechunked
  bool is_cut = false;  ///< chunked, and the last chunk is missing

  /// First value of the header `name`, in any case; "" if absent.
  std::string header(std::string_view name) const;
};

/// A request to send.
struct HttpAsk {
  std::string method = "GET";
  std::string url;  ///< http://HOST:PORT/target; HOST is an IP address or localhost
  std::vector<std::pair<std::string, std::string>> headers{};  ///< Host and Content-Length are added unless given here
  std::string body{};
};

/// Sends one request on a new connection and waits for the response, at most for `patience`.
HttpAnswer ask(const HttpAsk& request, std::chrono::milliseconds patience = std::chrono::seconds(20));

/// Sends bytes unchanged to 127.0.0.1; reads the response until it is complete, the server closes or `patience` ends.
HttpAnswer ask_raw(std::uint16_t port, std::string_view bytes,
                   std::chrono::milliseconds patience = std::chrono::seconds(20));

/// Sends bytes unchanged and closes our sending side; then reads until the server closes or `patience` ends. `from`:
/// our local address, "" = any.
std::string say_and_hear_out(std::uint16_t port, std::string_view bytes, const std::string& from = "",
                             std::chrono::milliseconds patience = std::chrono::seconds(20));

/// Percent-encodes everything except letters, digits and "-._~".
std::string percent_encoded(std::string_view text);

/// Names and values of a form such as "a=1&b=%26", in order, decoded once.
std::vector<std::pair<std::string, std::string>> form_fields(std::string_view text);

}  // namespace feedmill::test
