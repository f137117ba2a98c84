// Losing any tail of Redis' append-only file leaves a consistent store (RELIABILITY S9): the log of a busy run is cut
// after commands and at random bytes, a server is started on each piece, and on some of them a worker catches up with
// the publisher. counts.hpp sets the number of cuts; a long run cuts after every command.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/end_to_end/truth_world.hpp"
#include "tests/support/counts.hpp"

namespace feedmill::test::aof_cut_test {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view log_name = "appendonly.aof.1.incr.aof";

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Byte offsets at which commands end.
std::vector<std::size_t> ends_of_records(std::string_view log) {
  std::vector<std::size_t> ends;
  std::size_t at = 0;
  const auto number = [&] {  // the number in a line such as "*3" or "$12"
    const std::size_t end = log.find("\r\n", at);
    std::size_t value = 0;
    std::from_chars(log.data() + at + 1, log.data() + end, value);
    at = end + 2;
    return value;
  };
  while (at < log.size()) {
    for (std::size_t words = number(); words > 0; --words) {
      const std::size_t bytes = number();
      at += bytes + 2;
    }
    ends.push_back(at);
  }
  return ends;
}

class AofCut : public testing::Test {
 protected:
  AofCut()
      : it({"--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", "no"},
           {.listed = 60, .text = 200}) {
    it.world.environment["FEEDMILL_SCHEDULE_FLOOR"] = it.world.environment["FEEDMILL_SCHEDULE_CEILING"] = "1s";
    for (const auto& [name, value] : lease(2000)) it.world.environment[name] = value;
  }

  fs::path directory() const { return it.world.redis.directory() / "appendonlydir"; }

  /// Records a busy run in which one worker is killed; returns the log offset at which it begins.
  std::size_t record() {
    it.import(6, 5);
    const std::size_t from = fs::file_size(directory() / log_name);
    Program one({"run"}, it.world.environment), two({"run"}, it.world.environment);
    for (int round = 0; round < 60; ++round) {
      for (std::size_t feed = 0; feed < it.truth.feeds(); ++feed) it.truth.act(feed, static_cast<unsigned>(random()));
      if (round == 20) it.truth.publish(0, 40);
      if (round == 30) two.signal(SIGKILL);
      const std::size_t enough = it.truth.asked_in_all() + 2;
      it.make_some_due();
      EXPECT_TRUE(eventually([&] { return it.truth.asked_in_all() >= enough; })) << one.err();
    }
    it.forget_delivery_right();
    EXPECT_EQ(it.wrongs_once_caught_up(), "") << one.err();
    one.signal(SIGTERM);
    EXPECT_EQ(one.wait().exit, 0);
    return from;
  }

  TruthWorld it;
  std::minstd_rand random{4711};
};

TEST_F(AofCut, RemainderIsConsistent) {
  const auto evenly = static_cast<std::size_t>(tries(15, 150, 0));
  const std::size_t from = record();
  ASSERT_FALSE(HasFailure());
  it.world.redis.kill();
  const std::string log = read_file(directory() / log_name);

  std::vector<std::size_t> ends = ends_of_records(log);
  ASSERT_EQ(ends.back(), log.size());
  std::erase_if(ends, [&](std::size_t end) { return end < from; });
  std::set<std::size_t> cuts;
  if (is_long_run()) cuts.insert(ends.begin(), ends.end());
  for (std::size_t i = 0; i < evenly; ++i) cuts.insert(ends[i * (ends.size() - 1) / (evenly - 1)]);
  for (int i = tries(15, 150, 1000); i > 0; --i) cuts.insert(from + random() % (log.size() - from));

  RedisServer redis({"--appendonly", "yes", "--aof-use-rdb-preamble", "no"});
  const fs::path target = redis.directory() / "appendonlydir";
  std::size_t number = 0;
  for (const std::size_t cut : cuts) {
    redis.kill();
    fs::remove_all(target);
    fs::copy(directory(), target);
    fs::resize_file(target / log_name, cut);
    redis.start();
    ASSERT_EQ(wrongs_text(redis.admin_url(), it.truth, Stage::any) + found_by_verify(redis.admin_url()), "")
        << "cut at byte " << cut << " of " << log.size();
    if (++number % (cuts.size() / 6) != 0) continue;
    Program worker({"run"}, it.world.with({{"FEEDMILL_REDIS_URL", redis.url()}}));
    redis_command(redis, {"DEL", "lock:delivery:000"});
    EXPECT_TRUE(eventually([&] { return wrongs(redis.admin_url(), it.truth, Stage::restored, "all").empty(); }))
        << "cut at byte " << cut << "\n"
        << wrongs_text(redis.admin_url(), it.truth, Stage::restored, "all") << worker.err();
    EXPECT_TRUE(eventually([&] { return worker.err().find("event=ready") != std::string::npos; })) << worker.err();
    worker.signal(SIGTERM);
    EXPECT_EQ(worker.wait().exit, 0);
    EXPECT_EQ(found_by_verify(redis.admin_url()), "") << "cut at byte " << cut;
  }
  RecordProperty("cuts", std::to_string(cuts.size()));
  RecordProperty("records", std::to_string(ends.size()));
}

}  // namespace
}  // namespace feedmill::test::aof_cut_test
