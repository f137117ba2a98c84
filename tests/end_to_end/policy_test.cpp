// Politeness and endurance with real workers, as servers and operators see them.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "storage/feeds/feeds.hpp"
#include "tests/end_to_end/program.hpp"
#include "tests/support/sanitized.hpp"

namespace feedmill::test::policy_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

class Policy : public testing::Test {
 protected:
  void add(const std::string& url) { ASSERT_TRUE(Feeds(world.store).add(std::vector{NewFeed{.feed_url = url}})); }
  void pass(const Environment& more = {}) {
    const Finished due = world.run({"refresh", "--all", "--defer", "--ignore-floor"}, more);
    ASSERT_EQ(due.exit, 0) << due.err;
    const Finished done = world.run({"run", "--once"}, more);
    ASSERT_EQ(done.exit, 0) << done.err;
  }
  std::string state(const std::string& url, const std::string& field) {
    return world.redis_text({"HGET", "state:feed:" + url, field});
  }
  std::size_t asked_at(const std::string& host) {
    const auto requests = world.http.requests();
    return static_cast<std::size_t>(std::count_if(requests.begin(), requests.end(), [&](const ServedRequest& one) {
      return one.header("Host").starts_with(host);
    }));
  }
  /// Uses long intervals, as in production, so that no feed is polled twice during the test.
  void slowly() {
    world.environment["FEEDMILL_SCHEDULE_FLOOR"] = "1h";
    world.environment["FEEDMILL_SCHEDULE_CEILING"] = "24h";
  }
  void short_leases() {
    world.environment["FEEDMILL_SCHEDULE_LEASE"] = "4s";
    world.environment["FEEDMILL_FETCH_WALL"] = "3s";
  }

  World world;
};

// HTTP H3, H4, H10
TEST_F(Policy, AHostThatRefusesIsLeftAlone) {
  slowly();
  short_leases();
  world.environment["FEEDMILL_HOST_CONCURRENCY"] = "1";
  world.http.serve_rest([](const ServedRequest& request) {
    const bool sister = request.header("Host").starts_with("localhost");
    return sister ? Response{.body = rss({{"a", "First"}})}
                  : Response{.status = 429, .headers = {{"Retry-After", "1800"}}};
  });
  for (int i = 0; i < 100; ++i) add(world.http.url("/" + std::to_string(i)));
  for (int i = 0; i < 5; ++i) add(world.http.url("localhost", "/" + std::to_string(i)));
  const auto all_wait = [&] {
    const auto soon = std::to_string((*world.store.now() + std::chrono::minutes(25)).count());
    return world.redis_text({"ZCOUNT", "schedule", "-inf", soon}) == "0" && world.count("feed_created") == 5U;
  };
  {
    Program one({"run"}, world.environment);
    Program two({"run"}, world.environment);
    world.http.wait_for_requests(2);
    one.signal(SIGKILL);
    EXPECT_TRUE(eventually([&] {
      return world.redis_text({"HGET", "state:host:" + world.http.server(), "q:-"}) != "(nil)";
    })) << two.err();
    two.signal(SIGKILL);
  }
  for (const std::string& url : *Feeds(world.store).urls_after("", 10'000)) {  // as if their leases had ended
    if (state(url, "claim") != "(nil)") world.redis_text({"ZADD", "schedule", "XX", "1", url});
  }
  Program three({"run"}, world.environment);
  // The worker may have nothing left to do.
  EXPECT_TRUE(eventually([&] { return three.err().find("event=ready") != std::string::npos; })) << three.err();
  EXPECT_TRUE(eventually(all_wait)) << three.err();
  three.signal(SIGTERM);
  EXPECT_EQ(three.wait().exit, 0);
  EXPECT_LE(asked_at("127.0.0.1"), 3U);
  EXPECT_EQ(world.count("feed_created"), 5U) << "the sister host is not concerned";
  EXPECT_EQ(state(world.http.url("/77"), "line"), world.http.server());
}

// HTTP P15, H1
TEST_F(Policy, TwoWorkersAskAHostOneAtATime) {
  constexpr std::size_t feeds = 40;
  constexpr milliseconds takes{30};
  slowly();
  world.environment["FEEDMILL_HOST_CONCURRENCY"] = "1";
  std::mutex mutex;
  std::vector<std::chrono::steady_clock::time_point> arrivals;
  world.http.serve_rest([&](const ServedRequest&) {
    const std::lock_guard lock(mutex);
    arrivals.push_back(std::chrono::steady_clock::now());
    return Response{.body = rss({{"a", "First"}}), .delay = takes};
  });
  for (std::size_t i = 0; i < feeds; ++i) add(world.http.url("/" + std::to_string(i)));
  Program one({"run"}, world.environment);
  Program two({"run"}, world.environment);
  EXPECT_TRUE(eventually([&] { return world.count("feed_created") == feeds; })) << one.err() << two.err();
  for (Program* worker : {&one, &two}) worker->signal(SIGTERM);
  EXPECT_EQ(one.wait().exit, 0);
  EXPECT_EQ(two.wait().exit, 0);
  const std::lock_guard lock(mutex);
  ASSERT_EQ(arrivals.size(), feeds);
  for (std::size_t i = 1; i < feeds; ++i) {
    EXPECT_GE(arrivals[i] - arrivals[i - 1], takes) << i << ": it came before the answer to the one before had left";
  }
}

// SECURITY Q1, Q2
TEST_F(Policy, FeedThatKillsWorkersIsFoundAmongAThousand) {
  if (is_sanitized) GTEST_SKIP() << "a sanitiser's library wants to be loaded first";
  constexpr int feeds = 1000;
  slowly();
  short_leases();
  world.environment["FEEDMILL_FETCH_CONTACT"] = "https://example.org/contact";
  world.environment["FEEDMILL_HOST_CONCURRENCY"] = "1000";
  world.environment["FEEDMILL_WORKER_LANES"] = "64";
  world.environment["LD_PRELOAD"] = FEEDMILL_POISON;
  world.http.forget_requests();
  world.http.serve_rest([](const ServedRequest& request) {
    return Response{.body = rss({{"a", request.target == "/500" ? "this document kills" : "First"}})};
  });
  std::vector<NewFeed> all;
  for (int i = 0; i < feeds; ++i) all.push_back(NewFeed{.feed_url = world.http.url("/" + std::to_string(i))});
  ASSERT_TRUE(Feeds(world.store).add(all));
  int deaths = 0;
  std::string log;
  for (bool found = false; !found && deaths < 10;) {
    Program worker({"run"}, world.environment);
    const auto is_found = [&] { return world.redis_text({"ZCARD", "quarantine"}) == "1"; };
    found = eventually([&] { return is_found() || worker.ended(); }) && is_found();
    if (!found) {
      EXPECT_EQ(worker.wait().exit, -SIGABRT);
      ++deaths;
      continue;
    }
    EXPECT_TRUE(eventually([&] { return world.count("feed_created") == feeds - 1; })) << worker.err();
    worker.signal(SIGTERM);
    log = worker.wait().err;
  }
  EXPECT_GE(deaths, 4) << "one in company, three alone";
  EXPECT_EQ(world.redis_text({"ZRANGE", "quarantine", "0", "-1"}), world.http.url("/500"));
  EXPECT_EQ(world.redis_text({"HGET", "stats:feeds:states", "quarantined"}), "1");
  EXPECT_NE(log.find("event=quarantine"), std::string::npos) << log;
  const std::string notices = world.redis_text({"HVALS", "hash:notification:user_id:_operator"});
  EXPECT_NE(notices.find(R"("type":"feed_quarantined")"), std::string::npos) << notices;
  const auto due = (*Feeds(world.store).records(std::vector{world.http.url("/500")}))[0]->due;
  EXPECT_GT(*due, *world.store.now() + hours(23));
}

// SECURITY Q2, T18
TEST_F(Policy, DocumentWithTooManyStepsIsQuarantinedAndOthersAreRead) {
  slowly();
  const std::string endless = world.http.url("/endless"), good = world.http.url("/good");
  // Each paragraph searches all open elements for one to close.
  std::string paragraphs = "<rss version='2.0'><channel><item><description><![CDATA[";
  for (int i = 0; i < 128; ++i) paragraphs += "<b>";
  for (int i = 0; i < 100'000; ++i) paragraphs += "<p>";
  paragraphs += "]]></description></item></channel></rss>";
  std::vector<std::pair<std::string, std::string>> posts;
  add(endless);
  add(good);
  for (int i = 1; i <= 4; ++i) {
    const std::string number = std::to_string(i);
    posts.insert(posts.begin(), {number, "Post " + number});
    world.http.serve("/endless", {.body = paragraphs + "<!-- " + number + " -->"});
    world.http.serve("/good", {.body = rss(posts)});
    pass();
    EXPECT_EQ(state(endless, "last"), "200 failed parse.limit");
    EXPECT_EQ(state(endless, "state"), i < 3 ? "never_read" : "quarantined") << i;
    EXPECT_EQ(world.redis_text({"ZCARD", good + ":sort"}), number) << "others are read";
  }
  EXPECT_EQ(world.http.count("/endless"), 4U);
  EXPECT_EQ(world.redis_text({"ZRANGE", "quarantine", "0", "-1"}), endless);
  EXPECT_EQ(world.redis_text({"HGET", "stats:feeds:states", "quarantined"}), "1");
  const auto due = (*Feeds(world.store).records(std::vector{endless}))[0]->due;
  EXPECT_GT(*due, *world.store.now() + hours(23));
  const std::string notices = world.redis_text({"HVALS", "hash:notification:user_id:_operator"});
  EXPECT_NE(notices.find(R"("type":"feed_quarantined")"), std::string::npos) << notices;
  EXPECT_NE(notices.find("too many steps"), std::string::npos) << notices;
  const Finished shown = world.run({"show", endless});
  EXPECT_NE(shown.out.find("quarantined"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("parse.limit"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("too many steps"), std::string::npos) << shown.out;
  const Finished listed = world.run({"list", "--state", "quarantined"});
  EXPECT_NE(listed.out.find(endless), std::string::npos) << listed.out;
  EXPECT_EQ(listed.out.find(good), std::string::npos) << listed.out;
}

// SECURITY Q4
TEST_F(Policy, ADocumentThatHitsABugIsKeptForDebugging) {
  if (is_sanitized) GTEST_SKIP() << "a sanitiser's library wants to be loaded first";
  const auto directory = world.redis.directory() / "poison";
  std::filesystem::create_directories(directory);
  world.environment["LD_PRELOAD"] = FEEDMILL_POISON;
  world.environment["FEEDMILL_DEBUG_KEEP_POISON"] = directory.string();
  const std::string body = rss({{"a", "this document is a bug"}}) + std::string(100'000, ' ');
  world.http.serve("/bug.xml", {.body = body});
  world.http.serve("/good.xml", {.body = rss({{"a", "First"}})});
  for (const char* const path : {"/bug.xml", "/good.xml"}) {
    ASSERT_TRUE(Feeds(world.store).add(std::vector{NewFeed{.feed_url = world.http.url(path)}}));
  }
  const Finished done = world.run({"run", "--once"});
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(world.count("feed_created"), 1U) << "the lane went on";
  std::vector<std::string> kept;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) kept.push_back(entry.path());
  ASSERT_EQ(kept.size(), 1U);
  std::ifstream file(kept.front(), std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_EQ(content, body.substr(0, 65536));
}

TEST_F(Policy, KillingWorkersQuarantinesNoFeed) {
  constexpr std::size_t feeds = 60;
  slowly();
  short_leases();
  world.http.serve_rest([](const ServedRequest&) {
    return Response{.body = rss({{"a", "First"}}), .delay = milliseconds(20)};
  });
  for (std::size_t i = 0; i < feeds; ++i) add(world.http.url("/" + std::to_string(i)));
  std::size_t seen = 0;
  for (int kills = 0; kills < 8; ++kills) {
    Program worker({"run"}, world.environment);
    // Kill it at an arbitrary request, unless everything is stored already.
    if (!eventually([&] { return world.http.requests().size() > seen || world.count("feed_created") == feeds; })) break;
    seen = world.http.requests().size();
    worker.signal(SIGKILL);
    worker.wait();
  }
  Program worker({"run"}, world.environment);
  EXPECT_TRUE(eventually([&] { return world.count("feed_created") == feeds; })) << worker.err();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
  EXPECT_EQ(world.redis_text({"EXISTS", "quarantine"}), "0");
  EXPECT_EQ(world.count("post_created"), feeds);
}

// HTTP R5, R8
TEST_F(Policy, APermanentRedirectIsBelievedAfterADay) {
  const std::string url = world.http.url("/old.xml"), target = world.http.url("/new.xml");
  world.http.serve("/old.xml", {.body = rss({{"a", "First"}})});
  world.http.serve("/new.xml", {.body = rss({{"a", "First"}}), .etag = "\"n\""});
  add(url);
  pass();
  world.http.serve("/old.xml", {.status = 301, .headers = {{"Location", target}}});
  pass();
  pass();
  EXPECT_EQ(state(url, "fetch_url"), "(nil)");
  const std::string moving = state(url, "moving");
  EXPECT_TRUE(moving.starts_with("2 ")) << moving;
  const auto yesterday = std::to_string((*world.store.now() - hours(25)).count());
  world.redis_text({"HSET", "state:feed:" + url, "moving", "2 " + yesterday + " 1 0 " + target});
  pass();
  EXPECT_EQ(state(url, "fetch_url"), target);
  EXPECT_EQ(world.count("feed_moved"), 1U);
  EXPECT_EQ(world.redis_text({"ZCARD", url + ":sort"}), "1");
  const std::size_t before = world.http.count("/old.xml");
  pass();
  EXPECT_EQ(world.http.count("/old.xml"), before) << "the old one is left in peace";
  EXPECT_EQ(world.http.requests().back().header("If-None-Match"), "\"n\"") << "validators go with the URL";

  const Finished undone = world.run({"move", url, "--undo"});
  EXPECT_EQ(undone.exit, 0) << undone.err;
  EXPECT_EQ(state(url, "fetch_url"), "(nil)");
  for (int i = 0; i < 4; ++i) pass();
  EXPECT_EQ(state(url, "fetch_url"), "(nil)") << "what an operator has undone is not done again";
}

// HTTP R8
TEST_F(Policy, TwoFeedsThatBecameOneStayTwo) {
  const std::string url = world.http.url("/old.xml"), target = world.http.url("/new.xml");
  world.http.serve("/old.xml", {.status = 301, .headers = {{"Location", target}}});
  world.http.serve("/new.xml", {.body = rss({{"a", "First"}})});
  add(url);
  add(target);
  pass();
  const auto yesterday = std::to_string((*world.store.now() - hours(25)).count());
  world.redis_text({"HSET", "state:feed:" + url, "moving", "2 " + yesterday + " 1 0 " + target});
  ASSERT_EQ(world.run({"refresh", "--all", "--defer", "--ignore-floor"}).exit, 0);
  const Finished done = world.run({"run", "--once"});
  EXPECT_EQ(state(url, "fetch_url"), "(nil)");
  EXPECT_EQ(world.count("feed_moved"), 0U);
  EXPECT_NE(done.err.find("event=notice"), std::string::npos) << done.err;
  EXPECT_NE(done.err.find(url), std::string::npos);
  EXPECT_NE(done.err.find(target), std::string::npos);
  const boost::json::object notice = boost::json::parse(world.run({"notices", "--json"}).out).as_object();
  EXPECT_EQ(notice.at("type"), "feed_collision");
  EXPECT_EQ(notice.at("feed_url").as_string(), url);
  EXPECT_EQ(notice.at("to").as_string(), target);
}

TEST_F(Policy, AnOperatorMovesAFeed) {
  const std::string url = world.http.url("/old.xml"), target = world.http.url("/new.xml");
  world.http.serve("/new.xml", {.body = rss({{"a", "First"}})});
  add(url);
  EXPECT_EQ(world.run({"move", url}).exit, 64);
  EXPECT_EQ(world.run({"move", url, target, "--undo"}).exit, 64);
  EXPECT_EQ(world.run({"move", url, "ftp://example.org/"}).exit, 65);
  EXPECT_EQ(world.run({"move", target, url}).exit, 1) << "no such feed";
  EXPECT_EQ(world.run({"move", url, "--undo"}).exit, 1) << "it was never moved";
  const Finished moved = world.run({"move", url, target, "--json"});
  ASSERT_EQ(moved.exit, 0) << moved.err;
  const boost::json::object row = boost::json::parse(moved.out).as_object();
  EXPECT_EQ(row.at("result").as_string(), "moved");
  EXPECT_EQ(row.at("from").as_string(), url);
  EXPECT_EQ(row.at("to").as_string(), target);
  EXPECT_EQ(world.run({"move", url, target}).exit, 0) << "it is there already";
  pass();
  EXPECT_EQ(world.redis_text({"ZCARD", url + ":sort"}), "1");
  EXPECT_EQ(world.http.count("/old.xml"), 0U);
  add(world.http.url("/third.xml"));
  const Finished taken = world.run({"move", url, world.http.url("/third.xml")});
  EXPECT_EQ(taken.exit, 1);
  EXPECT_NE(taken.err.find("is already a feed"), std::string::npos) << taken.err;
}

// HTTP §4
TEST_F(Policy, ADocumentIsWholeWhateverItsTransferSays) {
  const std::string body = rss({{"a", "First"}}), type = "Content-Type: application/rss+xml\r\nETag: \"e\"\r\n";
  const std::string size = fmt::format("{:x}\r\n", body.size());
  const auto raw = [&](const std::string& fields, const std::string& sent) {
    return Response{.raw = "HTTP/1.1 200 OK\r\n" + type + fields + "\r\n" + sent};
  };
  const std::string chunked = "Transfer-Encoding: chunked\r\n", length = "Content-Length: ";
  std::map<std::string, Response> answers{
      {"/length", raw(length + std::to_string(body.size() + 100) + "\r\n", body)},
      {"/cut-comment", raw(length + std::to_string(body.size() + 100) + "\r\n", body + "\n<!-- cach")},
      {"/last-chunk", raw(chunked, size + body + "\r\n")},
      {"/bad-chunk", raw(chunked, size + body + "\r\nnonsense\r\n")},
      {"/half-chunk", raw(chunked, fmt::format("{:x}\r\n", body.size() + 9) + body)},
      {"/plain", raw("Content-Encoding: gzip\r\n", body)},
      {"/charset", raw("Content-Encoding: UTF-8\r\n", body)},
      {"/proxied", {.status = 203, .headers = {{"ETag", "\"e\""}}, .body = body}}};
  for (const auto& [path, response] : answers) {
    world.http.serve(path, response);
    add(world.http.url(path));
  }
  pass();
  pass();
  for (const auto& [path, response] : answers) {
    const std::string url = world.http.url(path);
    EXPECT_EQ(state(url, "state"), "healthy") << path;
    EXPECT_EQ(state(url, "etag"), "\"e\"") << path;
    EXPECT_EQ(world.redis_text({"ZCARD", url + ":sort"}), "1") << path;
    const std::string told = world.run({"explain", url}).out;
    const bool is_fine = path == "/proxied";
    EXPECT_EQ(told.find("detail") == told.npos, is_fine) << path << "\n" << told;
    const Finished checked = world.run({"check", url});
    EXPECT_EQ(checked.exit, 0) << path << "\n" << checked.out << checked.err;
  }
  EXPECT_EQ(world.count("feed_created"), answers.size());
  world.http.serve("/many", {.status = 300, .headers = {{"Location", "/length"}}});
  add(world.http.url("/many"));
  pass();
  EXPECT_EQ(state(world.http.url("/many"), "state"), "healthy");
}

// HTTP §4
TEST_F(Policy, BrokenCompressionIsRetriedUncompressed) {
  world.http.serve("/feed.xml", [](const ServedRequest& request) {
    const bool plain = request.header("Accept-Encoding") == "identity";
    return plain ? Response{.body = rss({{"a", "First"}})}
                 : Response{.headers = {{"Content-Encoding", "gzip"}}, .body = "no gzip"};
  });
  const std::string url = world.http.url("/feed.xml");
  add(url);
  pass();
  EXPECT_EQ(world.redis_text({"ZCARD", url + ":sort"}), "1");
  EXPECT_EQ(world.http.requests().size(), 2U);
  pass();
  EXPECT_EQ(world.http.requests().size(), 3U) << "the host is known for it";
  EXPECT_EQ(state(url, "last"), "200 unchanged -");
}

// HTTP H3, H10: the response to a stranger's redirect slows down only the stranger's feed.
TEST_F(Policy, RedirectDoesNotSlowFeedsOfItsTarget) {
  slowly();
  const std::string victim = world.http.url("/ok.xml");
  std::vector<std::string> strangers;
  const Response answers[] = {
      {.headers = {{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "86400"}}, .body = rss({{"a", "First"}})},
      {.status = 429},
      {.status = 429, .headers = {{"Retry-After", "3600"}}},
      {.status = 503, .headers = {{"Retry-After", "3600"}}},
      {.status = 404},
      {.status = 403},
      {.body = "<html><title>Not a feed</title></html>"},
  };
  for (const Response& answer : answers) {
    for (int twice = 0; twice < 2; ++twice) {
      const std::string name = std::to_string(strangers.size());
      world.http.serve("/there" + name, answer);
      world.http.serve("/here" + name, {.status = 302, .headers = {{"Location", world.http.url("/there" + name)}}});
      strangers.push_back(world.http.url("localhost", "/here" + name));
      add(strangers.back());
    }
  }
  world.http.serve("/ok.xml", {.body = rss({{"a", "First"}})});
  add(victim);
  pass();
  const auto explained = [&] {
    return boost::json::parse(world.run({"--json", "explain", victim}).out).at("host").as_object();
  };
  EXPECT_EQ(explained().at("name").as_string(), world.http.server());
  EXPECT_TRUE(explained().at("quotas").as_array().empty());
  EXPECT_TRUE(explained().at("not_before").is_null());
  EXPECT_TRUE(explained().at("storm_since").is_null());
  EXPECT_EQ(world.redis_text({"HKEYS", "state:host:" + world.http.server()}), "served_at");
  EXPECT_NE(state(strangers[0], "why").find("quota 86400"), std::string::npos) << "what it was told it keeps";
}

// HTTP H6
TEST_F(Policy, ARedirectWaitsForAHostThatIsClosed) {
  world.http.serve("/feed.xml", {.status = 302, .headers = {{"Location", world.http.url("localhost", "/far.xml")}}});
  world.http.serve("/far.xml", {.body = rss({{"a", "First"}})});
  const std::string url = world.http.url("/feed.xml");
  add(url);
  const auto later = std::to_string((*world.store.now() + hours(1)).count());
  world.redis_text(
      {"HSET", "state:host:" + world.http.server("localhost"), "closed", "1", "refusals", "1", "not_before", later});
  pass();
  EXPECT_EQ(state(url, "last"), "302 deferred worker.host_wait");
  EXPECT_EQ(world.http.count("/far.xml"), 0U);
  world.redis_text({"DEL", "state:host:" + world.http.server("localhost")});
  pass();
  EXPECT_EQ(state(url, "last"), "200 updated -");
  EXPECT_EQ(world.redis_text({"EXISTS", "state:host:localhost"}), "1");
}

}  // namespace
}  // namespace feedmill::test::policy_test
