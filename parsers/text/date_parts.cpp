#include "parsers/text/date_parts.hpp"

#include <algorithm>
#include <initializer_list>

namespace feedmill::dates {

using std::chrono::days;
using std::chrono::microseconds;
using std::chrono::minutes;

bool in_range(Time time) {
  const int year = static_cast<int>(std::chrono::year_month_day{std::chrono::floor<days>(time)}.year());
  return (year >= 1900 && year <= 9999) || (year >= 99 && year <= 999);
}

std::optional<std::chrono::sys_days> day_of(const Parts& parts) {
  namespace chrono = std::chrono;
  if (parts.year < 1 || parts.year > 9999) return std::nullopt;
  if (parts.week > 0) {
    if (parts.week > 53 || parts.weekday < 1 || parts.weekday > 7) return std::nullopt;
    const chrono::sys_days fourth{chrono::year{parts.year} / 1 / 4};  // always in week 1
    const int since_monday = static_cast<int>(chrono::weekday{fourth}.iso_encoding()) - 1;
    return fourth - days{since_monday} + days{7 * (parts.week - 1) + parts.weekday - 1};
  }
  if (parts.ordinal > 0) {
    if (parts.ordinal > (chrono::year{parts.year}.is_leap() ? 366 : 365)) return std::nullopt;
    return chrono::sys_days{chrono::year{parts.year} / 1 / 1} + days{parts.ordinal - 1};
  }
  const chrono::year_month_day day{chrono::year{parts.year},
                                   chrono::month{static_cast<unsigned>(parts.month < 0 ? 1 : parts.month)},
                                   chrono::day{static_cast<unsigned>(parts.day < 0 ? 1 : parts.day)}};
  return day.ok() ? std::optional<chrono::sys_days>(day) : std::nullopt;
}

namespace {

// The hour on a 24-hour clock.
int hour_of(const Parts& parts) {
  if (parts.half == HalfDay::none || parts.hour > 12) return parts.hour;
  const bool late = parts.half == HalfDay::afternoon || (parts.half == HalfDay::noon && parts.hour < 6) ||
                    (parts.half == HalfDay::night && parts.hour >= 6 && parts.hour < 12);
  if (parts.half == HalfDay::noon && parts.hour >= 6) return parts.hour;
  return parts.hour % 12 + (late ? 12 : 0);
}

}  // namespace

std::optional<Time> to_time(const Parts& parts) {
  namespace chrono = std::chrono;
  const std::optional<chrono::sys_days> day = day_of(parts);
  const int hour = hour_of(parts);
  const bool midnight = hour == 24 && parts.minute == 0 && parts.second == 0;  // the end of the day
  if (!day || (hour > 23 && !midnight) || parts.minute > 59 || parts.second > 61) return std::nullopt;
  const Time local = chrono::time_point_cast<microseconds>(*day) + chrono::hours{hour} + minutes{parts.minute} +
                     chrono::seconds{parts.second} + microseconds{parts.fraction};
  const chrono::seconds east = parts.place != nullptr
                                   ? offset_at(*parts.place, chrono::floor<chrono::seconds>(local.time_since_epoch()))
                                   : minutes{parts.zone};
  const Time time = local - east;
  return in_range(time) ? std::optional<Time>(time) : std::nullopt;
}

int number(std::string_view digits) {
  return leading_number<int>(digits.substr(0, 9));
}

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

namespace {

bool take_any(Scanner& in, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return in.take(word); });
}

// Reads a number of at most two digits that is followed by one of these signs.
bool read_marked(Scanner& in, int& value, std::initializer_list<std::string_view> signs) {
  Scanner at = in;
  at.skip_space();
  const std::string_view digits = at.take_digits();
  if (digits.empty() || digits.size() > 2) return false;
  at.skip_space();
  if (!take_any(at, signs) || is_alpha(at.peek())) return false;
  value = number(digits);
  in = at;
  return true;
}

}  // namespace

bool read_clock(Scanner& in, Parts& parts) {
  Scanner at = in;
  const std::string_view hour = at.take_digits();
  if (hour.empty() || hour.size() > 2) return false;
  if (at.take(':')) {
    const std::string_view minute = at.take_digits();
    if (minute.empty() || minute.size() > 2) return false;
    parts.minute = number(minute);
    if (at.peek() == ':' && is_digit(at.peek(1)) && at.digits().size() <= 2) {
      at.skip();
      const std::string_view second = at.take_digits();
      if (second.size() > 2) return false;
      parts.second = number(second);
    }
    read_fraction(at, parts);
  } else {
    at.skip_space();
    if (!take_any(at, {"h", "시", "时", "時", "点", "點"}) || is_alpha(at.peek())) return false;
    if (!read_marked(at, parts.minute, {"min", "mn", "m", "분", "分"})) {
      if (is_space(at.peek()) && trim(at.rest()).size() == 2) at.skip_space();  // "10 h 20" at the end of the text
      if (at.digits().size() == 2) parts.minute = number(at.take_digits());
    }
    read_marked(at, parts.second, {"sec", "s", "초", "秒"});
  }
  parts.hour = number(hour);
  parts.has_time = true;
  in = at;
  return true;
}

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
  parts.place = nullptr;
  parts.has_zone = true;
  in = at;
  return true;
}

namespace {

void set_half(Parts& parts, HalfDay half, std::string_view word) {
  parts.half = half;
  parts.english_half = word == "am" || word == "pm" || word == "a.m" || word == "p.m";
  if ((word == "오전" || word == "오후") && !parts.has_zone) parts.zone = 540;  // only Korean publishers write it
}

}  // namespace

bool read_half_day(Scanner& in, Parts& parts, const DateWords& words) {
  if (words.half_day == HalfDay::none) return false;
  set_half(parts, words.half_day, in.rest().substr(0, words.length));
  in.skip(words.length);
  return true;
}

void read_half_letter(Scanner& in, Parts& parts) {
  if ((in.peek() != 'a' && in.peek() != 'p') || is_alpha(in.peek(1)) || in.peek(1) == '.') return;
  parts.half = in.peek() == 'a' ? HalfDay::morning : HalfDay::afternoon;
  parts.english_half = true;
  in.skip();
}

std::string_view zone_name(std::string_view text) {
  std::size_t length = 0;
  bool is_path = false;
  while (length < text.size()) {
    const char c = text[length];
    const bool next = length + 1 < text.size() && is_alpha(text[length + 1]);
    if (c == '/' && next && length > 0) is_path = true;
    if (!(is_alpha(c) || c == '_' || (c == '/' && next) || (is_path && (c == '+' || c == '-' || is_digit(c))))) break;
    ++length;
  }
  return text.substr(0, length);
}

bool set_zone(Parts& parts, std::string_view name, bool letters) {
  if (name.find('/') != std::string_view::npos) {
    const date::time_zone* const place = find_time_zone(name);
    if (place == nullptr || parts.has_zone) return place != nullptr;
    parts.place = place;
    parts.has_zone = true;
    return true;
  }
  const std::optional<int> zone = name.size() > 1 || letters || name == "z" ? zone_of(name) : std::nullopt;
  if (!zone || parts.has_zone) return zone.has_value();
  parts.zone = *zone;
  parts.has_zone = true;
  return true;
}

void read_remark(Scanner& in, Parts& parts) {
  const std::size_t close = std::min(in.rest().find(in.peek() == '(' ? ')' : ']'), in.rest().size());
  const std::string_view remark = trim(in.rest().substr(1, close - 1));
  bool known = set_zone(parts, remark, false);
  if (!known && !parts.has_zone) {  // (GMT+7)
    Scanner inside(remark);
    Parts found = parts;
    const std::string_view name = zone_name(remark);
    if (!name.empty() && set_zone(found, name, false)) inside.skip(name.size());
    known = read_offset(inside, found) && inside.done();
    if (known) parts = found;
  }
  if (!known && in.peek() == '[') parts.unknown_zone = true;
  in.skip(close + 1);
}

}  // namespace feedmill::dates
