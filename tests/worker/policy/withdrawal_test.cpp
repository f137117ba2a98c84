#include <gtest/gtest.h>

#include "worker/policy/feed_identity.hpp"

namespace feedmill::withdrawal_test {
namespace {

constexpr std::int64_t noon = 1'772'366'400;  // 2026-03-01T12:00:00Z

struct Case {
  const char* name;
  const char* stored;   ///< date of the stored post, "0" undated, "" none
  std::int64_t listed;  ///< timestamp of the entry in the same document, 0 = not listed, -1 = undated
  bool counts;
};
void PrintTo(const Case& test, std::ostream* out) {
  *out << test.name;
}

class Withdrawals : public testing::TestWithParam<Case> {};
TEST_P(Withdrawals, CountUnlessThePostIsNewer) {
  const Case& test = GetParam();
  std::vector<EntryRecord> listed;
  if (test.listed > 0) listed.push_back({"g", "", test.listed, {}, {}});
  if (test.listed < 0) listed.push_back({"g", "", {}, {}, {}});
  const auto guids = withdrawn({{"g", noon}}, {test.stored}, listed);
  EXPECT_EQ(guids, test.counts ? std::vector<std::string>{"g"} : std::vector<std::string>());
}
INSTANTIATE_TEST_SUITE_P(All, Withdrawals,
                         testing::Values(Case{"Older", "2026-03-01T11:59:59Z", 0, true},
                                         Case{"Equal", "2026-03-01T12:00:00Z", 0, true},
                                         Case{"Newer", "2026-03-01T12:00:01Z", 0, false}, Case{"Undated", "0", 0, true},
                                         Case{"NeverStored", "", 0, false}, Case{"ListedAndOlder", "", noon - 1, true},
                                         Case{"ListedAndNewer", "2026-03-01T10:00:00Z", noon + 1, false},
                                         Case{"ListedUndated", "", -1, true}),
                         [](const auto& test) { return test.param.name; });

TEST(Deletions, WithoutADateSayNothing) {
  Feed feed;
  feed.deleted = {{"a", {Time(std::chrono::seconds(noon)), "x"}}, {"b", {{}, "soon"}}};
  const auto found = deletions(feed, IdentifiedBy::guid);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].guid, "a");
  EXPECT_EQ(found[0].when, noon);
}

TEST(Deletions, NamePostsByWhatTellsThemApart) {
  Feed feed;
  const Date date{Time(std::chrono::seconds(noon)), "x"};
  feed.deleted = {{"https://www.example.org/post/1?utm_source=x", date}, {"tag:example.org,2026:2", date}};
  const auto by_link = deletions(feed, IdentifiedBy::link);
  ASSERT_EQ(by_link.size(), 1U);
  EXPECT_EQ(by_link[0].guid, "link:example.org/post/1");
  EXPECT_EQ(deletions(feed, IdentifiedBy::guid).size(), 2U);
  EXPECT_TRUE(deletions(feed, IdentifiedBy::digest).empty()) << "an id says nothing of a text";
}

EntryWrite creation_of(const std::string& guid) {
  EntryWrite write;
  write.guid = guid;
  return write;
}

TEST(WithdrawnPosts, AreRememberedUntilTheyAreListedAgain) {
  std::vector<std::string> marks;
  remember_withdrawn(marks, {}, {creation_of("a")});
  EXPECT_TRUE(marks.empty());
  remember_withdrawn(marks, {"a", "b"}, {creation_of("c")});
  EXPECT_TRUE(was_withdrawn(marks, "a") && was_withdrawn(marks, "b"));
  EXPECT_FALSE(was_withdrawn(marks, "c"));
  const std::vector<std::string> before = marks;
  remember_withdrawn(marks, {"a", "b"}, {});
  EXPECT_EQ(marks, before) << "what says the same again changes nothing";
  EntryWrite changed = creation_of("a");
  changed.id = "Entry:1";
  remember_withdrawn(marks, {}, {changed});
  EXPECT_EQ(marks, before);
  remember_withdrawn(marks, {}, {creation_of("a")});
  EXPECT_FALSE(was_withdrawn(marks, "a"));
  EXPECT_TRUE(was_withdrawn(marks, "b"));
}

TEST(WithdrawnPosts, AreRememberedAsFarAsThereIsRoom) {
  std::vector<std::string> marks;
  for (int i = 0; i < 1000; ++i) remember_withdrawn(marks, {std::to_string(i)}, {});
  EXPECT_EQ(marks.size(), 100U);
  EXPECT_TRUE(was_withdrawn(marks, "999") && was_withdrawn(marks, "900"));
  EXPECT_FALSE(was_withdrawn(marks, "899"));
  for (const std::string& mark : marks) EXPECT_EQ(mark.size(), 16U);
}

}  // namespace
}  // namespace feedmill::withdrawal_test
