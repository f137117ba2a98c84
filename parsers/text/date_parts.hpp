// The parts that written dates of every form share: numbers, the clock, the zone. Internal to parsers/text.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "parsers/text/date.hpp"
#include "parsers/text/date_words.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill::dates {

/// The parts of a date read so far; -1: missing.
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

/// A cursor over the text. Every reader either consumes the part it understands or leaves the cursor unchanged.
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

 private:
  std::string_view rest_;
};

// Each reads its part at the cursor. A bool is false if the part is not there; the cursor then stays.

/// h:m[:s[.f]], also 19h48, 19h48m21s, 19h and 19시 48분.
bool read_clock(Scanner& in, Parts& parts);
/// A fraction of a second after a point or comma.
bool read_fraction(Scanner& in, Parts& parts);
/// +hh, +hhmm, +hh:mm or +hh:mm:ss.
bool read_offset(Scanner& in, Parts& parts);
/// A part of the day, if `words`, found at the cursor, can be one.
bool read_half_day(Scanner& in, Parts& parts, const DateWords& words);
/// The letter directly after a time: "3:45p".
void read_half_letter(Scanner& in, Parts& parts);
/// (CEST) or [Europe/Berlin]: a zone if no other is given, otherwise a remark.
void read_remark(Scanner& in, Parts& parts);

/// The zone name that the text begins with: letters; after a slash also the other characters of IANA names.
std::string_view zone_name(std::string_view text);
/// Sets the zone by name, unless one is set; false if the name is unknown. `letters`: military zones are allowed.
bool set_zone(Parts& parts, std::string_view name, bool letters);

/// The value of at most nine digits.
int number(std::string_view digits);
/// RFC 2822 §4.3, but with the pivot at 90, because feeds began in the nineties.
int full_year(std::string_view digits);

/// Whether a date is believable. Years before 1900 come from software with a broken date or none. Years of three digits
/// are accepted (but not stored), since no known software produces them by mistake.
bool in_range(Time time);
/// The calendar day; empty if it does not exist, as February 30.
std::optional<std::chrono::sys_days> day_of(const Parts& parts);
/// The moment; empty if the time does not exist or is not in_range().
std::optional<Time> to_time(const Parts& parts);

/// Reads a date in words and numbers of any order, recognised by their shape. `unknown_zone`: whether it names a zone
/// that we do not know.
std::optional<Time> read_loose_date(std::string_view text, bool& unknown_zone);

}  // namespace feedmill::dates
