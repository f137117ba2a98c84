// The verbs for stored posts, through the program: entry put, entry remove, expire (DESIGN §3.2, OPERATIONS U1, U4).
#include <algorithm>
#include <fstream>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "tests/end_to_end/program.hpp"

namespace feedmill::test::entries_test {
namespace {

namespace json = boost::json;

class EntryVerbs : public testing::Test {
 protected:
  EntryVerbs() : url(world.http.url("/feed.xml")) {
    serve({{"b", "Second"}, {"a", "First"}});
    EXPECT_EQ(world.run({"add", url}).exit, 0);
    EXPECT_EQ(world.run({"run", "--once"}).exit, 0);
  }
  void serve(const std::vector<std::pair<std::string, std::string>>& posts) {
    world.http.serve("/feed.xml", {.body = rss(posts)});
  }
  void poll() {
    const Finished done = world.run({"refresh", url, "--ignore-floor"});
    EXPECT_EQ(done.exit, 0) << done.err;
  }
  std::string file(const std::string& content) {
    const auto path = world.redis.directory() / "entries.json";
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }
  std::string title(const std::string& id) { return world.redis_text({"HGET", id, "title"}); }

  World world;
  std::string url;
};

TEST_F(EntryVerbs, PutCreatesAndChangesPostsWithEvents) {
  const Finished created = world.run(
      {"entry", "put", "--feed", url, "--guid", "note", "title=A note", "content=<p onclick=x>ours</p>", "--json"});
  ASSERT_EQ(created.exit, 0) << created.err;
  const json::object row = json::parse(created.out).as_object();
  EXPECT_EQ(row.at("result").as_string(), "created");
  EXPECT_EQ(row.at("rev").to_number<int>(), 1);
  const std::string id(row.at("id").as_string());
  EXPECT_EQ(world.redis_text({"HGET", id, "content"}), "<p>ours</p>");
  EXPECT_EQ(world.run({"entry", "put", "--feed", url, "--guid", "note", "title=Another"}).out,
            "modified " + id + ", rev 2\n");
  EXPECT_EQ(world.run({"entry", "put", "--feed", url, "--guid", "note", "title=Another"}).out,
            "unchanged " + id + ", rev 2\n");
  EXPECT_EQ(world.count("post_created"), 3U);
  EXPECT_EQ(world.count("post_modified"), 1U);
  // Polls keep our post; our changes to the publisher's own posts last until the publisher changes them.
  EXPECT_EQ(world.run({"entry", "put", "--feed", url, "--guid", "a", "title=Ours"}).exit, 0);
  serve({{"c", "Third"}, {"b", "Second"}, {"a", "First"}});
  poll();
  EXPECT_EQ(title(id), "Another");
  EXPECT_EQ(title("Entry:1"), "Ours");
  serve({{"c", "Third"}, {"b", "Second"}, {"a", "First of all"}});
  poll();
  EXPECT_EQ(title("Entry:1"), "First of all");
}

TEST_F(EntryVerbs, PutTakesBackWhatEntryPrints) {
  std::string printed = world.run({"entry", "Entry:1", "--json"}).out;
  EXPECT_EQ(world.run({"entry", "put", "--file", file(printed)}).out, "unchanged Entry:1, rev 1\n");
  json::object edited = json::parse(printed).as_object();
  edited["title"] = "Edited";
  json::object other = edited;
  other["guid"] = "new";
  const Finished both =
      world.run({"entry", "put", "--file", file(json::serialize(edited) + "\n" + json::serialize(other) + "\n")});
  EXPECT_EQ(both.out, "modified Entry:1, rev 2\ncreated Entry:3, rev 1\n") << both.err;
  EXPECT_EQ(title("Entry:3"), "Edited");
}

TEST_F(EntryVerbs, PutReportsTheFaultAndStoresNothing) {
  struct Case {
    std::vector<std::string> words;
    int exit;
    const char* says;
  };
  const std::string good = R"({"guid":"g","title":"t"})";
  const Case cases[] = {
      {{"--feed", url, "--guid", "g", "link=ftp://a/"}, 64, "link: write an absolute http or https URL"},
      {{"--feed", "https://no.where/", "--guid", "g", "title=x"}, 1, "no such feed: https://no.where/"},
      {{"--feed", "no.where", "--guid", "g", "title=x"}, 65, "no.where"},
      {{"--feed", url, "--file", file(good + R"({"guid":"h","title":7})")}, 65, "object 2 of"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> words{"entry", "put"};
    words.insert(words.end(), c.words.begin(), c.words.end());
    const Finished done = world.run(words);
    EXPECT_EQ(done.exit, c.exit) << done.err;
    EXPECT_EQ(done.out, "");
    EXPECT_NE(done.err.find(c.says), std::string::npos) << done.err;
    EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
  }
  for (const std::string& bad : {std::string(), std::string("{"), std::string("[]"),
                                 good + R"({"guid":"h","colour":"x"})", std::string(R"({"title":"x"})")}) {
    const Finished done = world.run({"entry", "put", "--feed", url, "--file", file(bad)});
    EXPECT_EQ(done.exit, 65) << bad;
    EXPECT_EQ(done.out, "") << bad;
  }
  EXPECT_EQ(world.redis_text({"GET", "ids:Entry"}), "2");
}

TEST_F(EntryVerbs, RemoveNeedsAYesAndKeepsThePostAway) {
  const Finished asked = world.run({"entry", "remove", "Entry:1"});
  EXPECT_EQ(asked.exit, 64);
  EXPECT_NE(asked.err.find("--yes"), std::string::npos) << asked.err;
  EXPECT_EQ(world.run({"entry", "remove", "Entry:1", "--dry-run"}).out, "would remove Entry:1\n");
  EXPECT_EQ(world.run({"entry", "remove", "Entry:1", "Entry:77", "--yes"}).exit, 1);
  EXPECT_EQ(world.redis_text({"EXISTS", "Entry:1"}), "1") << "all of them or none";
  const Finished done = world.run({"entry", "remove", "Entry:1", "--yes", "--json"});
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(json::parse(done.out).at("result").as_string(), "removed");
  EXPECT_EQ(world.count("post_deleted"), 1U);
  serve({{"c", "Third"}, {"b", "Second"}, {"a", "First"}});
  poll();
  EXPECT_EQ(world.redis_text({"HEXISTS", url + ":guidmap", "a"}), "0");
  EXPECT_EQ(world.redis_text({"HEXISTS", url + ":guidmap", "c"}), "1");
}

TEST_F(EntryVerbs, ExpireTrimsByNumberAgeAndBytes) {
  std::vector<std::pair<std::string, std::string>> posts;
  for (int i = 60; i > 0; --i) posts.emplace_back("p" + std::to_string(i), "Post");
  serve(posts);
  poll();
  const std::string before = world.redis_text({"GET", "ids:Entry"});
  EXPECT_EQ(world.run({"expire", url}).exit, 64) << "asks first";
  EXPECT_EQ(world.run({"expire", "https://no.where/", "--yes"}).exit, 1);
  const Finished would = world.run({"expire", url, "--dry-run"});
  Finished done = world.run({"expire", url, "--yes"});
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(would.out, "would " + done.out.replace(0, 7, "trim"));
  EXPECT_EQ(world.redis_text({"ZCARD", url + ":sort"}), "50");
  const json::object row = json::parse(world.run({"show", url, "--json"}).out).as_object();
  const std::string half = std::to_string(row.at("bytes").to_number<int>() / 2) + "B";
  const Finished light = world.run({"expire", url, "--bytes", half, "--dry-run"});
  const json::object told = json::parse(world.run({"expire", url, "--bytes", half, "--yes", "--json"}).out).as_object();
  const int went = told.at("entries").to_number<int>();
  EXPECT_NEAR(went, 25, 2);
  EXPECT_EQ(light.out, "would trim " + std::to_string(went) + " entries of " + url + "\n");
  EXPECT_EQ(world.run({"expire", url, "--age", "0", "--yes"}).exit, 0);
  poll();
  EXPECT_EQ(world.redis_text({"GET", "ids:Entry"}), before) << "nothing comes back";
}

TEST_F(EntryVerbs, RetentionByAgeAndBytesIsSetForAFeed) {
  EXPECT_EQ(world.run({"set", url, "keep_bytes=1B", "keep_age=0"}).exit, 0);
  poll();  // the same document again, as 304 or as the same body: trimmed all the same
  EXPECT_EQ(world.redis_text({"HKEYS", url + ":guidmap"}), "b") << "the newest stays";
  EXPECT_EQ(world.run({"set", url, "keep_bytes="}).exit, 0);
  serve({{"c", "Third"}, {"b", "Second"}, {"a", "First"}});
  poll();
  EXPECT_EQ(world.redis_text({"HEXISTS", url + ":guidmap", "a"}), "0");
}

// RELIABILITY L34, HTTP P4
TEST_F(EntryVerbs, TextsAreSetForAFeedThereAndBack) {
  world.http.serve("/feed.xml", {.body = "<rss version='2.0'><channel><title>Feed</title><item><guid>a</guid>"
                                         "<title>First</title><description>What a says</description></item></channel>"
                                         "</rss>",
                                 .etag = "\"1\""});
  const auto text = [&] { return world.redis_text({"HGET", "Entry:1", "summary"}); };
  poll();
  ASSERT_EQ(text(), "What a says");
  EXPECT_EQ(world.run({"set", url, "texts=0"}).exit, 0);
  poll();
  EXPECT_EQ(text(), "(nil)") << "dropped with a 304";
  const std::size_t requests = world.http.requests().size();
  EXPECT_EQ(world.run({"set", url, "texts=all"}).exit, 0);
  poll();
  EXPECT_EQ(text(), "What a says");
  EXPECT_EQ(world.http.requests().back().header("if-none-match"), "") << "asked once for all of it";
  poll();
  EXPECT_EQ(world.http.requests().size(), requests + 2);
  EXPECT_EQ(world.http.requests().back().header("if-none-match"), "\"1\"");
  EXPECT_EQ(world.run({"verify", "--redis", world.redis.url_of("feedmill_admin")}).exit, 0);
}

TEST_F(EntryVerbs, AWorkerFinishesARemovalThatWasInterrupted) {
  world.redis_text({"SREM", "feeds", url});
  world.redis_text({"ZREM", "schedule", url});
  world.redis_text({"HSET", "state:feed:" + url, "removing", "1"});
  world.redis_text({"SADD", "state:removals", url});
  Program worker({"run", "--listen", "127.0.0.1:0"}, world.environment);
  EXPECT_TRUE(eventually([&] { return world.redis_text({"EXISTS", "state:removals"}) == "0"; }));
  EXPECT_EQ(world.redis_text({"EXISTS", "Entry:1", "Entry:2", url + ":sort", "state:feed:" + url}), "0");
}

}  // namespace
}  // namespace feedmill::test::entries_test
