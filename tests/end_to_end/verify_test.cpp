// verify, store export and store import through the program.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "storage/feeds/fleet.hpp"
#include "tests/end_to_end/program.hpp"

namespace feedmill::test::verify_test {
namespace {

namespace json = boost::json;

std::vector<json::object> rows(const std::string& text) {
  std::vector<json::object> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) all.push_back(json::parse(line).as_object());
  return all;
}

class VerifyVerbs : public testing::Test {
 protected:
  VerifyVerbs() {
    world.environment["FEEDMILL_REDIS_URL"] = world.redis.url_of("feedmill_admin");
    world.http.serve("/feed.xml", {.body = rss({{"b", "Second"}, {"a", "First"}})});
    url = world.http.url("/feed.xml");
    EXPECT_EQ(world.run({"add", url}).exit, 0);
    EXPECT_EQ(world.run({"run", "--once"}).exit, 0);
  }
  std::string path(const std::string& name) { return (world.redis.directory() / name).string(); }
  static std::string content(const std::string& name) {
    std::ifstream file(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  World world;
  std::string url;
};

TEST_F(VerifyVerbs, TellDamageRepairItWithAJournalAndAreCleanAfterwards) {
  const Finished healthy = world.run({"verify"});
  EXPECT_EQ(healthy.exit, 0) << healthy.out << healthy.err;
  EXPECT_NE(healthy.out.find("healthy: 1 feeds, 2 entries"), std::string::npos) << healthy.out;
  world.redis_text({"ZREM", url + ":sort", "Entry:1"});
  const Finished violated = world.run({"verify", "--json"});
  EXPECT_EQ(violated.exit, 1);
  const auto told = rows(violated.out);
  ASSERT_EQ(told.size(), 3U) << violated.out;
  EXPECT_EQ(told[0].at("invariant").as_string(), "I4");
  EXPECT_EQ(told[0].at("kind").as_string(), "index.missing");
  EXPECT_EQ(told[0].at("keys").at(0).as_string(), url + ":sort");
  EXPECT_EQ(told[0].at("outcome").as_string(), "found");
  EXPECT_EQ(told[1].at("kind").as_string(), "digest.stray");
  EXPECT_EQ(told[2].at("left").as_int64(), 2);
  const std::string journal = path("repair.jsonl");
  const Finished repaired = world.run({"verify", "--repair", "--journal", journal});
  EXPECT_EQ(repaired.exit, 0) << repaired.out << repaired.err;
  EXPECT_NE(repaired.err.find(journal), std::string::npos) << repaired.err;
  const auto written = rows(content(journal));
  ASSERT_EQ(written.size(), 2U) << "the sum of bytes was right all along";
  EXPECT_EQ(written[0].at("done").as_string(), "zadd");
  EXPECT_EQ(written[0].at("key").as_string(), url + ":sort");
  EXPECT_EQ(written[0].at("field").as_string(), "Entry:1");
  EXPECT_TRUE(written[0].at("old").is_null());
  EXPECT_EQ(written[1].at("key").as_string(), "state:items:" + url);
  EXPECT_EQ(world.run({"verify"}).exit, 0);
  world.redis_text({"ZREM", url + ":sort", "Entry:1"});
  const Finished refused = world.run({"verify", "--repair", "--journal", journal});
  EXPECT_EQ(refused.exit, 73) << "a journal is not written over";
  EXPECT_EQ(world.redis_text({"ZSCORE", url + ":sort", "Entry:1"}), "(nil)") << "nothing is repaired without one";
}

TEST_F(VerifyVerbs, StoreMarkupAsTodaysPolicyWouldAndTellTheStreamAlone) {
  const std::string document =
      "<rss version=\"2.0\"><channel><title>T</title><item><guid isPermaLink=\"false\">x</guid><title>One</title>"
      "<description>&lt;p class=\"red\"&gt;Hello&lt;/p&gt;</description></item></channel></rss>";
  world.http.serve("/styled.xml", {.body = document});
  const std::string styled = world.http.url("/styled.xml");
  ASSERT_EQ(world.run({"add", styled}).exit, 0);
  const Environment keeping{{"FEEDMILL_HTML_KEEP_CLASS", "true"}};
  ASSERT_EQ(world.run({"refresh", styled}, keeping).exit, 0);
  const std::string id = world.redis_text({"ZRANGE", styled + ":sort", "0", "-1"});
  const auto field = [&](const std::string& name) { return world.redis_text({"HGET", id, name}); };
  ASSERT_NE(field("summary").find("class="), std::string::npos) << field("summary");
  EXPECT_EQ(world.run({"verify", "--resanitise"}, keeping).exit, 0) << "today's policy made it";

  const std::size_t signals = world.signals().size();
  EXPECT_EQ(world.run({"verify"}).exit, 0) << "only when it is asked for";
  const Finished found = world.run({"verify", "--resanitise", "--json"});
  EXPECT_EQ(found.exit, 1) << found.err;
  const auto told = rows(found.out);
  ASSERT_EQ(told.size(), 2U) << found.out;
  EXPECT_EQ(told[0].at("kind").as_string(), "entry.markup");
  EXPECT_EQ(told[0].at("keys").at(0).as_string(), id);
  EXPECT_TRUE(told[0].at("repairable").as_bool());
  EXPECT_NE(field("summary").find("class="), std::string::npos) << "nothing was written";

  const std::size_t size = std::stoul(field("bytes")) - std::string(" class=\"red\"").size();
  world.redis_text({"HSET", id, "bytes", std::to_string(size)});
  EXPECT_EQ(rows(world.run({"verify", "--resanitise", "--json"}).out).size(), 2U)
      << "the size is that after the repair";
  const std::string journal = path("markup.jsonl");
  world.redis_text({"HSET", id, "bytes", "1"});  // wrong as well: one run repairs both
  const Finished mended = world.run({"verify", "--resanitise", "--repair", "--journal", journal});
  EXPECT_EQ(mended.exit, 0) << mended.out << mended.err;
  EXPECT_EQ(field("summary"), "<p>Hello</p>");
  EXPECT_NE(content(journal).find("class="), std::string::npos) << "what was there can be had back";
  EXPECT_EQ(world.run({"verify", "--resanitise"}).exit, 0);
  EXPECT_EQ(field("rev"), "2");
  EXPECT_EQ(world.signals().size(), signals + 1);
  EXPECT_EQ(world.count("post_mended"), 1U) << "who mirrors the store reads it again";
  const auto event = boost::json::parse(world.signals().back().json);
  EXPECT_EQ(event.at("entity_id").as_string(), id);
  EXPECT_EQ(event.at("rev").as_int64(), 2);
  EXPECT_EQ(event.at("feed_url").as_string(), styled);
  EXPECT_EQ(boost::json::serialize(event.at("data").at("fields")), R"(["summary"])");

  world.http.serve("/styled.xml", {.body = document + "<!-- built again -->"});
  ASSERT_EQ(world.run({"refresh", styled, "--ignore-floor"}).exit, 0);
  EXPECT_EQ(world.signals().size(), signals + 1) << "a fetch of the same post finds no change";
  EXPECT_EQ(world.run({"verify", "--resanitise"}).exit, 0);
}

TEST_F(VerifyVerbs, ReportAStoreOutage) {
  EXPECT_EQ(world.run({"verify", "--redis", "unix:/nowhere/redis.sock"}).exit, 69);
  EXPECT_EQ(world.run({"verify", "--feed", "gopher://a/"}).exit, 65);
  EXPECT_EQ(world.run({"verify", "--journal", "x"}).exit, 64);
}

TEST_F(VerifyVerbs, RequireTheAdministratorsUser) {
  world.redis_text({"HSET", url + ":guidmap", "ghost", "Entry:99"});
  world.redis_text({"HSET", "Feed:https://nobody.org/", "title", "x"});
  const Finished refused = world.run({"verify"}, {{"FEEDMILL_REDIS_URL", world.redis.url()}});
  EXPECT_EQ(refused.exit, 78) << refused.out;
  EXPECT_NE(refused.err.find("scan"), std::string::npos) << refused.err;
  const Finished done = world.run({"verify", "--repair", "--journal", path("j")});
  EXPECT_EQ(done.exit, 0) << done.out << done.err;
  EXPECT_EQ(world.run({"store", "export", path("e")}).exit, 0);
}

TEST_F(VerifyVerbs, ExportAndImport) {
  const std::string file = path("store.jsonl");
  const Finished exported = world.run({"store", "export", file});
  ASSERT_EQ(exported.exit, 0) << exported.err;
  const Finished piped = world.run({"store", "export"});
  EXPECT_EQ(rows(piped.out).size(), rows(content(file)).size());
  EXPECT_EQ(rows(content(file)).back().at("entries").as_int64(), 2);
  for (const auto& entry : std::filesystem::directory_iterator(world.redis.directory())) {
    EXPECT_NE(entry.path().extension(), ".part");
  }
  RedisServer fresh;
  const auto run = [&](const std::vector<std::string>& words) {
    return world.run(words, {{"FEEDMILL_REDIS_URL", fresh.url_of("feedmill_admin")}});
  };
  EXPECT_EQ(run({"store", "import", file, "--dry-run"}).exit, 0);
  EXPECT_EQ(redis_command(fresh, {"SCARD", "feeds"}), "0");
  const Finished imported = run({"store", "import", file, "--json"});
  ASSERT_EQ(imported.exit, 0) << imported.err;
  EXPECT_EQ(rows(imported.out).at(0).at("feeds").as_int64(), 1);
  EXPECT_EQ(run({"verify"}).exit, 0);
  EXPECT_EQ(rows(run({"entries", url, "--json"}).out), rows(world.run({"entries", url, "--json"}).out));
  EXPECT_EQ(run({"store", "import", file, "--replace"}).exit, 64) << "it asks, or needs --yes";

  std::ofstream(path("cut"), std::ios::binary) << content(file).substr(0, content(file).size() - 30);
  const Finished cut = run({"store", "import", path("cut")});
  EXPECT_EQ(cut.exit, 65);
  EXPECT_EQ(std::count(cut.err.begin(), cut.err.end(), '\n'), 1) << cut.err;
  std::ofstream(path("long"), std::ios::binary)
      << content(file).substr(0, content(file).find('\n') + 1) << std::string((64U << 20U) + 100'000, 'x');
  const Finished endless = run({"store", "import", path("long")});
  EXPECT_EQ(endless.exit, 65);
  EXPECT_NE(endless.err.find("line 2"), std::string::npos) << endless.err;
  EXPECT_EQ(run({"store", "import", path("nowhere")}).exit, 65);
  EXPECT_EQ(world.run({"store", "export", path("no/such/directory")}).exit, 73);
}

/// RELIABILITY L22.
TEST(UrlIndexOfAWorker, IsBuiltForAStoreOfAnOlderVersion) {
  World world;
  std::string list;
  for (int i = 0; i < 700; ++i) list += "http://127.0.0.1:9/" + std::to_string(i) + "\n";
  const std::string file = (world.redis.directory() / "list.txt").string();
  std::ofstream(file) << list;
  ASSERT_EQ(world.run({"import", file}).exit, 0);
  world.redis_text({"DEL", "state:feeds"});
  world.redis_text({"HDEL", "meta:store", "by_url"});
  world.redis_text({"ZADD", "state:feeds", "0", "http://127.0.0.1:9/5"});  // one that was added since
  const Finished before = world.run({"list", "--json"});
  EXPECT_EQ(std::count(before.out.begin(), before.out.end(), '\n'), 700);
  const Program worker({"run", "--listen", "127.0.0.1:0"}, world.environment);
  EXPECT_TRUE(eventually([&] { return world.redis_text({"HGET", "meta:store", "by_url"}) == "1"; })) << worker.err();
  EXPECT_EQ(world.redis_text({"ZCARD", "state:feeds"}), "700");
}

/// Two workers that fetch with different settings would undo each other's work in silence.
TEST(Configurations, OfWorkersAreCompared) {
  World world;
  ASSERT_EQ(world.run({"add", "http://127.0.0.1:9/1"}).exit, 0);
  const auto differing = [&] { return Fleet(world.store).figures()->differing; };
  const std::vector<std::string> run{"run", "--listen", "127.0.0.1:0"};
  const Program first(run, world.with({{"FEEDMILL_WORKER_LANES", "3"}}));
  const Program pusher({"run", "--push-out", "--no-ingest", "--no-deliver", "--listen", "127.0.0.1:0"},
                       world.with({{"FEEDMILL_RETENTION_ENTRIES", "7"}}));
  const std::string both = R"("workers":2,"workers_fetching":1)";
  EXPECT_TRUE(eventually([&] { return world.run({"stats", "--json"}).out.find(both) != std::string::npos; }));
  EXPECT_TRUE(differing().empty()) << "options that a worker does not use are not compared";
  Program second(run, world.with({{"FEEDMILL_RETENTION_ENTRIES", "7"}, {"FEEDMILL_SIGNALS_CONTENT", "true"}}));
  EXPECT_TRUE(eventually([&] { return !differing().empty(); })) << second.err();
  const std::string doctor = world.run({"doctor"}).out;
  EXPECT_NE(doctor.find("3 running (fetching: 2)"), std::string::npos) << doctor;
  EXPECT_NE(doctor.find("workers differ in retention.entries, signals.content"), std::string::npos) << doctor;
  const std::string page = get(listening_at(second), "/status");
  EXPECT_NE(page.find("Workers have different configurations: retention.entries, signals.content."), std::string::npos);
  EXPECT_NE(page.find("<td>push out</td>"), std::string::npos) << page;
  second.signal(SIGTERM);
  EXPECT_EQ(second.wait().exit, 0) << second.err();
  EXPECT_TRUE(differing().empty());
}

/// RELIABILITY L23. Finishing interrupted removals is part of the fleet's work.
TEST(FleetWork, IsTakenOverFromAWorkerThatDied) {
  World world;
  ASSERT_EQ(world.run({"add", "http://127.0.0.1:9/1"}).exit, 0);
  const Program first({"run", "--listen", "127.0.0.1:0"}, world.environment);
  EXPECT_TRUE(eventually([&] { return world.redis_text({"EXISTS", "lock:fleet"}) == "1"; })) << first.err();
  const Program second({"run", "--listen", "127.0.0.1:0"}, world.environment);
  EXPECT_TRUE(eventually([&] { return world.redis_text({"ZCARD", "state:workers"}) == "2"; })) << second.err();
  const std::string leads = world.redis_text({"GET", "lock:fleet"});
  first.signal(SIGKILL);
  world.redis_text({"HSET", "state:feed:http://127.0.0.1:9/2", "removing", "1"});
  world.redis_text({"SADD", "state:removals", "http://127.0.0.1:9/2"});
  world.redis_text({"PEXPIRE", "lock:fleet", "100"});  // its lease ends
  EXPECT_TRUE(eventually([&] { return world.redis_text({"EXISTS", "state:removals"}) == "0"; })) << second.err();
  EXPECT_NE(world.redis_text({"GET", "lock:fleet"}), leads);
}

}  // namespace
}  // namespace feedmill::test::verify_test
