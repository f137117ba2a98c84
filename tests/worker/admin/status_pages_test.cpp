// The status pages over a real store.
#include "worker/admin/status_pages.hpp"

#include <csignal>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/records/diff.hpp"
#include "storage/store/partition.hpp"
#include "tests/support/redis_server.hpp"
#include "worker/listener/request_head.hpp"

namespace feedmill::test::status_pages_test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using testing::HasSubstr;
using testing::Not;

class StatusPagesTest : public testing::Test {
 protected:
  StatusPagesTest() {
    std::signal(SIGPIPE, SIG_IGN);
    EXPECT_TRUE(store.open());
    status.host = "reader-1";
    status.version = "0.9";
    make();
  }

  void make(std::chrono::milliseconds kept = 0ms, const std::string& prefix = "") {
    StatusPages::Options options;
    options.store.url = redis.url();
    options.prefix = prefix;
    if (!prefix.empty()) options.store.partition = {.index = 3, .count = 5};
    options.kept = kept;
    options.patience = 100ms;
    pages.reset();
    pages.emplace(
        loop.get_executor(), std::move(options), history, [this] { return status; },
        [](const char* what) { ADD_FAILURE() << what; });
  }

  AdminPage get(const std::string& path, const std::string& query = "") {
    auto answer = asio::co_spawn(loop, pages->pages().answer(path, query), asio::use_future);
    loop.restart();
    loop.run();
    return answer.get();
  }

  void add(const std::string& url, const std::string& title = "") {
    const NewFeed feed{.feed_url = url, .after = 1h, .settings = "", .title = title};
    ASSERT_TRUE(Feeds(store).add(std::span(&feed, 1)));
  }

  std::uint64_t commands() {
    const std::string stats = redis_command(redis, {"INFO", "commandstats"});
    std::uint64_t calls = 0;
    for (std::size_t at = stats.find("calls="); at != std::string::npos; at = stats.find("calls=", at + 1)) {
      calls += std::stoull(stats.substr(at + 6));
    }
    return calls;
  }

  RedisServer redis;
  Store store{StoreOptions{.url = redis.url()}};
  StatusHistory history{StatusHistory::Clock::now()};
  ProcessStatus status;
  asio::io_context loop{1};
  std::optional<StatusPages> pages;
};

/// Links to our pages stay in the page's partition, except those of the partition menu.
TEST_F(StatusPagesTest, OfOnePartitionAmongOthersStayThere) {
  redis_command(redis, {"FLUSHALL"});
  make(0ms, "/p3");
  Store third{StoreOptions{.url = redis.url(), .partition = {.index = 3, .count = 5}}};
  ASSERT_TRUE(third.open());
  std::string url;
  for (int i = 0; url.empty() || partition_of(url, 5) != 3; ++i) url = "https://host" + std::to_string(i) + ".example/";
  const NewFeed feed{.feed_url = url, .after = 1h, .settings = "", .title = "=\"/status\" in a title"};
  ASSERT_TRUE(Feeds(third).add(std::span(&feed, 1)));
  for (const std::string path : {"/status", "/status/feeds", "/status/feed"}) {
    const std::string page = get(path, path == "/status/feed" ? "url=" + percent_encoded(url) : "").body;
    EXPECT_THAT(page, HasSubstr("href=\"/p3/status/feeds\""));
    EXPECT_THAT(page, HasSubstr("href=\"/p3/status/style.css\""));
    EXPECT_THAT(page, Not(HasSubstr("=\"/status")));
    const std::string up = path == "/status" ? "../" : "../../";
    EXPECT_THAT(page, HasSubstr("<a href=\"" + up + "p4/status\">4</a>"));
    EXPECT_THAT(page, HasSubstr("<a href=\"" + up + "p3/status\" aria-current=\"page\">partition 3</a>"));
    EXPECT_THAT(page, Not(HasSubstr("p5/")));
  }
  EXPECT_THAT(get("/status/feeds").body, HasSubstr("/p3/status/feed?url="));
  make();
  EXPECT_THAT(get("/status").body, Not(HasSubstr("Partitions"))) << "there is one";
}

TEST_F(StatusPagesTest, ShowOverviewListAndFeed) {
  add("https://example.org/a", "The <A>");
  add("https://other.example/b");
  ASSERT_TRUE(Fleet(store).heartbeat(std::string(32, 'a'), {{"host", "h<1>"}}, 20s));
  const AdminPage overview = get("/status");
  EXPECT_EQ(overview.status, 200U);
  EXPECT_EQ(overview.type, "text/html; charset=utf-8");
  EXPECT_THAT(overview.body, HasSubstr("All is well"));
  EXPECT_THAT(overview.body, HasSubstr("h&lt;1&gt;"));
  EXPECT_THAT(overview.body, HasSubstr("<a href=\"/status/feeds?state=new\">"));
  const AdminPage json = get("/status.json");
  EXPECT_EQ(json.type, "application/json");
  EXPECT_EQ(boost::json::parse(json.body).at("store").at("feeds").at("total").to_number<int>(), 2);

  const AdminPage list = get("/status/feeds");
  EXPECT_THAT(list.body, HasSubstr("The &lt;A&gt;"));
  EXPECT_THAT(list.body, HasSubstr("other.example/b"));
  EXPECT_THAT(get("/status/feeds", "host=other.example").body, Not(HasSubstr("The &lt;A&gt;")));
  EXPECT_THAT(get("/status/feeds", "q=HTTPS://Example.org:443/a").body, HasSubstr("The feed with this URL."));
  EXPECT_THAT(get("/status/feeds", "q=ple.org").body, HasSubstr("The &lt;A&gt;"));
  redis_command(redis, {"HSET", "Feed:https://other.example/b", "title", "Other News"});
  const std::string by_title = get("/status/feeds", "q=news").body;
  EXPECT_THAT(by_title, HasSubstr("Other News"));
  EXPECT_THAT(by_title, Not(HasSubstr("The &lt;A&gt;")));

  const std::string url = "url=" + percent_encoded("https://example.org/a");
  const AdminPage feed = get("/status/feed", url);
  EXPECT_EQ(feed.status, 200U);
  EXPECT_THAT(feed.body, HasSubstr("new; never fetched"));
  EXPECT_THAT(feed.body, HasSubstr("No entries are kept."));
  const AdminPage explained = get("/explain", url);
  EXPECT_EQ(explained.status, 200U);
  EXPECT_EQ(boost::json::parse(explained.body).at("url").as_string(), "https://example.org/a");
  EXPECT_EQ(boost::json::parse(explained.body).at("host").at("name").as_string(), "example.org");
  const AdminPage style = get("/status/style.css");
  EXPECT_EQ(style.type, "text/css; charset=utf-8");
  EXPECT_THAT(style.body, Not(HasSubstr("url(")));  // no external resources
  EXPECT_THAT(style.body, Not(HasSubstr("@import")));
}

/// A reload takes the keyboard focus away (WCAG 2.2.1).
TEST_F(StatusPagesTest, RefreshOnlyOnRequestAndCanBeStoppedFirst) {
  const AdminPage still = get("/status");
  EXPECT_EQ(still.refresh.count(), 0);
  EXPECT_THAT(still.body, HasSubstr("<a href=\"/status?refresh=1\">Refresh every 15 seconds</a>"));
  const AdminPage refreshing = get("/status", "refresh=1");
  EXPECT_EQ(refreshing.refresh, refresh_every);
  const auto stop = refreshing.body.find("<a href=\"/status\">stop</a>");
  ASSERT_NE(stop, std::string::npos) << refreshing.body;
  EXPECT_EQ(refreshing.body.substr(0, stop).find("<a href=\"/"), std::string::npos) << "the first link to a page";
  EXPECT_EQ(get("/status/feeds", "refresh=1").refresh.count(), 0);
  EXPECT_THAT(refreshing.body, Not(HasSubstr("http-equiv")));
}

TEST_F(StatusPagesTest, ShowTitlesWithoutMarkupAndEscaped) {
  const std::string url = "https://example.org/a";
  add(url);
  redis_command(redis, {"HSET", "Feed:" + url, "title", "Q&amp;A <i>&lt;b&gt;</i>", "title_type", "text/html",
                        "description", "<p>R&amp;D</p>", "description_type", "text/html"});
  redis_command(redis, {"HSET", "Entry:1", "feed_url", url, "guid", "1", "title", "1 &lt; <b>2</b>", "title_type",
                        "text/html", "timestamp", "1"});
  redis_command(redis, {"ZADD", url + ":sort", "1", "Entry:1"});
  const std::string list = get("/status/feeds").body;
  EXPECT_THAT(list, HasSubstr("<bdi>Q&amp;A &lt;b&gt;</bdi>"));
  const std::string feed = get("/status/feed", "url=" + percent_encoded(url)).body;
  EXPECT_THAT(feed, HasSubstr("<title>Q&amp;A &lt;b&gt; · feedmill</title>"));
  EXPECT_THAT(feed, HasSubstr("<h1 id=\"feed\"><bdi>Q&amp;A &lt;b&gt;</bdi></h1>"));
  EXPECT_THAT(feed, HasSubstr("<bdi>R&amp;D</bdi>"));
  EXPECT_THAT(feed, HasSubstr("<bdi>1 &lt; 2</bdi>"));
}

TEST_F(StatusPagesTest, RejectUnknownFeeds) {
  EXPECT_EQ(get("/status/feed").status, 404U);
  EXPECT_EQ(get("/explain").status, 400U);
  EXPECT_EQ(get("/explain", "url=%zz").status, 400U);
  const AdminPage none = get("/status/feed", "url=javascript:alert(1)");
  EXPECT_EQ(none.status, 404U);
  EXPECT_THAT(none.body, HasSubstr("Not a feed URL"));
  EXPECT_THAT(get("/status/feed", "url=https://example.org/%3Cscript%3E").body, HasSubstr("The store has no feed"));
  EXPECT_EQ(get("/explain", "url=https://example.org/none").status, 404U);
}

TEST_F(StatusPagesTest, CacheAnswersForAWhile) {
  make(1h);
  add("https://example.org/a");
  const std::string first = get("/status").body;
  add("https://example.org/b");
  const std::uint64_t before = commands();
  EXPECT_EQ(get("/status").body, first);
  EXPECT_EQ(commands() - before, 1U) << "the count itself, and nothing else";
  EXPECT_THAT(get("/status/feeds").body, HasSubstr("example.org/b"));
  for (int i = 0; i < 200; ++i) get("/status/feeds", "q=" + std::to_string(i));  // more than the cache holds
  EXPECT_THAT(get("/status").body, Not(first)) << "it was dropped for newer ones";
}

TEST_F(StatusPagesTest, AskTheProcessMoreOftenThanTheStore) {
  make(1h);
  add("https://example.org/a");
  const auto asked = [&] { return boost::json::parse(get("/status.json").body); };
  const boost::json::value first = asked();
  EXPECT_EQ(asked(), first);
  const std::uint64_t before = commands();
  boost::json::value later;
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  do {
    later = asked();
  } while (later == first && std::chrono::steady_clock::now() < deadline);
  EXPECT_GT(later.at("worker").at("since_start").at("seconds").to_number<double>(),
            first.at("worker").at("since_start").at("seconds").to_number<double>());
  EXPECT_EQ(later.at("store"), first.at("store"));
  EXPECT_EQ(commands() - before, 1U) << "the count itself, and nothing else";
  status.store_trouble = StoreError{StoreError::Code::unavailable, "the worker has noticed"};
  const auto trouble = [&] { return asked().at("store").is_null(); };
  while (!trouble() && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_TRUE(trouble());
}

TEST_F(StatusPagesTest, ReportAStoreOutage) {
  redis.kill();
  AdminPage page = get("/status");
  EXPECT_EQ(page.status, 200U);  // the overview reports the outage itself
  EXPECT_THAT(page.body, HasSubstr("Redis does not answer"));
  page = get("/status/feeds");
  EXPECT_EQ(page.status, 503U);
  EXPECT_THAT(page.body, HasSubstr("The store is unavailable"));
  EXPECT_EQ(get("/explain", "url=https://example.org/a").status, 503U);
  EXPECT_THAT(get("/status.json").body, HasSubstr("\"store\":null"));
  redis.start();
  EXPECT_THAT(get("/status").body, HasSubstr("Feeds by state"));
}

TEST_F(StatusPagesTest, WaitOnceForAStalledStoreAndThenSkipIt) {
  make(1h);
  EXPECT_EQ(get("/status/feeds").status, 200U);
  ::kill(redis.pid(), SIGSTOP);
  EXPECT_EQ(get("/status/feeds", "state=new").status, 503U);  // after `patience`
  ::kill(redis.pid(), SIGCONT);
  EXPECT_EQ(get("/status/feeds", "state=gone").status, 503U);  // not queried, although it would answer
  status.store_trouble = StoreError{StoreError::Code::unavailable, "the worker has noticed"};
  make(0ms);
  const std::uint64_t before = commands();
  EXPECT_THAT(get("/status/feeds").body, HasSubstr("the worker has noticed"));
  EXPECT_EQ(commands() - before, 1U) << "the count itself, and nothing else";
}

TEST_F(StatusPagesTest, AreAskedForByManyAtOnce) {
  make(1h);
  std::vector<std::future<AdminPage>> answers;
  for (int i = 0; i < 40; ++i) {
    answers.push_back(
        asio::co_spawn(loop, pages->pages().answer(i % 2 == 0 ? "/status" : "/status/feeds", ""), asio::use_future));
  }
  loop.restart();
  loop.run();
  for (auto& answer : answers) EXPECT_EQ(answer.get().status, 200U);
}

TEST_F(StatusPagesTest, AskLittleOfAStoreOfAHundredThousandFeeds) {
  std::vector<NewFeed> feeds;
  for (int i = 0; i < 100'000; ++i) {
    feeds.push_back({.feed_url = "https://h" + std::to_string(i) + ".example/",
                     .after = Milliseconds(i),
                     .settings = "",
                     .title = ""});
  }
  ASSERT_TRUE(Feeds(store).add(feeds));
  get("/status");  // connects and loads the scripts
  const auto cost = [&](const std::string& path, const std::string& query = "") {
    const std::uint64_t before = commands();
    const AdminPage page = get(path, query);
    EXPECT_LT(page.body.size(), 200'000U);
    return commands() - before;
  };
  EXPECT_LE(cost("/status"), 60U);
  EXPECT_LE(cost("/status.json"), 60U);
  EXPECT_LE(cost("/status/feeds"), 330U);
  EXPECT_LE(cost("/status/feeds", "state=new"), 330U);
  EXPECT_LE(cost("/status/feeds", "q=h99999"), 20'300U);  // reads the titles of 20,000 feeds
  EXPECT_LE(cost("/status/feeds", "host=h5.example"), 60U);
  EXPECT_LE(cost("/status/feed", "url=https://h7.example/"), 60U);
}

}  // namespace
}  // namespace feedmill::test::status_pages_test
