// Plain lists of any length, read part by part (SECURITY T32).
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "worker/operations/subscriptions.hpp"

namespace feedmill::plain_list_test {
namespace {

/// All parts of a list combined.
struct Whole {
  std::size_t parts = 0, largest = 0, merged = 0;
  std::vector<std::string> feeds;
  std::vector<std::size_t> lines;
  std::vector<RefusedRow> refused;
};

/// Reads a text that arrives in blocks of `block` bytes.
Whole read(const std::string& text, std::size_t block = 4096) {
  AddressSet named;
  std::size_t at = 0;
  PlainList list(
      [&] {
        const std::string_view next = std::string_view(text).substr(at, block);
        at += next.size();
        return next;
      },
      named);
  Whole whole;
  while (auto part = list.next()) {
    ++whole.parts;
    whole.largest = std::max(whole.largest, part->feeds.size());
    whole.merged += part->merged;
    EXPECT_TRUE(part->broken.empty());
    for (const Subscription& feed : part->feeds) {
      whole.feeds.push_back(feed.feed_url);
      whole.lines.push_back(feed.line);
    }
    for (const RefusedRow& row : part->refused) whole.refused.push_back(row);
  }
  EXPECT_EQ(named.size(), whole.feeds.size());
  return whole;
}

TEST(PlainLists, AreOfAnyLengthAndNameBadRowsByTheirLine) {
  constexpr std::size_t many = 300'000;  // more than an OPML file may contain
  std::string text = "# a comment\n\n";
  for (std::size_t i = 0; i < many; ++i) {
    text += i == 250'000 ? "gopher://old.example/\n" : "http://a.example/" + std::to_string(i) + "\n";
  }
  text += "http://a.example/7\nhttp://a.example/last";  // /7 was in a much earlier part
  const Whole whole = read(text);
  EXPECT_EQ(whole.feeds.size(), many);
  EXPECT_EQ(whole.feeds.front(), "http://a.example/0");
  EXPECT_EQ(whole.lines.front(), 3U);
  EXPECT_EQ(whole.feeds.back(), "http://a.example/last");
  EXPECT_EQ(whole.lines.back(), many + 4);
  EXPECT_EQ(whole.merged, 1U);
  EXPECT_GT(whole.parts, 70U);
  EXPECT_LE(whole.largest, 4096U);
  ASSERT_EQ(whole.refused.size(), 1U);
  EXPECT_EQ(whole.refused[0].line, 250'003U);
  EXPECT_EQ(whole.refused[0].text, "gopher://old.example/");
}

TEST(PlainLists, AreReadAlikeHoweverTheirBytesCome) {
  const std::string text = "\xEF\xBB\xBFhttp://a.example/\r\n\n  b.example/feed \n#x\nftp://c/\nhttp://a.example/\n";
  for (const std::size_t block : {1U, 2U, 3U, 7U, 1000U}) {
    const Whole whole = read(text, block);
    EXPECT_EQ(whole.feeds, (std::vector<std::string>{"http://a.example/", "https://b.example/feed"})) << block;
    EXPECT_EQ(whole.lines, (std::vector<std::size_t>{1, 3})) << block;
    EXPECT_EQ(whole.merged, 1U) << block;
    ASSERT_EQ(whole.refused.size(), 1U) << block;
    EXPECT_EQ(whole.refused[0].line, 5U) << block;
  }
  EXPECT_EQ(read("").parts, 0U);
  EXPECT_EQ(read("\n# nothing\n\n").parts, 0U);
}

TEST(PlainLists, OfLongLinesHoldAtMostAMaximalAddress) {
  const Whole whole = read("http://a.example/" + std::string(5U << 20U, 'a') + "\nhttp://b.example/\n");
  EXPECT_EQ(whole.feeds, std::vector<std::string>{"http://b.example/"});
  EXPECT_EQ(whole.lines, std::vector<std::size_t>{2});
  ASSERT_EQ(whole.refused.size(), 1U);
  EXPECT_EQ(whole.refused[0].line, 1U);
  EXPECT_LE(whole.refused[0].text.size(), 8192U);
  // A comment longer than a part does not end the list.
  EXPECT_EQ(read("#" + std::string(3U << 20U, 'x') + "\nhttp://b.example/\n").feeds.size(), 1U);
}

TEST(PlainLists, AreDistinguishedFromOpmlByTheirBeginning) {
  EXPECT_EQ(begins_opml("  \n <opml"), true);
  EXPECT_EQ(begins_opml("\xEF\xBB\xBF<?xml"), true);
  EXPECT_EQ(begins_opml(std::string_view("\0<", 2)), true);
  EXPECT_EQ(begins_opml("# <opml>"), false);
  EXPECT_EQ(begins_opml("http://a.example/"), false);
  EXPECT_EQ(begins_opml(" \n\t"), std::nullopt);
}

TEST(AddressSet, ContainsInsertedAddresses) {
  AddressSet set;
  for (int i = 0; i < 20'000; ++i) EXPECT_TRUE(set.insert("http://a.example/" + std::to_string(i)));
  for (int i = 0; i < 20'000; ++i) EXPECT_FALSE(set.insert("http://a.example/" + std::to_string(i)));
  EXPECT_EQ(set.size(), 20'000U);
  EXPECT_TRUE(set.contains("http://a.example/19999"));
  EXPECT_FALSE(set.contains("http://a.example/20000"));
  EXPECT_FALSE(set.full());
}

}  // namespace
}  // namespace feedmill::plain_list_test
