// Read-only verbs through the program: explain, plan, check, discover, doctor, health; and add, which probes a web page
// as they do.
#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/end_to_end/program.hpp"

namespace feedmill::test::questions_test {
namespace {

namespace json = boost::json;

std::vector<json::object> rows(const std::string& text) {
  std::vector<json::object> parsed;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    parsed.push_back(json::parse(line).as_object());
    EXPECT_TRUE(parsed.back().contains("schema")) << line;
  }
  return parsed;
}

std::string text_of(const json::value& value) {
  return value.is_string() ? std::string(value.as_string()) : json::serialize(value);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class Questions : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    const auto path = world.redis.directory() / name;
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }
  void serve_page(const std::string& path, const std::string& body) {
    world.http.serve(path, {.headers = {{"Content-Type", "text/html"}}, .body = body});
  }
  void serve_feed(const std::string& path, const std::string& title = "Feed") {
    world.http.serve(path, {.headers = {{"Content-Type", "application/rss+xml"}},
                            .body = rss({{"b", "Second"}, {"a", "First"}}, title),
                            .etag = "\"v1\""});
  }
  std::string feeds() const { return world.redis_text({"SMEMBERS", "feeds"}); }
  World world;
};

TEST_F(Questions, ExplainSaysWhyAndWritesNothing) {
  serve_feed("/feed.xml");
  const std::string url = world.http.url("/feed.xml");
  ASSERT_EQ(world.run({"add", url, "--keep", "7", "--now"}).exit, 0);
  world.redis_text({"CONFIG", "RESETSTAT"});
  const Finished people = world.run({"explain", url});
  const Finished machine = world.run({"explain", url, "--json"});
  std::set<std::string> called;
  std::istringstream statistics(world.redis_text({"INFO", "commandstats"}));
  for (std::string line; std::getline(statistics, line);) {
    if (line.starts_with("cmdstat_")) called.insert(line.substr(8, line.find(':') - 8));
  }
  for (const std::string& command : called) {
    const std::set<std::string> reading{
        "info",   "type",      "hget",    "hgetall", "zscore",      "zcard",
        "time",   "sismember", "hello",   "auth",    "script|load", "config|resetstat",
        "select", "ping",      "evalsha", "exists",  "hmget",       "get"};  // includes commands of scripts
    EXPECT_TRUE(reading.contains(command)) << command;
  }
  EXPECT_TRUE(called.contains("hgetall"));

  EXPECT_EQ(people.exit, 0) << people.err;
  EXPECT_EQ(people.out.find("state    healthy; last 200 (updated) "), 0U) << people.out;
  EXPECT_TRUE(has(people.out, "hit rate 100 % of 1 poll\n")) << people.out;
  EXPECT_TRUE(has(people.out, "\nnext     20")) << people.out;
  EXPECT_TRUE(has(people.out, "\nwhy      At its own pace about every ")) << people.out;
  EXPECT_FALSE(has(people.out, "\ninputs   ")) << people.out;
  EXPECT_TRUE(has(world.run({"explain", url, "-v"}).out, "\ninputs   adaptive "));
  EXPECT_TRUE(
      has(people.out, "\nhost     " + world.http.server() + ": 64 of 64 slots free, next start now, no back-off\n"))
      << people.out;
  EXPECT_TRUE(has(people.out, "\ncache    ETag \"v1\"\n")) << people.out;
  EXPECT_TRUE(has(people.out, "\nsettings keep=7\n")) << people.out;

  const json::object row = rows(machine.out).at(0);
  EXPECT_EQ(row.at("url").as_string(), url);
  EXPECT_EQ(row.at("why").at(0).at("code").as_string(), "adaptive");
  EXPECT_EQ(row.at("host").at("name").as_string(), world.http.server());
  EXPECT_EQ(row.at("host").at("slots_free").to_number<int>(), 64);
}

TEST_F(Questions, ExplainOfAnEmptyStoreLeavesItEmpty) {
  const Finished done = world.run({"explain", "https://example.org/feed"});
  EXPECT_EQ(done.exit, 1);
  EXPECT_TRUE(has(done.err, "no such feed")) << done.err;
  EXPECT_EQ(world.redis_text({"DBSIZE"}), "0");
}

TEST_F(Questions, PlanCoversTheStoreSyntheticFeedsAndAFile) {
  const std::string list = file("list.txt", "https://a.example/feed\nhttps://b.example/feed\nhttps://a.example/rss\n");
  ASSERT_EQ(world.run({"import", list}).exit, 0);
  const std::string before = world.redis_text({"ZRANGE", "schedule", "0", "-1", "WITHSCORES"});
  const json::object stored = rows(world.run({"plan", "--days", "2", "--json"}).out).at(0);
  EXPECT_EQ(stored.at("feeds").to_number<int>(), 3);
  EXPECT_EQ(stored.at("hosts").to_number<int>(), 2);
  EXPECT_EQ(stored.at("early_polls").to_number<int>(), 0);
  EXPECT_EQ(stored.at("requests_by_hour").as_array().size(), 48U);
  EXPECT_EQ(world.redis_text({"ZRANGE", "schedule", "0", "-1", "WITHSCORES"}), before) << "a copy was simulated";
  EXPECT_EQ(rows(world.run({"plan", "--host", "a.example", "--json"}).out).at(0).at("feeds").to_number<int>(), 2);

  const Environment away{{"FEEDMILL_REDIS_URL", "unix:/nowhere/redis.sock"}};
  world.environment.erase("FEEDMILL_REDIS_URL");
  const Finished once = world.run({"plan", "--feeds", "500", "--json"}, away);
  EXPECT_EQ(once.exit, 0) << once.err;
  EXPECT_EQ(once.out, world.run({"plan", "--feeds", "500", "--json"}, away).out);
  EXPECT_EQ(rows(world.run({"plan", "--feeds", list, "--json"}, away).out).at(0).at("feeds").to_number<int>(), 3);
  EXPECT_EQ(world.run({"plan", "--feeds", "/nowhere"}, away).exit, 65);
  EXPECT_EQ(world.run({"plan"}, away).exit, 69);
}

TEST_F(Questions, PlanAndDoctorNameAHostWithTooManyFeeds) {
  std::string crowd, few;
  for (int i = 0; i < 9'000; ++i) crowd += "https://big.example/" + std::to_string(i) + "/feed\n";
  for (int i = 0; i < 500; ++i) few += "https://small.example/" + std::to_string(i) + "/feed\n";
  ASSERT_EQ(world.run({"import", file("list.txt", crowd + few)}, {{"FEEDMILL_SCHEDULE_IMPORT_RATE", "0"}}).exit, 0);
  // One request in ten seconds lets 8,640 a day through; a feed never fetched counts as one poll a day.
  world.environment["FEEDMILL_HOST_SPACING"] = "10s";
  world.environment["FEEDMILL_SCHEDULE_FLOOR"] = "1h";
  world.environment["FEEDMILL_SCHEDULE_CEILING"] = "24h";
  const Finished plan = world.run({"plan", "--json"});
  EXPECT_EQ(plan.exit, 0);
  const json::array unfit = rows(plan.out).at(0).at("hosts_that_cannot_fit").as_array();
  ASSERT_EQ(unfit.size(), 1U) << plan.out;
  EXPECT_EQ(unfit.at(0).at("host").as_string(), "big.example");
  EXPECT_TRUE(has(plan.err, "big.example: its 9 000 feeds need")) << plan.err;
  EXPECT_FALSE(has(plan.err, "small.example")) << plan.err;
  const Finished doctor = world.run({"doctor"});
  EXPECT_TRUE(has(doctor.out, "warn hosts           big.example: its 9000 feeds need")) << doctor.out;
  EXPECT_FALSE(has(doctor.out, "small.example: its")) << doctor.out;
  EXPECT_TRUE(has(doctor.out, "fail fetch.contact")) << doctor.out;
  EXPECT_EQ(doctor.exit, 1);
}

TEST_F(Questions, CheckReportsEveryHopAndTheResultingDecision) {
  serve_feed("/real.xml", "News \x1B[31m");
  world.http.serve("/old", {.status = 301, .headers = {{"Location", "/real.xml"}}});
  world.http.serve("/linked.xml", {.headers = {{"Link", "<https://hub.example/>; rel=hub"}, {"X-Odd", "a\tb"}},
                                   .body = rss({{"a", "First"}})});
  world.environment["FEEDMILL_REDIS_URL"] = "unix:/nowhere/redis.sock";
  world.environment["FEEDMILL_SCHEDULE_FLOOR"] = "1h";
  world.environment["FEEDMILL_SCHEDULE_CEILING"] = "24h";
  const Finished people = world.run({"check", world.http.url("/old")});
  EXPECT_EQ(people.exit, 0) << people.err;
  EXPECT_TRUE(has(people.out, "301 " + world.http.url("/old") + " -> " + world.http.url("/real.xml"))) << people.out;
  EXPECT_TRUE(has(people.out, "opened by egress.allow")) << people.out;
  EXPECT_TRUE(has(people.out, "rss20, utf-8")) << people.out;
  EXPECT_TRUE(has(people.out, "store 2 entries")) << people.out;
  EXPECT_FALSE(has(people.out, "\x1B")) << "a title must not steer the terminal";

  const json::object row = rows(world.run({"check", world.http.url("/old"), "--json"}).out).at(0);
  EXPECT_TRUE(row.at("usable").as_bool());
  EXPECT_EQ(row.at("hops").as_array().size(), 2U);
  EXPECT_EQ(row.at("etag").as_string(), "\"v1\"");
  EXPECT_EQ(row.at("feed").at("format").as_string(), "rss20");
  EXPECT_EQ(row.at("feed").at("entries").to_number<int>(), 2);
  EXPECT_EQ(row.at("would").at("outcome").as_string(), "updated");
  EXPECT_TRUE(has(people.out, "because of " + text_of(row.at("would").at("won")))) << people.out;
  const json::object linked = rows(world.run({"check", world.http.url("/linked.xml"), "--json"}).out).at(0);
  EXPECT_EQ(text_of(linked.at("hubs")), R"(["https://hub.example/"])");
}

TEST_F(Questions, CheckFailsForDocumentsThatAreNotFeeds) {
  serve_page("/page", R"(<title>T</title><link rel=alternate type="application/rss+xml" href="/feed.xml">)");
  world.http.serve("/closed", {.status = 403});
  const Finished page = world.run({"check", world.http.url("/page")});
  EXPECT_EQ(page.exit, 1);
  EXPECT_TRUE(has(page.out, "names a feed    " + world.http.url("/feed.xml"))) << page.out;
  EXPECT_TRUE(has(page.err, "parse.not_a_feed")) << page.err;
  EXPECT_TRUE(has(page.err, "feedmill discover")) << page.err;
  const Finished closed = world.run({"check", world.http.url("/closed"), "--json"});
  EXPECT_EQ(closed.exit, 1);
  EXPECT_EQ(rows(closed.out).at(0).at("would").at("reason").as_string(), "status.forbidden");
  const Finished blocked = world.run({"check", "http://10.1.2.3/feed.xml", "--json"});
  EXPECT_EQ(blocked.exit, 1);
  EXPECT_EQ(rows(blocked.out).at(0).at("egress").at("decision").as_string(), "refused");
  EXPECT_EQ(rows(blocked.out).at(0).at("would").at("reason").as_string(), "egress.blocked");
  EXPECT_EQ(world.run({"check", "nonsense"}).exit, 65);
}

TEST_F(Questions, CheckEndsAtCtrlC) {
  world.http.serve("/never.xml", {.silent = true});
  Program check({"check", world.http.url("/never.xml")}, world.environment);
  world.http.wait_for_requests(1);
  check.signal(SIGINT);
  const Finished done = check.wait();
  EXPECT_EQ(done.exit, 130);
  EXPECT_EQ(done.out, "");
}

TEST_F(Questions, DiscoverFetchesFeedsNamedByAPage) {
  serve_feed("/one.xml", "One");
  serve_feed("/two.xml", "Two");
  serve_page("/page", R"(<head><base href="/"><link rel=alternate type="application/rss+xml" title="x" href="one.xml">
      <link rel=alternate type="application/atom+xml" href="gone.xml">
      <link rel=alternate type="application/rss+xml" href="two.xml"></head><a href="/anchor.rss">)");
  const Finished done = world.run({"discover", world.http.url("/page"), "--json"});
  EXPECT_EQ(done.exit, 0) << done.err;
  const auto found = rows(done.out);
  ASSERT_EQ(found.size(), 2U) << done.out;
  EXPECT_EQ(found[0].at("url").as_string(), world.http.url("/one.xml"));
  EXPECT_EQ(found[0].at("title").as_string(), "One");
  EXPECT_EQ(found[0].at("entries").to_number<int>(), 2);
  EXPECT_EQ(found[0].at("found_in").as_string(), "link_tag");
  EXPECT_EQ(found[1].at("url").as_string(), world.http.url("/two.xml"));
  EXPECT_EQ(world.http.count("/anchor.rss"), 0U) << "anchors come last";
  EXPECT_TRUE(has(world.run({"discover", world.http.url("/page"), "-v"}).err, "/gone.xml"));
  EXPECT_EQ(rows(world.run({"discover", world.http.url("/one.xml"), "--json"}).out).at(0).at("found_in").as_string(),
            "itself");
}

TEST_F(Questions, DiscoverTriesUsualPlacesThenAnchors) {
  serve_page("/mute", "<p>nothing</p>");
  serve_page("/anchored", R"(<a href="/sub/news.rss">news</a>)");
  serve_feed("/sub/news.rss", "Anchored");
  const Finished nothing = world.run({"discover", world.http.url("/mute")});
  EXPECT_EQ(nothing.exit, 1);
  EXPECT_TRUE(has(nothing.err, "offers no feed")) << nothing.err;
  const auto anchored = rows(world.run({"discover", world.http.url("/anchored"), "--json"}).out);
  ASSERT_EQ(anchored.size(), 1U);
  EXPECT_EQ(anchored[0].at("found_in").as_string(), "anchor");
  serve_feed("/feed.xml", "Usual");
  EXPECT_EQ(rows(world.run({"discover", world.http.url("/mute"), "--json"}).out).at(0).at("found_in").as_string(),
            "well_known");
  const Finished away = world.run({"discover", HttpServer().url("/")});
  EXPECT_EQ(away.exit, 1);
  EXPECT_EQ(std::count(away.err.begin(), away.err.end(), '\n'), 1) << away.err;
}

TEST_F(Questions, AddOfAPageAddsItsFeed) {
  serve_feed("/one.xml");
  serve_page("/blog", R"(<link rel=alternate type="application/rss+xml" href="/one.xml">)");
  const Finished done = world.run({"add", world.http.url("/blog")});
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(done.out, "added " + world.http.url("/one.xml") + "\n");
  EXPECT_TRUE(has(done.err, "is a web page; its feed is")) << done.err;
  EXPECT_EQ(feeds(), world.http.url("/one.xml"));
}

TEST_F(Questions, AddOfAPageWithSeveralFeedsLetsTheOperatorChoose) {
  serve_feed("/one.xml", "One");
  serve_feed("/two.xml", "Two");
  serve_page("/blog",
             R"(<link rel=alternate type=text/rss href="/one.xml"><link rel=alternate type=text/rss href="/two.xml">)");
  serve_page("/mute", "<p>nothing</p>");
  const Finished several = world.run({"add", world.http.url("/blog"), world.http.url("/other.xml")});
  EXPECT_EQ(several.exit, 1);
  EXPECT_TRUE(has(several.out, world.http.url("/one.xml"))) << several.out;
  EXPECT_TRUE(has(several.out, world.http.url("/two.xml"))) << several.out;
  EXPECT_TRUE(has(several.err, "--first")) << several.err;
  EXPECT_EQ(feeds(), "") << "nothing half-done";
  EXPECT_EQ(rows(world.run({"add", world.http.url("/blog"), "--json"}).out).size(), 2U);
  const Finished none = world.run({"add", world.http.url("/mute")});
  EXPECT_EQ(none.exit, 1);
  EXPECT_TRUE(has(none.err, "is a web page without a feed")) << none.err;
  EXPECT_EQ(feeds(), "");
  EXPECT_EQ(world.run({"add", world.http.url("/blog"), "--first"}).exit, 0);
  EXPECT_EQ(feeds(), world.http.url("/one.xml"));
}

TEST_F(Questions, AddStoresUnreachableUrlsUnchecked) {
  const std::string gone = HttpServer().url("/");  // no longer listening
  const Finished done = world.run({"add", gone, world.http.url("/missing")});
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_TRUE(has(done.err, "connect.refused")) << done.err;
  EXPECT_TRUE(has(done.err, "404")) << done.err;
  EXPECT_EQ(world.redis_text({"SCARD", "feeds"}), "2");
  const std::size_t asked = world.http.requests().size();
  EXPECT_EQ(world.run({"add", world.http.url("/missing"), world.http.url("/news/feed")}).exit, 0);
  EXPECT_EQ(world.http.requests().size(), asked) << "registered, or says feed: nobody is asked";
  EXPECT_EQ(world.run({"import", file("list.txt", world.http.url("/page") + "\n")}).exit, 0);
  EXPECT_EQ(world.http.requests().size(), asked) << "import never asks";
}

TEST_F(Questions, DoctorGivesARemedyForEachFault) {
  const auto verdicts = [](const Finished& done) {
    std::map<std::string, std::string> by_check;
    for (const json::object& row : rows(done.out)) {
      by_check[text_of(row.at("check"))] = text_of(row.at("verdict"));
      EXPECT_EQ(row.at("remedy").is_null(), text_of(row.at("verdict")) == "ok") << json::serialize(row);
    }
    return by_check;
  };
  world.environment["FEEDMILL_EGRESS_ALLOW"] = "127.0.0.0/8:1024-65535,169.254.0.0/16";
  EXPECT_EQ(verdicts(world.run({"doctor", "--json"}))["egress"], "warn") << "a cloud's credentials are open";
  world.environment["FEEDMILL_EGRESS_ALLOW"] = "127.0.0.0/8:1024-65535";
  const Finished good = world.run({"doctor", "--json"});
  auto found = verdicts(good);
  for (const char* const check : {"redis", "redis writes", "redis memory", "clock", "hosts", "fetch.contact", "egress",
                                  "feeds' servers", "keep_poison"}) {
    EXPECT_EQ(found[check], "ok") << check << good.out;
  }
  for (const char* const check : {"configuration", "data directory", "descriptors", "tls roots", "dns", "redis disk"}) {
    EXPECT_TRUE(found.contains(check)) << check;
  }
  const bool fails = std::any_of(found.begin(), found.end(), [](const auto& one) { return one.second == "fail"; });
  EXPECT_EQ(good.exit, fails ? 1 : 0);
  EXPECT_EQ(world.redis_text({"DBSIZE"}), "0") << "nothing is left behind";

  world.redis_text({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  const Finished evicting = world.run({"doctor"});
  EXPECT_EQ(evicting.exit, 1);
  EXPECT_TRUE(has(evicting.out, "noeviction")) << evicting.out;
  world.environment["FEEDMILL_REDIS_URL"] = "unix:/nowhere/redis.sock";
  const Finished away = world.run({"doctor", "--json"});
  EXPECT_EQ(away.exit, 1);
  EXPECT_EQ(verdicts(away)["redis"], "fail");
  for (const json::object& row : rows(away.out)) {
    if (text_of(row.at("check")) != "redis") continue;
    EXPECT_FALSE(has(text_of(row.at("text")), "redis.url")) << "a remedy in the text: " << json::serialize(row);
  }
  EXPECT_FALSE(has(world.run({"doctor"}).out, "?:"));
  EXPECT_TRUE(verdicts(away).contains("tls roots")) << "the rest is checked all the same";
}

TEST_F(Questions, DoctorNamesFeedsThatThePolicyRefuses) {
  const std::string config = (world.redis.directory() / "doctor.toml").string();
  std::ofstream(config) << "[egress.policy.intranet]\nallow = [\"10.0.0.0/8:80\"]\n";
  ASSERT_EQ(world
                .run({"add", "http://10.0.0.7/feed.xml", "http://10.0.0.7/rss.xml", "http://192.168.1.1/feed.xml",
                      "http://127.0.0.1:23/feed.xml"})
                .exit,
            0);
  const Finished all = world.run({"doctor"});
  EXPECT_TRUE(
      has(all.out, "10.0.0.7: its 2 feeds will not be fetched: egress.blocked: 10.0.0.7 is not a public address"))
      << all.out;
  EXPECT_TRUE(has(all.out, "127.0.0.1:23: its 1 feed will not be fetched: egress.port")) << all.out;
  for (const char* const url : {"http://10.0.0.7/feed.xml", "http://10.0.0.7/rss.xml"}) {
    ASSERT_EQ(world.run({"set", url, "policy=intranet", "--config", config}).exit, 0);
  }
  const Finished less = world.run({"doctor", "--config", config});
  EXPECT_FALSE(has(less.out, "10.0.0.7: its")) << less.out;
  EXPECT_TRUE(has(less.out, "192.168.1.1: its 1 feed")) << less.out;
  const std::string open = "http://93.184.216.34/feed.xml";
  ASSERT_EQ(world.run({"add", open, "--policy", "intranet", "--config", config}).exit, 0);
  const Finished gone = world.run({"doctor"});
  EXPECT_TRUE(has(
      gone.out, "93.184.216.34: its 1 feed will not be fetched: egress.blocked: its policy intranet is not configured"))
      << gone.out;
  EXPECT_TRUE(has(gone.out, "restore it in the configuration")) << gone.out;
}

TEST_F(Questions, DoctorAsksWhetherTheProxyIsThere) {
  world.environment["FEEDMILL_FETCH_PROXY_ENFORCES_EGRESS"] = "true";
  world.environment["FEEDMILL_FETCH_PROXY"] = "http://127.0.0.1:" + std::to_string(world.http.port());
  EXPECT_TRUE(has(world.run({"doctor"}).out, "ok   proxy "));
  world.environment["FEEDMILL_FETCH_PROXY"] = "http://127.0.0.1:" + std::to_string(HttpServer().port());
  const Finished nobody = world.run({"doctor"});
  EXPECT_TRUE(has(nobody.out, "fail proxy ")) << nobody.out;
  EXPECT_EQ(nobody.exit, 1);
}

TEST_F(Questions, HealthAsksTheWorker) {
  EXPECT_EQ(world.run({"health"}).exit, 78) << "admin.listen is off";
  // The port was free a moment ago and has no listener yet.
  const std::uint16_t port = HttpServer().port();
  world.environment["FEEDMILL_ADMIN_LISTEN"] = "127.0.0.1:" + std::to_string(port);
  const Finished nobody = world.run({"health"});
  EXPECT_EQ(nobody.exit, 1);
  EXPECT_TRUE(has(nobody.err, "no answer on")) << nobody.err;
  Program worker({"run"}, world.environment);
  ASSERT_TRUE(eventually([&] { return world.run({"health", "--ready", "-q"}).exit == 0; })) << worker.err();
  const json::object row = rows(world.run({"health", "--json"}).out).at(0);
  EXPECT_EQ(row.at("probe").as_string(), "livez");
  EXPECT_TRUE(row.at("healthy").as_bool());
  world.redis.kill();
  ASSERT_TRUE(eventually([&] { return world.run({"health", "--ready", "-q"}).exit == 1; }));
  EXPECT_EQ(world.run({"health"}).exit, 0) << "alive, though not ready";
  const Finished words = world.run({"health", "--ready"});
  EXPECT_TRUE(has(words.out, "readyz failed (503)\n")) << words.out;
  EXPECT_TRUE(has(words.out, "  redis         failed: ")) << words.out;
  EXPECT_TRUE(has(words.out, "  not_draining  ok\n")) << words.out;
  worker.signal(SIGKILL);
}

}  // namespace
}  // namespace feedmill::test::questions_test
