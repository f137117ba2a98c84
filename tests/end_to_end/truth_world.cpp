#include "tests/end_to_end/truth_world.hpp"

#include <sstream>

#include <gtest/gtest.h>

#include "storage/feeds/feeds.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/upkeep/verify.hpp"

namespace feedmill::test {

std::vector<std::string> durable(const std::string& sync) {
  std::vector<std::string> all{"--appendonly", "yes", "--appendfsync", sync, "--enable-debug-command", "yes"};
  if (sync == "always")
    all.insert(all.end(), {"--hash-max-listpack-value", "65536", "--hash-max-listpack-entries", "128"});
  return all;
}

Environment lease(int ms) {
  return {{"FEEDMILL_SCHEDULE_LEASE", std::to_string(ms) + "ms"},
          {"FEEDMILL_FETCH_WALL", std::to_string(ms / 2) + "ms"}};
}

TruthWorld::TruthWorld(const std::vector<std::string>& redis_arguments, GroundTruth::Options options)
    : world(redis_arguments), truth(world.http, options) {
  world.environment["FEEDMILL_SCHEDULE_FLOOR"] = "1h";
  world.environment["FEEDMILL_SCHEDULE_CEILING"] = "24h";
  world.environment["FEEDMILL_SCHEDULE_CATCH_UP_RATE"] = "0";
}

std::vector<std::string> TruthWorld::urls() const {
  std::vector<std::string> urls;
  for (std::size_t feed = 0; feed < truth.feeds(); ++feed) {
    if (!truth.withdrawn(feed)) urls.push_back(truth.url(feed));
  }
  return urls;
}

void TruthWorld::add_feeds(std::size_t feeds, std::size_t posts) {
  std::vector<NewFeed> fresh;
  std::vector<Membership> memberships;
  for (std::size_t i = 0; i < feeds; ++i) {
    fresh.push_back({.feed_url = truth.add_feed(posts)});
    memberships.push_back({"all", fresh.back().feed_url});
  }
  ASSERT_TRUE(Feeds(world.store).add(fresh));
  Channels channels(world.store);
  ASSERT_TRUE(channels.add(std::vector<std::string>{"all"}));
  ASSERT_TRUE(channels.follow(memberships));
}

void TruthWorld::import(std::size_t feeds, std::size_t posts) {
  add_feeds(feeds, posts);
  for (int tries = 0; tries == 0 || (wake_failed() && tries < 5); ++tries) {
    const Finished once = world.run({"run", "--once"});
    ASSERT_EQ(once.exit, 0) << once.err;
  }
  ASSERT_EQ(wrongs_now(Stage::caught_up), "");
  for (std::size_t feed = 0; feed < truth.feeds(); ++feed) asked_.push_back(truth.asked(feed).times);
}

void TruthWorld::bring_news() {
  for (std::size_t feed = 0; feed < truth.feeds(); ++feed) {
    truth.edit(feed, truth.posts(feed) - 1);
    truth.publish(feed);
  }
  make_all_due();
}

void TruthWorld::make_all_due() {
  const auto woken = Feeds(world.store).wake(urls(), Milliseconds(0), true);
  ASSERT_TRUE(woken) << woken.error().detail;
  for (const Wake& wake : *woken) ASSERT_EQ(wake.result, Wake::Result::due);
}

void TruthWorld::make_some_due() {
  ASSERT_TRUE(Feeds(world.store).wake(urls(), Milliseconds(0), true));
}

bool TruthWorld::wake_failed() {
  std::vector<std::string> failed;
  const auto records = Feeds(world.store).records(urls());
  if (!records) return false;
  for (const auto& record : *records) {
    if (record && record->state.failures.count > 0) failed.push_back(record->feed_url);
  }
  return !failed.empty() && Feeds(world.store).wake(failed, Milliseconds(0), true);
}

void TruthWorld::restart_redis() {
  world.redis.kill_once_written();
  world.store.disconnect();
  world.redis.start();
}

/// A stopped holder may still be blocked in its read and would get the next record. Waits for the end of that read,
/// which is long before the lock expires.
void TruthWorld::forget_delivery_right() {
  EXPECT_TRUE(eventually([&] {
    std::istringstream clients(redis_command(world.redis, {"CLIENT", "LIST"}));
    for (std::string line; std::getline(clients, line);) {
      if (line.find(" flags=b") != line.npos && line.find(" cmd=xreadgroup") != line.npos) return false;
    }
    return true;
  }));
  redis_command(world.redis, {"DEL", "lock:delivery:000"});
}

std::string TruthWorld::wrongs_once_caught_up() {
  const auto caught_up = [&] {
    wake_failed();
    return wrongs(world.redis.admin_url(), truth, Stage::caught_up, "all").empty();
  };
  if (eventually(caught_up)) return "";
  std::string text = wrongs_now(Stage::caught_up);
  for (const std::string& url : urls()) {
    if (text.find(url + " ") != text.npos) text += world.run({"explain", url}).out;
  }
  return text;
}

std::string TruthWorld::wrongs_now(Stage stage) {
  return wrongs_text(world.redis.admin_url(), truth, stage, stage == Stage::caught_up ? "all" : "") +
         found_by_verify(world.redis.admin_url());
}

std::string TruthWorld::impolite(std::size_t times) const {
  std::string text;
  for (std::size_t feed = 0; feed < asked_.size(); ++feed) {
    const GroundTruth::Asked asked = truth.asked(feed);
    if (asked.times > asked_[feed] + times)
      text += truth.url(feed) + " was asked " + std::to_string(asked.times - asked_[feed]) + " times\n";
    if (asked.unconditional > 1) text += truth.url(feed) + " was asked without its validators\n";
  }
  return text;
}

std::string found_by_verify(const std::string& redis_url) {
  Store store(StoreOptions{.url = redis_url});
  const auto found = verify(store);
  if (!found) return "verify: " + found.error().detail + "\n";
  std::string text;
  for (const Violation& violation : *found) {
    text += "verify: " + violation.invariant + " " + violation.kind + ": " + violation.feed_url;
    for (const std::string& key : violation.keys) text += " " + key;
    text += ": " + violation.detail + "\n";
  }
  return text;
}

}  // namespace feedmill::test
