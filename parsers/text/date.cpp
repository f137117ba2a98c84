#include "parsers/text/date.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "parsers/text/date_words.hpp"
#include "parsers/text/numbers.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

using std::chrono::days;
using std::chrono::microseconds;
using std::chrono::minutes;

// What has been read so far; -1: not there.
struct Parts {
  int year = -1, month = -1, day = -1;
  int ordinal = -1;            // day of the year
  int week = -1, weekday = 1;  // ISO week date
  int hour = 0, minute = 0, second = 0;
  std::int64_t fraction = 0;  // microseconds
  int afternoon = -1;         // 0: am, 1: pm
  int zone = 0;               // minutes east of UTC
  bool has_time = false, has_zone = false;
};

// What four digits of a year can say.
bool in_range(Time time) {
  const std::chrono::year year = std::chrono::year_month_day{std::chrono::floor<days>(time)}.year();
  return year >= std::chrono::year{1} && year <= std::chrono::year{9999};
}

std::optional<Time> to_time(Parts parts) {
  namespace chrono = std::chrono;
  if (parts.year < 1 || parts.year > 9999) return std::nullopt;
  if (parts.afternoon >= 0) {
    if (parts.hour > 12 && parts.afternoon == 0) return std::nullopt;
    if (parts.hour <= 12) parts.hour = parts.hour % 12 + (parts.afternoon == 1 ? 12 : 0);
  }
  const bool midnight = parts.hour == 24 && parts.minute == 0 && parts.second == 0;  // the end of the day
  if ((parts.hour > 23 && !midnight) || parts.minute > 59 || parts.second > 61) return std::nullopt;
  chrono::sys_days date;
  if (parts.week > 0) {
    if (parts.week > 53 || parts.weekday < 1 || parts.weekday > 7) return std::nullopt;
    const chrono::sys_days fourth{chrono::year{parts.year} / 1 / 4};  // always in week 1
    const int since_monday = static_cast<int>(chrono::weekday{fourth}.iso_encoding()) - 1;
    date = fourth - days{since_monday} + days{7 * (parts.week - 1) + parts.weekday - 1};
  } else if (parts.ordinal > 0) {
    if (parts.ordinal > (chrono::year{parts.year}.is_leap() ? 366 : 365)) return std::nullopt;
    date = chrono::sys_days{chrono::year{parts.year} / 1 / 1} + days{parts.ordinal - 1};
  } else {
    const chrono::year_month_day day{chrono::year{parts.year},
                                     chrono::month{static_cast<unsigned>(parts.month < 0 ? 1 : parts.month)},
                                     chrono::day{static_cast<unsigned>(parts.day < 0 ? 1 : parts.day)}};
    if (!day.ok()) return std::nullopt;
    date = day;
  }
  const Time time = chrono::time_point_cast<microseconds>(date) + chrono::hours{parts.hour} +
                    minutes{parts.minute - parts.zone} + chrono::seconds{parts.second} + microseconds{parts.fraction};
  return in_range(time) ? std::optional<Time>(time) : std::nullopt;
}

// A cursor over the text; every reader either takes what it understands or leaves the cursor where it was.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  char peek(std::size_t ahead = 0) const { return ahead < rest_.size() ? rest_[ahead] : '\0'; }
  std::string_view rest() const { return rest_; }
  void skip(std::size_t count = 1) { rest_.remove_prefix(std::min(count, rest_.size())); }
  void skip_space() {
    while (is_space(peek())) skip();
  }
  bool take(char c) {
    if (peek() != c) return false;
    skip();
    return true;
  }
  std::string_view digits() const {
    std::size_t end = 0;
    while (end < rest_.size() && is_digit(rest_[end])) ++end;
    return rest_.substr(0, end);
  }
  std::string_view take_digits() {
    const std::string_view found = digits();
    skip(found.size());
    return found;
  }
  // Letters of any script.
  std::string_view take_letters() {
    std::size_t end = 0;
    while (end < rest_.size() && (is_alpha(rest_[end]) || !is_ascii(rest_[end]))) ++end;
    const std::string_view found = rest_.substr(0, end);
    skip(end);
    return found;
  }

 private:
  std::string_view rest_;
};

int number(std::string_view digits) {
  return leading_number<int>(digits.substr(0, 9));
}

// RFC 2822 §4.3, with the turn that feeds need: they began in the nineties.
int full_year(std::string_view digits) {
  const int year = number(digits);
  if (digits.size() > 2) return year;
  return year < 90 ? 2000 + year : 1900 + year;
}

bool read_fraction(Scanner& in, Parts& parts) {
  if ((in.peek() != '.' && in.peek() != ',') || !is_digit(in.peek(1))) return false;
  in.skip();
  std::int64_t scale = 100'000;
  for (const char c : in.take_digits()) {
    parts.fraction += (c - '0') * scale;
    scale /= 10;
  }
  return true;
}

// h:m[:s[.f]], also 19h48 and 19.48 when `loose`.
bool read_clock(Scanner& in, Parts& parts) {
  Scanner at = in;
  const std::string_view hour = at.take_digits();
  if (hour.empty() || hour.size() > 2 || !at.take(':')) return false;
  const std::string_view minute = at.take_digits();
  if (minute.empty() || minute.size() > 2) return false;
  parts.hour = number(hour);
  parts.minute = number(minute);
  if (at.peek() == ':' && is_digit(at.peek(1)) && at.digits().size() <= 2) {
    at.skip();
    const std::string_view second = at.take_digits();
    if (second.size() > 2) return false;
    parts.second = number(second);
  }
  read_fraction(at, parts);
  parts.has_time = true;
  in = at;
  return true;
}

// +hh, +hhmm, +hh:mm, +hh:mm:ss
bool read_offset(Scanner& in, Parts& parts) {
  Scanner at = in;
  const bool west = at.peek() == '-';
  if (!at.take('+') && !at.take('-')) return false;
  while (at.take('-')) {
  }
  const std::string_view digits = at.take_digits();
  if (digits.empty() || digits.size() > 4) return false;
  int total = 0;
  if (digits.size() <= 2) {
    total = number(digits) * 60;
    if (at.peek() == ':' && is_digit(at.peek(1))) {
      at.skip();
      total += number(at.take_digits().substr(0, 2));
      if (at.peek() == ':' && is_digit(at.peek(1))) {
        at.skip();
        at.take_digits();
      }
    }
  } else {
    total = number(digits.substr(0, digits.size() - 2)) * 60 + number(digits.substr(digits.size() - 2));
  }
  parts.zone = west ? -total : total;
  parts.has_zone = true;
  in = at;
  return true;
}

bool read_half_day(Scanner& in, Parts& parts) {
  const std::string_view rest = in.rest();
  constexpr std::string_view words[] = {"a.m.", "p.m.", "오전", "오후", "am", "pm"};
  for (std::size_t i = 0; i < std::size(words); ++i) {
    const std::size_t length = words[i].size();
    if (!istarts_with(rest, words[i]) || (length < rest.size() && is_alpha(rest[length]))) continue;
    parts.afternoon = static_cast<int>(i % 2);
    if (words[i] == "오전" || words[i] == "오후") parts.zone = 540;  // only Korean publishers write it
    in.skip(length);
    return true;
  }
  return false;
}

// What follows a date and time: half of the day, zone by name or offset, remarks in parentheses. False for other words.
bool read_tail(Scanner& in, Parts& parts) {
  while (!in.done()) {
    const char c = in.peek();
    if (is_space(c) || c == ',' || c == ':' || c == ';' || c == '.') {
      in.skip();
    } else if (c == '(') {
      const std::size_t close = in.rest().find(')');
      in.skip(close == std::string_view::npos ? in.rest().size() : close + 1);
    } else if (read_half_day(in, parts)) {
    } else if (c == '+' || c == '-') {
      if (!read_offset(in, parts)) in.skip();
    } else if (is_alpha(c)) {
      Scanner at = in;
      std::size_t length = 0;
      while (is_alpha(at.peek(length)) || at.peek(length) == '/' || at.peek(length) == '_') ++length;
      const std::string_view word = at.rest().substr(0, length);
      const std::optional<int> zone = zone_of(word);
      if (zone && !parts.has_zone) {
        parts.zone = *zone;
        parts.has_zone = true;
      }
      in.skip(length);
    } else {
      return false;
    }
  }
  return true;
}

// The date of an ISO 8601 form; the cursor is left behind it.
bool read_iso_date(Scanner& in, Parts& parts) {
  Scanner at = in;
  const bool truncated = at.peek() == '-' && is_digit(at.peek(1));  // -YYMM, -YY-MM, -YY
  if (truncated) at.skip();
  const std::string_view first = at.take_digits();
  const auto century = [](std::string_view digits) { return 2000 + number(digits); };
  if (truncated) {
    if (first.size() == 4) {
      parts.year = century(first.substr(0, 2));
      parts.month = number(first.substr(2));
    } else if (first.size() == 2) {
      parts.year = century(first);
      if (at.take('-')) parts.month = number(at.take_digits());
    } else {
      return false;
    }
  } else if (first.size() == 8 || first.size() == 6) {
    const std::size_t year = first.size() - 4;
    parts.year = year == 4 ? number(first.substr(0, 4)) : century(first.substr(0, 2));
    parts.month = number(first.substr(year, 2));
    parts.day = number(first.substr(year + 2, 2));
  } else if (first.size() == 7 || first.size() == 5) {
    const std::size_t year = first.size() - 3;
    parts.year = year == 4 ? number(first.substr(0, 4)) : century(first.substr(0, 2));
    parts.ordinal = number(first.substr(year));
  } else if (first.size() == 4 || (first.size() == 2 && at.peek() == '-')) {
    parts.year = first.size() == 4 ? number(first) : century(first);
    const char separator = at.peek();
    if (separator != '-' && separator != '/' && separator != '.' && separator != 'W') {
      if (first.size() != 4) return false;
      in = at;
      return true;
    }
    if (separator != 'W') at.skip();
    if (at.take('W')) {
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
      parts.month = month_of(at.take_letters());  // 2004-júli-13T9:15
      if (parts.month == 0) return false;
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

std::optional<Time> parse_iso(std::string_view text) {
  Scanner in(text);
  Parts parts;
  if (!read_iso_date(in, parts)) return std::nullopt;
  if (in.peek() == 'T' || in.peek() == 't') in.skip();
  while (is_space(in.peek()) || in.peek() == ',') in.skip();
  if (istarts_with(in.rest(), "at ")) in.skip(3);
  if (in.peek() == '-' && is_space(in.peek(1))) in.skip(2);
  in.skip_space();
  read_half_day(in, parts);
  in.skip_space();
  if (is_digit(in.peek()) && !read_clock(in, parts)) {
    const std::string_view digits = in.digits();  // hhmmss, hhmm, hh
    if (digits.size() != 2 && digits.size() != 4 && digits.size() != 6) return std::nullopt;
    in.take_digits();
    parts.hour = number(digits.substr(0, 2));
    if (digits.size() > 2) parts.minute = number(digits.substr(2, 2));
    if (digits.size() > 4) parts.second = number(digits.substr(4, 2));
    read_fraction(in, parts);
    parts.has_time = true;
  }
  if (is_alpha(in.peek()) && month_of(in.rest()) != 0 && !parts.has_time) return std::nullopt;  // "2006 January 02"
  if (!read_tail(in, parts)) return std::nullopt;
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
  const Time time = digits.size() >= 16   ? Time{microseconds{value}}
                    : digits.size() >= 12 ? Time{std::chrono::milliseconds{value}}
                                          : Time{std::chrono::seconds{value}};
  return in_range(time) ? std::optional<Time>(time) : std::nullopt;
}

// Everything else: words and numbers in any order, told apart by what they look like.
class LooseDate {
 public:
  explicit LooseDate(std::string_view text) : in_(text), text_(text) {}

  std::optional<Time> read() {
    while (!in_.done()) {
      if (!token()) return std::nullopt;
    }
    if (!assign()) return std::nullopt;
    return to_time(parts_);
  }

 private:
  struct Number {
    std::string_view digits;
    char before;  // the character in front of it
  };

  bool token() {
    const char c = in_.peek();
    if (is_digit(c)) return digits();
    if (c == '(') {
      const std::size_t close = in_.rest().find(')');
      in_.skip(close == std::string_view::npos ? in_.rest().size() : close + 1);
      return true;
    }
    if ((c == '+' || c == '-') && parts_.has_time && read_offset(in_, parts_)) return true;
    if (is_alpha(c) || !is_ascii(c)) return word();
    if (c == '\'' || c == '`') before_ = ' ';
    before_ = c;
    in_.skip();
    return true;
  }

  bool digits() {
    if (!parts_.has_time && read_clock(in_, parts_)) return true;
    if (count_ == std::size(numbers_)) return false;
    numbers_[count_++] = {in_.take_digits(), before_};
    before_ = ' ';
    const std::string_view rest = in_.rest();
    for (const std::string_view suffix : {"st", "nd", "rd", "th"}) {
      if (istarts_with(rest, suffix) && (rest.size() == 2 || !is_alpha(rest[2]))) in_.skip(2);
    }
    // Korean and Chinese say which is which.
    struct Unit {
      std::string_view word;
      int Parts::*part;
    };
    constexpr Unit units[] = {{"년", &Parts::year}, {"월", &Parts::month},  {"일", &Parts::day},
                              {"年", &Parts::year}, {"月", &Parts::month},  {"日", &Parts::day},
                              {"시", &Parts::hour}, {"분", &Parts::minute}, {"초", &Parts::second}};
    for (std::size_t i = 0; i < std::size(units); ++i) {
      if (!rest.starts_with(units[i].word)) continue;
      parts_.*(units[i].part) = number(numbers_[--count_].digits);
      in_.skip(units[i].word.size());
      if (i < 3 || i > 5) parts_.zone = 540;
      break;
    }
    return true;
  }

  bool word() {
    const bool first = in_.rest().size() == text_.size();
    if (read_half_day(in_, parts_)) return true;
    const std::string_view letters = in_.take_letters();
    if ((iequals(letters, "t") || iequals(letters, "at") || iequals(letters, "de") || iequals(letters, "del") ||
         iequals(letters, "г") || iequals(letters, "kl") || iequals(letters, "um") || iequals(letters, "o")) &&
        !parts_.has_time) {
      return true;
    }
    if (parts_.has_time && !parts_.has_zone) {
      if (const std::optional<int> zone = zone_of(letters)) {
        parts_.zone = *zone;
        parts_.has_zone = true;
        return true;
      }
    }
    const bool weekday = is_weekday(letters);
    if (parts_.month < 0 && !(weekday && in_.peek() == ',' && first)) {
      if (const int month = month_of(letters); month != 0 && !(first && weekday && month_follows())) {
        parts_.month = month;
        month_at_ = count_;
        return true;
      }
    }
    if (weekday || iequals(letters, "thur") || iequals(letters, "thurs")) return true;
    if (parts_.has_time) return true;  // an unknown zone is UTC
    if (zone_of(letters) && count_ + (parts_.month > 0 ? 1 : 0) >= 3) {
      parts_.zone = *zone_of(letters);
      return true;
    }
    return first;  // a weekday in a language that we do not know
  }

  // For names that are a weekday and a month alike ("mar"): does another month come?
  bool month_follows() const {
    Scanner ahead(in_.rest());
    while (!ahead.done()) {
      const std::string_view letters = ahead.take_letters();
      if (month_of(letters) != 0) return true;
      if (letters.empty()) ahead.skip();
    }
    return false;
  }

  bool assign() {
    if (parts_.year > 0 && parts_.month > 0) return true;
    const auto is_year = [](const Number& n) { return n.digits.size() == 4 || n.digits.size() == 3; };
    if (parts_.month > 0) {
      if (count_ == 0) return false;
      if (count_ == 1) {  // "Nov. 2020"
        if (!is_year(numbers_[0])) return false;
        parts_.year = number(numbers_[0].digits);
        return true;
      }
      const bool year_first = is_year(numbers_[0]);
      parts_.year = full_year(numbers_[year_first ? 0 : 1].digits);
      parts_.day = number(numbers_[year_first ? 1 : 0].digits);
      if (count_ >= 3) hour_alone(numbers_[2]);
      return parts_.day > 0;
    }
    if (count_ < 3) return false;
    if (is_year(numbers_[0])) {
      parts_.year = number(numbers_[0].digits);
      parts_.month = number(numbers_[1].digits);
      parts_.day = number(numbers_[2].digits);
    } else {
      parts_.year = full_year(numbers_[2].digits);
      const int a = number(numbers_[0].digits);
      const int b = number(numbers_[1].digits);
      const bool american = numbers_[1].before == '/' && (parts_.afternoon >= 0 || parts_.zone <= -240);
      const bool month_first = b > 12 || (a <= 12 && american);
      parts_.month = month_first ? a : b;
      parts_.day = month_first ? b : a;
    }
    if (count_ >= 4) hour_alone(numbers_[3]);
    return parts_.month > 0 && parts_.month <= 12 && parts_.day > 0;
  }

  void hour_alone(const Number& n) {
    if (parts_.has_time || n.digits.size() > 2) return;
    parts_.hour = number(n.digits);
    parts_.has_time = true;
  }

  Scanner in_;
  std::string_view text_;
  Parts parts_;
  std::array<Number, 8> numbers_{};
  std::size_t count_ = 0, month_at_ = 0;
  char before_ = ' ';
};

}  // namespace

std::optional<Time> parse_date(std::string_view text) {
  text = trim(text);
  if (text.empty() || text.size() > 256) return std::nullopt;
  if (is_digit(text[0]) || text[0] == '-') {
    if (const std::optional<Time> time = parse_epoch(text)) return time;
    if (const std::optional<Time> time = parse_iso(text)) return time;
  }
  return LooseDate(text).read();
}

std::int64_t unix_seconds(Time time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

std::string iso8601(Time time) {
  namespace chrono = std::chrono;
  const auto day = chrono::floor<days>(time);
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
