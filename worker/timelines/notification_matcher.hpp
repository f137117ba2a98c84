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

/// The words of a text in comparable form: lower case, each a run of letters and digits; in scripts without spaces
/// (Chinese, Japanese, Thai) every character is a word.
std::vector<std::string> words_of(std::string_view text);

/// The error in a rule's words, "" if valid.
std::string_view unfit_words(std::string_view words);

/// An index of rules: a post is matched once, not once per rule.
class NotificationMatcher {
 public:
  explicit NotificationMatcher(std::vector<Watch> rules);

  /// Whether any rule depends on the channels of a post's feed, or on its text.
  bool wants_channels() const { return !by_channel_.empty(); }
  bool wants_text() const { return !by_word_.empty(); }

  /// A user and the rules that match, as "feed", "channel anna/news", "words redis cluster".
  struct Match {
    std::string user;
    std::vector<std::string> why;
  };
  /// Matches of a post of `feed_url`, which is in `channels`, with this `text`: each user once, sorted by name. A word
  /// rule matches if the text contains all of its words, in any order; the parts of a compound such as "open-source"
  /// must be adjacent. Linear in the text.
  std::vector<Match> matches(const std::string& feed_url, std::span<const std::string> channels,
                             std::string_view text) const;

 private:
  using Rules = std::vector<std::size_t>;  // indices into rules_
  struct WordRule {
    std::size_t rule;
    std::vector<std::vector<std::string>> phrases;
  };

  std::vector<Watch> rules_;
  std::unordered_map<std::string, Rules> by_feed_, by_channel_;
  std::unordered_map<std::string, std::vector<WordRule>> by_word_;  // by their longest word
};

}  // namespace feedmill
