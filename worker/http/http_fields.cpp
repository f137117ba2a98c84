#include "worker/http/http_fields.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr std::int64_t most_seconds = (std::int64_t{1} << 31) - 1;
constexpr seconds longest_wait = std::chrono::days(7);

std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') return text.substr(1, text.size() - 2);
  return text;
}

/// Digits only; what is too large is 2³¹−1.
std::optional<seconds> delta_seconds(std::string_view text) {
  if (text.empty() || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value > most_seconds) value = most_seconds;
  return seconds(value);
}

/// Splits at `separator` outside of quotes; calls `each` with the pieces, trimmed.
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

/// Cuts a date's text into words at spaces, commas and dashes (dashes only between the parts of an RFC 850 day).
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
  unsigned value = 0;
  for (const char c : text) value = value * 10 + static_cast<unsigned>(c - '0');
  return value;
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

std::string media_type(std::string_view content_type) {
  const std::string_view type = trim_field(content_type.substr(0, content_type.find_first_of(";,")));
  const std::size_t slash = type.find('/');
  if (slash == type.npos || slash == 0 || slash + 1 == type.size()) return {};
  if (std::ranges::any_of(type, [](char c) { return c <= ' ' || c >= 0x7f || c == '"'; })) return {};
  return lower(type);
}

}  // namespace feedmill
