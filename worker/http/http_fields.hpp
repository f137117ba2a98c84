// Reading header fields: dates, freshness, validators, media types. Pure; strangers write these, so whatever they say
// there is an answer.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace feedmill {

using Header = std::pair<std::string, std::string>;  ///< name in lower case, value without surrounding white space

/// Without white space and line ends around it; a stray CR counts as white space (RFC 9112 §2.2).
std::string_view trim_field(std::string_view text);

/// First value of that name (lower case), "" when absent.
std::string_view field(std::span<const Header> headers, std::string_view name);

/// All values of that name joined by ", ": RFC 9110 §5.3.
std::string joined_field(std::span<const Header> headers, std::string_view name);

/// RFC 9110 §5.6.7: IMF-fixdate, RFC 850 or asctime form. A two-digit year more than 50 years ahead of `now` means the
/// past one.
std::optional<std::chrono::sys_seconds> parse_http_date(std::string_view text, std::chrono::sys_seconds now);

struct RetryAfter {
  std::chrono::seconds wait{};
  bool clamped = false;  ///< the server asked for more than 7 days

  bool operator==(const RetryAfter&) const = default;
};

/// Seconds or a date, at most 7 days; a date that has passed is 0. Nothing when absent or neither. (HTTP P9)
std::optional<RetryAfter> retry_after(std::span<const Header> headers, std::chrono::sys_seconds now);

/// A quota of requests that a server speaks of: `RateLimit` and `RateLimit-Policy`, `RateLimit-*`, `X-RateLimit-*`
/// (HTTP H10).
struct StatedQuota {
  std::optional<double> remaining;                 ///< requests that are left, in [0, 10⁹]
  std::optional<std::chrono::milliseconds> reset;  ///< until there are more of them, at most 7 days
  std::optional<std::chrono::milliseconds> pace;   ///< its window over its requests, at most 7 days

  bool operator==(const StatedQuota&) const = default;
};

/// At most 16; what cannot be read says nothing, nor does what counts something else than requests.
std::vector<StatedQuota> stated_quotas(std::span<const Header> headers, std::chrono::sys_seconds now);

/// For how long the server says that what it sent stays current. HTTP F1–F4; not clamped (that is HTTP P8's business).
struct Freshness {
  std::chrono::seconds fresh{};  ///< in [0, 2³¹)
  std::string_view code;         ///< "max_age" or "expires", "" when nothing was stated (no-cache is nothing: HTTP P7)
  std::string from;              ///< what it was read from, at most 120 bytes

  bool operator==(const Freshness&) const = default;
};

/// `now`: when the answer came.
Freshness freshness(std::span<const Header> headers, std::chrono::sys_seconds now);

/// The field value if it may be kept and sent back, else "": over 1 KiB, or with bytes below 0x20 or 0x7F. (HTTP P1)
std::string_view usable_validator(std::string_view value);

}  // namespace feedmill
