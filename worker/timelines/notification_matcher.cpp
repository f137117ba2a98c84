#include "worker/timelines/notification_matcher.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "parsers/text/strings.hpp"
#include "storage/redis/utf8.hpp"
#include "worker/base/characters.hpp"

namespace feedmill {
namespace {

/// Whether `c` belongs to a script that is written without spaces.
bool stands_alone(char32_t c) {
  return (c >= 0x0E00 && c < 0x0F00) || (c >= 0x1000 && c < 0x10A0) || (c >= 0x1780 && c < 0x1800) ||
         (c >= 0x3040 && c < 0x3100) || (c >= 0x3400 && c < 0xA000) || (c >= 0xF900 && c < 0xFB00) ||
         (c >= 0x20000 && c < 0x40000);
}

/// Whether `words` contains the words of `phrase` in sequence.
bool holds(const std::vector<std::string>& words, const std::vector<std::string>& phrase) {
  return std::search(words.begin(), words.end(), phrase.begin(), phrase.end()) != words.end();
}

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  const std::string lowered = lower_case(text);
  for (std::string_view rest = lowered; !rest.empty();) {
    const auto [c, bytes] = first_character(rest);
    const std::string_view letter = rest.substr(0, bytes);
    rest.remove_prefix(std::max<std::size_t>(1, bytes));
    const bool mark = c >= 0x300 && c < 0x370;  // combining accents belong to the preceding letter
    if (bytes == 0 || (!is_letter_or_digit(c) && !(mark && inside))) {
      inside = false;
      continue;
    }
    const bool alone = stands_alone(c);
    if (!inside || alone) words.emplace_back();
    words.back() += letter;
    inside = !alone;
  }
  return words;
}

std::string_view unfit_words(std::string_view words) {
  const bool fit = words.size() <= 1024 && is_clean_text(words) && !words_of(words).empty();
  return fit ? std::string_view() : "expected at most 1024 bytes of UTF-8 with at least one word";
}

NotificationMatcher::NotificationMatcher(std::vector<Watch> rules) : rules_(std::move(rules)) {
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const Watch& rule = rules_[i];
    if (rule.kind == Watch::Kind::feed) {
      by_feed_[rule.target].push_back(i);
    } else if (rule.kind == Watch::Kind::channel) {
      by_channel_[rule.target].push_back(i);
    } else {
      WordRule word_rule{i, {}};
      std::string key;
      for (std::string_view rest = rule.target; !rest.empty();) {
        std::vector<std::string> phrase = words_of(take_until(rest, ' '));
        for (const std::string& word : phrase) {
          if (word.size() > key.size()) key = word;
        }
        if (!phrase.empty()) word_rule.phrases.push_back(std::move(phrase));
      }
      if (!key.empty()) by_word_[key].push_back(std::move(word_rule));
    }
  }
}

std::vector<NotificationMatcher::Match> NotificationMatcher::matches(const std::string& feed_url,
                                                                     std::span<const std::string> channels,
                                                                     std::string_view text) const {
  std::map<std::string_view, std::vector<std::string>> found;
  const auto add = [&](std::size_t rule) {
    const Watch& watch = rules_[rule];
    std::string why(to_string(watch.kind));
    if (watch.kind != Watch::Kind::feed) why += " " + watch.target;
    found[watch.user].push_back(std::move(why));
  };
  if (const auto rules = by_feed_.find(feed_url); rules != by_feed_.end()) {
    std::for_each(rules->second.begin(), rules->second.end(), add);
  }
  for (const std::string& channel : channels) {
    if (const auto rules = by_channel_.find(channel); rules != by_channel_.end()) {
      std::for_each(rules->second.begin(), rules->second.end(), add);
    }
  }
  if (wants_text()) {
    const std::vector<std::string> words = words_of(text);
    const std::unordered_set<std::string_view> distinct(words.begin(), words.end());
    for (const std::string_view word : distinct) {
      const auto rules = by_word_.find(std::string(word));
      if (rules == by_word_.end()) continue;
      for (const WordRule& rule : rules->second) {
        const bool all = std::all_of(rule.phrases.begin(), rule.phrases.end(), [&](const auto& phrase) {
          return phrase.size() == 1 ? distinct.contains(phrase.front()) : holds(words, phrase);
        });
        if (all) add(rule.rule);
      }
    }
  }
  std::vector<Match> matches;
  for (auto& [user, why] : found) {
    std::sort(why.begin(), why.end());
    matches.push_back({std::string(user), std::move(why)});
  }
  return matches;
}

}  // namespace feedmill
