// Matches posts against users' notification rules. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "storage/records/event_record.hpp"
#include "storage/timelines/notifications.hpp"

namespace feedmill {

/// Splits a text into comparable words: lower-case runs of letters and digits. In scripts without spaces (Chinese,
/// Japanese, Thai), every character is a word.
std::vector<std::string> words_of(std::string_view text);

/// Why a rule's words are invalid; "" if they are valid.
std::string_view unfit_words(std::string_view words);

/// Index of all notification rules, so that a post is matched once, not once per rule.
class NotificationMatcher {
 public:
  explicit NotificationMatcher(std::vector<Watch> rules);

  /// Whether any rule depends on a post's channels (wants_channels) or text (wants_text), so that callers can skip
  /// reading them.
  bool wants_channels() const { return !by_channel_.empty(); }
  bool wants_text() const { return !by_word_.empty(); }

  /// A user and the user's matching rules, as "feed", "channel anna/news", "words redis cluster".
  struct Match {
    std::string user;
    std::vector<std::string> why;
  };
  /// Matches a post of `feed_url`, a feed in `channels`, with this `text`. Returns each user once, sorted by name. A
  /// word rule matches if the text contains all its words, in any order; the parts of a compound such as "open-source"
  /// must be adjacent. Linear in the text.
  std::vector<Match> matches(const std::string& feed_url, std::span<const std::string> channels,
                             std::string_view text) const;

 private:
  using Rules = std::vector<std::size_t>;  // indices into rules_
  /// A rule matches if all its phrases occur.
  struct WordRule {
    std::size_t rule;
    std::vector<std::vector<std::string>> phrases;
  };

  std::vector<Watch> rules_;
  std::unordered_map<std::string, Rules> by_feed_, by_channel_;
  std::unordered_map<std::string, std::vector<WordRule>> by_word_;  // keyed by the rule's longest word
};

}  // namespace feedmill
