#include "worker/http/http_fields.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr std::int64_t most_seconds = (std::int64_t{1} << 31) - 1;
constexpr seconds longest_wait = std::chrono::days(7);

std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') return text.substr(1, text.size() - 2);
  return text;
}

/// Accepts only digits; larger values become 2³¹−1.
std::optional<seconds> delta_seconds(std::string_view text) {
  if (text.empty() || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  return seconds(std::min(leading_number(text, most_seconds), most_seconds));
}

/// Splits at `separator` outside quotes; calls `each` with each trimmed piece.
template <class Each>
void split(std::string_view text, char separator, Each each) {
  bool in_quotes = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && in_quotes) {
      ++i;
    } else if (text[i] == '"') {
      in_quotes = !in_quotes;
    } else if (text[i] == separator && !in_quotes) {
      each(trim_field(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  each(trim_field(text.substr(begin)));
}

/// Splits a date into words at spaces, commas and dashes (dashes only between the parts of an RFC 850 day).
struct Words {
  std::array<std::string_view, 8> word;
  std::size_t count = 0;
};

Words words_of(std::string_view text) {
  Words words;
  std::size_t i = 0;
  while (i < text.size()) {
    const std::size_t begin = text.find_first_not_of(" \t,-", i);
    if (begin == text.npos) break;
    const std::size_t end = std::min(text.find_first_of(" \t,-", begin), text.size());
    if (words.count == words.word.size()) return Words{};
    words.word[words.count++] = text.substr(begin, end - begin);
    i = end;
  }
  return words;
}

std::optional<unsigned> number(std::string_view text, std::size_t fewest, std::size_t most) {
  if (text.size() < fewest || text.size() > most || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  return leading_number<unsigned>(text);
}

std::optional<unsigned> month(std::string_view text) {
  constexpr std::array names{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
  const auto found = std::ranges::find(names, lower(text));
  if (found == names.end()) return std::nullopt;
  return static_cast<unsigned>(found - names.begin()) + 1;
}

std::optional<seconds> time_of_day(std::string_view text) {
  if (text.size() != 8 || text[2] != ':' || text[5] != ':') return std::nullopt;
  const auto hour = number(text.substr(0, 2), 2, 2), minute = number(text.substr(3, 2), 2, 2),
             second = number(text.substr(6, 2), 2, 2);
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return std::chrono::hours(*hour) + std::chrono::minutes(*minute) + seconds(*second);
}

/// Digits, optionally with a decimal fraction: RFC 9651 §3.3.2.
std::optional<double> decimal(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point);
  const std::string_view parts = text.substr(std::min(point + 1, text.size()));
  if (whole.empty() || whole.size() > 15 || parts.size() > 9 || (point != text.size() && parts.empty())) return {};
  if (!std::ranges::all_of(whole, is_digit) || !std::ranges::all_of(parts, is_digit)) return std::nullopt;
  double value = 0, unit = 1;
  for (const char c : whole) value = value * 10 + (c - '0');
  for (const char c : parts) value += (unit /= 10) * (c - '0');
  return value;
}

std::optional<double> requests(std::string_view text) {
  constexpr double most = 1e9;
  const auto count = decimal(text);
  return count ? std::optional(std::min(*count, most)) : std::nullopt;
}

std::optional<milliseconds> span_of(double in_seconds) {
  const auto longest = std::chrono::duration<double>(longest_wait).count();
  if (in_seconds < 0 || in_seconds > longest) return std::nullopt;
  return milliseconds(static_cast<std::int64_t>(in_seconds * 1000));
}

/// Seconds, or a Unix time in seconds or milliseconds; empty if long past or far ahead.
std::optional<milliseconds> reset_in(std::string_view text, sys_seconds now) {
  constexpr double least_unix_time = 1e9, least_in_milliseconds = 1e12;
  const auto number = decimal(text);
  if (!number || *number < least_unix_time) return number ? span_of(*number) : std::nullopt;
  const double at = *number >= least_in_milliseconds ? *number / 1000 : *number;
  const double ahead = at - static_cast<double>(now.time_since_epoch().count());
  return ahead < 0 && ahead > -60 ? milliseconds(0) : span_of(ahead);
}

std::optional<milliseconds> pace_of(std::optional<double> quota, std::optional<double> window) {
  if (!quota || !window || *quota < 1) return std::nullopt;
  return span_of(*window / *quota);
}

constexpr std::size_t most_quotas = 16, longest_quota_field = 2048;

/// A list item with its parameters, such as `"default";q=10;w=60`.
struct QuotaItem {
  std::string_view value;
  std::optional<double> q, w, r, t;
  bool of_requests = true;
};

QuotaItem quota_item(std::string_view text) {
  QuotaItem item;
  bool first = true;
  split(text, ';', [&](std::string_view piece) {
    if (std::exchange(first, false)) {
      item.value = piece;
      return;
    }
    const std::size_t equals = std::min(piece.find('='), piece.size());
    const std::string_view name = trim_field(piece.substr(0, equals));
    const std::string_view value = trim_field(piece.substr(std::min(equals + 1, piece.size())));
    if (name == "q") item.q = requests(value);
    if (name == "w") item.w = decimal(value);
    if (name == "r") item.r = requests(value);
    if (name == "t") item.t = decimal(value);
    if (name == "qu") item.of_requests = unquoted(value) == "requests";
  });
  return item;
}

template <class Each>
void each_quota_item(std::span<const Header> headers, std::string_view name, Each each) {
  const std::string value = joined_field(headers, name);
  if (value.empty() || value.size() > longest_quota_field) return;
  std::size_t count = 0;
  split(value, ',', [&](std::string_view text) {
    if (count++ < most_quotas) each(quota_item(text));
  });
}

bool is_day_name(std::string_view text) {
  constexpr std::array names{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"};
  const std::string name = lower(text);
  return std::ranges::any_of(names, [&](std::string_view full) { return name == full || name == full.substr(0, 3); });
}

}  // namespace

std::string_view trim_field(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const std::size_t first = text.find_first_not_of(space);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

std::string_view field(std::span<const Header> headers, std::string_view name) {
  const auto found = std::ranges::find(headers, name, &Header::first);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

std::string joined_field(std::span<const Header> headers, std::string_view name) {
  std::string joined;
  bool first = true;
  for (const auto& [key, value] : headers) {
    if (key != name) continue;
    if (!first) joined += ", ";
    joined += value;
    first = false;
  }
  return joined;
}

std::optional<sys_seconds> parse_http_date(std::string_view text, sys_seconds now) {
  const Words words = words_of(text);
  const auto& word = words.word;
  if (words.count < 5 || !is_day_name(word[0])) return std::nullopt;
  std::optional<unsigned> day, month_number, year_number;
  std::optional<seconds> time;
  if (month(word[1])) {  // Sun Nov  6 08:49:37 1994
    if (words.count != 5) return std::nullopt;
    month_number = month(word[1]);
    day = number(word[2], 1, 2);
    time = time_of_day(word[3]);
    year_number = number(word[4], 4, 4);
  } else {  // Sun, 06 Nov 1994 08:49:37 GMT; Sunday, 06-Nov-94 08:49:37 GMT
    if (words.count != 6 || (lower(word[5]) != "gmt" && lower(word[5]) != "utc")) return std::nullopt;
    day = number(word[1], 1, 2);
    month_number = month(word[2]);
    year_number = number(word[3], word[3].size() == 2 ? 2 : 4, 4);
    time = time_of_day(word[4]);
  }
  if (!day || !month_number || !year_number || !time) return std::nullopt;
  const auto date_of = [&](unsigned year) {
    return std::chrono::year(static_cast<int>(year)) / std::chrono::month(*month_number) / std::chrono::day(*day);
  };
  std::chrono::year_month_day date = date_of(*year_number);
  if (*year_number < 100) {  // RFC 9110 §5.6.7
    const std::chrono::year_month_day today{std::chrono::floor<std::chrono::days>(now)};
    const auto this_year = static_cast<unsigned>(static_cast<int>(today.year()));
    unsigned year = this_year / 100 * 100 + *year_number;
    if (year > this_year + 50) year -= 100;
    date = date_of(year);
  }
  if (!date.ok()) return std::nullopt;
  return sys_seconds(std::chrono::sys_days(date)) + *time;
}

std::optional<RetryAfter> retry_after(std::span<const Header> headers, sys_seconds now) {
  const std::string_view value = trim_field(field(headers, "retry-after"));
  std::optional<seconds> wait = delta_seconds(value);
  if (!wait) {
    const auto date = parse_http_date(value, now);
    if (!date) return std::nullopt;
    wait = std::max(*date - now, seconds(0));
  }
  return RetryAfter{std::min(*wait, longest_wait), *wait > longest_wait};
}

std::vector<StatedQuota> stated_quotas(std::span<const Header> headers, sys_seconds now) {
  std::vector<StatedQuota> quotas;
  const auto may_state = [](const Header& header) {
    return header.first.starts_with("rate") || header.first.starts_with("x-rate");
  };
  if (std::ranges::none_of(headers, may_state)) return quotas;  // the common case
  const auto add = [&](const StatedQuota& quota) {
    if (quota != StatedQuota() && quotas.size() < most_quotas) quotas.push_back(quota);
  };
  // draft-ietf-httpapi-ratelimit-headers: `"name";r=0;t=30`; earlier drafts `limit=1, remaining=0, reset=30`.
  StatedQuota dictionary;
  each_quota_item(headers, "ratelimit", [&](const QuotaItem& item) {
    if (item.value.starts_with("remaining=")) dictionary.remaining = requests(item.value.substr(10));
    if (item.value.starts_with("reset=")) dictionary.reset = reset_in(item.value.substr(6), now);
    if (item.of_requests && item.r) add({item.r, item.t ? span_of(*item.t) : std::nullopt, {}});
  });
  add(dictionary);
  // `"name";q=1;w=60`; earlier `1;w=60`, and initially in RateLimit-Limit.
  for (const std::string_view name : {"ratelimit-policy", "ratelimit-limit"}) {
    each_quota_item(headers, name, [&](const QuotaItem& item) {
      if (item.of_requests) add({{}, {}, pace_of(item.q ? item.q : requests(item.value), item.w)});
    });
  }
  constexpr std::pair<std::string_view, std::string_view> pairs[] = {{"ratelimit-remaining", "ratelimit-reset"},
                                                                     {"x-ratelimit-remaining", "x-ratelimit-reset"},
                                                                     {"x-rate-limit-remaining", "x-rate-limit-reset"}};
  for (const auto& [remaining, reset] : pairs)
    add({requests(field(headers, remaining)), reset_in(field(headers, reset), now), {}});
  return quotas;
}

Freshness freshness(std::span<const Header> headers, sys_seconds now) {
  constexpr std::size_t longest_quote = 120;
  std::optional<seconds> max_age;
  bool refused = false;
  split(joined_field(headers, "cache-control"), ',', [&](std::string_view directive) {
    const std::size_t equals = std::min(directive.find('='), directive.size());
    const std::string name = lower(trim_field(directive.substr(0, equals)));
    if (name == "no-cache" || name == "no-store") refused = true;
    if (name != "max-age" || max_age || equals == directive.size()) return;
    max_age = delta_seconds(unquoted(trim_field(directive.substr(equals + 1))));
  });
  if (refused) return Freshness{};

  Freshness result;
  if (max_age) {
    if (max_age->count() == 0) return Freshness{};  // "no statement": HTTP P7
    const std::string_view age_text = field(headers, "age");
    const seconds age = delta_seconds(age_text).value_or(seconds(0));
    result.fresh = std::max(*max_age - age, seconds(0));
    result.code = "max_age";
    result.from = "max-age=" + std::to_string(max_age->count());
    if (age.count() > 0) result.from += ", Age " + std::to_string(age.count());
  } else if (const std::string_view expires = field(headers, "expires"); !expires.empty()) {
    const auto until = parse_http_date(expires, now);
    if (!until) return Freshness{};
    const sys_seconds sent = parse_http_date(field(headers, "date"), now).value_or(now);
    result.fresh = std::clamp(*until - sent, seconds(0), seconds(most_seconds));
    if (result.fresh.count() == 0) return Freshness{};
    result.code = "expires";
    result.from = expires.substr(0, longest_quote);
  }
  return result;
}

std::string_view usable_validator(std::string_view value) {
  constexpr std::size_t longest = 1024;
  const bool clean =
      std::ranges::none_of(value, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  return value.size() <= longest && clean ? value : std::string_view();
}

}  // namespace feedmill
