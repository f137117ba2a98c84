// The words that occur in dates, in the languages of feeds; time zones by name.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace date {
class time_zone;
}

namespace feedmill {

/// Parts of the day.
enum class HalfDay : std::int8_t { none = -1, morning, afternoon, noon, night };

/// The meanings, in any language, of the longest known word at the beginning of a text.
struct DateWords {
  std::size_t length = 0;  ///< in bytes; 0 if no word is known there
  int month = 0;           ///< 1 … 12, 0 for none
  int other_month = 0;     ///< in another language: "lipnja" is June in Croatian, "lip" is July in Polish
  unsigned weekdays = 0;   ///< bit 1 is Monday … bit 7 Sunday
  HalfDay half_day = HalfDay::none;
  bool filler = false;  ///< a word without a meaning of its own: "at", "de", "Uhr"
};

/// The longest known word at the beginning of `text`, which must be in lower case.
DateWords find_words(std::string_view text);

/// Length in bytes of the word at the beginning of `text`, known or not: letters of any script.
std::size_t word_length(std::string_view text);

/// Minutes east of UTC for a zone name or a military letter (RFC 822 §5), ignoring case; empty if unknown.
std::optional<int> zone_of(std::string_view word);

// Time zones by IANA name, with summer time, from the system's tzdata, the only file that parsers/ reads.

/// The zone of this name, ignoring case; nullptr if there is none, or no tzdata. Valid until the program ends.
const date::time_zone* find_time_zone(std::string_view name);

/// The zone's offset east of UTC. `local`: local clock time since 1970. A time that occurs twice counts as the first
/// one; a skipped time has the offset before the change. 0 if the zone's file cannot be read.
std::chrono::seconds offset_at(const date::time_zone& zone, std::chrono::seconds local);

}  // namespace feedmill
