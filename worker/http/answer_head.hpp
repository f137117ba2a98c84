// The header of an answer as its lines come: interim answers (1xx) and trailers are left out, and limits are kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "worker/http/http_exchange.hpp"

namespace feedmill {

class AnswerHead {
 public:
  /// `options` hold the limits, and outlive it. `most`: bytes, in place of max_header_bytes if that is more.
  explicit AnswerHead(const HttpClientOptions& options, std::uint64_t most = UINT64_MAX)
      : options_(options), most_(std::min(most, options.max_header_bytes)) {}

  /// The next line, its end included; `status` is that of the answer it belongs to. A refusal ends the exchange:
  /// limit.header, or http.malformed where a line is not what it must be (RFC 9112 §4, §5.2) or the body's end is not
  /// clear (§6.3), whatever libcurl takes.
  std::optional<Refusal> take(std::string_view line, int status);

  /// The final answer's header has ended; what follows are trailers.
  bool is_whole() const { return whole_; }
  /// Of the answer that began last; 0 before any status line.
  int status() const { return status_; }
  /// Received so far, interim answers and trailers included.
  std::uint64_t bytes() const { return bytes_; }
  /// Of the answer that began last.
  std::vector<Header> take_fields() { return std::move(fields_); }

 private:
  bool is_framed_clearly() const;

  const HttpClientOptions& options_;
  const std::uint64_t most_;
  bool begun_ = false;  ///< its status line has come
  bool whole_ = false;
  int status_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint32_t lines_ = 0;
  std::vector<Header> fields_;
};

}  // namespace feedmill
