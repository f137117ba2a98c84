// Parses header fields: dates, freshness, validators, media types. Pure; accepts any input, because it is untrusted.
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

/// Strips surrounding white space and line ends; a stray CR counts as white space (RFC 9112 §2.2).
std::string_view trim_field(std::string_view text);

/// First value of the field `name` (lower case), "" if absent.
std::string_view field(std::span<const Header> headers, std::string_view name);

/// All values of the field `name` joined by ", ": RFC 9110 §5.3.
std::string joined_field(std::span<const Header> headers, std::string_view name);

/// Parses IMF-fixdate, RFC 850 and asctime dates (RFC 9110 §5.6.7). A two-digit year more than 50 years after `now` is
/// in the past century.
std::optional<std::chrono::sys_seconds> parse_http_date(std::string_view text, std::chrono::sys_seconds now);

/// The pause requested by a server.
struct RetryAfter {
  std::chrono::seconds wait{};
  bool clamped = false;  ///< the server requested more than 7 days

  bool operator==(const RetryAfter&) const = default;
};

/// Parses seconds or a date, at most 7 days; a past date is 0. Empty if the field is absent or neither (HTTP P9).
std::optional<RetryAfter> retry_after(std::span<const Header> headers, std::chrono::sys_seconds now);

/// A request quota stated by a server: `RateLimit` and `RateLimit-Policy`, `RateLimit-*`, `X-RateLimit-*` (HTTP H10).
struct StatedQuota {
  std::optional<double> remaining;                 ///< requests left, in [0, 10⁹]
  std::optional<std::chrono::milliseconds> reset;  ///< time until it is replenished, at most 7 days
  std::optional<std::chrono::milliseconds> pace;   ///< window divided by requests, at most 7 days

  bool operator==(const StatedQuota&) const = default;
};

/// At most 16 quotas; ignores unreadable ones and those that do not count requests.
std::vector<StatedQuota> stated_quotas(std::span<const Header> headers, std::chrono::sys_seconds now);

/// Freshness lifetime stated by the server (HTTP P7); not clamped (HTTP P8 does that).
struct Freshness {
  std::chrono::seconds fresh{};  ///< in [0, 2³¹)
  std::string_view code;         ///< "max_age" or "expires"; "": not stated (no-cache counts as not stated: HTTP P7)
  std::string from;              ///< the field it was read from, at most 120 bytes

  bool operator==(const Freshness&) const = default;
};

/// `now`: when the response arrived.
Freshness freshness(std::span<const Header> headers, std::chrono::sys_seconds now);

/// The field value if it may be stored and sent back; "" if it is over 1 KiB or has bytes below 0x20 or 0x7F (HTTP P1).
std::string_view usable_validator(std::string_view value);

}  // namespace feedmill
