// Request heads, for all listeners: checks before use (RFC 9112 §2, §3, §6; SECURITY W1), paths and parameters, access.
// Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/ip/address.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/status.hpp>

namespace feedmill {

/// Limits of a request head.
struct HeadLimits {
  std::size_t bytes = 16U << 10U;  ///< start line, fields and the empty line
  std::size_t line = 8U << 10U;    ///< the start line alone
  std::size_t fields = 100;
};

/// Finds the end of an arriving head and rejects line ends other than CR LF, folded lines and control characters. Looks
/// at each byte once.
class HeadScan {
 public:
  explicit HeadScan(const HeadLimits& limits) : limits_(limits) {}

  /// `bytes`: everything received so far. Empty: more is needed; ok: the head is complete, see size(); any other status
  /// rejects the request.
  std::optional<boost::beast::http::status> look(std::string_view bytes);
  /// Size of the complete head.
  std::size_t size() const { return at_; }

 private:
  HeadLimits limits_;
  std::size_t at_ = 0, line_ = 0;  // next byte to check; start of its line
  std::size_t lines_ = 0;          // complete lines
};

/// The status that rejects a request: no Host or two, a repeated single-value field (Authorization, Content-Type,
/// Idempotency-Key, Last-Event-ID, Origin), even with equal values, or an unclear end of the body. Empty if valid:
/// Content-Length once as a number, or Transfer-Encoding once as "chunked" in HTTP/1.1, or neither.
std::optional<boost::beast::http::status> objection_to(const boost::beast::http::request_header<>& head);

// Path and parameters of a request target (SECURITY O5).

enum class Plus { itself, space };  ///< meaning of "+": a space in forms and queries

/// Percent-decodes once (SECURITY O5); empty if an escape is malformed.
std::optional<std::string> percent_decoded(std::string_view text, Plus plus = Plus::itself);

/// Percent-encodes for a query: everything but letters, digits and - . _ ~.
std::string percent_encoded(std::string_view text);

/// A parameter of a form or query; its parts are decoded with "+" as a space, empty if an escape is malformed.
struct FormPair {
  std::optional<std::string> name, value;
};
/// Removes and returns the first parameter of `form`. "a&b=c" has both a and b.
FormPair take_pair(std::string_view& form);

/// The first value of a parameter, decoded once, with "+" as a space; empty if missing or malformed. "a&b=c" has both a
/// and b.
std::optional<std::string> parameter(std::string_view query, std::string_view name);

// Access checks of requests (SECURITY T33, K6).

/// Whether an Authorization header has the token: "Bearer TOKEN", or "Basic …" with the token as password, as browsers
/// can send it. Compares in constant time.
bool shows_token(std::string_view authorization, std::string_view token);

/// Whether a Host field is an IP address, "localhost" or one of `names`, with or without a port. A page that uses DNS
/// rebinding has another name there.
bool is_called_by(std::string_view host, const std::vector<std::string>& names);

/// Whether a browser marks the request as sent by a page of another origin.
bool is_of_another_site(const boost::beast::http::request_header<>& head);

/// Whether the client is on this machine and not behind a proxy: a loopback address and no Forwarded, X-Forwarded-*,
/// X-Real-IP or Via field. With a local proxy that adds no such field, every client looks local.
bool is_near(const boost::asio::ip::address& client, const boost::beast::http::request_header<>& head);

}  // namespace feedmill
