// What a refresh leaves in Redis, whatever the origin does.
#include <cstdint>
#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "storage/feeds/feeds.hpp"
#include "tests/end_to_end/program.hpp"

namespace feedmill::test::refresh_test {
namespace {

namespace json = boost::json;

class Refreshing : public testing::Test {
 protected:
  void add(const std::string& path) {
    const Finished done = world.run({"add", world.http.url(path)});
    ASSERT_EQ(done.exit, 0) << done.err;
  }
  /// Makes every feed due and runs one pass.
  void pass() {
    const Finished due = world.run({"refresh", "--all", "--defer", "--ignore-floor"});
    ASSERT_EQ(due.exit, 0) << due.err;
    const Finished done = world.run({"run", "--once"});
    ASSERT_EQ(done.exit, 0) << done.err;
  }
  json::object shown(const std::string& path) {
    const Finished done = world.run({"show", world.http.url(path), "--json"});
    EXPECT_EQ(done.exit, 0) << done.err;
    return json::parse(done.out).as_object();
  }
  std::string state(const std::string& path, const std::string& field) {
    return world.redis_text({"HGET", "state:feed:" + world.http.url(path), field});
  }

  World world;
};

TEST_F(Refreshing, ImportsAFeed) {
  world.http.serve("/feed.xml", {.body = rss({{"b", "Second"}, {"a", "First"}})});
  add("/feed.xml");
  pass();
  const std::string url = world.http.url("/feed.xml");
  EXPECT_EQ(world.redis_text({"ZCARD", url + ":sort"}), "2");
  EXPECT_EQ(world.redis_text({"HGET", "Entry:2", "title"}), "Second");
  EXPECT_EQ(world.redis_text({"HGET", "Feed:" + url, "title"}), "Feed");
  EXPECT_EQ(world.count("post_created"), 2U);
  EXPECT_EQ(world.count("feed_created"), 1U);
}

// WEBSUB U15, U17
TEST_F(Refreshing, StoresNoPostThatHasBeenHere) {
  world.http.serve("/feed.xml", {.body = rss({})});
  add("/feed.xml");
  const std::string own = world.redis_text({"HGET", "meta:store", "id"});
  ASSERT_EQ(own.size(), 32U);
  const std::string via = "<f:via xmlns:f='urn:feedmill:feed:1'>", end = "</f:via>";
  world.http.serve(
      "/feed.xml",
      {.body = "<rss version='2.0'><channel><title>Ring</title><item><guid>1</guid><title>Ours"
               "</title>" +
               via + std::string(32, 'a') + end + via + own + end + "</item><item><guid>2</guid><title>Theirs</title>" +
               via + std::string(32, 'a') + end + "</item></channel></rss>"});
  pass();
  EXPECT_EQ(world.redis_text({"ZCARD", world.http.url("/feed.xml") + ":sort"}), "1");
  EXPECT_EQ(world.redis_text({"HGET", "Entry:1", "title"}), "Theirs");
  EXPECT_EQ(world.redis_text({"HGET", "Entry:1", "via"}), std::string(32, 'a'));
  EXPECT_EQ(world.redis_text({"HGET", "meta:store", "id"}), own);
  EXPECT_EQ(state("/feed.xml", "exposure"), "allowed") << "egress.allow has opened this server";
}

// RELIABILITY L10. On its own, the worker would look a minute later.
TEST_F(Refreshing, AnIdleWorkerLooksAtOnceForWhatOthersMadeDue) {
  for (const char* path : {"/first", "/second"}) world.http.serve(path, {.body = rss({{"a", "A"}})});
  world.environment["FEEDMILL_SCHEDULE_POLL"] = "1min";
  add("/first");
  Program worker({"run"}, world.environment);
  const auto stored = [&](const char* path) {
    return eventually([&] { return world.redis_text({"ZCARD", world.http.url(path) + ":sort"}) == "1"; });
  };
  ASSERT_TRUE(stored("/first")) << worker.err();
  add("/second");
  EXPECT_TRUE(stored("/second")) << worker.err();
  const std::size_t before = world.http.requests().size();
  EXPECT_EQ(world.run({"refresh", world.http.url("/first"), "--defer", "--ignore-floor"}).exit, 0);
  EXPECT_TRUE(eventually([&] { return world.http.requests().size() > before; })) << worker.err();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0) << worker.err();
}

// RELIABILITY L10: a fetch does not answer requests made while it runs, even if it is the first one.
TEST_F(Refreshing, RequestDuringTheFirstFetchIsServedAfterIt) {
  world.environment["FEEDMILL_SCHEDULE_FLOOR"] = "1h";
  world.environment["FEEDMILL_SCHEDULE_CEILING"] = "24h";
  world.http.serve("/slow.xml", {.body = rss({{"a", "A"}}), .hold_until = 2});
  world.http.serve("/other.xml", {.body = rss({{"b", "B"}})});
  Program worker({"run"}, world.environment);
  add("/slow.xml");
  ASSERT_TRUE(eventually([&] { return world.http.count("/slow.xml") == 1; })) << worker.err();
  const Finished wish = world.run({"refresh", world.http.url("/slow.xml"), "--defer"});
  EXPECT_TRUE(wish.out.starts_with("noted ")) << wish.out << wish.err;
  add("/other.xml");
  ASSERT_TRUE(eventually([&] { return state("/slow.xml", "won") == "manual"; })) << worker.err();
  const std::int64_t due = std::stoll(world.redis_text({"ZSCORE", "schedule", world.http.url("/slow.xml")}));
  EXPECT_LT(due - std::stoll(state("/slow.xml", "last_at")), 3'600'000);
  EXPECT_NE(world.run({"explain", world.http.url("/slow.xml")}).out.find("why      A refresh was requested."),
            std::string::npos);
}

TEST_F(Refreshing, StoresThePostThatADocumentAlwaysEndsIn) {
  const std::string whole = rss({{"b", "Second"}, {"a", "First and last"}});
  world.http.serve("/feed.xml", {.body = whole.substr(0, whole.find(" and last")), .etag = "\"cut\""});
  add("/feed.xml");
  pass();
  const std::string url = world.http.url("/feed.xml");
  EXPECT_EQ(world.redis_text({"ZCARD", url + ":sort"}), "1") << "it may be a transfer that went wrong";
  pass();
  EXPECT_EQ(world.redis_text({"HMGET", "Entry:2", "guid", "title", "truncated"}), "a First entry");
  EXPECT_EQ(world.count("post_created"), 2U);
  pass();
  EXPECT_EQ(world.http.requests().back().header("If-None-Match"), "\"cut\"");
  world.http.serve("/feed.xml", {.body = whole});
  pass();
  EXPECT_EQ(world.redis_text({"HMGET", "Entry:2", "title", "truncated"}), "First and last (nil)");
  EXPECT_EQ(world.count("post_created"), 2U);
  EXPECT_EQ(world.count("post_modified"), 1U);
}

TEST_F(Refreshing, AsksConditionallyAndTakesA304ForNoChange) {
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}}), .etag = "W/\"odd  one\"", .last_modified = "some day"});
  add("/feed.xml");
  pass();
  pass();
  const auto requests = world.http.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].header("If-None-Match"), "");
  EXPECT_EQ(requests[1].header("If-None-Match"), "W/\"odd  one\"");
  EXPECT_EQ(requests[1].header("If-Modified-Since"), "some day");
  EXPECT_EQ(state("/feed.xml", "last"), "304 not_modified -");
  EXPECT_EQ(world.signals().size(), 2U);
}

TEST_F(Refreshing, KnowsTheSameBodyAndKeepsTheNewValidators) {
  const std::string body = rss({{"a", "First"}});
  world.http.serve("/feed.xml", {.headers = {{"ETag", "\"1\""}}, .body = body});
  add("/feed.xml");
  pass();
  world.http.serve("/feed.xml", {.headers = {{"ETag", "\"2\""}}, .body = body});
  pass();
  EXPECT_EQ(state("/feed.xml", "last"), "200 unchanged -");
  EXPECT_EQ(state("/feed.xml", "etag"), "\"2\"");
  EXPECT_EQ(world.signals().size(), 2U);
}

TEST_F(Refreshing, CreatesANewPostAndModifiesAnEditedOne) {
  world.http.serve("/feed.xml", {.body = rss({{"b", "Second"}, {"a", "First"}})});
  add("/feed.xml");
  pass();
  world.http.serve("/feed.xml", {.body = rss({{"c", "Third"}, {"b", "Second"}, {"a", "First, edited"}})});
  pass();
  EXPECT_EQ(world.count("post_created"), 3U);
  EXPECT_EQ(world.count("post_modified"), 1U);
  json::object modified;
  for (const EventRecord& signal : world.signals()) {
    if (signal.type == "post_modified") modified = json::parse(signal.json).as_object();
  }
  EXPECT_EQ(json::serialize(modified.at("changed").at("title")), R"(["First","First, edited"])");
  EXPECT_EQ(world.redis_text({"HMGET", "Entry:1", "title", "rev"}), "First, edited 2");
  EXPECT_EQ(world.redis_text({"GET", "ids:Entry"}), "3");
}

TEST_F(Refreshing, WritesAndSignalsNothingForADocumentThatOnlyLooksDifferent) {
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  add("/feed.xml");
  pass();
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}}) + "<!-- built again -->"});
  pass();
  EXPECT_EQ(state("/feed.xml", "last"), "200 unchanged -");
  EXPECT_EQ(world.signals().size(), 2U);
}

TEST_F(Refreshing, TrimsAndNothingTrimmedComesBack) {
  const Environment strict{{"FEEDMILL_RETENTION_ENTRIES", "2"}, {"FEEDMILL_RETENTION_STRICT", "true"}};
  for (const auto& [name, value] : strict) world.environment[name] = value;
  world.http.serve("/feed.xml", {.body = rss({{"c", "3"}, {"b", "2"}, {"a", "1"}})});
  add("/feed.xml");
  pass();
  world.http.serve("/feed.xml", {.body = rss({{"d", "4"}, {"c", "3"}, {"b", "2"}, {"a", "1"}})});
  for (int i = 0; i < 3; ++i) pass();
  EXPECT_EQ(world.count("post_created"), 3U);
  EXPECT_EQ(world.count("post_trimmed"), 1U);
  EXPECT_EQ(world.redis_text({"ZCARD", world.http.url("/feed.xml") + ":sort"}), "2");
}

TEST_F(Refreshing, FollowsARedirectAndStaysSubscribedToTheOldAddress) {
  world.http.serve("/old.xml", {.status = 302, .headers = {{"Location", "/new.xml"}}});
  world.http.serve("/new.xml", {.body = rss({{"a", "First"}}), .etag = "\"n\""});
  add("/old.xml");
  pass();
  pass();
  EXPECT_EQ(world.redis_text({"ZCARD", world.http.url("/old.xml") + ":sort"}), "1");
  const auto requests = world.http.requests();
  ASSERT_EQ(requests.size(), 4U);
  EXPECT_EQ(requests[2].target, "/old.xml");
  EXPECT_EQ(requests[2].header("If-None-Match"), "") << "validators belong to the URL that sent them";
  EXPECT_EQ(requests[3].header("If-None-Match"), "\"n\"");
  EXPECT_EQ(state("/old.xml", "last"), "304 not_modified -");
}

TEST_F(Refreshing, ReadsGzip) {
  // `printf … | gzip -n`: an empty channel named "Zipped", stored without compression.
  const std::string xml = "<rss version=\"2.0\"><channel><title>Zipped</title></channel></rss>";
  std::string zipped("\x1F\x8B\x08\x00\x00\x00\x00\x00\x00\x03", 10);
  const auto size = static_cast<unsigned>(xml.size());
  zipped += std::string("\x01", 1) + static_cast<char>(size & 0xFF) + static_cast<char>(size >> 8);
  zipped += static_cast<char>(~size & 0xFF);
  zipped += static_cast<char>(~size >> 8 & 0xFF);
  zipped += xml;
  unsigned crc = ~0U;
  for (const unsigned char byte : xml) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0xEDB88320U & (0U - (crc & 1U)));
  }
  crc = ~crc;
  for (const unsigned value : {crc, size}) {
    for (unsigned shift = 0; shift < 32; shift += 8) zipped += static_cast<char>(value >> shift & 0xFF);
  }
  world.http.serve("/feed.xml", {.headers = {{"Content-Encoding", "gzip"}}, .body = zipped});
  add("/feed.xml");
  pass();
  EXPECT_EQ(world.redis_text({"HGET", "Feed:" + world.http.url("/feed.xml"), "title"}), "Zipped");
}

struct Failure {
  const char* name;
  Response response;
  const char* reason;

  friend void PrintTo(const Failure& failure, std::ostream* out) { *out << failure.reason; }
};

class Failures : public Refreshing, public testing::WithParamInterface<Failure> {};

TEST_P(Failures, AreRecordedAndStopNothing) {
  world.environment["FEEDMILL_FETCH_WALL"] = "2s";
  world.http.serve("/good.xml", {.body = rss({{"a", "First"}})});
  world.http.serve("/bad.xml", GetParam().response);
  add("/bad.xml");
  add("/good.xml");
  pass();
  const json::object bad = shown("/bad.xml");
  EXPECT_EQ(bad.at("last_error").as_string(), GetParam().reason) << json::serialize(bad);
  EXPECT_EQ(world.redis_text({"ZCARD", world.http.url("/bad.xml") + ":sort"}), "0");
  EXPECT_EQ(world.redis_text({"ZCARD", world.http.url("/good.xml") + ":sort"}), "1");
  EXPECT_NE(world.redis_text({"ZSCORE", "schedule", world.http.url("/bad.xml")}), "(nil)") << "it is tried again";
}

INSTANTIATE_TEST_SUITE_P(
    All, Failures,
    testing::Values(Failure{"NotFound", {.status = 404}, "status.not_found"},
                    Failure{"ServerError", {.status = 503}, "status.server"},
                    Failure{"RateLimited", {.status = 429}, "status.rate_limited"},
                    Failure{"Hangs",
                            {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n<rss", .end = Response::End::hang},
                            "http.timeout"},
                    Failure{"CutShort",
                            {.headers = {{"Content-Length", "5000"}}, .body = "<rss>", .end = Response::End::close},
                            "http.truncated"},
                    Failure{"NoHttp", {.raw = "SSH-2.0-OpenSSH_9.2\r\n"}, "http.malformed"},
                    Failure{"Garbage", {.body = std::string("\x00\x01\xFF\xFEgarbage", 11)}, "parse.not_a_feed"},
                    Failure{"Html",
                            {.headers = {{"Content-Type", "text/html"}},
                             .body = "<!doctype html><html><body>Hello</body></html>"},
                            "parse.not_a_feed"},
                    Failure{"Empty", {.body = ""}, "parse.empty"},
                    Failure{"RedirectLoop", {.status = 301, .headers = {{"Location", "/bad.xml"}}}, "redirect.loop"}),
    [](const auto& test) { return test.param.name; });

// HTTP §4, http.truncated
TEST_F(Refreshing, StoresCompletePostsOfADocumentThatBreaksOff) {
  const std::string whole = rss({{"c", "Third"}, {"b", "Second"}, {"a", "First"}});
  const std::string path = "/feed.xml", sort = world.http.url(path) + ":sort";
  world.http.serve(path, {.headers = {{"Content-Length", std::to_string(whole.size())}, {"ETag", "\"1\""}},
                          .body = whole.substr(0, whole.find("First")),
                          .end = Response::End::close});
  add(path);
  pass();
  EXPECT_EQ(shown(path).at("last_error").as_string(), "http.truncated");
  EXPECT_EQ(world.redis_text({"ZCARD", sort}), "2");
  EXPECT_EQ(state(path, "etag"), "(nil)");
  EXPECT_EQ(world.count("feed_created"), 0U);

  world.http.serve(path, {.body = whole, .etag = "\"1\""});
  pass();
  EXPECT_EQ(world.redis_text({"ZCARD", sort}), "3");
  EXPECT_EQ(world.count("post_created"), 3U);
  EXPECT_EQ(world.count("post_modified"), 0U);
  EXPECT_EQ(world.count("feed_created"), 1U);
  EXPECT_EQ(state(path, "etag"), "\"1\"");
}

TEST_F(Refreshing, PostponesAFeedWithBrokenKeys) {
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  add("/feed.xml");
  world.redis_text({"SET", world.http.url("/feed.xml") + ":guidmap", "spoilt"});
  pass();
  EXPECT_EQ(world.redis_text({"EXISTS", "ids:Entry"}), "0") << "nothing was written";
  EXPECT_EQ(world.redis_text({"XLEN", "stream:signals"}), "0") << "nothing was written";
  const auto record = Feeds(world.store).records(std::vector{world.http.url("/feed.xml")});
  EXPECT_GT(*(*record)[0]->due, *world.store.now() + std::chrono::hours(23)) << "and it is not asked for every minute";
  EXPECT_EQ((*record)[0]->claim, "");
}

/// Like a Redis that cannot write: no feed is postponed, and the fetched document is stored once the key is repaired.
TEST_F(Refreshing, WaitsWhileASharedKeyIsBroken) {
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  add("/feed.xml");
  world.redis_text({"SET", "stream:signals", "spoilt"});
  const Program worker({"run"}, world.environment);
  EXPECT_TRUE(eventually([&] {
    return worker.err().find("nothing can be written while stream:signals is a string") != std::string::npos;
  })) << worker.err();
  EXPECT_EQ(world.redis_text({"EXISTS", "ids:Entry"}), "0") << "nothing was written";
  world.redis_text({"DEL", "stream:signals"});
  EXPECT_TRUE(eventually([&] { return world.redis_text({"GET", "ids:Entry"}) == "1"; })) << worker.err();
  EXPECT_TRUE(eventually([&] { return count_of(worker.err(), "event=redis_up") == 1; })) << worker.err();
  EXPECT_EQ(world.http.count("/feed.xml"), 1U) << "it is not asked for again";
  EXPECT_EQ(count_of(worker.err(), "event=bug"), 0U) << worker.err();
}

TEST_F(Refreshing, NeverConnectsToAnAddressThatIsNotOpened) {
  world.environment.erase("FEEDMILL_EGRESS_ALLOW");
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  add("/feed.xml");
  pass();
  EXPECT_EQ(world.http.connections(), 0U);
  EXPECT_EQ(shown("/feed.xml").at("last_error").as_string(), "egress.blocked");
}

// HTTP P22: the redirecting server was contacted, so its feed's manual floor applies.
TEST_F(Refreshing, KeepsTheManualFloorOfAFeedThatRedirectsToABlockedAddress) {
  world.http.serve("/feed.xml", {.status = 302, .headers = {{"Location", "http://10.0.0.1/"}}});
  add("/feed.xml");
  const std::string url = world.http.url("/feed.xml");
  EXPECT_EQ(world.run({"refresh", url}).exit, 1);
  EXPECT_EQ(state("/feed.xml", "last"), "302 failed egress.blocked");
  for (int i = 0; i < 4; ++i) {
    const Finished again = world.run({"refresh", url});
    EXPECT_NE(again.out.find("too early"), std::string::npos) << again.out;
  }
  EXPECT_EQ(world.http.requests().size(), 1U);
}

// HTTP P9
TEST_F(Refreshing, WaitsForTheRetryAfterOfARedirect) {
  world.http.serve("/feed.xml", {.status = 302, .headers = {{"Location", "/there.xml"}, {"Retry-After", "7200"}}});
  world.http.serve("/there.xml", {.body = rss({{"a", "First"}})});
  add("/feed.xml");
  const std::string url = world.http.url("/feed.xml");
  EXPECT_EQ(world.run({"refresh", url}).exit, 1);
  const Finished again = world.run({"refresh", url, "--ignore-floor"});
  EXPECT_NE(again.out.find("too early"), std::string::npos) << again.out;
  EXPECT_EQ(world.http.requests().size(), 1U);
  const auto record = Feeds(world.store).records(std::vector{url});
  const auto now = world.store.now();
  EXPECT_GT((*record)[0]->state.due.not_before, *now + std::chrono::minutes(115));
  EXPECT_GE(*(*record)[0]->due, (*record)[0]->state.due.not_before);
}

TEST_F(Refreshing, ReportsFeedsThatWerePausedOrRemoved) {
  world.environment["FEEDMILL_HOST_CONCURRENCY"] = "1";
  const std::vector<std::string> paths{"/a", "/b", "/c"};
  std::vector<std::string> asking{"refresh", "--ignore-floor"}, waiting;
  for (const std::string& path : paths) {
    world.http.serve(path, {.body = rss({{"a", "First"}})});
    add(path);
    world.http.serve(path, {.body = rss({{"a", "First"}}), .delay = std::chrono::seconds(2)});
    asking.push_back(world.http.url(path));
  }
  const std::size_t before = world.http.requests().size();
  Program refresh(asking, world.environment);
  world.http.wait_for_requests(before + 1);
  for (const std::string& path : paths) {
    if (path != world.http.requests().back().target) waiting.push_back(world.http.url(path));
  }
  EXPECT_EQ(world.run({"pause", waiting[0]}).exit, 0);
  EXPECT_EQ(world.run({"remove", waiting[1], "--yes"}).exit, 0);
  const Finished done = refresh.wait();
  EXPECT_EQ(done.exit, 75) << done.err;
  EXPECT_NE(done.out.find("paused " + waiting[0] + ": use feedmill resume"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("unknown " + waiting[1]), std::string::npos) << done.out;
  EXPECT_EQ(world.http.requests().size(), before + 1);
}

TEST_F(Refreshing, DoesNotWaitForAHostThatIsLeftAlone) {
  world.http.serve("/feed", {.body = rss({{"a", "First"}})});
  add("/feed");
  Program worker({"run"}, world.environment);
  ASSERT_TRUE(eventually([&] {
    return world.redis_text({"GET", "ids:Entry"}) == "1" && world.redis_text({"ZCARD", "state:workers"}) == "1";
  })) << worker.err();
  const std::string in_an_hour = std::to_string((*world.store.now() + std::chrono::hours(1)).count());
  world.redis_text(
      {"HSET", "state:host:" + world.http.server(), "closed", "1", "refusals", "2", "not_before", in_an_hour});
  const Finished put_off = world.run({"refresh", world.http.url("/feed"), "--ignore-floor"});
  EXPECT_EQ(put_off.exit, 75) << put_off.err;
  EXPECT_NE(put_off.out.find("its host is backing off until "), std::string::npos) << put_off.out;
  EXPECT_EQ(world.http.count("/feed"), 1U);
}

TEST_F(Refreshing, SaysUntilWhenAHostIsLeftAlone) {
  world.http.serve("/feed", {.body = rss({{"a", "First"}})});
  add("/feed");
  world.redis_text(
      {"HSET", "state:host:" + world.http.server(), "closed", "1", "refusals", "2", "not_before", "4102444800000"});
  const Finished put_off = world.run({"refresh", world.http.url("/feed")});
  EXPECT_EQ(put_off.exit, 75) << put_off.err;
  EXPECT_NE(put_off.out.find("(its host refuses requests; it waits until 2100-01-01T00:00:0"), std::string::npos)
      << put_off.out;
}

TEST_F(Refreshing, FetchesHundredsOfSlowFeedsConcurrently) {
  constexpr std::size_t feeds = 300;
  world.environment["FEEDMILL_WORKER_LANES"] = "400";
  world.environment["FEEDMILL_HOST_CONCURRENCY"] = "1000";
  std::string list;
  for (std::size_t i = 0; i < feeds; ++i) {
    const std::string path = "/slow/" + std::to_string(i);
    // Responds only once all have asked: with fewer at once, the test would hang.
    world.http.serve(path, {.body = rss({{"a", "First"}}), .hold_until = feeds});
    list += world.http.url(path) + "\n";
  }
  const auto file = world.redis.directory() / "list.txt";
  FILE* out = std::fopen(file.c_str(), "w");
  std::fwrite(list.data(), 1, list.size(), out);
  std::fclose(out);
  ASSERT_EQ(world.run({"import", file.string()}).exit, 0);
  pass();
  EXPECT_EQ(world.redis_text({"GET", "ids:Entry"}), std::to_string(feeds));
}

}  // namespace
}  // namespace feedmill::test::refresh_test
