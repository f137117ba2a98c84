// What a reader needs of the API: timelines with read posts, counts, feeds of posts, lists of subscriptions.
#include <map>
#include <set>
#include <span>

#include <gtest/gtest.h>

#include "storage/feeds/feeds.hpp"
#include "storage/timelines/channels.hpp"
#include "tests/support/http_server.hpp"
#include "tests/worker/api/served_api.hpp"

namespace feedmill::test::reader_test {
namespace {

namespace json = boost::json;

class ReaderOverHttp : public ServedApiTest {
 protected:
  /// Puts a feed, which is added if it is new, into a channel, with so many more posts.
  void add_posts(int feed, const std::string& channel, int count) {
    const std::string its = R"({"url":")" + url(feed) + '"';
    ASSERT_LT(served->post("/feeds", its + R"(,"channel":")" + channel + "\"}").status, 300);
    for (int i = 0; i < count; ++i) {
      const std::string n = std::to_string(i);
      ASSERT_EQ(served->post("/entries", its + R"(,"guid":")" + n + R"(","entry":{"title":"T)" + n + "\"}}").status,
                201);
    }
    const Membership membership{channel, url(feed)};  // no worker delivers the posts here
    ASSERT_TRUE(Channels(store).follow(std::span(&membership, 1)));
  }

  /// The URLs on all pages of a list of feeds.
  std::vector<std::string> listed(const std::string& path) {
    std::vector<std::string> urls;
    for (std::string after; urls.size() < 5000;) {
      const json::object page = object_of(served->get(path + after));
      for (const json::value& feed : page.at("feeds").as_array()) urls.emplace_back(feed.at("url").as_string());
      if (page.at("next").is_null()) break;
      after = (path.find('?') == path.npos ? "?after=" : "&after=") +
              percent_encoded(std::string(page.at("next").as_string()));
    }
    return urls;
  }

  /// How often Redis has executed a command.
  std::uint64_t commands_done(const std::string& name) {
    const std::string all = command({"INFO", "commandstats"}), its = "cmdstat_" + name + ":calls=";
    const std::size_t at = all.find(its);
    return at == all.npos ? 0 : std::stoull(all.substr(at + its.size()));
  }
};

TEST_F(ReaderOverHttp, TimelinesShowReadPostsAndTheFeedOfEachPost) {
  for (int feed = 0; feed < 2; ++feed) add_posts(feed, "anna/news", 15);
  command({"HSET", "Feed:" + url(0), "title", "<b>Notes</b> &amp; more", "title_type", "text/html", "icon",
           "https://example.org/icon.png", "link", "https://example.org/"});
  EXPECT_EQ(outcome(served->post("/channel/marks?channel=anna/news", R"({"as":"read","entries":[1,2,16]})")),
            "200 marked");
  std::map<std::string, bool> read;
  std::string before;
  do {
    const json::object page = object_of(served->get("/channel/entries?channel=anna/news&all=true&limit=7" + before));
    for (const json::value& entry : page.at("entries").as_array()) {
      EXPECT_TRUE(read.emplace(entry.at("id").as_string(), entry.at("read").as_bool()).second);
      const json::value feed = entry.at("feed_url").as_string() == url(0)
                                   ? json::value{{"url", url(0)},
                                                 {"title", "Notes & more"},
                                                 {"image", "https://example.org/icon.png"},
                                                 {"link", "https://example.org/"},
                                                 {"custom_title", nullptr}}
                                   : json::value{{"url", url(1)},
                                                 {"title", nullptr},
                                                 {"image", nullptr},
                                                 {"link", nullptr},
                                                 {"custom_title", nullptr}};
      EXPECT_EQ(entry.at("feed"), feed);
    }
    before = page.at("next").is_null() ? "" : "&before=" + percent_encoded(std::string(page.at("next").as_string()));
  } while (!before.empty());
  ASSERT_EQ(read.size(), 30U);
  for (const auto& [id, is_read] : read) EXPECT_EQ(is_read, id == "Entry:1" || id == "Entry:2" || id == "Entry:16");
  const json::object unread = object_of(served->get("/channel/entries?channel=anna/news&limit=50"));
  EXPECT_EQ(unread.at("entries").as_array().size(), 27U);
  EXPECT_EQ(object_of(served->get("/entries/1")).at("feed").at("title"), "Notes & more");
  EXPECT_EQ(served->get("/channel/entries?channel=anna/news&all=1").status, 400);
}

TEST_F(ReaderOverHttp, UnreadPostsOfOneFeedAreListedAndMarkedUpToAPosition) {
  add_posts(0, "anna/news", 30);
  add_posts(1, "anna/news", 5);
  const std::string of_channel = "/channel/entries?channel=anna/news", of_feed = of_channel + "&url=";
  const std::string its = of_feed + percent_encoded(url(0));
  using Cursors = std::vector<std::string>;
  const auto listed = [&](const std::string& path) {
    Cursors cursors;
    for (std::string before; cursors.size() < 100;) {
      const json::object page = object_of(served->get(path + before));
      for (const json::value& entry : page.at("entries").as_array())
        cursors.emplace_back(entry.at("cursor").as_string());
      if (page.at("next").is_null()) break;
      before = "&before=" + percent_encoded(std::string(page.at("next").as_string()));
    }
    return cursors;
  };
  const auto mark = [&](json::object body) {
    body["as"] = "read";
    return outcome(served->post("/channel/marks?channel=anna/news", json::serialize(body)));
  };
  const Cursors before = listed(its + "&limit=7");
  ASSERT_EQ(before.size(), 30U);
  EXPECT_EQ(mark({{"entries", "all"}, {"url", url(0)}, {"up_to", before[9]}}), "200 marked");
  EXPECT_EQ(listed(its + "&limit=7"), Cursors(before.begin(), before.begin() + 9));
  EXPECT_EQ(listed(its + "&limit=7&all=true"), before);
  EXPECT_EQ(listed(of_feed + percent_encoded(url(1))).size(), 5U) << "those of the other feed stay unread";
  const Cursors left = listed(of_channel);
  ASSERT_EQ(left.size(), 14U);
  EXPECT_EQ(mark({{"entries", "all"}, {"up_to", left[4]}}), "200 marked");
  EXPECT_EQ(listed(of_channel), Cursors(left.begin(), left.begin() + 4));
  EXPECT_EQ(mark({{"entries", "all"}, {"url", url(0)}}), "200 marked");
  EXPECT_EQ(listed(its), Cursors());
  EXPECT_EQ(listed(of_feed + percent_encoded(url(9))), Cursors()) << "it is not in the channel";
  // Empty, they would mark the whole channel.
  for (const json::object& wrong :
       {json::object{{"entries", "all"}, {"url", ""}}, json::object{{"entries", "all"}, {"url", nullptr}},
        json::object{{"entries", "all"}, {"up_to", ""}}, json::object{{"entries", {1}}, {"url", url(0)}},
        json::object{{"entries", {1}}, {"up_to", before[9]}}, json::object{{"entries", "all"}, {"up_to", "now"}},
        json::object{{"entries", "all"}, {"up_to", "1:a\n:1"}}}) {
    EXPECT_EQ(mark(wrong), "422 bad_value") << wrong;
  }
  EXPECT_EQ(served->get(of_feed + "ftp://x").status, 400);
}

TEST_F(ReaderOverHttp, AFeedWithManyReadPostsIsSearchedInBoundedParts) {
  add_posts(0, "anna/news", 3);
  command({"EVAL", "for i = 1, 2500 do redis.call('ZADD', ARGV[1], i, 'Entry:' .. 1000 + i) end", "0",
           url(0) + ":sort"});  // older posts, all read
  std::vector<std::size_t> found;
  for (std::string before; found.empty() || !before.empty();) {
    const json::object page =
        object_of(served->get("/channel/entries?channel=anna/news&url=" + percent_encoded(url(0)) + before));
    found.push_back(page.at("entries").as_array().size());
    before = page.at("next").is_null() ? "" : "&before=" + percent_encoded(std::string(page.at("next").as_string()));
  }
  EXPECT_EQ(found, (std::vector<std::size_t>{3, 0, 0}));
}

TEST_F(ReaderOverHttp, AFeedIsLookedUpOnceForAPageOfItsPosts) {
  add_posts(0, "anna/news", 100);
  const auto commands = [&] { return commands_done("hmget"); };
  const std::uint64_t before = commands();
  EXPECT_EQ(object_of(served->get("/channel/entries?channel=anna/news&limit=100")).at("entries").as_array().size(),
            100U);
  EXPECT_EQ(commands() - before, 2U) << "its record, and its title in the channel";
}

TEST_F(ReaderOverHttp, UnreadPostsAreCountedByChannelAndFeedInOneCall) {
  add_posts(0, "anna/a", 3);
  add_posts(1, "anna/a", 2);
  add_posts(2, "anna/b", 4);
  add_posts(0, "bert/c", 0);
  ASSERT_TRUE(Channels(store).add(std::vector<std::string>{"anna/empty"}));
  EXPECT_EQ(outcome(served->post("/channel/marks?channel=anna/a", R"({"as":"read","entries":[1,4,5]})")), "200 marked");
  const auto counted = [&](const std::string& query) {
    return object_of(served->get("/unread" + query)).at("channels");
  };
  const json::array of_anna{{{"channel", "anna/a"}, {"unread", 2}, {"feeds", {{{"url", url(0)}, {"unread", 2}}}}},
                            {{"channel", "anna/b"}, {"unread", 4}, {"feeds", {{{"url", url(2)}, {"unread", 4}}}}},
                            {{"channel", "anna/empty"}, {"unread", 0}, {"feeds", json::array()}}};
  EXPECT_EQ(counted("?user=anna"), of_anna);
  json::array of_all = of_anna;
  of_all.push_back({{"channel", "bert/c"}, {"unread", 3}, {"feeds", {{{"url", url(0)}, {"unread", 3}}}}});
  EXPECT_EQ(counted(""), of_all) << "each channel has read marks of its own";
  EXPECT_EQ(counted("?user=nobody"), json::array());
  EXPECT_EQ(served->get("/unread?user=anna&after=x").status, 400);
}

TEST_F(ReaderOverHttp, CountsOfManyFeedsHaveCursors) {
  std::vector<Membership> memberships;
  std::vector<std::string> channels;
  for (int i = 0; i < 450; ++i) channels.push_back("anna/" + std::to_string(i));
  add(0, 1500);
  ASSERT_TRUE(Channels(store).add(channels));
  for (int i = 0; i < 1500; ++i) memberships.push_back({"anna/7", url(i)});
  ASSERT_TRUE(Channels(store).follow(memberships));
  std::string after;
  std::set<std::string> seen;
  for (int pages = 0; pages < 20; ++pages) {
    const json::object page = object_of(served->get("/unread?user=anna" + after));
    for (const json::value& row : page.at("channels").as_array()) seen.emplace(row.at("channel").as_string());
    if (page.at("next").is_null()) break;
    after = "&after=" + percent_encoded(std::string(page.at("next").as_string()));
  }
  EXPECT_EQ(seen.size(), channels.size());
  EXPECT_EQ(listed("/feeds?user=anna&limit=170").size(), 1500U);
}

TEST_F(ReaderOverHttp, FeedsAreFilteredByChannelUserStateAndText) {
  for (const auto& [feed, channel] : {std::pair{0, "anna/a"}, {1, "anna/a"}, {1, "anna/b"}, {2, "bert/c"}, {3, "d"}})
    add_posts(feed, channel, feed == 1 ? 0 : 1);
  command({"HSET", "Feed:" + url(1), "title", "Redis <i>of gulls</i>", "title_type", "text/html"});
  ASSERT_EQ(served->post("/feed/pause?url=" + percent_encoded(url(2)), "").status, 200);
  ASSERT_EQ(served->post("/feed/pause?url=" + percent_encoded(url(0)), "").status, 200);
  using Urls = std::vector<std::string>;
  EXPECT_EQ(listed("/feeds?limit=2"), (Urls{url(0), url(1), url(2), url(3)}));
  EXPECT_EQ(listed("/feeds?channel=anna/a&limit=1"), (Urls{url(0), url(1)}));
  EXPECT_EQ(listed("/channel/feeds?channel=anna/a&limit=1"), (Urls{url(0), url(1)}));
  EXPECT_EQ(listed("/feeds?user=anna&limit=1"), (Urls{url(0), url(1), url(1)})) << "a feed is in two channels";
  EXPECT_EQ(listed("/feeds?state=paused&limit=1"), (Urls{url(0), url(2)})) << "the latest first";
  EXPECT_EQ(listed("/feeds?state=new"), (Urls{url(3), url(1)}));
  EXPECT_EQ(listed("/feeds?state=healthy"), Urls{});
  EXPECT_EQ(listed("/feeds?text=OF%20GULLS"), Urls{url(1)});
  EXPECT_EQ(listed("/feeds?text=example.ORG/2"), Urls{url(2)});
  command({"HSET", "Feed:" + url(3), "title", "\u00c9cole \u041c\u0438\u0440"});
  EXPECT_EQ(listed("/feeds?text=" + percent_encoded("\u00e9COLE \u043c\u0418\u0440")), Urls{url(3)});
  const json::object own{{"url", url(1)}, {"channel", "anna/b"}, {"title", "M\u00f6wen"}};
  ASSERT_EQ(served->post("/feeds", json::serialize(own)).status, 200);
  const std::string gulls = "text=" + percent_encoded("M\u00d6WEN");
  EXPECT_EQ(listed("/feeds?channel=anna/b&" + gulls), Urls{url(1)});
  EXPECT_EQ(listed("/feeds?user=anna&" + gulls), Urls{url(1)}) << "only in the channel with that title";
  EXPECT_EQ(listed("/feeds?channel=anna/a&" + gulls), Urls{}) << "another channel's title";
  EXPECT_EQ(listed("/feeds?" + gulls), Urls{}) << "only the channel has this title";
  EXPECT_EQ(listed("/feeds?text=example&state=paused&user=anna"), Urls{url(0)});
  command({"HSET", "state:feed:" + url(0), "last_detail", "no route to host"});
  const json::object row = object_of(served->get("/feeds?user=anna&limit=1")).at("feeds").at(0).as_object();
  EXPECT_EQ(row.at("last_detail"), "no route to host");
  EXPECT_EQ(row.at("channel"), "anna/a");
  EXPECT_EQ(row.at("unread"), 1);
  EXPECT_EQ(row.at("state"), "paused");
  for (const char* const wrong :
       {"?state=sick", "?text=", "?user=", "?channel=anna/a&user=anna", "?state=new&after=x", "?user=anna&after=x"}) {
    EXPECT_EQ(served->get("/feeds" + std::string(wrong)).status, 400) << wrong;
  }
  EXPECT_EQ(outcome(served->get("/feeds?channel=nobody")), "404 no_such_channel");
}

TEST_F(ReaderOverHttp, AFilterThatMatchesLittleExaminesABoundedNumberOfFeedsPerCall) {
  add(0, 2500);
  command({"HSET", "Feed:" + url(999), "title", "Needle"});  // the last of them
  int pages = 0;
  std::vector<std::string> found;
  for (std::string after; pages == 0 || !after.empty(); ++pages) {
    const json::object page = object_of(served->get("/feeds?text=needle" + after));
    for (const json::value& feed : page.at("feeds").as_array()) found.emplace_back(feed.at("url").as_string());
    after = page.at("next").is_null() ? "" : "&after=" + percent_encoded(std::string(page.at("next").as_string()));
  }
  EXPECT_EQ(found, std::vector<std::string>{url(999)});
  EXPECT_EQ(pages, 3);
}

TEST_F(ReaderOverHttp, ATitleGivenAtAddIsTheChannelsAndNeverReplacesTheFeedsOwn) {
  const auto subscribe = [&](const std::string& channel, const std::string& title) {
    const json::object body{{"url", url(0)}, {"channel", channel}, {"title", title}};
    return served->post("/feeds", json::serialize(body)).status;
  };
  EXPECT_EQ(subscribe("anna/news", "My <own> title"), 201);
  EXPECT_EQ(subscribe("bert/news", "Bert's"), 200);
  EXPECT_EQ(object_of(served->get("/feed?url=" + percent_encoded(url(0)))).at("title"), nullptr);
  command({"HSET", "Feed:" + url(0), "title", "Its own"});
  const auto titles = [&](const std::string& channel) {
    const json::value row = object_of(served->get("/channel/feeds?channel=" + channel)).at("feeds").at(0);
    return std::pair(std::string(row.at("title").as_string()), row.at("custom_title"));
  };
  EXPECT_EQ(titles("anna/news"), std::pair(std::string("Its own"), json::value("My <own> title")));
  EXPECT_EQ(titles("bert/news"), std::pair(std::string("Its own"), json::value("Bert's")));
  const std::string opml = served->get("/export").body;
  EXPECT_NE(opml.find("text=\"My &lt;own&gt; title\""), std::string::npos) << opml;
  EXPECT_NE(opml.find("text=\"Bert's\""), std::string::npos) << opml;
  EXPECT_EQ(subscribe("anna/news", ""), 200);
  EXPECT_EQ(titles("anna/news").second, nullptr) << "an empty title removes the channel's";
  EXPECT_EQ(subscribe("anna/news", "Again"), 200);
  const std::string its = "/api/v1/channel/feed?channel=anna/news&url=" + percent_encoded(url(0));
  EXPECT_EQ(outcome(served->call({"DELETE", its})), "200 unfollowed");
  EXPECT_EQ(outcome(served->call({"PUT", its})), "200 followed");
  EXPECT_EQ(titles("anna/news").second, nullptr) << "it ended with the subscription";
  EXPECT_EQ(outcome(served->call({"DELETE", "/api/v1/channel?channel=bert/news"})), "200 removed");
  EXPECT_EQ(command({"EXISTS", "channel:bert/news:titles"}), "0");
}

}  // namespace
}  // namespace feedmill::test::reader_test
