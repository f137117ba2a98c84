// Collects a response's header line by line, skips interim responses (1xx) and trailers, and enforces limits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "worker/http/http_exchange.hpp"
#include "worker/http/http_fields.hpp"

namespace feedmill {

/// Parses the header lines of one exchange.
class AnswerHead {
 public:
  /// `options`: has the limits, must outlive this. `most`: limit in bytes if lower than max_header_bytes.
  explicit AnswerHead(const HttpClientOptions& options, std::uint64_t most = UINT64_MAX)
      : options_(options), most_(std::min(most, options.max_header_bytes)) {}

  /// Takes the next line, including its line end; `status` is that of its response. A refusal ends the exchange:
  /// limit.header, or http.malformed if a line is invalid (RFC 9112 §4, §5.2) or the end of the body is ambiguous
  /// (§6.3), even if libcurl accepts it.
  std::optional<Refusal> take(std::string_view line, int status);

  /// Whether the final response's header is complete; further lines are trailers.
  bool is_whole() const { return whole_; }
  /// Status of the latest response; 0 before any status line.
  int status() const { return status_; }
  /// Bytes received so far, including interim responses and trailers.
  std::uint64_t bytes() const { return bytes_; }
  /// Fields of the latest response.
  std::vector<Header> take_fields() { return std::move(fields_); }

 private:
  bool is_framed_clearly() const;

  const HttpClientOptions& options_;
  const std::uint64_t most_;
  bool begun_ = false;  ///< its status line has arrived
  bool whole_ = false;
  int status_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint32_t lines_ = 0;
  std::vector<Header> fields_;
};

// Detects challenge pages that require a browser before a feed is served (HTTP §4). We never evade them. Pure.

/// Whether the header marks a challenge: `cf-mitigated: challenge` on a 403 or 503.
bool says_challenge(int status, std::span<const Header> headers);

/// Whether `body`, decoded, is an HTML page that matches the built-in table. Checks its first 64 KiB.
bool is_challenge_page(std::string_view body);

}  // namespace feedmill
