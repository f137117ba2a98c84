#include "parsers/text/date.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "parsers/text/date_words.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

using std::chrono::days;
using std::chrono::microseconds;
using std::chrono::minutes;

// The parts of a date read so far; -1: missing.
struct Parts {
  int year = -1, month = -1, day = -1;
  int ordinal = -1;            // day of the year
  int week = -1, weekday = 1;  // ISO week date
  int hour = 0, minute = 0, second = 0;
  std::int64_t fraction = 0;  // microseconds
  HalfDay half = HalfDay::none;
  bool english_half = false;               // "am" or "p.m."
  int zone = 0;                            // minutes east of UTC
  const date::time_zone* place = nullptr;  // the zone, if given by its IANA name
  bool has_time = false, has_zone = false;
  bool unknown_zone = false;  // the text names a zone that we do not know
};

// Whether a date is believable. Years before 1900 come from software with a broken date or none. Years of three digits
// are accepted (but not stored), since no known software produces them by mistake.
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

// The hour on a 24-hour clock.
int hour_of(const Parts& parts) {
  if (parts.half == HalfDay::none || parts.hour > 12) return parts.hour;
  const bool late = parts.half == HalfDay::afternoon || (parts.half == HalfDay::noon && parts.hour < 6) ||
                    (parts.half == HalfDay::night && parts.hour >= 6 && parts.hour < 12);
  if (parts.half == HalfDay::noon && parts.hour >= 6) return parts.hour;
  return parts.hour % 12 + (late ? 12 : 0);
}

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

// A cursor over the text. Every reader either consumes the part it understands or leaves the cursor unchanged.
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
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    skip(word.size());
    return true;
  }
  // Letters of any script.
  std::string_view take_letters() {
    const std::string_view found = rest_.substr(0, word_length(rest_));
    skip(found.size());
    return found;
  }

 private:
  std::string_view rest_;
};

int number(std::string_view digits) {
  return leading_number<int>(digits.substr(0, 9));
}

// RFC 2822 §4.3, but with the pivot at 90, because feeds began in the nineties.
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

// Reads h:m[:s[.f]], also 19h48, 19h48m21s, 19h and 19시 48분.
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

// Reads +hh, +hhmm, +hh:mm or +hh:mm:ss.
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

void set_half(Parts& parts, HalfDay half, std::string_view word) {
  parts.half = half;
  parts.english_half = word == "am" || word == "pm" || word == "a.m" || word == "p.m";
  if ((word == "오전" || word == "오후") && !parts.has_zone) parts.zone = 540;  // only Korean publishers write it
}

// Reads a part of the day, if `words`, found at the cursor, can be one.
bool read_half_day(Scanner& in, Parts& parts, const DateWords& words) {
  if (words.half_day == HalfDay::none) return false;
  set_half(parts, words.half_day, in.rest().substr(0, words.length));
  in.skip(words.length);
  return true;
}

// Reads the letter directly after a time: "3:45p".
void read_half_letter(Scanner& in, Parts& parts) {
  if ((in.peek() != 'a' && in.peek() != 'p') || is_alpha(in.peek(1)) || in.peek(1) == '.') return;
  parts.half = in.peek() == 'a' ? HalfDay::morning : HalfDay::afternoon;
  parts.english_half = true;
  in.skip();
}

// The zone name that the text begins with: letters; after a slash also the other characters of IANA names.
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

// Sets the zone by name, unless one is set; false if the name is unknown. `letters`: military zones are allowed.
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

// Reads (CEST) or [Europe/Berlin]: a zone if no other is given, otherwise a remark.
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
  const Time time = digits.size() >= 16   ? Time{microseconds{value}}
                    : digits.size() >= 12 ? Time{std::chrono::milliseconds{value}}
                                          : Time{std::chrono::seconds{value}};
  return in_range(time) ? std::optional<Time>(time) : std::nullopt;
}

// Reads any other form: words and numbers in any order, recognised by their shape.
class LooseDate {
 public:
  explicit LooseDate(std::string_view text) : in_(text), text_(text) {}

  std::optional<Time> read(bool& unknown_zone) {
    while (!in_.done()) {
      if (!token()) return std::nullopt;
    }
    if (!assign()) return std::nullopt;
    if (!agrees()) look_for_another_reading();
    unknown_zone = parts_.unknown_zone && !parts_.has_zone;
    return to_time(parts_);
  }

 private:
  struct Number {
    std::string_view digits;
    char before;  // the character before the digits
  };

  bool token() {
    const char c = in_.peek();
    if (is_digit(c)) return digits();
    if (c == '(' || (c == '[' && parts_.has_time)) {
      if (weekdays_ == 0) weekdays_ = find_words(in_.rest().substr(1)).weekdays;
      read_remark(in_, parts_);
      return true;
    }
    if ((c == '+' || c == '-') && parts_.has_time && read_offset(in_, parts_)) return true;
    if (is_alpha(c) || !is_ascii(c)) return word();
    before_ = c == '\'' || c == '`' ? ' ' : c;
    in_.skip();
    return true;
  }

  bool digits() {
    if (!parts_.has_time && read_clock(in_, parts_)) {
      read_half_letter(in_, parts_);
      return true;
    }
    if (count_ == std::size(numbers_)) return false;
    numbers_[count_++] = {in_.take_digits(), before_};
    before_ = ' ';
    const std::string_view rest = in_.rest();
    for (const std::string_view suffix : {"st", "nd", "rd", "th", "er", "º", "ª"}) {
      if (rest.starts_with(suffix) && word_length(rest) == suffix.size()) in_.skip(suffix.size());
    }
    // Korean and Chinese write units after year, month and day.
    struct Unit {
      std::string_view word;
      int Parts::*part;
    };
    constexpr Unit units[] = {{"년", &Parts::year},  {"월", &Parts::month}, {"일", &Parts::day}, {"年", &Parts::year},
                              {"月", &Parts::month}, {"日", &Parts::day},   {"号", &Parts::day}};
    Scanner unit = in_;
    unit.skip_space();
    for (std::size_t i = 0; i < std::size(units); ++i) {
      if (!unit.take(units[i].word)) continue;
      parts_.*(units[i].part) = number(numbers_[--count_].digits);
      if (i < 3 && !parts_.has_zone) parts_.zone = 540;
      in_ = unit;
      break;
    }
    return true;
  }

  bool word() {
    const bool first = in_.rest().size() == text_.size();
    const std::string_view name = zone_name(in_.rest());
    if (parts_.has_time && name.size() > 1 && set_zone(parts_, name, false)) {
      in_.skip(name.size());
      return true;
    }
    const DateWords words = find_words(in_.rest());
    // A letter is a zone only as in RFC 822: after a space, at the end. In "15:38 h" and "9.05 u." it means hours.
    const bool letters = parts_.has_time && parts_.month > 0 && count_ > 0 && is_space(behind()) &&
                         in_.rest().size() == 1 && name != "h" && name != "u";
    if (name.size() == 1 && words.length < 2 && letters && set_zone(parts_, name, true)) {
      in_.skip();
      return true;
    }
    const bool ambiguous = words.month > 0 || words.weekdays != 0 || words.filler;
    if (words.half_day != HalfDay::none && (!ambiguous || is_beside_time(words.length))) {
      return read_half_day(in_, parts_, words);
    }
    const bool weekday = words.weekdays != 0;
    const std::string_view found = in_.rest().substr(0, words.length);
    if (parts_.month < 0 && words.month > 0 &&
        !(weekday && first && (in_.peek(words.length) == ',' || month_follows(found)))) {
      in_.skip(words.length);
      parts_.month = words.month;
      other_month_ = words.other_month;
      is_thai_ = found.starts_with("\xE0\xB8") || found.starts_with("\xE0\xB9");
      return true;
    }
    if (words.length > 0) {
      if (weekday && weekdays_ == 0 && (first || !words.filler)) weekdays_ = words.weekdays;
      in_.skip(words.length);
      return true;
    }
    if (parts_.has_time) {  // an unknown zone counts as UTC
      if (!name.empty()) parts_.unknown_zone = true;
      in_.skip(std::max(name.size(), word_length(in_.rest())));
      return true;
    }
    in_.skip(std::max<std::size_t>(word_length(in_.rest()), 1));
    if (name.size() > 1 && count_ + (parts_.month > 0 ? 1 : 0) >= 3 && set_zone(parts_, name, false)) return true;
    return first;  // it may be a weekday in a language we do not know
  }

  // The character before the cursor.
  char behind() const { return in_.rest().size() < text_.size() ? text_[text_.size() - in_.rest().size() - 1] : ' '; }

  // Whether a time follows the word of this length at the cursor, or a time or number precedes it.
  bool is_beside_time(std::size_t length) const {
    Scanner ahead(in_.rest().substr(length));
    while (ahead.take('.') || ahead.take(',') || ahead.take(' ')) {
    }
    Parts ignored;
    if (is_digit(ahead.peek()) && read_clock(ahead, ignored)) return true;
    const std::string_view before = trim(text_.substr(0, text_.size() - in_.rest().size()));
    return !before.empty() && is_digit(before.back()) && (parts_.has_time || count_ > 2);
  }

  // For a name that is both a weekday and a month ("mar"): whether another month follows.
  bool month_follows(std::string_view name) const {
    Scanner ahead(in_.rest().substr(name.size()));
    while (!ahead.done()) {
      const DateWords words = find_words(ahead.rest());
      if (words.month != 0) return true;
      ahead.skip(std::max({words.length, word_length(ahead.rest()), std::size_t{1}}));
    }
    return false;
  }

  // Drops numbers of three digits or more than four, which cannot be part of a date. Without another number that is a
  // year, drops all numbers, so that there is no date.
  void drop_broken_numbers() {
    const auto is_broken = [](const Number& n) { return n.digits.size() == 3 || n.digits.size() > 4; };
    const auto end = std::remove_if(numbers_.begin(), numbers_.begin() + count_, is_broken);
    const auto left = static_cast<std::size_t>(end - numbers_.begin());
    const bool has_year = std::any_of(numbers_.begin(), end, [](const Number& n) { return n.digits.size() == 4; });
    if (left < count_) count_ = has_year ? left : 0;
  }

  bool assign() {
    if (parts_.year > 0 && parts_.month > 0) return true;
    drop_broken_numbers();
    const auto is_year = [](const Number& n) { return n.digits.size() == 4; };
    if (parts_.month > 0) {
      if (count_ == 0) return false;
      if (count_ == 1) {  // "Nov. 2020"
        if (!is_year(numbers_[0])) return false;
        set_year(numbers_[0]);
        return true;
      }
      const bool year_first = is_year(numbers_[0]);
      set_year(numbers_[year_first ? 0 : 1]);
      parts_.day = number(numbers_[year_first ? 1 : 0].digits);
      time_at(2);
      return parts_.day > 0;
    }
    if (count_ < 3) return false;
    if (is_year(numbers_[0])) {
      parts_.year = number(numbers_[0].digits);
      parts_.month = number(numbers_[1].digits);
      parts_.day = number(numbers_[2].digits);
    } else {
      set_year(numbers_[2]);
      const int a = number(numbers_[0].digits);
      const int b = number(numbers_[1].digits);
      const bool american = numbers_[1].before == '/' && (parts_.english_half || parts_.zone <= -240);
      const bool month_first = b > 12 || (a <= 12 && american);
      parts_.month = month_first ? a : b;
      parts_.day = month_first ? b : a;
    }
    is_numeric_ = true;
    time_at(3);
    return parts_.month > 0 && parts_.month <= 12 && parts_.day > 0;
  }

  void set_year(const Number& n) {
    parts_.year = full_year(n.digits);
    if (is_thai_ && parts_.year > 2400) parts_.year -= 543;  // year of the Buddhist era
  }

  // Reads the remaining numbers as an hour, and minutes and seconds after full stops.
  void time_at(std::size_t at) {
    if (parts_.has_time || at >= count_ || numbers_[at].digits.size() > 2) return;
    parts_.hour = number(numbers_[at].digits);
    parts_.has_time = true;
    int* const smaller[] = {&parts_.minute, &parts_.second};
    for (std::size_t i = 0; i < 2 && at + 1 + i < count_ && numbers_[at + 1 + i].before == '.'; ++i) {
      if (numbers_[at + 1 + i].digits.size() != 2) return;
      *smaller[i] = number(numbers_[at + 1 + i].digits);
    }
  }

  bool agrees() const {
    const std::optional<std::chrono::sys_days> day = day_of(parts_);
    return weekdays_ == 0 ? day.has_value() : day && (weekdays_ >> std::chrono::weekday{*day}.iso_encoding() & 1U) != 0;
  }

  // Swaps day and month, or takes the month that the name means in another language, if the result agrees with the
  // weekday.
  void look_for_another_reading() {
    const Parts first = parts_;
    if (is_numeric_ && parts_.day <= 12) {
      std::swap(parts_.day, parts_.month);
    } else if (other_month_ > 0) {
      parts_.month = other_month_;
    }
    if (!agrees()) parts_ = first;
  }

  Scanner in_;
  std::string_view text_;
  Parts parts_;
  std::array<Number, 8> numbers_{};
  std::size_t count_ = 0;
  int other_month_ = 0;
  unsigned weekdays_ = 0;
  char before_ = ' ';
  bool is_numeric_ = false, is_thai_ = false;
};

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
    if (const std::optional<Time> time = parse_epoch(rest)) return time;
    if (const std::optional<Time> time = parse_iso(rest, unknown_zone)) return time;
  }
  unknown_zone = false;
  return LooseDate(rest).read(unknown_zone);
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
