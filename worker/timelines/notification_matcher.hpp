// Who wants to be told of a post: users' rules against what it says. Pure.
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

/// The words of a text as they are compared: in lower case, a run of letters and digits each; where a script puts no
/// spaces (Chinese, Japanese, Thai) every character is a word.
std::vector<std::string> words_of(std::string_view text);

/// What is wrong with the words of a rule, "" when nothing.
std::string_view unfit_words(std::string_view words);

/// Rules, arranged so that a post is looked at once and not once per rule.
class NotificationMatcher {
 public:
  explicit NotificationMatcher(std::vector<Watch> rules);

  /// Whether any rule needs to know the channels of a post's feed, or its text.
  bool wants_channels() const { return !by_channel_.empty(); }
  bool wants_text() const { return !by_word_.empty(); }

  /// A user, and why: their rules that fit, as "feed", "channel anna/news", "words redis cluster".
  struct Match {
    std::string user;
    std::vector<std::string> why;
  };
  /// Of a post of `feed_url`, which is in `channels`, and says `text`. Each user once, in the order of their names.
  /// A rule of words fits when the text holds all of them, in any order; a word that is made of several, as
  /// "open-source", only when these stand side by side. Linear in the text.
  std::vector<Match> matches(const std::string& feed_url, std::span<const std::string> channels,
                             std::string_view text) const;

 private:
  using Rules = std::vector<std::size_t>;  // places in rules_
  struct WordRule {
    std::size_t rule;
    std::vector<std::vector<std::string>> phrases;
  };

  std::vector<Watch> rules_;
  std::unordered_map<std::string, Rules> by_feed_, by_channel_;
  std::unordered_map<std::string, std::vector<WordRule>> by_word_;  // by their longest word
};

}  // namespace feedmill
