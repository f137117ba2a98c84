// Rules and notices of users in several partitions (RELIABILITY L32).
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/store/partition.hpp"
#include "storage/timelines/timelines_of_all.hpp"

namespace feedmill::test::notice_parts_test {
namespace {

constexpr unsigned count = 4;

TEST(NoticeParts, HaveRulesWhereThePostsAre) {
  const unsigned home = home_of_user("anna", count);
  std::string url;
  for (unsigned host = 0; url.empty() || partition_of(url, count) == home; ++host)
    url = "https://host" + std::to_string(host) + ".example/feed.xml";
  EXPECT_EQ(copies_of_rule({"anna", "", Watch::Kind::feed, url}, count),
            (std::vector<unsigned>{partition_of(url, count)}));
  for (const Watch::Kind kind : {Watch::Kind::channel, Watch::Kind::words}) {
    const auto copies = copies_of_rule({"anna", "", kind, "news"}, count);
    EXPECT_EQ(copies.size(), count - 1);
    for (const unsigned copy : copies) EXPECT_NE(copy, home);
  }
  EXPECT_EQ(copies_of_rule({"anna", "", Watch::Kind::words, "news"}, 1).size(), 0U);
  EXPECT_TRUE(is_same_rule({"anna", "1", Watch::Kind::words, "news"}, {"anna", "7", Watch::Kind::words, "news"}));
  EXPECT_FALSE(is_same_rule({"anna", "1", Watch::Kind::words, "news"}, {"anna", "1", Watch::Kind::channel, "news"}));
}

TEST(NoticeParts, AreTheNewestOfAll) {
  const auto ids = [](const std::vector<std::vector<StoredNotice>>& parts) {
    std::string text;
    for (const StoredNotice& notice : notices_together("anna", parts)) text += notice.id + " ";
    return text;
  };
  EXPECT_EQ(ids({{{"9-2", ""}, {"7-0", ""}}, {}, {{"10-0", ""}, {"9-10", ""}, {"9-1", ""}}}), "10-0 9-10 9-2 9-1 7-0 ");
  EXPECT_EQ(ids({{{"outage 9", ""}, {"7-0", ""}}, {{"collision a b", ""}, {"state gone 8 a", ""}, {"10-0", ""}}}),
            "10-0 outage 9 state gone 8 a 7-0 collision a b ");
  EXPECT_EQ(ids({{{"7-0", ""}, {"9-0", ""}}}), "7-0 9-0 ") << "of one, as they were given";
  std::vector<StoredNotice> many;
  for (int i = 99; i > 70; --i) many.push_back({std::to_string(i) + "-0", ""});
  const auto newest = notices_together("anna", std::vector{many, many});
  EXPECT_EQ(newest.size(), max_notices);
  EXPECT_EQ(newest.back().id, "85-0");
}

TEST(NoticeParts, OfOperatorsLoseTheOldestOfTheMostFrequentKind) {
  std::vector<StoredNotice> typos, others;
  for (int i = 99; i > 70; --i)
    typos.push_back({std::to_string(i) + "-0", R"({"read":false,"type":"feed_failing","state":"never_read"})"});
  for (int i = 60; i > 55; --i) others.push_back({std::to_string(i) + "-0", R"({"read":false,"type":"store_outage"})"});
  const auto kept = notices_together("_operator", std::vector{typos, others});
  ASSERT_EQ(kept.size(), max_notices);
  EXPECT_EQ(kept.back().id, "56-0") << "rare, so it stays";
  EXPECT_EQ(kept[max_notices - 6].id, "75-0") << "the oldest four typos are gone";
}

}  // namespace
}  // namespace feedmill::test::notice_parts_test
