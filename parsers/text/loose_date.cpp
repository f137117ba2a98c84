#include <algorithm>
#include <array>
#include <utility>

#include "parsers/text/date_parts.hpp"

namespace feedmill::dates {
namespace {

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
  // year, drops all numbers, and with them the date.
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

}  // namespace

std::optional<Time> read_loose_date(std::string_view text, bool& unknown_zone) {
  return LooseDate(text).read(unknown_zone);
}

}  // namespace feedmill::dates
