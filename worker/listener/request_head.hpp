// What the head of a request must look like before anything is made of it, for both listeners (RFC 9112 §2, §3, §6;
// SECURITY W1). Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/status.hpp>

namespace feedmill {

struct HeadLimits {
  std::size_t bytes = 16U << 10U;  ///< start line, fields and the empty line
  std::size_t line = 8U << 10U;    ///< the start line alone
  std::size_t fields = 100;
};

/// Finds the end of a head while it arrives, and what no head may hold: lines that end otherwise than in CR LF, folded
/// lines, control characters. Each byte is looked at once.
class HeadScan {
 public:
  explicit HeadScan(const HeadLimits& limits) : limits_(limits) {}

  /// `bytes`: all that has come, from the first one on. Nothing: more is needed; ok: the head is complete, see size();
  /// any other status is what the request is refused with.
  std::optional<boost::beast::http::status> look(std::string_view bytes);
  /// How long the head is that is complete.
  std::size_t size() const { return at_; }

 private:
  HeadLimits limits_;
  std::size_t at_ = 0, line_ = 0;  // what is looked at next; where its line begins
  std::size_t lines_ = 0;          // that have ended
};

/// The status that refuses a request: it names no host or two, repeats a field that has one value (Authorization,
/// Content-Type, Idempotency-Key, Last-Event-ID, Origin), even with the same value, or does not say where its body
/// ends. Nothing if it is in order: Content-Length once as a number, or Transfer-Encoding once as "chunked" in
/// HTTP/1.1, or neither.
std::optional<boost::beast::http::status> objection_to(const boost::beast::http::request_header<>& head);

}  // namespace feedmill
