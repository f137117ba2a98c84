// SIGHUP, and notifications to a service manager (RELIABILITY D5, N1).
#include <csignal>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "storage/feeds/feeds.hpp"
#include "tests/end_to_end/program.hpp"
#include "tests/support/service_manager.hpp"
#include "tests/support/temporary_directory.hpp"

namespace feedmill::test::reload_test {
namespace {

namespace fs = std::filesystem;

class Reloading : public testing::Test {
 protected:
  Reloading() : manager_name("@feedmill-reload-" + std::to_string(getpid())), manager(manager_name) {
    world.environment["NOTIFY_SOCKET"] = manager_name;
    write("");
  }
  void write(const std::string& text) { std::ofstream(home / "feedmill.toml") << text; }
  std::vector<std::string> arguments() const {
    return {"run", "--config", (home / "feedmill.toml").string(), "--listen", "127.0.0.1:0"};
  }
  /// Waits for a datagram that begins with `beginning`; returns the last one received.
  std::string hear(const std::string& beginning) {
    std::string last;
    eventually([&] {
      for (std::string one; !(one = manager.heard()).empty();) {
        last = one;
        if (one.starts_with(beginning)) return true;
      }
      return false;
    });
    return last;
  }
  static bool eventually_says(const Program& worker, const std::string& text) {
    return eventually([&] { return worker.err().find(text) != std::string::npos; });
  }
  void hang_up(const Program& worker) {
    worker.signal(SIGHUP);
    EXPECT_TRUE(hear("RELOADING=1").find("MONOTONIC_USEC=") != std::string::npos);
    EXPECT_TRUE(hear("READY=1").starts_with("READY=1\nSTATUS="));
  }

  World world;
  TemporaryDirectory home_directory;
  fs::path home = home_directory.path();
  std::string manager_name;
  ServiceManager manager;
};

/// HTTP H7, H1: waiting feeds move to the group's gate, and back when the group is dissolved.
TEST_F(Reloading, AGroupOfHostsTakesOverTheLinesOfItsHosts) {
  world.environment["FEEDMILL_HOST_CONCURRENCY"] = "1";
  world.environment["FEEDMILL_HOST_SPACING"] = "1h";
  std::vector<NewFeed> feeds;
  for (int i = 0; i < 6; ++i) {
    const std::string path = "/" + std::to_string(i);
    world.http.serve(path, {.body = rss({{"a", "Post"}})});
    feeds.push_back({.feed_url = world.http.url(path)});
  }
  ASSERT_TRUE(Feeds(world.store).add(feeds));
  Program worker(arguments(), world.environment);
  const auto waiting_at = [&](const std::string& gate) { return world.redis_text({"ZCARD", "line:" + gate}); };
  ASSERT_TRUE(eventually([&] { return waiting_at(world.http.server()) == "5"; })) << worker.err();
  write("[host_group.friends]\nhosts = [\"127.0.0.1\", \"friend.example\"]\n");
  hang_up(worker);
  EXPECT_TRUE(eventually([&] { return waiting_at("group:friends") == "4"; }))
      << "one may start there: " << worker.err();
  EXPECT_EQ(waiting_at(world.http.server()), "0");
  EXPECT_EQ(world.run({"verify", "--redis", world.redis.url_of("feedmill_admin")}).exit, 0);
  write("");
  hang_up(worker);
  EXPECT_TRUE(eventually([&] { return waiting_at(world.http.server()) == "4"; })) << worker.err();
  EXPECT_EQ(waiting_at("group:friends"), "0");
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
  EXPECT_EQ(world.http.requests().size(), 2U) << "one for each gate";
  EXPECT_EQ(world.run({"verify", "--redis", world.redis.url_of("feedmill_admin")}).exit, 0);
}

/// HTTP H10
TEST_F(Reloading, ChangedEgressNameHasSeparateQuotas) {
  world.environment["FEEDMILL_HOST_CONCURRENCY"] = "1";
  world.http.serve(
      "/feed", {.headers = {{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "1"}}, .body = rss({{"a", "Post"}})});
  write("[egress]\nname = \"one\"\n");
  Program worker(arguments(), world.environment);
  ASSERT_TRUE(eventually_says(worker, "event=ready"));
  ASSERT_TRUE(Feeds(world.store).add(std::vector{NewFeed{.feed_url = world.http.url("/feed")}}));
  const auto knows = [&](const std::string& name) {
    return world.redis_text({"HEXISTS", "state:host:" + world.http.server(), "q:" + name}) == "1";
  };
  EXPECT_TRUE(eventually([&] { return knows("one"); })) << worker.err();
  EXPECT_FALSE(knows("two"));
  write("[egress]\nname = \"two\"\n");
  hang_up(worker);
  EXPECT_TRUE(eventually_says(worker, "changed=egress.name")) << worker.err();
  EXPECT_TRUE(eventually([&] { return knows("two"); })) << worker.err();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

TEST_F(Reloading, AppliesReloadableOptionsAndNamesThoseThatNeedARestart) {
  std::vector<std::pair<std::string, std::string>> posts;
  for (int i = 0; i < 30; ++i) posts.emplace_back("guid" + std::to_string(i), "Post");
  world.http.serve("/many", {.body = rss(posts)});
  write("[retention]\nentries = 5\nhard_cap = 5\n");
  Program worker(arguments(), world.environment);
  ASSERT_TRUE(eventually_says(worker, "event=ready"));
  write(
      "[retention]\nentries = 12\nhard_cap = 12\n[worker]\nlanes = 3\n[log]\nlevel = \"debug\"\n[signals]\nmax_len = "
      "5000\n"
      "[host.\"slow.example\"]\nspacing = \"9s\"\n");
  hang_up(worker);
  EXPECT_TRUE(eventually_says(worker, "needs_restart=worker.lanes")) << worker.err();
  EXPECT_TRUE(eventually_says(worker, "changed=\"retention.entries retention.hard_cap signals.max_len log.level host."))
      << worker.err();
  ASSERT_TRUE(Feeds(world.store).add(std::vector{NewFeed{.feed_url = world.http.url("/many")}}));
  EXPECT_TRUE(eventually_says(worker, "event=refresh"));  // a debug line
  EXPECT_TRUE(eventually([&] { return world.redis_text({"ZCARD", world.http.url("/many") + ":sort"}) == "12"; }));
  EXPECT_EQ(world.redis_text({"HEXISTS", "conf:hosts", "slow.example"}), "1");
  const std::string address = listening_at(worker);
  EXPECT_TRUE(get(address, "/readyz").starts_with("HTTP/1.1 200"));
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

TEST_F(Reloading, OpensAndClosesAddressesForLaterFetches) {
  world.http.serve("/feed", {.body = rss({{"a", "A"}})});
  const std::string opened = world.environment.at("FEEDMILL_EGRESS_ALLOW");
  world.environment.erase("FEEDMILL_EGRESS_ALLOW");
  Program worker(arguments(), world.environment);
  ASSERT_TRUE(eventually_says(worker, "event=ready"));
  ASSERT_TRUE(Feeds(world.store).add(std::vector{NewFeed{.feed_url = world.http.url("/feed")}}));
  const std::string state = "state:feed:" + world.http.url("/feed");
  ASSERT_TRUE(eventually([&] {
    return world.redis_text({"HGET", state, "last"}) == "0 failed egress.blocked";
  })) << world.redis_text({"HGET", state, "last"});
  std::string list;
  for (std::size_t at = 0; at < opened.size();) {
    const std::size_t end = std::min(opened.find(',', at), opened.size());
    list += (list.empty() ? "\"" : ", \"") + opened.substr(at, end - at) + "\"";
    at = end + 1;
  }
  write("[egress]\nallow = [" + list + "]\n");
  hang_up(worker);
  ASSERT_TRUE(Feeds(world.store).wake(std::vector{world.http.url("/feed")}, {}, true));
  EXPECT_TRUE(eventually([&] { return world.count("post_created") == 1; })) << worker.err();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

/// SECURITY K2.
TEST_F(Reloading, FeedsGetNewSecrets) {
  world.http.serve("/feed", {.body = rss({{"a", "A"}})});
  const std::string url = world.http.url("/feed"), secret = (home / "secret").string();
  const std::string table = "[feed_auth.paper]\nheader = \"X-Key\"\nvalue_file = \"" + secret + "\"\norigin = \"" +
                            world.http.url("") + "\"\n";
  const auto received = [&](const std::string& value) {
    return eventually([&] {
      const auto requests = world.http.requests();
      return !requests.empty() && requests.back().header("X-Key") == value;
    });
  };
  ASSERT_TRUE(Feeds(world.store).add(std::vector{NewFeed{.feed_url = url, .settings = R"({"auth":"paper"})"}}));
  Program worker(arguments(), world.environment);
  EXPECT_TRUE(eventually([&] {
    return world.redis_text({"HGET", "state:feed:" + url, "last"}).find("failed status.auth") != std::string::npos;
  })) << worker.err();
  for (const std::string value : {"one", "two"}) {
    std::ofstream(secret) << value;
    write(table);
    hang_up(worker);
    ASSERT_TRUE(Feeds(world.store).wake(std::vector{url}, {}, true));
    EXPECT_TRUE(received(value)) << value << worker.err();
  }
  EXPECT_TRUE(eventually_says(worker, "changed=\"feed_auth.")) << worker.err();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

// Fetches that began under the old options end under them; the options are destroyed only afterwards.
TEST_F(Reloading, RunningFetchesAreNotDisturbed) {
  world.http.serve("/first", {.body = rss({{"a", "A"}}), .hold_until = 2});
  world.http.serve("/second", {.body = rss({{"b", "B"}})});
  Program worker(arguments(), world.environment);
  ASSERT_TRUE(eventually_says(worker, "event=ready"));
  ASSERT_TRUE(Feeds(world.store).add(std::vector{NewFeed{.feed_url = world.http.url("/first")}}));
  ASSERT_TRUE(eventually([&] { return world.http.requests().size() == 1; }));
  for (const char* const wall : {"40s", "41s", "42s"}) {
    write("[fetch]\nwall = \"" + std::string(wall) + "\"\n");
    hang_up(worker);
  }
  EXPECT_EQ(world.count("post_created"), 0u);
  ASSERT_TRUE(Feeds(world.store).add(std::vector{NewFeed{.feed_url = world.http.url("/second")}}));
  EXPECT_TRUE(eventually([&] { return world.count("post_created") == 2; })) << worker.err();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

TEST_F(Reloading, AFileThatIsRefusedChangesNothing) {
  write("[retention]\nentries = 5\n");
  Program worker(arguments(), world.environment);
  ASSERT_TRUE(eventually_says(worker, "event=ready"));
  write("[retention]\nentrys = 12\n[log]\nlevel = \"debug\"\n");
  hang_up(worker);
  EXPECT_TRUE(eventually_says(worker, "not reloaded: retention.entrys")) << worker.err();
  EXPECT_NE(worker.err().find("did you mean retention.entries?"), std::string::npos);
  EXPECT_EQ(worker.err().find("event=reload"), std::string::npos);
  const std::string address = listening_at(worker);
  EXPECT_NE(get(address, "/status.json").find("rejected: retention.entrys"), std::string::npos);
  worker.signal(SIGHUP);
  EXPECT_NE(hear("READY=1").find(", configuration not reloaded: retention.entrys"), std::string::npos);
  write("[retention]\nentries = 6\n[worker]\nlanes = 3\n");
  hang_up(worker);
  EXPECT_TRUE(eventually_says(worker, "changed=retention.entries"));
  worker.signal(SIGHUP);
  EXPECT_EQ(hear("READY=1").find("not reloaded"), std::string::npos);
  EXPECT_TRUE(eventually([&] {
    const std::string now = get(address, "/status.json");
    return now.find("rejected:") == std::string::npos &&
           now.find("not in effect yet: worker.lanes") != std::string::npos;
  }));
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

TEST_F(Reloading, NotifiesTheServiceManagerOfEachStep) {
  world.environment["WATCHDOG_USEC"] = "200000";
  world.redis.kill();
  Program worker(arguments(), world.environment);
  // Redis is not a precondition of the start: a service manager would restart us for ever.
  EXPECT_EQ(hear("READY=1"), "READY=1\nSTATUS=waiting for Redis: not connected yet");
  EXPECT_EQ(hear("WATCHDOG=1"), "WATCHDOG=1");
  world.redis.start();
  EXPECT_TRUE(hear("STATUS=ready").starts_with("STATUS=ready, http://127.0.0.1:"));
  world.redis.kill();
  EXPECT_TRUE(hear("STATUS=Redis is unavailable").starts_with("STATUS=Redis is unavailable: "));
  world.redis.start();
  EXPECT_TRUE(hear("STATUS=ready").starts_with("STATUS=ready, http://127.0.0.1:"));
  worker.signal(SIGTERM);
  EXPECT_EQ(hear("STOPPING=1"), "STOPPING=1\nSTATUS=draining");
  EXPECT_EQ(worker.wait().exit, 0);
}

}  // namespace
}  // namespace feedmill::test::reload_test
