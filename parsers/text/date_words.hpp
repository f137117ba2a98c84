// The words of dates, in the languages of feeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace feedmill {

/// Parts of the day.
enum class HalfDay : std::int8_t { none = -1, morning, afternoon, noon, night };

/// Possible meanings, in any language, of the longest known word at the beginning of a text.
struct DateWords {
  std::size_t length = 0;  ///< in bytes; 0 if no word is known there
  int month = 0;           ///< 1 … 12, 0 for none
  int other_month = 0;     ///< in another language: Croatian "lipnja" is June, "lip" also Polish July
  unsigned weekdays = 0;   ///< bit 1 is Monday … bit 7 Sunday
  HalfDay half_day = HalfDay::none;
  bool filler = false;  ///< "at", "de", "Uhr": no meaning of its own
};

/// The longest word at the beginning of `text`, which is in lower case.
DateWords find_words(std::string_view text);

/// The length of the word at the beginning of `text`, known or not: letters of any script.
std::size_t word_length(std::string_view text);

/// Minutes east of UTC of a zone name or military letter (RFC 822 §5), ignoring case; empty if unknown.
std::optional<int> zone_of(std::string_view word);

}  // namespace feedmill
