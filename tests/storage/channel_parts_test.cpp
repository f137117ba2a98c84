// Channels with feeds in several partitions (RELIABILITY L31).
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/timelines/timelines_of_all.hpp"

namespace feedmill::test::channel_parts_test {
namespace {

using Rows = std::vector<std::vector<ChannelRecord>>;

constexpr unsigned count = 4;

TEST(ChannelParts, OfAUserHaveOneHome) {
  const unsigned annas = home_of_channel("anna/news", count);
  EXPECT_LT(annas, count);
  for (const char* const uid : {"anna/work", "anna/", "anna/a/b"}) EXPECT_EQ(home_of_channel(uid, count), annas) << uid;
  EXPECT_EQ(home_of_channel("news", count), home_of_channel("work", count)) << "of nobody";
  EXPECT_EQ(home_of_channel("anna/news", 1), 0U);
}

TEST(ChannelParts, AreCountedTogetherAndStandWhereTheirHomeSays) {
  const unsigned home = home_of_channel("anna/news", count), other = (home + 1) % count, third = (home + 2) % count;
  Rows parts(count);
  parts[home] = {{"anna/work", 1, 0, 0}, {"anna/news", 2, 1, 10}};
  parts[other] = {{"anna/news", 7, 2, 5}, {"anna/work", 9, 1, 1}};
  parts[third] = {{"anna/found", 3, 1, 2}};  // imported, without a position yet
  const auto all = channels_together(parts);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].uid, "anna/work");
  EXPECT_EQ(all[0].position, 1);
  EXPECT_EQ(all[0].unread, 1U);
  EXPECT_EQ(all[1].uid, "anna/news");
  EXPECT_EQ(all[1].position, 2);
  EXPECT_EQ(all[1].feeds, 3U);
  EXPECT_EQ(all[1].unread, 15U);
  EXPECT_EQ(all[2].uid, "anna/found");
}

TEST(ChannelParts, StandUserByUser) {
  Rows parts(count);
  for (const char* const uid : {"bert/a", "anna/b", "news"})
    parts[home_of_channel(uid, count)].push_back({uid, 1, 0, 0});
  parts[home_of_channel("anna/a", count)].push_back({"anna/a", 2, 0, 0});
  std::string order;
  for (const ChannelRecord& channel : channels_together(parts)) order += channel.uid + " ";
  EXPECT_EQ(order, "news anna/b anna/a bert/a ");
}

TEST(ChannelParts, HaveNamesInOneOrder) {
  const std::vector<std::vector<std::string>> parts{{"a", "c", "e"}, {}, {"a", "b"}};
  EXPECT_EQ(names_together(parts, 10), (std::vector<std::string>{"a", "b", "c", "e"}));
  EXPECT_EQ(names_together(parts, 2), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(names_together(parts, 0).size(), 0U);
}

/// In the order of one sorted set in Redis: descending by score and member.
TEST(ChannelParts, HavePostsInOneOrder) {
  const std::vector<std::vector<EntryCursor>> parts{
      {{9, "{p0}:Entry:8"}, {7, "{p0}:Entry:4"}}, {}, {{9, "{p2}:Entry:2"}, {8, "{p2}:Entry:6"}, {7, "{p2}:Entry:1"}}};
  const auto shown = [](const std::vector<EntryCursor>& places) {
    std::string text;
    for (const EntryCursor& place : places) text += std::to_string(place.score) + place.id + " ";
    return text;
  };
  EXPECT_EQ(shown(places_together(parts, 10)),
            "9{p2}:Entry:2 9{p0}:Entry:8 8{p2}:Entry:6 7{p2}:Entry:1 7{p0}:Entry:4 ");
  EXPECT_EQ(shown(places_together(parts, 3)), "9{p2}:Entry:2 9{p0}:Entry:8 8{p2}:Entry:6 ");
  EXPECT_EQ(shown(places_together(parts, 0)), "");
}

}  // namespace
}  // namespace feedmill::test::channel_parts_test
