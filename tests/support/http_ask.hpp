// A plain HTTP client that sends what it is told, legal or not: publishers, hubs and attackers of tests speak with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace feedmill::test {

/// What came back. `status` 0: no answer within the patience, or nothing that is one.
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

/// The bytes as they stand, and that no more follow; then all that comes until the other side closes or the patience
/// ends. `from`: the address of ours that asks, "" = any.
std::string say_and_hear_out(std::uint16_t port, std::string_view bytes, const std::string& from = "",
                             std::chrono::milliseconds patience = std::chrono::seconds(20));

/// Everything but letters, digits and "-._~" as %XX.
std::string percent_encoded(std::string_view text);

/// "a=1&b=%26": names and values decoded once, in their order.
std::vector<std::pair<std::string, std::string>> form_fields(std::string_view text);

}  // namespace feedmill::test
