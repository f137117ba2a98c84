#include "worker/timelines/notification_matcher.hpp"

#include <gtest/gtest.h>

namespace feedmill::notification_matcher_test {
namespace {

using Texts = std::vector<std::string>;

struct WordsCase {
  const char* name;
  std::string_view text;
  Texts words;
};
class Words : public testing::TestWithParam<WordsCase> {};
TEST_P(Words, AreFound) {
  EXPECT_EQ(words_of(GetParam().text), GetParam().words);
}
INSTANTIATE_TEST_SUITE_P(All, Words,
                         testing::Values(WordsCase{"Plain", "Redis 7.2, out now!", {"redis", "7", "2", "out", "now"}},
                                         WordsCase{"Umlauts", "ÜBERGRÖẞE Éa", {"übergröße", "éa"}},
                                         WordsCase{"Cyrillic", "МОСКВА", {"москва"}},
                                         WordsCase{"NoSpaces", "東京都 2026", {"東", "京", "都", "2026"}},
                                         WordsCase{"LooseAccent", "Cafe\xCC\x81s", {"cafe\xCC\x81s"}},
                                         WordsCase{"BrokenBytes", "a\xff\xC3(b\xE2\x82", {"a", "b"}},
                                         WordsCase{"Nothing", " -- !", {}}),
                         [](const auto& test) { return test.param.name; });

TEST(WordsOfARule, AreTextThatHoldsAWord) {
  EXPECT_EQ(unfit_words("redis cluster"), "");
  for (const std::string& bad :
       {std::string(), std::string("..."), std::string("w\xff"), std::string("w\x01"), std::string(1025, 'w')}) {
    EXPECT_EQ(unfit_words(bad), "expected at most 1024 bytes of UTF-8 with at least one word") << bad;
  }
}

/// The notified users with the reasons, in one line.
std::string told(const NotificationMatcher& watcher, const Texts& channels, std::string_view text) {
  std::string all;
  for (const NotificationMatcher::Match& match : watcher.matches("https://a.org/", channels, text)) {
    all += match.user + ":";
    for (const std::string& why : match.why) all += " [" + why + "]";
    all += ";";
  }
  return all;
}

TEST(NotificationMatcher, FindsUsersWatchingTheFeedTheChannelOrTheWords) {
  using Kind = Watch::Kind;
  const NotificationMatcher watcher({{"anna", "1", Kind::feed, "https://a.org/"},
                                     {"anna", "2", Kind::words, "Redis"},
                                     {"bob", "3", Kind::channel, "bob/news"},
                                     {"carl", "4", Kind::words, "cluster REDIS"},
                                     {"dora", "5", Kind::words, "open-source redis"},
                                     {"emil", "6", Kind::words, "..."},
                                     {"frida", "7", Kind::words, "東京"},
                                     {"gus", "8", Kind::feed, "https://b.org/"}});
  EXPECT_TRUE(watcher.wants_text());
  EXPECT_TRUE(watcher.wants_channels());
  EXPECT_EQ(told(watcher, {}, "nothing of the kind"), "anna: [feed];");
  EXPECT_EQ(told(watcher, {"news", "bob/news"}, "A redis cluster"),
            "anna: [feed] [words Redis];bob: [channel bob/news];carl: [words cluster REDIS];");
  EXPECT_EQ(told(watcher, {}, "redistribution of source, open"), "anna: [feed];") << "whole words";
  EXPECT_EQ(told(watcher, {}, "Redis is open source"), "anna: [feed] [words Redis];dora: [words open-source redis];");
  EXPECT_EQ(told(watcher, {}, "source open redis"), "anna: [feed] [words Redis];") << "side by side, in this order";
  EXPECT_EQ(told(watcher, {}, "これは東京です"), "anna: [feed];frida: [words 東京];");
  EXPECT_FALSE(NotificationMatcher({}).wants_text());
  EXPECT_EQ(told(NotificationMatcher({}), {"news"}, "redis"), "");
}

}  // namespace
}  // namespace feedmill::notification_matcher_test
