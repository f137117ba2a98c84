#include "parsers/text/date.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "parsers/text/date_parts.hpp"
#include "parsers/text/date_words.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill::dates {
namespace {

// Reads the rest after a date and time: half of the day, zone by name or offset, remarks. False at anything else.
bool read_tail(Scanner& in, Parts& parts) {
  while (!in.done()) {
    const char c = in.peek();
    if (is_space(c) || c == ',' || c == ':' || c == ';' || c == '.') {
      in.skip();
    } else if (c == '(' || c == '[') {
      read_remark(in, parts);
    } else if (c == '+' || c == '-') {
      if (!read_offset(in, parts)) in.skip();
    } else if (const std::string_view name = zone_name(in.rest()); set_zone(parts, name, false)) {
      in.skip(name.size());
    } else if (const DateWords words = find_words(in.rest()); read_half_day(in, parts, words)) {
    } else if (is_alpha(c)) {
      if (words.length < name.size()) parts.unknown_zone = true;
      in.skip(std::max(name.size(), words.length));
    } else {
      return false;
    }
  }
  return true;
}

// Reads an ISO 8601 date and moves the cursor past it.
bool read_iso_date(Scanner& in, Parts& parts) {
  Scanner at = in;
  const bool truncated = at.peek() == '-' && is_digit(at.peek(1));  // -YYMM, -YY-MM, -YY
  if (truncated) at.skip();
  const std::string_view first = at.take_digits();
  if (truncated) {
    if (first.size() == 4) {
      parts.year = full_year(first.substr(0, 2));
      parts.month = number(first.substr(2));
    } else if (first.size() == 2) {
      parts.year = full_year(first);
      if (at.take('-')) parts.month = number(at.take_digits());
    } else {
      return false;
    }
  } else if (first.size() == 8 || first.size() == 6) {
    const std::size_t year = first.size() - 4;
    parts.year = year == 4 ? number(first.substr(0, 4)) : full_year(first.substr(0, 2));
    parts.month = number(first.substr(year, 2));
    parts.day = number(first.substr(year + 2, 2));
  } else if (first.size() == 7 || first.size() == 5) {
    const std::size_t year = first.size() - 3;
    parts.year = year == 4 ? number(first.substr(0, 4)) : full_year(first.substr(0, 2));
    parts.ordinal = number(first.substr(year));
  } else if (first.size() == 4 || (first.size() == 2 && at.peek() == '-')) {
    parts.year = first.size() == 4 ? number(first) : full_year(first);
    const char separator = at.peek();
    if (separator != '-' && separator != '/' && separator != '.' && separator != 'w') {
      if (first.size() != 4) return false;
      in = at;
      return true;
    }
    if (separator != 'w') at.skip();
    if (at.take('w')) {
      std::string_view week = at.take_digits();
      if (week.size() < 2 || week.size() > 3) return false;
      parts.week = number(week.substr(0, 2));
      if (week.size() == 3) {
        parts.weekday = week[2] - '0';
      } else if (at.peek() == '-' && is_digit(at.peek(1))) {
        at.skip();
        parts.weekday = number(at.take_digits());
      }
      in = at;
      return true;
    }
    if (is_digit(at.peek())) {
      const std::string_view second = at.take_digits();
      if (second.size() == 3 && at.peek() != separator) {
        parts.ordinal = number(second);
        in = at;
        return true;
      }
      if (second.size() > 3) return false;
      parts.month = number(second);
    } else {
      const DateWords words = find_words(at.rest());            // 2004-júli-13T9:15
      if (words.month == 0 || first.size() == 2) return false;  // "14-Jul-25" begins with the day
      parts.month = words.month;
      at.skip(words.length);
      at.take('.');
    }
    if (at.peek() == separator && is_digit(at.peek(1))) {
      at.skip();
      const std::string_view day = at.take_digits();
      if (day.size() > 2) return false;
      parts.day = number(day);
    } else if (first.size() == 2) {
      return false;
    }
  } else {
    return false;
  }
  if (parts.month == 0 || parts.month > 12 || parts.day == 0 || parts.ordinal == 0) return false;
  in = at;
  return true;
}

std::optional<Time> parse_iso(std::string_view text, bool& unknown_zone) {
  Scanner in(text);
  Parts parts;
  if (!read_iso_date(in, parts)) return std::nullopt;
  if (text[0] == '-' && !in.done()) return std::nullopt;  // a broken year: "-0001-11-30"
  if (in.peek() == 't') in.skip();
  while (is_space(in.peek()) || in.peek() == ',') in.skip();
  if (in.peek() == '-' && is_space(in.peek(1))) in.skip(2);
  in.skip_space();
  if (const DateWords words = find_words(in.rest()); words.filler) in.skip(words.length);  // "at"
  in.skip_space();
  read_half_day(in, parts, find_words(in.rest()));
  in.skip_space();
  if (is_digit(in.peek()) && !read_clock(in, parts)) {
    const std::string_view digits = in.digits();  // hhmmss, hhmm, hh
    if (digits.size() != 2 && digits.size() != 4 && digits.size() != 6) return std::nullopt;
    in.take_digits();
    parts.hour = number(digits.substr(0, 2));
    if (digits.size() > 2) parts.minute = number(digits.substr(2, 2));
    if (digits.size() > 4) parts.second = number(digits.substr(4, 2));
    if (digits.size() == 2 && in.peek() == '.') return std::nullopt;  // "10.20"
    read_fraction(in, parts);
    parts.has_time = true;
  }
  if (parts.has_time) read_half_letter(in, parts);
  if (!parts.has_time && find_words(in.rest()).month != 0) return std::nullopt;  // "2006 January 02"
  if (!read_tail(in, parts)) return std::nullopt;
  unknown_zone = parts.unknown_zone && !parts.has_zone;
  return to_time(parts);
}

std::optional<Time> parse_epoch(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative ? 1 : 0, text.find('.') - (negative ? 1 : 0));
  if (digits.size() < 9 || digits.size() > 16) return std::nullopt;
  std::int64_t value = 0;
  if (!read_number(digits, value)) return std::nullopt;
  if (digits.size() == 14) {  // YYYYMMDDhhmmss
    Parts parts;
    parts.year = number(digits.substr(0, 4));
    parts.month = number(digits.substr(4, 2));
    parts.day = number(digits.substr(6, 2));
    parts.hour = number(digits.substr(8, 2));
    parts.minute = number(digits.substr(10, 2));
    parts.second = number(digits.substr(12, 2));
    return to_time(parts);
  }
  if (negative) value = -value;
  const Time time = digits.size() >= 16   ? Time{std::chrono::microseconds{value}}
                    : digits.size() >= 12 ? Time{std::chrono::milliseconds{value}}
                                          : Time{std::chrono::seconds{value}};
  return in_range(time) ? std::optional<Time>(time) : std::nullopt;
}
}  // namespace
}  // namespace feedmill::dates

namespace feedmill {
namespace {

// The character in the form that the readers expect: Latin, Greek, Cyrillic and Armenian letters in lower case, digits
// and punctuation of other scripts as ASCII.
char32_t plain(char32_t code) {
  constexpr char32_t zeros[] = {0x660, 0x6F0, 0x966, 0x9E6, 0xA66, 0xAE6,  0xB66,  0xBE6,
                                0xC66, 0xCE6, 0xD66, 0xE50, 0xED0, 0x1040, 0x17E0, 0xFF10};
  for (const char32_t zero : zeros) {
    if (code >= zero && code < zero + 10) return U'0' + (code - zero);
  }
  if (code >= 0xFF01 && code <= 0xFF5E) return code - 0xFEE0;  // full width
  if (code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x202F || code == 0x3000)
    return U' ';
  if (code == 0x2BC || code == 0x2018 || code == 0x2019) return U'\'';
  if ((code >= 0x2010 && code <= 0x2015) || code == 0x2212) return U'-';
  if (code == 0x60C || code == 0x3001) return U',';
  if (code == 0x130) return U'i';
  if (code >= 0x100 && code <= 0x17F && code != 0x131 && code != 0x138 && code != 0x149 && code != 0x178 &&
      code != 0x17F) {
    const bool odd = (code >= 0x139 && code <= 0x148) || code >= 0x179;  // capitals have odd numbers here
    return (code & 1U) == (odd ? 1U : 0U) ? code + 1 : code;
  }
  const bool latin_or_greek = (code >= 0xC0 && code <= 0xDE && code != 0xD7) || (code >= 0x391 && code <= 0x3AB);
  if (latin_or_greek || (code >= 0x410 && code <= 0x42F)) return code + 32;
  if (code == 0x386) return 0x3AC;
  if (code >= 0x388 && code <= 0x38A) return code + 37;
  if (code == 0x38C) return 0x3CC;
  if (code == 0x38E || code == 0x38F) return code + 63;
  if (code >= 0x400 && code <= 0x40F) return code + 80;
  if (code >= 0x531 && code <= 0x556) return code + 48;
  return code;
}

// The text in the form that the readers expect, without marks of writing direction.
std::string plain(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = to_lower(c);
  if (std::all_of(out.begin(), out.end(), is_ascii)) return out;  // nearly all texts
  const std::string lowered = std::exchange(out, {});
  text = lowered;
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, bytes] = first_character(text.substr(at));
    if (bytes < 2 || bytes > 3) {  // ASCII, or beyond the scripts handled above
      out += text[at++];
      continue;
    }
    at += bytes;
    const bool direction = (code >= 0x200B && code <= 0x200F) || code == 0x61C || (code >= 0x202A && code <= 0x202E);
    if (!direction) append_utf8(out, plain(code));
  }
  return out;
}

// Reads any moment in the supported years.
std::optional<Time> read_moment(std::string_view text, bool& unknown_zone) {
  text = trim(text);
  if (text.empty() || text.size() > 256) return std::nullopt;
  const std::string as_read = plain(text);
  const std::string_view rest = trim(as_read);
  if (rest.empty()) return std::nullopt;
  if (is_digit(rest[0]) || rest[0] == '-') {
    if (const std::optional<Time> time = dates::parse_epoch(rest)) return time;
    if (const std::optional<Time> time = dates::parse_iso(rest, unknown_zone)) return time;
  }
  unknown_zone = false;
  return dates::read_loose_date(rest, unknown_zone);
}

}  // namespace

std::optional<Time> parse_moment(std::string_view text) {
  bool unknown_zone = false;
  return read_moment(text, unknown_zone);
}

std::optional<Time> parse_date(std::string_view text) {
  const std::optional<Time> time = parse_moment(text);
  const Time epoch{};
  const bool is_placeholder = time && *time >= epoch - std::chrono::hours{14} && *time < epoch + std::chrono::hours{24};
  return is_placeholder ? std::nullopt : time;
}

bool has_unknown_zone(std::string_view date) {
  date = trim(date);
  const std::size_t letters = date.size() - std::min(date.size(), date.find_last_of("0123456789") + 1);
  if (letters == 0 || date.ends_with("GMT") || (letters == 1 && date.back() == 'Z')) return false;  // nearly all dates
  bool unknown = false;
  return read_moment(date, unknown) && unknown;
}

std::int64_t unix_seconds(Time time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

std::string iso8601(Time time) {
  namespace chrono = std::chrono;
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date{day};
  const std::int64_t of_day = (time - day).count();
  std::array<char, 40> buffer{};
  const auto put = [&](std::size_t at, std::int64_t value, std::size_t width) {
    for (std::size_t i = width; i > 0; --i, value /= 10) buffer[at + i - 1] = static_cast<char>('0' + value % 10);
  };
  put(0, static_cast<int>(date.year()), 4);
  put(5, static_cast<unsigned>(date.month()), 2);
  put(8, static_cast<unsigned>(date.day()), 2);
  const std::int64_t seconds = of_day / 1'000'000;
  put(11, seconds / 3600, 2);
  put(14, seconds / 60 % 60, 2);
  put(17, seconds % 60, 2);
  buffer[4] = buffer[7] = '-';
  buffer[10] = 'T';
  buffer[13] = buffer[16] = ':';
  std::string out;
  out.reserve(27);
  out.append(buffer.data(), 19);
  if (const std::int64_t fraction = of_day % 1'000'000; fraction != 0) {
    put(20, fraction, 6);
    buffer[19] = '.';
    out.append(buffer.data() + 19, 7);
    while (out.back() == '0') out.pop_back();
  }
  out += 'Z';
  return out;
}

std::string iso8601(const std::optional<Time>& time) {
  return time ? iso8601(*time) : std::string{};
}

std::optional<double> parse_duration(std::string_view text) {
  text = trim(text);
  if (text.empty() || text.size() > 32) return std::nullopt;
  const auto read_number = [](std::string_view digits) -> std::optional<double> {
    double value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed);
    if (error != std::errc{} || end != digits.data() + digits.size() || value < 0) return std::nullopt;
    return value;
  };
  if (istarts_with(text, "P")) {  // ISO 8601 §4.4.3.2
    double total = 0;
    bool time = false;
    text.remove_prefix(1);
    while (!text.empty()) {
      if (to_lower(text.front()) == 't') {
        time = true;
        text.remove_prefix(1);
        continue;
      }
      const std::size_t length = text.find_first_not_of("0123456789.");
      if (length == 0 || length == std::string_view::npos) return std::nullopt;
      const std::optional<double> value = read_number(text.substr(0, length));
      const char unit = to_lower(text[length]);
      if (!value) return std::nullopt;
      total += *value * (unit == 'd' ? 86400 : unit == 'h' ? 3600 : unit == 'm' ? (time ? 60 : 2592000) : 1);
      text.remove_prefix(length + 1);
    }
    return total;
  }
  double total = 0;
  for (int parts = 0; parts < 4; ++parts) {
    const std::size_t colon = text.find(':');
    const std::optional<double> value = read_number(trim(text.substr(0, colon)));
    if (!value) return std::nullopt;
    total = total * 60 + *value;
    if (colon == std::string_view::npos) return total;
    text.remove_prefix(colon + 1);
  }
  return std::nullopt;
}

}  // namespace feedmill
