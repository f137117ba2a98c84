// The words that dates are made of, in the languages that feeds are written in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace feedmill {

/// Parts of the day as words name them.
enum class HalfDay : std::int8_t { none = -1, morning, afternoon, noon, night };

/// What the longest known word at the beginning of a text can mean, in any language; a word may have several meanings.
struct DateWords {
  std::size_t length = 0;  ///< in bytes; 0 if no word is known there
  int month = 0;           ///< 1 … 12, 0 for none
  int other_month = 0;     ///< of another language: Croatian "lipnja" is June, "lip" also Polish July
  unsigned weekdays = 0;   ///< bit 1 is Monday … bit 7 Sunday
  HalfDay half_day = HalfDay::none;
  bool filler = false;  ///< "at", "de", "Uhr": nothing by itself
};

/// The longest word at the beginning of `text`, which is in lower case.
DateWords find_words(std::string_view text);

/// The length of the word at the beginning of `text`, known or not: letters of any script.
std::size_t word_length(std::string_view text);

/// Minutes east of UTC of a zone's name or of a military letter (RFC 822 §5), whatever the case; nothing when unknown.
std::optional<int> zone_of(std::string_view word);

}  // namespace feedmill
