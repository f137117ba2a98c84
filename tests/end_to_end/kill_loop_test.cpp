// Workers and Redis are killed at random while a publisher adds and edits posts, and workers are stopped for longer
// than their leases (RELIABILITY I1, I2): no post is lost, stored twice or published twice. One feed in twenty
// redirects to another host; in half of the loops feeds queue at their host's gate; half of the workers fetch on two
// loops each. LONG_TESTS=1 runs the long version; FEEDMILL_LOOP_MINUTES=n ends each loop after n minutes, however far
// it has got.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>

#include "storage/feeds/feeds.hpp"
#include "tests/end_to_end/truth_world.hpp"
#include "tests/support/counts.hpp"

namespace feedmill::test::kill_loop_test {
namespace {

constexpr std::size_t feeds = 60;
constexpr int lease_ms = 2'000;

struct Setting {
  const char* name;
  const char* sync;  ///< Redis' appendfsync
  /// All feeds are on one host. These settings give every lane a slot, or barely one start per feed and second, so that
  /// most feeds queue at its gate.
  const char *concurrency = "64", *spacing = "0ms";
  bool in_line = false;
};

void PrintTo(const Setting& setting, std::ostream* out) {
  *out << setting.name;
}

class KillLoop : public testing::TestWithParam<Setting> {
 protected:
  KillLoop() : it(durable(GetParam().sync), {.listed = 30, .text = 300, .led = 20}) {
    it.world.environment["FEEDMILL_HOST_CONCURRENCY"] = GetParam().concurrency;
    it.world.environment["FEEDMILL_HOST_SPACING"] = GetParam().spacing;
    it.world.environment["FEEDMILL_SCHEDULE_FLOOR"] = it.world.environment["FEEDMILL_SCHEDULE_CEILING"] = "1s";
    it.world.environment["FEEDMILL_SIGNALS_MAX_LEN"] = "100000000";
    it.world.environment["FEEDMILL_WORKER_LANES"] = "16";
    for (const auto& [name, value] : lease(lease_ms)) it.world.environment[name] = value;
  }

  void start(std::size_t worker) {
    const Environment loops = worker % 2 == 0 ? Environment{{"FEEDMILL_WORKER_THREADS", "2"}} : Environment{};
    workers[worker] = std::make_unique<Program>(command, it.world.with(loops));
  }

  /// Lets the publisher and the workers run for a random while.
  void let_work() {
    const std::size_t enough = it.truth.asked_in_all() + random() % 16;
    std::vector<std::string> touched;
    for (int i = 0; i < 20; ++i) {
      const std::size_t feed = random() % feeds;
      it.truth.act(feed, static_cast<unsigned>(random()));
      touched.push_back(it.truth.url(feed));
    }
    ASSERT_TRUE(Feeds(it.world.store).wake(touched, Milliseconds(0), true));
    ASSERT_TRUE(eventually([&] {
      look_for_lines();
      return it.truth.asked_in_all() >= enough;
    })) << workers[0]->err();
  }

  void look_for_lines() {
    const std::string waiting = it.world.redis_text({"ZCARD", "line:" + it.world.http.server()});
    most_in_line = std::max(most_in_line, std::atoi(waiting.c_str()));  // 0 while Redis is starting
  }

  void kill_a_worker() {
    const std::size_t victim = random() % workers.size();
    if (victim == frozen) frozen.reset();
    workers[victim]->signal(SIGKILL);
    const Finished end = workers[victim]->wait();
    ASSERT_EQ(end.exit, -SIGKILL) << end.err;
    it.forget_delivery_right();
    start(victim);
  }

  /// Restarts Redis with its data and checks the data while the workers are stopped.
  void kill_redis() {
    it.restart_redis();
    for (const auto& worker : workers) worker->signal(SIGSTOP);
    for (int i = 0; i < 2; ++i) redis_command(it.world.redis, {"PING"});  // earlier commands have been executed
    EXPECT_EQ(it.wrongs_now(Stage::any), "");
    for (std::size_t worker = 0; worker < workers.size(); ++worker) {
      if (worker != frozen) workers[worker]->signal(SIGCONT);
    }
  }

  /// Stops one worker until the others have taken over its claims.
  void freeze_a_worker() {
    frozen = random() % workers.size();
    workers[*frozen]->signal(SIGSTOP);
    ++freezes;
    thaw_at = std::chrono::steady_clock::now() + std::chrono::milliseconds(lease_ms * 3 / 2);
  }
  void thaw() {
    if (!frozen) return;
    std::this_thread::sleep_until(thaw_at);
    workers[*frozen]->signal(SIGCONT);
    frozen.reset();
  }

  const std::vector<std::string> command{"run"};
  TruthWorld it;
  std::array<std::unique_ptr<Program>, 4> workers;
  std::minstd_rand random{std::random_device()()};
  int most_in_line = 0;  ///< longest line seen
  std::optional<std::size_t> frozen;
  std::chrono::steady_clock::time_point thaw_at;
  int freezes = 0;
};

TEST_P(KillLoop, LosesAndDoublesNothing) {
  const int worker_kills = tries(8, 75, 1000), redis_kills = tries(2, 20, 250);
  const char* const minutes = std::getenv("FEEDMILL_LOOP_MINUTES");
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::minutes(minutes != nullptr ? std::atoi(minutes) : 1440);
  const auto seed = std::random_device()();
  random.seed(seed);
  RecordProperty("seed", std::to_string(seed));
  ASSERT_NO_FATAL_FAILURE(it.import(feeds, 5));
  for (std::size_t worker = 0; worker < workers.size(); ++worker) start(worker);
  int of_workers = 0, of_redis = 0;
  const int most_freezes = tries(GetParam().in_line ? 0 : 1, 15, 200);  // in a line, it would hold a slot
  while (of_workers + of_redis < worker_kills + redis_kills && std::chrono::steady_clock::now() < end) {
    if (!frozen && freezes < most_freezes) freeze_a_worker();
    ASSERT_NO_FATAL_FAILURE(let_work()) << "seed " << seed;
    if (std::chrono::steady_clock::now() > thaw_at) thaw();
    const bool redis = static_cast<int>(random() % static_cast<unsigned>(worker_kills + redis_kills)) < redis_kills;
    if ((redis && of_redis < redis_kills) || of_workers == worker_kills) {
      kill_redis();
      ++of_redis;
    } else {
      ASSERT_NO_FATAL_FAILURE(kill_a_worker());
      ++of_workers;
    }
    if (HasFailure()) FAIL() << "after " << of_workers << " + " << of_redis << " kills, seed " << seed;
    if (is_long_run() && (of_workers + of_redis) % 50 == 0)
      std::cout << of_workers << " workers and " << of_redis << " servers killed" << std::endl;
  }
  thaw();
  RecordProperty("workers_frozen", std::to_string(freezes));
  RecordProperty("workers_killed", std::to_string(of_workers));
  RecordProperty("servers_killed", std::to_string(of_redis));
  RecordProperty("most_in_line", std::to_string(most_in_line));
  if (GetParam().in_line) {
    EXPECT_GT(most_in_line, 0) << "nobody had to wait: this was the other loop";
  }
  EXPECT_EQ(it.world.redis_text({"ZRANGE", "quarantine", "0", "-1"}), "") << "seed " << seed;
  EXPECT_EQ(it.wrongs_once_caught_up(), "") << "seed " << seed;
  for (const auto& worker : workers) worker->signal(SIGTERM);
  for (const auto& worker : workers) {
    const Finished ended = worker->wait();
    EXPECT_EQ(ended.exit, 0) << "seed " << seed << "\n" << ended.err;
  }
  EXPECT_EQ(it.wrongs_now(Stage::caught_up), "");
}

INSTANTIATE_TEST_SUITE_P(Appendfsync, KillLoop,
                         testing::Values(Setting{"everysec", "everysec"}, Setting{"always", "always"},
                                         Setting{"everysec_in_line", "everysec", "2", "20ms", true},
                                         Setting{"always_in_line", "always", "1", "5ms", true}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace feedmill::test::kill_loop_test
