#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "tests/support/temporary_directory.hpp"
#include "worker/config/config.hpp"

namespace feedmill::config_reload_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
namespace fs = std::filesystem;

class ConfigReload : public testing::Test {
 protected:
  ConfigReload() {
    sources.environment["HOME"] = home.string();
    sources.file = home / "feedmill.toml";
    write("");
  }
  void write(const std::string& text) { std::ofstream(sources.file) << text; }
  void write_password(const std::string& text) { std::ofstream(home / "password") << text; }
  void start(const std::string& text) {
    write(text);
    running = load_config(sources).value();
  }
  Reload reload(const std::string& text) {
    write(text);
    auto read = reload_config(sources, running);
    if (read.has_error()) {
      for (const auto& problem : read.error()) ADD_FAILURE() << to_string(problem);
      return {};
    }
    return std::move(*read);
  }

  test::TemporaryDirectory home_directory;
  fs::path home = home_directory.path();
  ConfigSources sources;
  Config running;
};

TEST_F(ConfigReload, FindsNothingNewInTheSameFile) {
  start("[retention]\nentries = 10\n[host.\"a.example\"]\nspacing = \"3s\"\n");
  const Reload read = reload("[retention]\nentries = 10\n[host.\"a.example\"]\nspacing = \"3s\"\n");
  EXPECT_THAT(read.changed, IsEmpty());
  EXPECT_THAT(read.restart, IsEmpty());
}

TEST_F(ConfigReload, AppliesReloadableOptionsAndNamesTheOthers) {
  start("[worker]\nlanes = 10\n");
  const Reload read = reload("[worker]\nlanes = 20\n[retention]\nentries = 7\n[log]\nlevel = \"debug\"\n");
  EXPECT_THAT(read.changed, ElementsAre("retention.entries", "log.level"));
  EXPECT_THAT(read.restart, ElementsAre("worker.lanes"));
  EXPECT_EQ(read.config.retention.entries, 7u);
  EXPECT_EQ(read.config.log.level, LogLevel::debug);
  EXPECT_EQ(read.config.worker.lanes, 10u);
  EXPECT_EQ(read.config.origins.at("worker.lanes"), running.origins.at("worker.lanes"));
}

TEST_F(ConfigReload, ResetsOptionsRemovedFromTheFile) {
  start("[retention]\nentries = 7\n[host.\"a.example\"]\nspacing = \"3s\"\n");
  const Reload read = reload("");
  EXPECT_THAT(read.changed, ElementsAre("retention.entries", "host.\"a.example\""));
  EXPECT_EQ(read.config.retention.entries, 50u);
  EXPECT_THAT(read.config.hosts, IsEmpty());
}

TEST_F(ConfigReload, KeepsNamedTablesThatNeedARestart) {
  start("[egress.policy.intranet]\nallow = [\"10.0.0.0/8\"]\n");
  const Reload read = reload(
      "[egress.policy.intranet]\nallow = [\"192.168.0.0/16\"]\n"
      "[host_group.mirrors]\nhosts = [\"a.example\", \"b.example\"]\n");
  EXPECT_THAT(read.restart, ElementsAre("egress.policy.\"intranet\""));
  EXPECT_THAT(read.changed, ElementsAre("host_group.\"mirrors\""));
  EXPECT_THAT(read.config.egress_policies.at("intranet").allow, ElementsAre("10.0.0.0/8"));
}

TEST_F(ConfigReload, NoticesANewPasswordForTheSameAddress) {
  write_password("old");
  const std::string text =
      "[redis]\nurl = \"redis://:one@127.0.0.1\"\npassword_file = \"" + (home / "password").string() + "\"\n";
  start(text);
  write_password("new");
  std::string other = text;
  other.replace(other.find(":one@"), 5, ":two@");
  const Reload read = reload(other);
  EXPECT_THAT(read.restart, UnorderedElementsAre("redis.url", "redis.password_file"));
  EXPECT_EQ(read.config.redis.password, "old");
  EXPECT_EQ(read.config.redis.url, "redis://:one@127.0.0.1");
}

// SECURITY K2.
TEST_F(ConfigReload, AppliesLoginsOfFeedsAndTheirNewSecrets) {
  write_password("old");
  const std::string news = "[feed_auth.news]\nuser = \"me\"\npassword_file = \"" + (home / "password").string() +
                           "\"\norigin = \"https://news.example\"\n";
  const std::string key = "[feed_auth.key]\nheader = \"X-Key\"\nvalue_file = \"" + (home / "password").string() +
                          "\"\norigin = \"https://key.example\"\n";
  start(news);
  EXPECT_THAT(reload(news).changed, IsEmpty());
  write_password("new");
  const Reload read = reload(news + key);
  EXPECT_THAT(read.restart, IsEmpty());
  EXPECT_THAT(read.changed, UnorderedElementsAre("feed_auth.\"news\"", "feed_auth.\"key\""));
  EXPECT_EQ(read.config.feed_auth.at("news").header_line, "Authorization: Basic bWU6bmV3");
  EXPECT_EQ(read.config.feed_auth.at("key").header_line, "X-Key: new");
  EXPECT_THAT(reload("").changed, ElementsAre("feed_auth.\"news\""));
}

TEST_F(ConfigReload, RejectsInvalidFiles) {
  start("");
  write("[schedule]\nfloor = \"1s\"\n[retenton]\nentries = 5\n");
  const auto read = reload_config(sources, running);
  ASSERT_TRUE(read.has_error());
  EXPECT_EQ(read.error().size(), 2u);
}

// Valid after a restart, but not while the old lease is in effect.
TEST_F(ConfigReload, RejectsOptionsThatConflictWithRunningOnes) {
  start("");
  write("[schedule]\nlease = \"10min\"\n[fetch]\nwall = \"5min\"\n");
  ASSERT_FALSE(load_config(sources).has_error());
  const auto read = reload_config(sources, running);
  ASSERT_TRUE(read.has_error());
  ASSERT_EQ(read.error().size(), 1u);
  EXPECT_EQ(read.error()[0].key, "schedule.lease");
}

// OPERATIONS §2, column R.
TEST_F(ConfigReload, TheseMayChange) {
  std::vector<std::string> keys;
  for (const Option& option : option_table()) {
    if (option.reloads) keys.emplace_back(option.key);
  }
  EXPECT_THAT(keys, testing::IsSupersetOf({"retention.entries", "retention.strict",      "retention.hard_cap",
                                           "signals.max_len",   "schedule.min_floor",    "schedule.floor",
                                           "schedule.ceiling",  "schedule.manual_floor", "schedule.catch_up_rate",
                                           "host.concurrency",  "host.spacing",          "fetch.subscribers",
                                           "fetch.wall",        "fetch.connect",         "fetch.max_body",
                                           "fetch.http2",       "fetch.allow_downgrade", "egress.allow",
                                           "egress.deny",       "egress.ports",          "egress.nat64",
                                           "drain.listen",      "drain.timeout",         "log.level",
                                           "retention.texts"}));
  EXPECT_THAT(keys, testing::Not(testing::Contains("redis.url")));
}

}  // namespace
}  // namespace feedmill::config_reload_test
