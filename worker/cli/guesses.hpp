// Words and flags that people know from other programs and type instead of ours (OPERATIONS §1). They are answered with
// the right name and never run.
#pragma once

#include <span>
#include <string_view>

namespace feedmill {

/// Words typed instead of a verb.
struct VerbGuesses {
  std::string_view verb;   ///< "remove", "store import", a heading such as "channel"; "" = a feed, the usual object
  std::string_view words;  ///< separated by spaces; of a verb below a heading: after that heading
  std::string_view anywhere{};  ///< of a verb below a heading: words that also lead to it without the heading
};
std::span<const VerbGuesses> verb_guesses();

/// Flags typed instead of a flag or an argument; apply to every verb that has `name`.
struct FlagGuesses {
  std::string_view name;   ///< "--limit", or an argument such as "FILE"
  std::string_view flags;  ///< separated by spaces
};
std::span<const FlagGuesses> flag_guesses();

/// Words or flags that no single name of ours replaces, and the answer.
struct AnsweredGuesses {
  std::string_view verb;  ///< where they are typed: a verb or a heading; "" = without one
  /// Separated by spaces; as arguments also "title=" for NAME=VALUE, and kinds of values: URL, ID, CHANNEL, FILE, WORD.
  std::string_view words;
  std::string_view answer;  ///< follows "unknown verb "stop": "
};
std::span<const AnsweredGuesses> answered_guesses();

}  // namespace feedmill
