// Taking the content coding off a body, within bounds: what is sent small may be meant to grow without end
// (SECURITY T8). Pure; for the CPU threads.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include "worker/base/report.hpp"

namespace feedmill {

struct DecodeLimits {
  std::size_t max_bytes = 16u << 20;        ///< decoded; over it is limit.body
  std::size_t max_ratio = 200;              ///< decoded : wire; over it is limit.ratio, but
  std::size_t ratio_free_bytes = 1u << 20;  ///< up to here any ratio goes
  /// Decoded, for now; over it is worker.memory, and may be tried again with more (SECURITY M2).
  std::size_t granted_bytes = std::numeric_limits<std::size_t>::max();
  /// What ends early, or grows over `max_bytes`, is decoded as far as it goes instead of refused (HTTP §4).
  bool as_far_as_it_goes = false;
};

struct DecodeError {
  Reason reason{};  ///< limit.body, limit.ratio, limit.coding, http.truncated (broken or cut off), worker.memory
  std::string detail;
};

/// `content_encoding` is the field's value, several lines joined: "", identity, gzip (x-gzip), br or zstd; several
/// members or frames on end count as one. Where it is not what `body` starts like, the bytes decide: one gzip or zstd
/// coding that nobody named, or none of those that were (HTTP §4). `fault`, if any, is then told what the server said
/// wrong. Never holds more than the limits allow and one buffer. Takes `body` only when it succeeds.
boost::system::result<std::string, DecodeError> decode_content(std::string&& body, std::string_view content_encoding,
                                                               const DecodeLimits& limits,
                                                               std::string* fault = nullptr);

/// Whether decode_content() knows that coding.
bool can_decode(std::string_view content_encoding);

/// How large `body` says that it is when decoded, as far as that can be believed; 0 when it does not say.
std::size_t stated_size(std::string_view body, std::string_view content_encoding);

/// Starts like gzip or zstd: when it was decoded once, compression within compression (HTTP §4).
bool looks_compressed(std::string_view body);

}  // namespace feedmill
