// The API over a real Redis: cursors, idempotent requests, hostile input (OPERATIONS A1–A7).
#include <map>
#include <random>
#include <set>

#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include "storage/feeds/feeds.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/timelines/stories.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/http_server.hpp"
#include "tests/worker/api/served_api.hpp"
#include "worker/operations/subscriptions.hpp"

namespace feedmill::test::api_test {
namespace {

namespace json = boost::json;

using ApiTest = ServedApiTest;

TEST_F(ApiTest, TheListOfFeedsNeitherSkipsNorRepeatsWhileFeedsComeAndGo) {
  add(0, 1000);
  std::multiset<std::string> told;
  std::string after;
  int round = 0;
  do {
    const json::object page =
        object_of(served->get("/feeds?limit=70" + (after.empty() ? "" : "&after=" + percent_encoded(after))));
    for (const json::value& feed : page.at("feeds").as_array()) told.emplace(feed.at("url").as_string());
    after = page.at("next").is_null() ? "" : std::string(page.at("next").as_string());
    add(5000 + round * 50, 5050 + round * 50);  // some sort before the cursor, some after it
    for (int i = round * 20; i < round * 20 + 10; ++i) ASSERT_TRUE(Feeds(store).remove(url(i)));
    ++round;
    ASSERT_LT(round, 100);
  } while (!after.empty());
  std::set<std::string> stayed;
  for (int i = 0; i < 1000; ++i) {
    if (i % 20 >= 10 || i >= round * 20) stayed.insert(url(i));
  }
  for (const std::string& one : stayed) EXPECT_EQ(told.count(one), 1U) << one;
  for (const std::string& one : told) EXPECT_EQ(told.count(one), 1U) << one;
}

TEST_F(ApiTest, ListsOfLongNamesAreComplete) {
  std::vector<NewFeed> feeds;
  for (int i = 0; i < 1300; ++i) {
    feeds.push_back({.feed_url = url(10'000 + i) + std::string(1900, 'x'), .after = std::chrono::hours(1)});
    if (feeds.size() < 100) continue;
    ASSERT_TRUE(Feeds(store).add(feeds));
    feeds.clear();
  }
  std::vector<std::string> told;
  std::string after;
  do {
    const json::object page =
        object_of(served->get("/feeds?limit=200" + (after.empty() ? "" : "&after=" + percent_encoded(after))));
    for (const json::value& feed : page.at("feeds").as_array()) told.emplace_back(feed.at("url").as_string());
    after = page.at("next").is_null() ? "" : std::string(page.at("next").as_string());
  } while (!after.empty() && told.size() < 2000);
  EXPECT_EQ(told.size(), 1300U);
  EXPECT_EQ(std::set<std::string>(told.begin(), told.end()).size(), 1300U);
}

TEST_F(ApiTest, TheFirstPageOfAListIsUpToDate) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(served->post("/feeds", R"({"url":")" + url(i) + R"("})").status, 201);
    EXPECT_EQ(object_of(served->get("/feeds")).at("feeds").as_array().size(), static_cast<std::size_t>(i) + 1);
  }
}

TEST_F(ApiTest, ListsOfChannelsAndOfTheirFeedsHaveCursors) {
  Channels channels(store);
  std::vector<std::string> names;
  for (int i = 0; i < 500; ++i) names.push_back((i % 2 == 0 ? "anna/" : "bert/") + std::to_string(i));
  ASSERT_TRUE(channels.add(names));
  add(0, 100);
  std::vector<Membership> memberships;
  for (int i = 0; i < 100; ++i) memberships.push_back({"anna/0", url(i)});
  ASSERT_TRUE(channels.follow(memberships));
  const auto all = [&](const std::string& path, const char* rows) {
    std::vector<std::string> told;
    std::string after;
    do {
      const json::object page =
          object_of(served->get(path + (after.empty() ? "" : "&after=" + percent_encoded(after))));
      for (const json::value& row : page.at(rows).as_array()) {
        told.emplace_back(row.as_object().contains("url") ? row.at("url").as_string() : row.at("channel").as_string());
      }
      after = page.at("next").is_null() ? "" : std::string(page.at("next").as_string());
      EXPECT_TRUE(channels.add(std::vector{"anna/x" + std::to_string(told.size())}));  // sorts after anna's others
    } while (!after.empty() && told.size() < 2000);
    return told;
  };
  const auto of_anna = all("/channels?user=anna&limit=60", "channels");
  EXPECT_TRUE(std::ranges::is_sorted(of_anna));
  EXPECT_EQ(std::ranges::count_if(of_anna, [](const std::string& name) { return !name.starts_with("anna/x"); }), 250);
  EXPECT_EQ(std::set<std::string>(of_anna.begin(), of_anna.end()).size(), of_anna.size());
  EXPECT_GE(all("/channels?limit=200", "channels").size(), 500U);
  EXPECT_EQ(all("/channel/feeds?channel=anna/0&limit=30", "feeds").size(), 100U);
}

TEST_F(ApiTest, ReorderedChannelsExchangePositions) {
  Channels channels(store);
  ASSERT_TRUE(channels.add(std::vector<std::string>{"a", "b", "c", "d"}));
  command({"SET", "channel_sortorder_d", "2"});  // b's number too, as if a channel had been removed before d was added
  EXPECT_EQ(outcome(served->post("/channels/order", R"({"channels":["d","b","a"]})")), "200 ordered");
  std::vector<std::string> order;
  for (const ChannelRecord& channel : *channels.list()) order.push_back(channel.uid);
  EXPECT_EQ(order, (std::vector<std::string>{"d", "b", "a", "c"}));
}

TEST_F(ApiTest, EntriesAndTimelinesHaveCursors) {
  ASSERT_EQ(served->post("/feeds", R"({"url":"https://example.org/1","channel":"anna/news"})").status, 201);
  for (int i = 0; i < 25; ++i) {
    const std::string n = std::to_string(i);
    ASSERT_EQ(served
                  ->post("/entries",
                         R"({"url":"https://example.org/1","guid":")" + n + R"(","entry":{"title":"T)" + n + R"("}})")
                  .status,
              201);
  }
  std::vector<std::string> titles;
  std::string before;
  for (int pages = 0; pages < 10; ++pages) {
    const json::object page = object_of(served->get("/feed/entries?limit=7&url=" + percent_encoded(url(1)) + before));
    for (const json::value& entry : page.at("entries").as_array()) titles.emplace_back(entry.at("title").as_string());
    if (page.at("next").is_null()) break;
    before = "&before=" + percent_encoded(std::string(page.at("next").as_string()));
  }
  ASSERT_EQ(titles.size(), 25U);
  EXPECT_EQ(std::set<std::string>(titles.begin(), titles.end()).size(), 25U);
}

TEST_F(ApiTest, ASnapshotHasEachFeedAndPostOnceAndSaysWhereToFollowFrom) {
  for (int feed = 0; feed < 5; ++feed) {
    const std::string address = R"("https://example.org/)" + std::to_string(feed) + '"';
    ASSERT_EQ(served->post("/feeds", R"({"url":)" + address + "}").status, 201);
    for (int i = 0; i < 12 * (feed % 3); ++i) {
      const std::string guid = '"' + std::to_string(i) + '"';
      ASSERT_EQ(
          served->post("/entries", R"({"url":)" + address + R"(,"guid":)" + guid + R"(,"entry":{"title":"T"}})").status,
          201);
    }
  }
  for (const char* limit : {"1", "7", "13", "200"}) {
    std::vector<std::string> ids;
    std::string after, seq;
    for (int pages = 0; pages < 100; ++pages) {
      const json::object page = object_of(served->get(std::string("/snapshot?limit=") + limit + after));
      if (seq.empty()) seq = page.at("seq").as_string();
      for (const json::value& row : page.at("rows").as_array()) {
        ids.emplace_back(row.at("entity_id").as_string());
        if (row.at("entity_type").as_string() != "post") continue;
        EXPECT_EQ(row.at("rev"), 1);
        EXPECT_EQ(row.at("post").at("title").as_string(), "T");
        EXPECT_TRUE(row.at("feed_url").as_string().starts_with("https://example.org/"));
      }
      if (page.at("next").is_null()) break;
      after = "&after=" + percent_encoded(std::string(page.at("next").as_string()));
    }
    EXPECT_EQ(ids.size(), 5U + 48U) << limit;
    EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 5U + 48U) << limit;
    const json::object events = object_of(served->get("/events?after=" + seq));
    EXPECT_TRUE(events.at("events").as_array().empty()) << "nothing has happened since";
  }
  EXPECT_EQ(served->get("/snapshot?after=https://example.org/1%20x").status, 400);
}

TEST_F(ApiTest, AStoryOfManyFeedsIsShownOnceWhereAskedFor) {
  std::vector<Membership> memberships;
  std::vector<std::string> ids;
  for (int feed = 0; feed < 2; ++feed) {
    ASSERT_EQ(served->post("/feeds", R"({"url":")" + url(feed) + R"("})").status, 201);
    memberships.push_back({"anna/news", url(feed)});
    for (int i = 0; i < 12; ++i) {
      const std::string n = std::to_string(i);
      ASSERT_EQ(served
                    ->post("/entries", R"({"url":")" + url(feed) + R"(","guid":")" + n + R"(","entry":{"title":"Fog )" +
                                           n + R"(","link":"https://site.example/)" + n + R"("}})")
                    .status,
                201);
      ids.push_back("Entry:" + std::to_string(ids.size() + 1));
    }
  }
  ASSERT_TRUE(Stories(store).sync(ids));
  ASSERT_TRUE(Channels(store).add(std::vector<std::string>{"anna/news"}));
  ASSERT_TRUE(Channels(store).follow(memberships));
  EXPECT_EQ(object_of(served->get("/entries/13")).at("same_as"), (json::array{"Entry:1"}));
  EXPECT_EQ(object_of(served->get("/entries/13")).at("same_count"), 1);

  std::multiset<std::string> once;
  std::string before;
  for (int pages = 0; pages < 10; ++pages) {
    const json::object page = object_of(served->get("/channel/entries?channel=anna/news&limit=5&once=true" + before));
    for (const json::value& entry : page.at("entries").as_array()) once.emplace(entry.at("title").as_string());
    if (page.at("next").is_null()) break;
    before = "&before=" + percent_encoded(std::string(page.at("next").as_string()));
  }
  EXPECT_EQ(once.size(), 12U);
  EXPECT_EQ(std::set<std::string>(once.begin(), once.end()).size(), 12U);
  const auto all = object_of(served->get("/channel/entries?channel=anna/news&limit=50"));
  EXPECT_EQ(all.at("entries").as_array().size(), 24U);
  EXPECT_EQ(served->get("/channel/entries?channel=anna/news&once=yes").status, 400);
}

TEST_F(ApiTest, AListIsImportedWithItsFoldersAndAgainChangesNothing) {
  std::string list = "<opml version=\"2.0\"><body><outline text=\"News\">";
  for (int i = 0; i < 2000; ++i) list += "<outline type=\"rss\" text=\"T\" xmlUrl=\"" + url(i) + "\"/>";
  list += "</outline></body></opml>";
  const ApiTalk import{"POST", "/api/v1/import?user=anna", list, {{"Content-Type", "text/x-opml"}}};
  EXPECT_EQ(object_of(served->call(import)).at("added"), 2000);
  EXPECT_EQ(command({"SCARD", "channel:anna/News:feeds"}), "2000");
  EXPECT_EQ(object_of(served->call(import)).at("present"), 2000);
  EXPECT_EQ(command({"SCARD", "feeds"}), "2000");
}

TEST_F(ApiTest, AListIsExportedAsItWasImported) {
  std::string list = "<opml version=\"2.0\" xmlns:x=\"urn:x\"><body><outline text=\"News\"><outline text=\"Far\">";
  for (int i = 0; i < 1000; ++i) list += "<outline text=\"T\" x:y=\"z\" xmlUrl=\"" + url(i) + "\"/>";
  list += "</outline></outline><outline text=\"A/B\"><outline text=\"T\" xmlUrl=\"" + url(7) +
          "\"/></outline></body></opml>";
  const ApiTalk import{"POST", "/api/v1/import?user=anna", list, {{"Content-Type", "text/x-opml"}}};
  ASSERT_EQ(object_of(served->call(import)).at("added"), 1000);
  add(5000, 5003);
  const auto read = [&](const std::string& path) {
    const HttpAnswer answer = served->get(path);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.header("Transfer-Encoding"), "chunked");
    EXPECT_FALSE(answer.is_cut);
    const SubscriptionList back = read_subscriptions(answer.body);
    EXPECT_TRUE(back.broken.empty() && back.refused.empty());
    std::map<std::string, std::vector<std::vector<std::string>>> folders;
    for (const Subscription& feed : back.feeds) {
      folders[feed.feed_url] = feed.folders;
      if (feed.feed_url == url(3)) {
        EXPECT_EQ(settings_of(feed, back).namespaces.at(0).second, "urn:x");
      }
    }
    return folders;
  };
  using Paths = std::vector<std::vector<std::string>>;
  auto of_anna = read("/export?user=anna");
  EXPECT_EQ(of_anna.size(), 1000U);
  EXPECT_EQ(of_anna[url(3)], (Paths{{"News", "Far"}}));
  EXPECT_EQ(of_anna[url(7)], (Paths{{"A/B"}, {"News", "Far"}}));
  auto all = read("/export");
  EXPECT_EQ(all.size(), 1003U);
  EXPECT_EQ(all[url(3)], (Paths{{"anna", "News", "Far"}}));
  EXPECT_EQ(all[url(5001)], Paths{{}});
  EXPECT_TRUE(read("/export?user=nobody").empty());
}

TEST_F(ApiTest, AnInterruptedExportIsVisiblyIncomplete) {
  add(0, 20'000);
  std::thread kill([&] {
    while (command({"INFO", "commandstats"}).find("cmdstat_hgetall") == std::string::npos) {
    }
    redis.kill();
  });
  const HttpAnswer answer = served->get("/export");
  kill.join();
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.is_cut);
  EXPECT_EQ(answer.body.find("</opml>"), std::string::npos);
}

TEST_F(ApiTest, DiscoverShowsTheFeedsOfAPageWithTheirPosts) {
  HttpServer site;
  const auto rss = [](const std::string& title, int posts) {
    std::string text = "<rss version=\"2.0\"><channel><title>" + title + "</title>";
    for (int i = 1; i <= posts; ++i) {
      text += "<item><title>Post " + std::to_string(i) + "</title><link>https://example.org/" + std::to_string(i) +
              "</link><description>&lt;b&gt;Words&lt;/b&gt;</description></item>";
    }
    return Response{.headers = {{"Content-Type", "application/rss+xml"}}, .body = text + "</channel></rss>"};
  };
  site.serve("/", Response{.headers = {{"Content-Type", "text/html"}},
                           .body = "<html><head><link rel=alternate type=application/rss+xml href=/one.xml>"
                                   "<link rel=alternate type=application/rss+xml href=/two.xml>"
                                   "<link rel=alternate type=application/rss+xml href=/none.xml></head></html>"});
  site.serve("/one.xml", rss("One", 5));
  site.serve("/two.xml", rss("Two &amp;amp; &lt;i>a half&lt;/i>", 0));
  const NewFeed known{.feed_url = site.url("/two.xml")};
  ASSERT_TRUE(Feeds(store).add(std::span(&known, 1)));
  const auto discover = [&](const std::string& path) {
    return served->call({"POST", "/api/v1/discover?url=" + percent_encoded(site.url(path))});
  };
  const json::object found = object_of(discover("/"));
  EXPECT_EQ(found.at("complete"), true);
  EXPECT_EQ(found.at("trouble"), nullptr);
  const json::array& feeds = found.at("feeds").as_array();
  ASSERT_EQ(feeds.size(), 2U);
  EXPECT_EQ(feeds[0].at("url").as_string(), site.url("/one.xml"));
  EXPECT_EQ(feeds[0].at("title"), "One");
  EXPECT_EQ(feeds[0].at("entries"), 5);
  EXPECT_EQ(feeds[0].at("found_in"), "link_tag");
  EXPECT_EQ(feeds[0].at("present"), false);
  const json::array& posts = feeds[0].at("posts").as_array();
  ASSERT_EQ(posts.size(), 3U);
  EXPECT_EQ(posts[0].at("title"), "Post 1");
  EXPECT_EQ(posts[0].at("link"), "https://example.org/1");
  EXPECT_EQ(posts[0].at("summary_text"), "Words");
  EXPECT_FALSE(posts[0].as_object().contains("summary"));
  EXPECT_EQ(feeds[1].at("present"), true);
  EXPECT_EQ(feeds[1].at("title"), "Two & a half") << "it has no type beside it: plain text";
  ASSERT_EQ(found.at("refused").as_array().size(), 1U);
  EXPECT_EQ(found.at("refused").at(0).at("url").as_string(), site.url("/none.xml"));
  EXPECT_EQ(object_of(discover("/one.xml")).at("feeds").at(0).at("found_in"), "itself");
  EXPECT_EQ(command({"SCARD", "feeds"}), "1") << "nothing is stored";

  // A body over the limit is not read, and a redirect to an address that the policy blocks is refused.
  site.serve("/large.xml", rss(std::string(5U << 20U, 'a'), 1));
  const json::object large = object_of(discover("/large.xml"));
  EXPECT_TRUE(large.at("feeds").as_array().empty());
  EXPECT_NE(large.at("trouble").as_string().find("limit."), json::string::npos) << large;
  site.serve("/away", Response{.status = 302, .headers = {{"Location", "http://169.254.169.254/"}}});
  EXPECT_EQ(outcome(discover("/away")), "422 refused_address");
}

TEST_F(ApiTest, DiscoverIsLimitedInTimeAndToOnePerToken) {
  HttpServer site;
  site.serve("/", Response{.silent = true, .end = Response::End::hang});
  Api::Options options;
  options.burst = 1e9;
  served = std::make_unique<ServedApi>(redis, options, std::chrono::seconds(2));
  const ApiTalk look{"POST", "/api/v1/discover?url=" + percent_encoded(site.url("/"))};
  std::thread first([&] {
    const json::object found = object_of(served->call(look));
    EXPECT_EQ(found.at("complete"), false);
    EXPECT_TRUE(found.at("feeds").as_array().empty());
  });
  site.wait_for_requests(1);
  EXPECT_EQ(outcome(served->call(look)), "429 busy");
  EXPECT_EQ(served->get("/feeds").status, 200) << "others are answered";
  first.join();
  std::thread left([&] { served->call(look); });
  site.wait_for_requests(2);
  served.reset();  // does not wait for sites that do not answer
  left.join();
}

TEST_F(ApiTest, DiscoverIsChargedAsSeveralCalls) {
  Api::Options options;
  options.burst = 20;
  options.a_second = 0.001;
  options.call_time = std::chrono::seconds(1);
  served = std::make_unique<ServedApi>(redis, options);
  const ApiTalk look{"POST", "/api/v1/discover?url=http%3A%2F%2F127.0.0.1%3A65535%2F"};
  int looks = 0;
  while (looks < 20 && served->call(look).status == 200) ++looks;
  EXPECT_EQ(looks, 4) << "five for the address, one for the call; then " << outcome(served->call(look));
}

TEST_F(ApiTest, AnIdempotencyKeyRunsOnce) {
  const ApiTalk add{"POST", "/api/v1/feeds", R"({"url":"https://example.org/1"})", {{"Idempotency-Key", "k"}}};
  std::vector<std::thread> clients;
  std::array<HttpAnswer, 10> answers;
  for (HttpAnswer& answer : answers) clients.emplace_back([&] { answer = served->call(add); });
  for (std::thread& one : clients) one.join();
  for (const HttpAnswer& answer : answers) {
    if (answer.status == 429) continue;  // over the limit of concurrent calls
    EXPECT_EQ(outcome(answer), "201 added");
  }
  ApiTalk otherwise = add;
  otherwise.body = R"({"url":"https://example.org/2"})";
  EXPECT_EQ(outcome(served->call(otherwise)), "422 ref_reused");
  EXPECT_EQ(command({"SCARD", "feeds"}), "1");
}

TEST_F(ApiTest, ClientsThatAddOneFeedAddItOnce) {
  Api::Options options;
  options.at_once = 12;  // one token may use nine of them
  served = std::make_unique<ServedApi>(redis, options);
  std::vector<std::thread> clients;
  std::array<HttpAnswer, 8> answers;
  for (HttpAnswer& answer : answers) {
    clients.emplace_back([&] { answer = served->post("/feeds", R"({"url":"https://example.org/1"})"); });
  }
  for (std::thread& one : clients) one.join();
  std::map<std::string, int> outcomes;
  for (const HttpAnswer& answer : answers) ++outcomes[outcome(answer)];
  EXPECT_EQ(outcomes["201 added"], 1);
  EXPECT_EQ(outcomes["200 present"], 7);
}

TEST_F(ApiTest, OnlyABearerTokenOpensIt) {
  const auto with = [&](const std::string& authorization) {
    ApiTalk said{"GET", "/api/v1/feeds"};
    said.token = "";
    said.headers = {{"Authorization", authorization}};
    return served->call(said).status;
  };
  const std::string token(asking_token);
  EXPECT_EQ(with("Bearer " + token), 200);
  EXPECT_EQ(with("bearer " + token), 200);
  EXPECT_EQ(with("Basic OmFza2luZy10b2tlbi0wMTIzNDU2Nzg5"), 401) << "a browser sends that by itself";
  const std::vector<std::string> wrongs{"Bearer", "Bearer ", "Bearer " + token + "x", "Bearer " + token.substr(1),
                                        token};
  for (const std::string& wrong : wrongs) {
    EXPECT_EQ(with(wrong), 401) << wrong;
  }
}

TEST_F(ApiTest, WithoutATokenThereIsNoApi) {
  served->api->set_config(*load_config(ConfigSources()));
  EXPECT_EQ(served->get("/feeds").status, 404);
  EXPECT_EQ(served->get("/openapi.json").body, "Not Found\n");
}

TEST_F(ApiTest, OtherPathsAndMethodsAreRefused) {
  for (const char* path : {"/", "/feedsx", "/feeds/", "/entries/", "/entries/1/2", "/../v1/feeds", "//feeds", "/%zz"}) {
    EXPECT_EQ(outcome(served->get(path)), "404 no_such_resource") << path;
  }
  for (const ApiRoute& route : api_routes()) {
    std::string path(route.path);
    if (const std::size_t brace = path.find('{'); brace != std::string::npos) path = path.substr(0, brace) + "1";
    const HttpAnswer answer = served->call({"OPTIONS", "/api/v1" + path});
    EXPECT_EQ(outcome(answer), "405 method_not_allowed");
    EXPECT_NE(answer.header("Allow").find(boost::beast::http::to_string(route.method)), std::string::npos);
  }
}

TEST_F(ApiTest, TheRateLimitIsPerToken) {
  Api::Options options;
  options.burst = 5;
  options.a_second = 0.001;
  options.call_time = std::chrono::hours(1);  // the duration of calls does not matter here
  served = std::make_unique<ServedApi>(redis, options);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(served->get("/channels").status, 200);
  EXPECT_EQ(outcome(served->get("/channels")), "429 too_fast");
  ApiTalk other{"GET", "/api/v1/channels"};
  other.token = reading_token;
  EXPECT_EQ(served->call(other).status, 200);
  Config config = *load_config(ConfigSources());
  config.api_tokens["reader"] = {.file = {}, .asks = false, .rate = 1, .burst = 2, .token = std::string(reading_token)};
  served->set_config(config);
  EXPECT_EQ(served->call(other).status, 200);
  EXPECT_EQ(served->call(other).status, 200);
  const HttpAnswer refused = served->call(other);
  EXPECT_EQ(outcome(refused), "429 too_fast");
  EXPECT_EQ(object_of(refused).at("detail"), "at most 1 calls a second, 2 at once");
}

// SECURITY M6
TEST_F(ApiTest, UnreadAnswersAreCountedAndBounded) {
  Api::Options options;
  options.most_untaken = 8U << 20U;
  options.call_time = std::chrono::hours(1);  // the duration of calls does not matter here
  served = std::make_unique<ServedApi>(redis, options);
  command({"XADD", "stream:signals", "1-1", "type", "post_created", "json",
           json::serialize(json::object{{"v", 1}, {"title", std::string(10'000'000, 'x')}})});
  command({"HSET", "meta:store", "last_signal", "1-1"});
  boost::asio::io_context io;
  boost::asio::ip::tcp::socket deaf(io);
  deaf.connect({boost::asio::ip::address_v4::loopback(), served->port()});
  boost::asio::write(deaf,
                     boost::asio::buffer("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
                                         std::string(asking_token) + "\r\n\r\n"));
  EXPECT_TRUE(eventually([&] { return served->memory.used() >= 10'000'000; }));
  EXPECT_LT(served->memory.used(), 20'000'000U) << "it is held once, and alone may have more than its bound";
  EXPECT_EQ(outcome(served->get("/channels")), "429 busy");
  deaf.close();
  EXPECT_TRUE(eventually([&] { return served->memory.used() == 0; }));
  EXPECT_EQ(served->get("/channels").status, 200);
}

TEST_F(ApiTest, ACallThatTakesTheStoreLongCountsAsSeveral) {
  Api::Options options;
  options.burst = 100;
  options.a_second = 0.001;
  options.call_time = std::chrono::nanoseconds(1);  // less than any call takes
  served = std::make_unique<ServedApi>(redis, options);
  EXPECT_EQ(served->get("/feeds").status, 200);
  EXPECT_EQ(outcome(served->get("/feeds")), "429 too_fast");
}

TEST_F(ApiTest, RetryAfterReportsADebtOfAtMostTenSeconds) {
  Api::Options options;
  options.burst = 5;
  options.a_second = 10;
  options.call_time = std::chrono::nanoseconds(1);
  served = std::make_unique<ServedApi>(redis, options);
  EXPECT_EQ(served->get("/feeds").status, 200);
  const HttpAnswer refused = served->get("/feeds");
  EXPECT_EQ(outcome(refused), "429 too_fast");
  EXPECT_GT(std::stoi(std::string(refused.header("Retry-After"))), 8);
  EXPECT_LE(std::stoi(std::string(refused.header("Retry-After"))), 11);
}

TEST_F(ApiTest, WaitingCallsDoNotBlockOthers) {
  served->resting = true;
  std::vector<std::thread> asking;
  const auto ask = [&](int count) {
    for (int i = 0; i < count; ++i) {
      asking.emplace_back([this, name = std::to_string(asking.size())] {
        const std::string target = "/api/v1/feed?url=https://a.example/" + name;
        EXPECT_EQ(outcome(served->call({"DELETE", target})), "404 no_such_feed");
      });
    }
    const auto asked = std::to_string(asking.size());
    while (command({"XLEN", "stream:requests"}) != asked) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  ApiTalk other{"GET", "/api/v1/feeds"};
  other.token = reading_token;
  ask(4);
  EXPECT_EQ(served->get("/feeds").status, 200);
  EXPECT_EQ(served->call(other).status, 200);
  ask(6);
  EXPECT_EQ(outcome(served->get("/feeds")), "429 busy") << "six more take what one token may have";
  EXPECT_EQ(served->call(other).status, 200);
  served->resting = false;
  for (std::thread& thread : asking) thread.join();
}

TEST_F(ApiTest, CallsDoNotOvertakeWaitingRequests) {
  add(0, 2);
  served->resting = true;
  const auto call = [&](const std::string& method, const std::string& path, const std::string& key) {
    const std::string target = "/api/v1" + path + "?url=" + percent_encoded(url(0));
    return outcome(served->call({method, target, "", {{"Idempotency-Key", key}, {"Prefer", "respond-async"}}}));
  };
  EXPECT_EQ(call("DELETE", "/feed", "first"), "202 waiting");
  EXPECT_EQ(call("POST", "/feed/pause", "first"), "202 waiting") << "the key may have been used";
  EXPECT_EQ(call("POST", "/feed/pause", "second"), "202 waiting");
  served->resting = false;
  const std::string added = outcome(served->post("/feeds", R"({"url":")" + url(0) + R"("})"));
  EXPECT_EQ(added, "201 added") << "it was removed before";
  EXPECT_EQ(call("POST", "/feed/pause", "first"), "422 ref_reused");
  EXPECT_EQ(call("POST", "/feed/pause", "second"), "404 no_such_feed") << "answered after the removal";
  EXPECT_EQ(call("DELETE", "/feed", "first"), "200 removed") << "repeated";
  EXPECT_EQ(served->get("/feed?url=" + percent_encoded(url(0))).status, 200);
}

TEST_F(ApiTest, SlowBodiesOfOneTokenLeaveRoomForOthers) {
  boost::asio::io_context io;
  std::vector<boost::asio::ip::tcp::socket> slow;
  for (int i = 0; i < 8; ++i) {
    slow.emplace_back(io).connect({boost::asio::ip::address_v4::loopback(), served->port()});
    boost::asio::write(slow.back(),
                       boost::asio::buffer("POST /api/v1/feeds HTTP/1.1\r\nHost: localhost\r\nAuthorization: "
                                           "Bearer " +
                                           std::string(asking_token) + "\r\nContent-Length: 5000\r\n\r\n{"));
  }
  // Two connections are refused; the other six keep their slots.
  for (auto& socket : slow) socket.non_blocking(true);
  for (std::size_t refused = 0; refused < 2;) {
    std::string answer(12, ' ');
    for (auto& socket : slow) {
      boost::system::error_code error;
      if (!socket.is_open() || boost::asio::read(socket, boost::asio::buffer(answer), error) < answer.size()) continue;
      EXPECT_EQ(answer, "HTTP/1.1 429");
      socket.close();
      ++refused;
    }
  }
  ApiTalk other{"GET", "/api/v1/feeds"};
  other.token = reading_token;
  EXPECT_EQ(served->call(other).status, 200);
  EXPECT_EQ(outcome(served->get("/feeds")), "429 busy");
}

/// Returns `sensible` or hostile text, so that some calls get past the first checks.
std::string hostile(std::mt19937& random, const std::string& sensible) {
  static const std::vector<std::string> words{"",
                                              "0",
                                              "-1",
                                              "9999999999999999999999",
                                              "null",
                                              "true",
                                              "[]",
                                              "{}",
                                              "\"",
                                              "\\u0000",
                                              "%00",
                                              "%ff",
                                              "%zz",
                                              "../",
                                              "*",
                                              "(",
                                              "set.",
                                              "op",
                                              "Entry:1",
                                              "\xc3\xa4",
                                              "\xff\xfe",
                                              "\r\n",
                                              "http://127.0.0.1/",
                                              "ftp://x",
                                              "a b",
                                              "1-1",
                                              "18446744073709551615-18446744073709551615",
                                              "https://example.org/1",
                                              std::string(9000, 'a')};
  switch (random() % 4) {
    case 0:
      return sensible;
    case 1:
      return sensible + words[random() % words.size()];
    default:
      return words[random() % words.size()];
  }
}

std::string printable(std::string text) {
  std::erase_if(text, [](char c) { return c == '\r' || c == '\n' || c == ' '; });
  return text;
}

TEST_F(ApiTest, HostileCallsCauseNoServerErrors) {
  Api::Options options;
  options.burst = 1e9;
  // With 1 ms of patience, no call waits for a name server.
  served = std::make_unique<ServedApi>(redis, options, std::chrono::milliseconds(1));
  add(1, 3);
  std::mt19937 random(17);
  const std::vector<std::string> names{"url",     "channel", "title", "settings", "to", "undo", "as",
                                       "entries", "entry",   "guid",  "replace",  "id", "x"};
  std::map<int, int> statuses;
  for (int i = 0; i < 3000; ++i) {
    const ApiRoute& route = api_routes()[random() % api_routes().size()];
    std::string path(route.path);
    if (const std::size_t brace = path.find('{'); brace != std::string::npos) {
      path = path.substr(0, brace) + printable(hostile(random, "1"));
    }
    std::istringstream parameters{std::string(route.parameters)};
    char between = '?';
    for (std::string name; parameters >> name;) {
      if (name.ends_with('!')) name.pop_back();
      const std::string value = hostile(random, name == "url" ? url(1) : "anna/news");
      path +=
          std::exchange(between, '&') + name + "=" + (random() % 3 == 0 ? printable(value) : percent_encoded(value));
    }
    std::string body;
    if (!route.op.empty() && random() % 8 != 0) {
      body = "{";
      for (std::size_t members = random() % 4; members > 0; --members) {
        const std::string value = hostile(random, url(2));
        body += (body.size() > 1 ? ",\"" : "\"") + names[random() % names.size()] +
                "\":" + (random() % 3 == 0 ? value : "\"" + value + "\"");
      }
      body += "}";
    }
    ApiTalk said{std::string(boost::beast::http::to_string(route.method)), "/api/v1" + path, body};
    said.headers = {{"Prefer", random() % 4 == 0 ? "wait=1" : "respond-async"}};
    if (random() % 4 == 0) said.headers.emplace_back("Idempotency-Key", std::to_string(random() % 20));
    const HttpAnswer answer = served->call(said);
    ASSERT_TRUE(answer.status >= 200 && answer.status < 500) << said.method << " " << path << "\n"
                                                             << body << "\n"
                                                             << answer.head << answer.body;
    ++statuses[answer.status];
  }
  EXPECT_GT(statuses[200] + statuses[202], 100) << "some must get far";
  EXPECT_EQ(served->get("/feeds").status, 200);
}

}  // namespace
}  // namespace feedmill::test::api_test
