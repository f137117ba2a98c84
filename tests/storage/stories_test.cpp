// Which posts tell the same story, and the index of stories (DESIGN §7, RELIABILITY L19).
#include "storage/timelines/stories.hpp"

#include "storage/timelines/channels.hpp"
#include "storage/timelines/deliveries.hpp"
#include "tests/storage/story_fixture.hpp"

namespace feedmill::test::stories_test {
namespace {

const std::string site = "https://site.example/feed", planet = "https://planet.example/feed",
                  third = "https://third.example/feed";

TEST(StoryPage, IsThatOfTheDeclaredAddressElseOfTheLink) {
  const auto of = [](const std::string& link) { return story_page(link, canonical_url(link)); };
  EXPECT_EQ(of("https://www.Site.example:443/a/?utm_source=rss#utm=1"), "site.example/a");
  EXPECT_EQ(of("http://site.example/a"), "site.example/a");
  EXPECT_NE(of("https://site.example/a?id=1"), of("https://site.example/a?id=2"));
  EXPECT_NE(of("https://site.example/app#/1"), of("https://site.example/app#/2")) << "pages of an application";
  EXPECT_EQ(story_page("https://planet.example/1", "https://site.example/a"), "site.example/a");
  for (const char* home :
       {"https://site.example/", "https://site.example", "https://www.site.example/?utm_medium=rss"}) {
    EXPECT_EQ(of(home), "") << home;
  }
  for (const char* none : {"", "mailto:a@site.example", "/relative", "magnet:?xt=1"}) EXPECT_EQ(of(none), "") << none;
}

TEST(Headline, IsItsWordsInLowerCase) {
  EXPECT_EQ(headline({{"title", " Fog -- until NOON! "}}), "fog until noon");
  EXPECT_EQ(headline({{"title", "<b>Fog</b> &amp; rain"}, {"title_type", "text/html"}}), "fog rain");
  EXPECT_EQ(headline({{"summary_text", "No title"}}), "no title");
  EXPECT_EQ(headline({{"title", "Война и мир"}}), "Война и мир");
  EXPECT_LE(headline({{"title", std::string(8'000, 'x')}}).size(), 300U);
}

TEST(Headline, IsTheSameWhenOneHoldsTheOther) {
  EXPECT_TRUE(is_same_headline("fog", "fog"));
  EXPECT_TRUE(is_same_headline("ada fog until noon", "fog until noon"));
  EXPECT_FALSE(is_same_headline("mini", "mini cooper s")) << "too short to tell";
  EXPECT_FALSE(is_same_headline("google mini", "mini cooper s"));
  EXPECT_FALSE(is_same_headline("", ""));
  EXPECT_FALSE(is_same_headline("", "fog"));
}

class StoriesTest : public StoryTest {
 protected:
  /// Indexes all posts of a feed.
  void sync(const std::string& url) {
    const auto reply = stories.sync(texts(redis({"ZRANGE", url + ":sort", "0", "-1"})));
    ASSERT_TRUE(reply) << reply.error().detail;
    EXPECT_EQ(*reply, 0U);
  }
};

TEST_F(StoriesTest, PostsOfOnePageInSeveralFeedsAreOneStory) {
  publish(planet, {post_to("p", "http://www.site.example/fog?utm_source=planet", "Ada: Fog until noon")});
  publish(site,
          {post_to("s", "https://site.example/fog/", "Fog until noon"), post_to("t", "https://site.example/x", "X")});
  publish(third, {post_to("u", "https://site.example/fog", "FOG UNTIL NOON"),
                  post_to("v", "https://site.example/fog?page=2", "Fog until noon")});
  for (const std::string& url : {planet, site, third}) sync(url);
  EXPECT_EQ(same_as(id(planet, "p")), (Texts{id(site, "s"), id(third, "u")})) << "the site itself comes first";
  EXPECT_EQ(same_as(id(site, "s")), (Texts{id(planet, "p"), id(third, "u")}));
  EXPECT_EQ(same_as(id(site, "t")), Texts());
  EXPECT_EQ(same_as(id(third, "v")), Texts());
  EXPECT_EQ(same_as("Entry:999"), Texts());
  EXPECT_EQ(same_as("feeds"), Texts());
}

TEST_F(StoriesTest, OnePageIsNotYetOneStory) {
  const std::string page = "https://shop.example/item1";
  publish(site, {post_to("a", page, "Google Mini")});
  publish(planet, {post_to("b", page, "Mini Cooper S")});
  // All posts of this feed link to the same page.
  publish(third, {post_to("c", page, "Google Mini", 1), post_to("d", page, "Google Mini", 2)});
  for (const std::string& url : {planet, site, third}) sync(url);
  for (const auto& [url, guid] : {std::pair(site, "a"), {planet, "b"}, {third, "c"}, {third, "d"}}) {
    EXPECT_EQ(same_as(id(url, guid)), Texts()) << guid;
  }
}

TEST_F(StoriesTest, WhatGoesLeavesNothingWhateverComesAgain) {
  publish(site, {post_to("s", "https://site.example/fog", "Fog until noon")});
  publish(planet, {post_to("p", "https://site.example/fog", "Fog until noon")});
  const Texts both{id(site, "s"), id(planet, "p")};
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(stories.sync(both));
  EXPECT_EQ(indexed(), 2U);
  publish(planet, {post_to("p", "https://site.example/rain", "Rain until noon")});
  ASSERT_TRUE(stories.sync(both));
  EXPECT_EQ(same_as(both[0]), Texts()) << "its link has changed";
  publish(planet, {post_to("p", "https://site.example/fog", "Fog until noon")});
  ASSERT_TRUE(stories.sync(both));
  EXPECT_EQ(same_as(both[0]), Texts{both[1]});

  ASSERT_TRUE(Entries(store).remove(both[1]));
  EXPECT_EQ(same_as(both[0]), Texts()) << "before anybody has said so";
  ASSERT_TRUE(stories.sync(both));
  EXPECT_EQ(indexed(), 1U);
  ASSERT_TRUE(Feeds(store).remove(site));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(stories.sync(both));
  EXPECT_EQ(redis({"KEYS", "channel_same:*"}), "");
}

TEST_F(StoriesTest, WhatOneFeedDoesIsBounded) {
  std::vector<EntryRecord> posts;
  for (int i = 0; i < 300; ++i) posts.push_back(post_to("g" + std::to_string(i), "https://site.example/fog", "Fog", i));
  publish(planet, posts);
  sync(planet);
  EXPECT_EQ(indexed(), 2U) << "enough to tell that its posts have one link";
  EXPECT_EQ(redis({"HEXISTS", "channel_same:posts:300", "300"}), "1") << "the newest, which go last";
  for (int i = 0; i < 60; ++i) {
    const std::string url = "https://f" + std::to_string(i) + ".example/feed";
    publish(url, {post_to("a", "https://site.example/fog", "Fog")});
    sync(url);
  }
  EXPECT_EQ(indexed(), 50U);
  EXPECT_EQ(same_as(id("https://f0.example/feed", "a")).size(), 47U) << "all of the other feeds that tell posts apart";
}

TEST_F(StoriesTest, KeysOfTheWrongTypeStopNothing) {
  publish(site, {post_to("s", "https://site.example/fog", "Fog until noon")});
  publish(planet, {post_to("p", "https://site.example/fog", "Fog until noon")});
  const Texts both{id(site, "s"), id(planet, "p")};
  redis({"SET", "channel_same:posts:" + both[0].substr(6), "no hash"});
  const auto synced = stories.sync(both);
  ASSERT_TRUE(synced) << synced.error().detail;
  EXPECT_EQ(*synced, 1U);
  EXPECT_EQ(same_as(both[0]), Texts());
  redis({"SET", "Entry:77", "no post"});
  redis({"SET", planet + ":sort", "no index"});
  for (Stories::Place place; !place.done;) {
    const auto next = stories.rebuild(place);
    ASSERT_TRUE(next) << next.error().detail;
    place = *next;
  }
  EXPECT_TRUE(stories.sync(Texts{"Entry:77", "feeds", ""}));
}

TEST_F(StoriesTest, ATimelineMayShowOnePostOfAStory) {
  publish(planet, {post_to("p", "https://site.example/fog", "Fog until noon")});
  publish(site, {post_to("s", "https://site.example/fog", "Fog until noon")});
  publish(third,
          {post_to("u", "https://site.example/fog", "Fog until noon"), post_to("v", "https://third.example/v", "V")});
  for (const std::string& url : {planet, site, third}) sync(url);
  Channels channels(store);
  ASSERT_TRUE(channels.add(Texts{"all", "two"}));
  ASSERT_TRUE(channels.follow(
      std::vector<Membership>{{"all", planet}, {"all", site}, {"all", third}, {"two", planet}, {"two", third}}));
  const Texts ids{id(planet, "p"), id(site, "s"), id(third, "u"), id(third, "v")};
  const auto shown = [&](const std::string& uid, bool all) { return *stories.is_first_told(uid, all, ids); };
  EXPECT_EQ(shown("all", false), (std::vector<bool>{false, true, false, true})) << "that of the site itself";
  EXPECT_EQ(shown("all", true), (std::vector<bool>{false, true, false, true}));
  EXPECT_EQ(shown("two", false), (std::vector<bool>{true, true, false, true})) << "else the oldest that is in it";
  ASSERT_TRUE(channels.mark_read("two", Texts{ids[0]}));
  EXPECT_FALSE(shown("two", false)[2]) << "who has read it is not told again";
  ASSERT_TRUE(channels.mark_read("all", Texts{ids[2]}));
  EXPECT_EQ(shown("all", false), (std::vector<bool>{false, false, false, true})) << "whichever it was";
  EXPECT_EQ(shown("all", true), (std::vector<bool>{false, true, false, true}));
}

// RELIABILITY L19 promises a size, as measured by the server.
TEST_F(StoriesTest, APostCostsAtMost120BytesWhenAThirdAreInSeveralFeeds) {
  constexpr int feeds = 50, posts_of_feed = 400, shared = posts_of_feed * 3 / 10;
  for (int feed = 0; feed < feeds; ++feed) {
    std::vector<EntryRecord> posts;
    for (int i = 0; i < posts_of_feed; ++i) {
      // A page that five feeds link to, or one for this feed alone.
      const std::string page = i < shared ? "shared/" + std::to_string(feed / 5) : std::to_string(feed);
      posts.push_back(
          post_to("g" + std::to_string(i), "https://site.example/" + page + "/" + std::to_string(i), "Fog until noon"));
    }
    publish("https://f" + std::to_string(feed) + ".example/feed", posts);
  }
  const auto memory = [&] {
    const std::string info = redis({"INFO", "memory"});
    return std::stoll(info.substr(info.find("used_memory:") + 12));
  };
  const auto before = memory();
  const std::int64_t keys = std::stoll(redis({"DBSIZE"}));
  for (Stories::Place place; !place.done;) {
    const auto next = stories.rebuild(place);
    ASSERT_TRUE(next) << next.error().detail;
    place = *next;
  }
  const auto bytes = memory() - before;
  EXPECT_EQ(same_as(id("https://f0.example/feed", "g0")).size(), 4U);
  EXPECT_LE(bytes / feeds / posts_of_feed, 120);
  EXPECT_GE(std::stoll(redis({"DBSIZE"})), keys + feeds * shared / 5) << "is it all there?";  // one key per page
  ASSERT_TRUE(stories.drop());
  EXPECT_EQ(redis({"KEYS", "channel_same*"}), "");
}

}  // namespace
}  // namespace feedmill::test::stories_test
