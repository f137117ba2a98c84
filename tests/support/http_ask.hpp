// A plain HTTP client that sends any bytes, legal or not: the tests' publishers, hubs and attackers use it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace feedmill::test {

/// The answer received. `status` 0: no valid answer within the patience.
struct HttpAnswer {
  int status = 0;
  std::string head;     ///< up to and including the empty line
  std::string body;     ///< its chunks put together
  bool is_cut = false;  ///< they have no end

  /// First value of that name, any case; "" when absent.
  std::string header(std::string_view name) const;
};

struct HttpAsk {
  std::string method = "GET";
  std::string url;  ///< http://HOST:PORT/target; the host is connected to as it stands: an address or localhost
  std::vector<std::pair<std::string, std::string>> headers{};  ///< Host and Content-Length are added unless given
  std::string body{};
};

/// One request on a connection of its own. Blocks.
HttpAnswer ask(const HttpAsk& request, std::chrono::milliseconds patience = std::chrono::seconds(20));

/// The bytes as they stand to 127.0.0.1, then whatever comes until the other side closes or the patience ends.
HttpAnswer ask_raw(std::uint16_t port, std::string_view bytes,
                   std::chrono::milliseconds patience = std::chrono::seconds(20));

/// Sends the bytes as given and closes our sending side; then reads until the other side closes or the patience ends.
/// `from`: our local address, "" = any.
std::string say_and_hear_out(std::uint16_t port, std::string_view bytes, const std::string& from = "",
                             std::chrono::milliseconds patience = std::chrono::seconds(20));

/// Everything but letters, digits and "-._~" as %XX.
std::string percent_encoded(std::string_view text);

/// "a=1&b=%26": names and values decoded once, in their order.
std::vector<std::pair<std::string, std::string>> form_fields(std::string_view text);

}  // namespace feedmill::test
