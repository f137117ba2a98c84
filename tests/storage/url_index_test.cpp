// The index of registered feeds by URL (RELIABILITY L22): maintained by this build, by this build together with one
// that lacks the index, and only by the latter.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/storage/store_fixture.hpp"

namespace feedmill::test::url_index_test {
namespace {

using Texts = std::vector<std::string>;

class UrlIndex : public StoreTest {
 protected:
  Texts by_url() {
    const std::string all = redis({"ZRANGE", "state:feeds", "0", "-1"});
    Texts urls;
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t end = std::min(all.find_first_of(" \n", at), all.size());
      if (end > at) urls.push_back(all.substr(at, end - at));
      at = end + 1;
    }
    return urls;
  }
  Texts walked(Store& by) {
    Texts all;
    for (FeedWalk walk(by);;) {
      const auto page = walk.next();
      EXPECT_TRUE(page) << page.error().detail;
      if (!page || page->empty()) return all;
      EXPECT_LE(page->size(), 500U);
      all.insert(all.end(), page->begin(), page->end());
    }
  }
  int calls(const std::string& command) {
    const std::string stats = redis({"INFO", "commandstats"}), name = "cmdstat_" + command + ":calls=";
    const std::size_t at = stats.find(name);
    return at == std::string::npos ? 0 : std::stoi(stats.substr(at + name.size()));
  }
  /// Repairs the index as a worker does; returns the number of steps.
  std::size_t put_right() {
    std::size_t steps = 0;
    for (IndexPlace place; !place.is_done(); ++steps) EXPECT_TRUE(Feeds(store).index_step(place));
    return steps;
  }
  /// Adds a feed as a build without the index does.
  void add_as_before(const std::string& url) {
    redis({"SADD", "feeds", url});
    redis({"HSET", "state:feed:" + url, "state", "new"});
    redis({"ZADD", "schedule", "1", url});
  }

  const std::string a = "http://a.org/", b = "http://b.org/", c = "https://a.org/\xC3\xA9", d = "https://a.org/z";
};

TEST_F(UrlIndex, IsWrittenWithEveryFeedThatComesOrGoes) {
  for (const std::string& url : {d, b, c, a, b}) add(url);
  const Texts all{a, b, d, c};  // in byte order
  EXPECT_EQ(by_url(), all);
  EXPECT_EQ(*Feeds(store).urls_after("", 10), all);
  EXPECT_EQ(*Feeds(store).urls_after(a, 2), (Texts{b, d}));
  EXPECT_EQ(*Feeds(store).urls_after("https://", 10), (Texts{d, c}));
  EXPECT_EQ(*Feeds(store).urls_after(c, 10), Texts());
  ASSERT_TRUE(*Feeds(store).remove(b));
  EXPECT_EQ(by_url(), (Texts{a, d, c}));
  EXPECT_TRUE(*Feeds(store).is_indexed());
  EXPECT_EQ(redis({"HGET", "meta:store", "by_url"}), "1") << "a store of ours has it from the start";
}

TEST_F(UrlIndex, APageCostsInProportionToItsRows) {
  std::vector<NewFeed> feeds;
  Texts urls;
  for (int i = 0; i < 3'000; ++i) urls.push_back("https://many.org/" + std::to_string(i));
  for (const std::string& url : urls) feeds.push_back({.feed_url = url});
  ASSERT_TRUE(Feeds(store).add(feeds));
  std::sort(urls.begin(), urls.end());
  redis({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(walked(store), urls);
  EXPECT_EQ(calls("sscan"), 0);
  EXPECT_EQ(calls("smembers"), 0);
  EXPECT_LE(calls("zrange"), 7);
}

TEST_F(UrlIndex, WhatAnOlderBuildDidIsShownAtOnceAndPutRight) {
  add(a);
  for (const std::string& url : {d, b, c}) add_as_before(url);
  EXPECT_FALSE(*Feeds(store).is_indexed());
  EXPECT_EQ(walked(store), (Texts{a, b, d, c}));
  EXPECT_EQ(*Feeds(store).urls_after(b, 1), Texts{d});
  put_right();
  EXPECT_TRUE(*Feeds(store).is_indexed());
  EXPECT_EQ(by_url(), (Texts{a, b, d, c}));
  redis({"SREM", "feeds", a});
  EXPECT_EQ(walked(store), (Texts{b, d, c}));
  put_right();
  EXPECT_EQ(by_url(), (Texts{b, d, c}));
}

TEST_F(UrlIndex, AWalkFindsWhatTheirNumbersDoNotTell) {
  for (const std::string& url : {a, b}) add(url);
  redis({"SREM", "feeds", a});
  add_as_before(d);
  EXPECT_TRUE(*Feeds(store).is_indexed()) << "as many as there are";
  put_right();
  EXPECT_EQ(by_url(), (Texts{b, d}));
}

TEST_F(UrlIndex, OfAnOlderStoreIsBuiltInBoundedSteps) {
  redis({"HDEL", "meta:store", "by_url"});
  for (int i = 0; i < 2'000; i += 500) {
    std::vector<std::string> words{"SADD", "feeds"};
    for (int j = i; j < i + 500; ++j) words.push_back("https://many.org/" + std::to_string(j));
    redis(words);
  }
  redis({"CONFIG", "RESETSTAT"});
  IndexPlace place;
  ASSERT_TRUE(Feeds(store).index_step(place));
  EXPECT_FALSE(place.is_done());
  EXPECT_GE(calls("zadd"), 500);
  EXPECT_LE(calls("zadd"), 600) << "SSCAN may say a few more";
  EXPECT_EQ(redis({"HEXISTS", "meta:store", "by_url"}), "0");
  while (!place.is_done()) ASSERT_TRUE(Feeds(store).index_step(place));
  EXPECT_EQ(by_url().size(), 2'000U);
  EXPECT_EQ(redis({"HGET", "meta:store", "by_url"}), "1");
}

TEST_F(UrlIndex, AWalkThatIsCutOffLeavesNothingWrong) {
  for (const std::string& url : {d, b, c}) add_as_before(url);
  IndexPlace place;
  ASSERT_TRUE(Feeds(store).index_step(place));  // and never continues
  add(a);
  ASSERT_TRUE(*Feeds(store).remove(b));
  EXPECT_EQ(walked(store), (Texts{a, d, c}));
  put_right();
  EXPECT_EQ(by_url(), (Texts{a, d, c}));
}

TEST_F(UrlIndex, ThatIsBrokenKeepsNoFeedFromComingOrGoing) {
  redis({"SET", "state:feeds", "x"});
  add(a);
  EXPECT_EQ(redis({"SISMEMBER", "feeds", a}), "1");
  EXPECT_EQ(redis({"ZCARD", "schedule"}), "1");
  ASSERT_TRUE(*Feeds(store).remove(a));
  EXPECT_EQ(redis({"SISMEMBER", "feeds", a}), "0");
}

TEST_F(UrlIndex, ReadOnlyClientsNeedNoOtherRight) {
  add(a);
  add_as_before(b);
  Store reading(StoreOptions{.url = server.url_of("feedmill_viewer"), .reads_only = true});
  ASSERT_TRUE(reading.open());
  EXPECT_EQ(walked(reading), (Texts{a, b}));
  put_right();
  EXPECT_EQ(walked(reading), (Texts{a, b}));
  EXPECT_EQ(redis({"ACL", "LOG"}), "");
}

}  // namespace
}  // namespace feedmill::test::url_index_test
