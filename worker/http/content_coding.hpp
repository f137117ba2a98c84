// Decodes content codings within limits: a small body may be a decompression bomb (SECURITY T8). Pure; for the CPU
// threads.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include "worker/base/report.hpp"

namespace feedmill {

/// Limits of decode_content().
struct DecodeLimits {
  std::size_t max_bytes = 16u << 20;        ///< decoded; above: limit.body
  std::size_t max_ratio = 200;              ///< decoded : wire; above: limit.ratio, except
  std::size_t ratio_free_bytes = 1u << 20;  ///< up to here, any ratio is allowed
  /// Decoded bytes granted for now; above: worker.memory, may be retried with more (SECURITY M2).
  std::size_t granted_bytes = std::numeric_limits<std::size_t>::max();
  /// Decodes the start of a truncated body, or of one above `max_bytes`, instead of rejecting it (HTTP §4).
  bool as_far_as_it_goes = false;
};

/// Why a body cannot be decoded.
struct DecodeError {
  Reason reason{};  ///< limit.body, limit.ratio, limit.coding, http.truncated (broken or cut off), worker.memory
  std::string detail;
};

/// `content_encoding`: value of the field, several lines joined: "", identity, gzip (x-gzip), br or zstd; consecutive
/// members or frames are one body. If `body` does not match it, the bytes decide: one undeclared gzip or zstd coding,
/// or none despite a declared one (HTTP §4); `*fault`, if given, then describes the server's mistake. Memory: the
/// limits plus one buffer. Consumes `body` only on success.
boost::system::result<std::string, DecodeError> decode_content(std::string&& body, std::string_view content_encoding,
                                                               const DecodeLimits& limits,
                                                               std::string* fault = nullptr);

/// Whether decode_content() supports `content_encoding`.
bool can_decode(std::string_view content_encoding);

/// The decoded size that `body` itself states, if plausible; otherwise 0.
std::size_t stated_size(std::string_view body, std::string_view content_encoding);

/// Whether `body` starts like gzip or zstd; after decoding this means nested compression (HTTP §4).
bool looks_compressed(std::string_view body);

}  // namespace feedmill
