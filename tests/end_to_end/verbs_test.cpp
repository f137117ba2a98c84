// Verbs through the program: bad input gives one clear line and the documented exit code, and leaves nothing half-done.
#include <algorithm>
#include <fstream>
#include <sstream>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <signal.h>

#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "tests/end_to_end/program.hpp"

namespace feedmill::test::verbs_test {
namespace {

namespace json = boost::json;

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

class Verbs : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    const auto path = world.redis.directory() / name;
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }
  World world;
};

TEST_F(Verbs, RejectInvalidAddressesAndAddNothing) {
  const Finished done = world.run({"add", "https://example.org/feed", "ftp://example.org/feed"});
  EXPECT_EQ(done.exit, 65);
  EXPECT_EQ(lines(done.err), 1U) << done.err;
  EXPECT_NE(done.err.find("ftp://example.org/feed"), std::string::npos);
  EXPECT_EQ(world.redis_text({"SCARD", "feeds"}), "0");
}

TEST_F(Verbs, ShowWhatWouldBeAddedAndWriteNothing) {
  world.http.serve("/", {.headers = {{"Content-Type", "text/html"}},
                         .body = "<html><head><link rel=alternate type=application/rss+xml href=/feed.xml></head>"});
  world.http.serve("/feed.xml", {.body = rss({{"b", "Second"}, {"a", "First"}}, "Title")});
  const std::string feed = world.http.url("/feed.xml"), page = world.http.url("/");
  const Finished empty = world.run({"add", feed, "--dry-run"});
  EXPECT_EQ(empty.exit, 0) << empty.err;
  EXPECT_EQ(world.redis_text({"DBSIZE"}), "0") << "an empty store stays empty";

  const std::string present = world.http.url("/present.xml");
  ASSERT_EQ(world.run({"add", present, "--keep", "7"}).exit, 0);
  const auto everything = [&] {
    return world.redis_text({"EVAL",
                             "local all = {} for _, key in ipairs(redis.call('KEYS', '*')) do "
                             "table.insert(all, key .. redis.sha1hex(redis.call('DUMP', key))) end "
                             "table.sort(all) return all",
                             "0"});
  };
  const std::string before = everything();
  const Finished words = world.run({"add", page, present, "--dry-run", "--interval-min", "90min"});
  EXPECT_EQ(words.exit, 0) << words.err;
  EXPECT_EQ(words.out, "would add " + feed + "\n  given as  " + page + "\n  page      " + page +
                           "\n  feed      rss20, 2 entries: Title\n  egress    allowed: 127.0.0.1\n"
                           "  host      64 at a time, 0s apart\n  settings  interval_min=90min\npresent " +
                           present + "\n  egress    allowed: 127.0.0.1\n  host      64 at a time, 0s apart\n" +
                           "  settings  keep=7\n");
  EXPECT_NE(words.err.find("keep its settings"), std::string::npos) << words.err;

  const Finished json = world.run({"add", page, present, "HTTP://10.0.0.7:80/feed.xml", "--dry-run", "--json"});
  EXPECT_EQ(json.exit, 0) << json.err;
  std::vector<json::object> rows;
  std::istringstream text(json.out);
  for (std::string row; std::getline(text, row);) rows.push_back(json::parse(row).as_object());
  ASSERT_EQ(rows.size(), 3U) << json.out;
  EXPECT_EQ(rows[0].at("result").as_string(), "would add");
  EXPECT_EQ(rows[0].at("url").as_string(), feed);
  EXPECT_EQ(rows[0].at("page").as_string(), page);
  EXPECT_EQ(rows[0].at("looked_at").at("entries").to_number<int>(), 2);
  EXPECT_EQ(rows[1].at("result").as_string(), "present");
  EXPECT_EQ(rows[1].at("settings").at("keep").to_number<int>(), 7);
  EXPECT_EQ(rows[2].at("url").as_string(), "http://10.0.0.7/feed.xml");
  EXPECT_EQ(rows[2].at("given").as_string(), "HTTP://10.0.0.7:80/feed.xml");
  EXPECT_EQ(rows[2].at("egress").at("verdict").as_string(), "refused");
  EXPECT_EQ(rows[2].at("egress").at("reason").as_string(), "egress.blocked");

  EXPECT_EQ(world.run({"add", "ftp://a.example/", "--dry-run"}).exit, 65);
  EXPECT_EQ(world.run({"add", feed, "--policy", "none", "--dry-run"}).exit, 64);
  world.http.serve("/two", {.headers = {{"Content-Type", "text/html"}},
                            .body = "<html><head><link rel=alternate type=application/rss+xml href=/feed.xml>"
                                    "<link rel=alternate type=application/rss+xml href=/other.xml></head>"});
  world.http.serve("/other.xml", {.body = rss({{"c", "Third"}})});
  EXPECT_EQ(world.run({"add", world.http.url("/two"), "--dry-run"}).exit, 1) << "one of them must be chosen";
  EXPECT_EQ(world.run({"add", world.http.url("/two"), "--dry-run", "--first"}).exit, 0);
  EXPECT_EQ(everything(), before);
}

TEST_F(Verbs, RemoveTakesTheEntries) {
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  const std::string url = world.http.url("/feed.xml");
  ASSERT_EQ(world.run({"add", url, "--now"}).exit, 0);
  const std::string entry = world.redis_text({"ZRANGE", url + ":sort", "0", "-1"});
  ASSERT_EQ(world.redis_text({"EXISTS", entry}), "1");
  EXPECT_EQ(world.run({"remove", url, "--yes"}).exit, 0);
  EXPECT_EQ(world.redis_text({"EXISTS", entry}), "0");
}

TEST_F(Verbs, RunReportsAnUnusablePoisonDirectoryAtStart) {
  const std::string nowhere = (world.redis.directory() / "nowhere").string();
  const Finished done = world.run({"run"}, {{"FEEDMILL_DEBUG_KEEP_POISON", nowhere}});
  EXPECT_EQ(done.exit, 78) << "no restart helps: the unit names this one";
  EXPECT_EQ(lines(done.err), 1U) << done.err;
  const Finished checked = world.run({"config", "check"}, {{"FEEDMILL_DEBUG_KEEP_POISON", nowhere}});
  EXPECT_EQ(checked.exit, 1);
  EXPECT_EQ(checked.out, "debug.keep_poison = \"" + nowhere +
                             "\" (environment FEEDMILL_DEBUG_KEEP_POISON): " + nowhere +
                             " does not exist; create it for the worker's user, or leave debug.keep_poison empty\n");
  EXPECT_EQ(world.run({"list"}, {{"FEEDMILL_DEBUG_KEEP_POISON", nowhere}}).exit, 0) << "a verb needs it not";
  EXPECT_NE(done.err.find("debug.keep_poison: " + nowhere + " does not exist; create it"), std::string::npos)
      << done.err;
  EXPECT_EQ(world.run({"run", "--once"}, {{"FEEDMILL_DEBUG_KEEP_POISON", world.redis.directory().string()}}).exit, 0);
}

TEST_F(Verbs, RefuseCredentialsInAnAddressWithoutRepeatingThem) {
  const Finished done = world.run({"add", "https://me:s3cret@example.org/feed"});
  EXPECT_EQ(done.exit, 65);
  EXPECT_EQ(done.err.find("s3cret"), std::string::npos) << done.err;
}

TEST_F(Verbs, ReportThatRedisRefuses) {
  const Finished done = world.run({"list", "--redis", "unix:/nowhere/redis.sock"});
  EXPECT_EQ(done.exit, 69);
  EXPECT_EQ(lines(done.err), 1U) << done.err;
  EXPECT_NE(done.err.find("/nowhere/redis.sock"), std::string::npos);
  EXPECT_EQ(world.run({"run", "--once", "--redis", "unix:/nowhere/redis.sock"}).exit, 69);
}

TEST_F(Verbs, RefuseAConfigurationKeyThatDoesNotExist) {
  const Finished done = world.run({"list", "--config", file("feedmill.toml", "[schedule]\nflor = \"2h\"\n")});
  EXPECT_EQ(done.exit, 78);
  EXPECT_NE(done.err.find("schedule.flor"), std::string::npos) << done.err;
  EXPECT_NE(done.err.find("schedule.floor"), std::string::npos) << done.err;
}

TEST_F(Verbs, NameTheNearestVerb) {
  const Finished done = world.run({"lits"});
  EXPECT_EQ(done.exit, 64);
  EXPECT_NE(done.err.find("list"), std::string::npos);
}

TEST_F(Verbs, ParseAFeedToJsonAndRejectOtherDocuments) {
  const Finished good = world.run({"parse", file("feed.xml", rss({{"a", "First"}}))});
  ASSERT_EQ(good.exit, 0) << good.err;
  const json::object document = json::parse(good.out).as_object();
  EXPECT_EQ(document.at("format").as_string(), "rss20");
  EXPECT_EQ(document.at("entries").at(0).at("title").as_string(), "First");
  const Finished words = world.run({"parse", "--explain", file("broken.xml", "<rss version='2.0'><channel><item>")});
  EXPECT_EQ(words.exit, 0) << words.err;
  EXPECT_NE(words.out.find("\ndocument: bozo, truncated"), std::string::npos) << words.out;
  const Finished bad = world.run({"parse", file("page.html", "<html><p>hello</html>")});
  EXPECT_EQ(bad.exit, 65);
  EXPECT_EQ(bad.out, "");
  EXPECT_EQ(lines(bad.err), 1U) << bad.err;
}

TEST_F(Verbs, ImportWhatCanBeReadAndNameTheRest) {
  const std::string opml =
      file("subs.opml",
           R"(<opml version="2.0"><body><outline text="Folder"><outline xmlUrl="https://a.example/feed" text="A"/>
<outline xmlUrl="gopher://b.example/" text="B"/></outline><outline text="no url"/></body></opml>)");
  const Finished done = world.run({"import", opml});
  EXPECT_EQ(done.exit, 65) << done.out << done.err;
  EXPECT_NE((done.out + done.err).find("gopher://b.example/"), std::string::npos) << done.out << done.err;
  EXPECT_EQ(world.redis_text({"SMEMBERS", "feeds"}), "https://a.example/feed");
  const Finished again = world.run({"import", opml});
  EXPECT_EQ(world.redis_text({"SCARD", "feeds"}), "1");
  const Finished exported = world.run({"export"});
  EXPECT_EQ(exported.exit, 0);
  EXPECT_NE(exported.out.find("xmlUrl=\"https://a.example/feed\""), std::string::npos) << exported.out;
}

TEST_F(Verbs, ReportWhetherAWorkerFetchesAddedFeeds) {
  const std::string url = world.http.url("/feed.xml"), list = file("list.txt", url + "\n");
  for (const std::vector<std::string>& verb : {std::vector<std::string>{"add", url}, {"import", list}}) {
    const Finished done = world.run(verb);
    EXPECT_EQ(done.exit, 0) << done.err;
    EXPECT_NE(done.err.find("no worker runs on this Redis yet"), std::string::npos) << done.err;
  }
  const Program worker({"run", "--listen", "127.0.0.1:0"}, world.environment);
  EXPECT_TRUE(eventually([&] { return world.run({"add", url}).err.empty(); })) << worker.err();
  EXPECT_TRUE(eventually([&] {
    return world.run({"import", list}).err ==
           "so far 1 of 1 feeds were tried: 1 never read (feedmill list --state never_read), 0 failing\n";
  })) << world.run({"import", list}).err;
}

TEST_F(Verbs, ImportPrunesWhatAWholeListDoesNotNameAndOnlyWhenTold) {
  const std::string both = file("both.txt", "https://a.example/feed\nhttps://b.example/feed\n");
  const std::string one = file("one.txt", "https://a.example/feed\n");
  ASSERT_EQ(world.run({"import", both}).exit, 0);
  ASSERT_EQ(world.run({"import", one}).exit, 0);
  EXPECT_EQ(world.redis_text({"SCARD", "feeds"}), "2") << "an import removes nothing by itself";

  const Finished dry = world.run({"import", one, "--prune", "--dry-run"});
  EXPECT_EQ(dry.exit, 0) << dry.err;
  EXPECT_NE(dry.out.find("would remove https://b.example/feed"), std::string::npos) << dry.out;
  const Finished unasked = world.run({"import", one, "--prune"});
  EXPECT_EQ(unasked.exit, 64);
  EXPECT_NE(unasked.err.find("--yes"), std::string::npos) << unasked.err;
  const Finished broken =
      world.run({"import", file("bad.txt", "https://a.example/feed\ngopher://x/\n"), "--prune", "--yes"});
  EXPECT_EQ(broken.exit, 65);
  EXPECT_NE(broken.err.find("nothing was pruned"), std::string::npos) << broken.err;
  EXPECT_EQ(world.run({"import", file("empty.txt", "# none\n"), "--prune", "--yes"}).exit, 65);
  EXPECT_EQ(world.redis_text({"SCARD", "feeds"}), "2");

  EXPECT_EQ(world.run({"import", one, "--prune", "--yes"}).exit, 0);
  EXPECT_EQ(world.redis_text({"SMEMBERS", "feeds"}), "https://a.example/feed");
}

TEST_F(Verbs, ListShowEntriesAgreeWithTheStore) {
  world.http.serve("/feed.xml", {.body = rss({{"b", "Second"}, {"a", "First"}})});
  const std::string url = world.http.url("/feed.xml");
  ASSERT_EQ(world.run({"add", url}).exit, 0);
  ASSERT_EQ(world.run({"run", "--once"}).exit, 0);
  const json::object row = json::parse(world.run({"list", "--json"}).out).as_object();
  EXPECT_EQ(row.at("url").as_string(), url);
  EXPECT_EQ(row.at("title").as_string(), "Feed");
  EXPECT_EQ(row.at("state").as_string(), "healthy");
  EXPECT_EQ(row.at("entries").to_number<int>(), 2);
  const Finished entries = world.run({"entries", url, "--json"});
  EXPECT_EQ(lines(entries.out), 2U);
  EXPECT_EQ(json::parse(entries.out.substr(0, entries.out.find('\n'))).at("title").as_string(), "Second");
  EXPECT_EQ(json::parse(world.run({"entry", "Entry:1", "--json"}).out).at("guid").as_string(), "a");
  EXPECT_EQ(json::parse(world.run({"entry", "--feed", url, "--guid", "b", "--json"}).out).at("title").as_string(),
            "Second");
  EXPECT_EQ(world.run({"entry", "Entry:77"}).exit, 1);
  EXPECT_EQ(world.run({"remove", url, "--yes"}).exit, 0);
  EXPECT_EQ(world.redis_text({"SCARD", "feeds"}), "0");
  EXPECT_EQ(world.redis_text({"EXISTS", "Entry:1"}), "0");
}

TEST_F(Verbs, RefreshWithoutAWorkerDoesTheWorkAndKeepsTheFloor) {
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  const std::string url = world.http.url("/feed.xml");
  ASSERT_EQ(world.run({"add", url}).exit, 0);
  const Finished first = world.run({"refresh", url});
  EXPECT_EQ(first.exit, 0) << first.err;
  EXPECT_EQ(world.count("post_created"), 1U);
  const Finished second = world.run({"refresh", url});
  EXPECT_EQ(second.exit, 75) << "HTTP P22" << second.err;
  EXPECT_EQ(world.run({"add", url, "--now"}).exit, 0) << "it is there";
  EXPECT_NE(second.out.find("too early"), std::string::npos) << second.out;
  EXPECT_EQ(world.http.requests().size(), 1U);
  EXPECT_EQ(world.run({"refresh", url, "--ignore-floor"}).exit, 0);
  EXPECT_EQ(world.http.requests().size(), 2U);
}

TEST_F(Verbs, RefreshSaysByItsExitWhetherEveryFetchWentWell) {
  world.http.serve("/good.xml", {.body = rss({{"a", "First"}})});
  world.http.serve("/bad.xml", {.status = 503});
  const std::string good = world.http.url("/good.xml"), bad = world.http.url("/bad.xml");
  ASSERT_EQ(world.run({"add", good, bad}).exit, 0);
  const auto refresh = [&](const std::vector<std::string>& urls) {
    std::vector<std::string> words{"refresh", "--ignore-floor", "--json"};
    words.insert(words.end(), urls.begin(), urls.end());
    return world.run(words);
  };
  EXPECT_EQ(refresh({good}).exit, 0);
  const Finished both = refresh({bad, good});
  EXPECT_EQ(both.exit, 1) << both.err;
  ASSERT_EQ(lines(both.out), 2U) << "the other one is refreshed and told all the same: " << both.out;
  std::istringstream rows(both.out);
  for (std::string row; std::getline(rows, row);) {
    const json::object told = json::parse(row).as_object();
    EXPECT_EQ(told.at("outcome").as_string(), told.at("url").as_string() == bad ? "failed" : "unchanged") << row;
  }
  EXPECT_EQ(world.run({"refresh", bad, "--defer", "--ignore-floor"}).exit, 0) << "nothing was fetched";

  const std::string gone = world.http.url("/gone.xml");
  EXPECT_EQ(world.run({"add", gone, "--now"}).exit, 1) << "it was added, and could not be read";
  EXPECT_EQ(world.run({"add", gone, "--now"}).exit, 1) << "it still cannot, and is not asked again so soon";
  Program worker({"run"}, world.environment);
  ASSERT_TRUE(eventually([&] { return Fleet(world.store).figures()->workers == 1; }));
  EXPECT_EQ(refresh({good}).exit, 0);
  EXPECT_EQ(refresh({bad, good}).exit, 1) << "a worker's result counts the same";
}

// HTTP P9
TEST_F(Verbs, AddKeepsAPauseThatItsProbeReceived) {
  const std::string url = world.http.url("/talks");
  for (const int status : {429, 302}) {
    world.http.serve("/talks", {.status = status, .headers = {{"Retry-After", "86400"}, {"Location", "/feed.xml"}}});
    const std::size_t before = world.http.requests().size();
    const Finished added = world.run({"add", url, "--now"});
    EXPECT_EQ(added.exit, 75) << added.err;
    EXPECT_NE(added.err.find(" is first fetched at "), added.err.npos) << added.err;
    EXPECT_EQ(world.run({"run", "--once"}).exit, 0);
    EXPECT_NE(world.run({"explain", url}).out.find("asked for no requests"), std::string::npos);
    EXPECT_EQ(world.http.requests().size(), before + 1) << status;
    ASSERT_EQ(world.run({"remove", url, "--yes"}).exit, 0);
  }
}

TEST_F(Verbs, RefreshAsksTheRunningWorker) {
  world.environment["FEEDMILL_SCHEDULE_FLOOR"] = "1h";
  world.environment["FEEDMILL_SCHEDULE_CEILING"] = "24h";
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  const std::string url = world.http.url("/feed.xml");
  ASSERT_EQ(world.run({"add", url}).exit, 0);
  Program worker({"run"}, world.environment);
  ASSERT_TRUE(eventually([&] { return world.count("post_created") == 1; }));
  ASSERT_TRUE(eventually([&] { return Fleet(world.store).figures()->workers == 1; }));
  world.http.serve("/feed.xml", {.body = rss({{"b", "Second"}, {"a", "First"}})});
  const Finished done = world.run({"refresh", url, "--ignore-floor"});
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(world.count("post_created"), 2U);
}

TEST_F(Verbs, TailShowsSignalsAndHasNoHoleAfterRedisWasAway) {
  RedisServer durable({"--appendonly", "yes", "--appendfsync", "always"});
  world.environment["FEEDMILL_REDIS_URL"] = durable.url();
  world.http.serve("/one.xml", {.body = rss({{"a", "First"}})});
  world.http.serve("/two.xml", {.body = rss({{"b", "Second"}})});
  Program tail({"tail", "--from", "0", "--json"}, world.environment);
  ASSERT_EQ(world.run({"add", world.http.url("/one.xml")}).exit, 0);
  ASSERT_EQ(world.run({"run", "--once"}).exit, 0);
  ASSERT_TRUE(eventually([&] { return lines(tail.out()) == 2; })) << tail.out() << tail.err();
  durable.kill();
  durable.start();
  ASSERT_EQ(world.run({"add", world.http.url("/two.xml")}).exit, 0);
  ASSERT_EQ(world.run({"run", "--once"}).exit, 0);
  ASSERT_TRUE(eventually([&] { return lines(tail.out()) == 4; })) << tail.out() << tail.err();
  std::string last = "0-0";
  std::istringstream rows(tail.out());
  for (std::string row; std::getline(rows, row);) {
    const json::object signal = json::parse(row).as_object();
    EXPECT_EQ(signal.at("prev").as_string(), last);
    last = signal.at("seq").as_string();
  }
  tail.signal(SIGINT);
  EXPECT_EQ(tail.wait().exit, 130);
}

TEST_F(Verbs, RunOnceDoesNotWaitForThePaceOfAnImport) {
  for (const char* path : {"/1", "/2", "/3"}) world.http.serve(path, {.body = rss({{"a", "First"}})});
  const Finished imported = world.run({"import", file("list.txt", world.http.url("/1") + "\n" + world.http.url("/2") +
                                                                      "\n" + world.http.url("/3") + "\n")},
                                      {{"FEEDMILL_SCHEDULE_IMPORT_RATE", "1"}});
  ASSERT_EQ(imported.exit, 0) << imported.err;
  ASSERT_EQ(world.run({"run", "--once"}).exit, 0);
  EXPECT_EQ(world.count("feed_created"), 3U);
}

TEST_F(Verbs, RefreshWaitsForTheWorkerThatHoldsTheFeed) {
  world.http.serve("/slow.xml", {.body = rss({{"a", "First"}}), .hold_until = 3});
  world.http.serve("/quick.xml", {.body = rss({{"a", "First"}})});
  ASSERT_EQ(world.run({"add", world.http.url("/slow.xml"), world.http.url("/quick.xml")}).exit, 0);
  world.environment["FEEDMILL_HOST_CONCURRENCY"] = "2";
  Program slow({"refresh", world.http.url("/slow.xml")}, world.environment);
  world.http.wait_for_requests(1);
  const Finished quick = world.run({"refresh", world.http.url("/quick.xml")});
  EXPECT_EQ(quick.exit, 0) << quick.err;
  EXPECT_NE(quick.out.find("new=1"), std::string::npos) << quick.out;
  const std::string key = "state:feed:" + world.http.url("/slow.xml");
  Program same({"refresh", world.http.url("/slow.xml"), "--ignore-floor"}, world.environment);
  ASSERT_TRUE(eventually([&] { return world.redis_text({"HGET", key, "wake"}) == "0"; })) << "another process is at it";
  EXPECT_FALSE(same.ended());
  world.http.serve("/anything", {.end = Response::End::close});
  get(world.http.url("").substr(7), "/anything");  // the third request releases the slow response
  const Finished first = slow.wait(), second = same.wait();
  EXPECT_EQ(first.exit, 0) << first.err;
  EXPECT_EQ(second.exit, 0) << second.out << second.err;
  EXPECT_NE(second.out.find("updated"), std::string::npos) << "the result of that one: " << second.out;
}

TEST_F(Verbs, RefreshReportsAFeedRemovedWhileItWaits) {
  const std::string url = world.http.url("/slow.xml");
  world.http.serve("/slow.xml", {.body = rss({{"a", "First"}}), .hold_until = 2});
  ASSERT_EQ(world.run({"add", url}).exit, 0);
  Program at_it({"refresh", url}, world.environment);
  world.http.wait_for_requests(1);
  Program waits({"refresh", url, "--ignore-floor"}, world.environment);
  ASSERT_TRUE(eventually([&] { return world.redis_text({"HGET", "state:feed:" + url, "wake"}) == "0"; }));
  ASSERT_EQ(world.run({"remove", url, "--yes"}).exit, 0);
  const Finished told = waits.wait();
  EXPECT_EQ(told.exit, 75) << told.err;
  EXPECT_EQ(told.out.rfind("unknown " + url, 0), 0U) << told.out;
  at_it.signal(SIGINT);
  EXPECT_EQ(at_it.wait().exit, 130);
}

// A worker that has just started claims feeds before its first heartbeat.
TEST_F(Verbs, RefreshRightAfterAddAndStartEndsWell) {
  for (int i = 0; i < 5; ++i) {
    const std::string path = "/feed" + std::to_string(i) + ".xml";
    world.http.serve(path, {.body = rss({{"a", "First"}})});
    Program worker({"run"}, world.environment);
    ASSERT_EQ(world.run({"add", world.http.url(path)}).exit, 0);
    const Finished done = world.run({"refresh", world.http.url(path), "--ignore-floor"});
    EXPECT_EQ(done.exit, 0) << done.out << done.err;
    worker.signal(SIGTERM);
    worker.wait();
  }
}

TEST_F(Verbs, RunOnceTriesEachDueFeedOnceDespiteHostLimits) {
  world.environment["FEEDMILL_HOST_CONCURRENCY"] = "1";
  world.environment["FEEDMILL_HOST_SPACING"] = "20ms";
  std::vector<std::string> urls;
  for (int i = 0; i < 10; ++i) {
    const std::string path = "/feed/" + std::to_string(i);
    world.http.serve(path, {.body = rss({{"a", "First"}})});
    urls.push_back(world.http.url(path));
    ASSERT_TRUE(Feeds(world.store).add(std::vector{NewFeed{.feed_url = urls.back()}}));
  }
  const Finished done = world.run({"run", "--once"});
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(world.http.requests().size(), urls.size());
  EXPECT_EQ(world.count("feed_created"), urls.size());
}

// HTTP G1
TEST_F(Verbs, AddReadsOlderPagesUntilThereIsEnough) {
  const std::string url = world.http.url("/feed.json");
  world.http.serve("/feed.json", [url](const ServedRequest& request) {
    const auto at = request.target.find("page=");
    const int page = at == std::string::npos ? 0 : std::atoi(request.target.c_str() + at + 5);
    std::string items;
    for (int post = 5 * page; post < 5 * page + 5; ++post) {
      items += (items.empty() ? "" : ",") + std::string("{\"id\":\"p") + std::to_string(post) + "\",\"title\":\"T\"}";
    }
    return Response{.body = R"({"version":"https://jsonfeed.org/version/1.1","title":"F","next_url":")" + url +
                            "?page=" + std::to_string(page + 1) + R"(","items":[)" + items + "]}"};
  });
  ASSERT_EQ(world.run({"add", "--backfill", "12", url}).exit, 0);
  EXPECT_NE(world.run({"explain", url}).out.find("backfill=12"), std::string::npos);
  Program worker({"run", "--keep", "3"}, world.environment);
  EXPECT_TRUE(eventually([&] { return world.redis_text({"ZCARD", url + ":sort"}) == "12"; })) << worker.err();
  EXPECT_TRUE(eventually([&] { return world.redis_text({"HEXISTS", "state:feed:" + url, "walk"}) == "0"; }));
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
  EXPECT_EQ(world.redis_text({"ZCARD", url + ":sort"}), "12");
}

}  // namespace
}  // namespace feedmill::test::verbs_test
