// Zombies (RELIABILITY I7): a worker is stopped for longer than its lease while another does its work; then it wakes
// up. Its commit is refused, and nothing in the store changes.
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/end_to_end/truth_world.hpp"

namespace feedmill::test::zombie_test {
namespace {

enum class Poll { first, news, unchanged, parts };

struct ZombieCase {
  const char* point;
  Poll poll;
  const char* name;
};

void PrintTo(const ZombieCase& zombie, std::ostream* out) {
  *out << zombie.name;
}

constexpr ZombieCase zombies[] = {
    {"S1", Poll::first, "S1_First"},         {"S1", Poll::news, "S1_News"},   {"S1", Poll::unchanged, "S1_Unchanged"},
    {"S2", Poll::first, "S2_First"},         {"S2", Poll::news, "S2_News"},   {"S2", Poll::unchanged, "S2_Unchanged"},
    {"S3", Poll::first, "S3_First"},         {"S3", Poll::news, "S3_News"},   {"S3", Poll::unchanged, "S3_Unchanged"},
    {"S4", Poll::first, "S4_First"},         {"S4", Poll::news, "S4_News"},   {"S4", Poll::unchanged, "S4_Unchanged"},
    {"S5", Poll::first, "S5_First"},         {"S5", Poll::news, "S5_News"},   {"S6", Poll::first, "S6_First"},
    {"S6", Poll::news, "S6_News"},           {"S6", Poll::parts, "S6_Parts"}, {"S6", Poll::unchanged, "S6_Unchanged"},
    {"S7", Poll::parts, "S7_Parts"},         {"S8", Poll::first, "S8_First"}, {"S8", Poll::news, "S8_News"},
    {"S8", Poll::unchanged, "S8_Unchanged"},
};

class Zombies : public testing::TestWithParam<ZombieCase> {};

/// The posts and their feed's state, without the positions of timelines and notices, which any worker may advance.
std::map<std::string, std::string> written(const std::string& url) {
  auto all = fingerprint(url);
  std::erase_if(all, [](const auto& key) { return key.first.starts_with("deliver:"); });
  return all;
}

TEST_P(Zombies, ChangeNothing) {
  const auto [point, poll, name] = GetParam();
  TruthWorld it(durable("everysec"), {.text = 1000, .in_halves = poll != Poll::parts});
  ASSERT_NO_FATAL_FAILURE(it.import(1, 5));
  if (poll == Poll::first) {
    ASSERT_NO_FATAL_FAILURE(it.add_feeds(1, 5));
  } else {
    if (poll == Poll::news) it.truth.edit(0, 4);
    if (poll == Poll::parts) it.truth.publish(0, 250);
    it.make_all_due();
  }

  Environment stopping = lease(1000);
  stopping["FEEDMILL_PAUSE_AT"] = point;
  stopping["FEEDMILL_LOG_LEVEL"] = "debug";
  Program zombie({"run"}, it.world.with(stopping));
  ASSERT_TRUE(zombie.stopped()) << zombie.err();
  it.forget_delivery_right();
  const bool committed = std::string_view(point) == "S8";
  if (poll == Poll::news) it.truth.edit(0, 4);  // its claimed document becomes outdated
  if (committed) it.make_all_due();
  {
    Program other({"run"}, it.world.with(lease(30'000)));
    ASSERT_EQ(it.wrongs_once_caught_up(), "") << other.err();
    ASSERT_TRUE(eventually([&] { return other.err().find("event=ready") != std::string::npos; })) << other.err();
    // The zombie would be right to poll feeds that are still due.
    const std::string soon = std::to_string(it.world.store.now()->count() + 600'000);
    ASSERT_TRUE(eventually([&] {
      return it.world.redis_text({"ZCOUNT", "schedule", "-inf", soon}) == "0";
    })) << other.err();
    other.signal(SIGTERM);
    ASSERT_EQ(other.wait().exit, 0);
  }

  const auto before = written(it.world.redis.admin_url());
  zombie.signal(SIGCONT);
  if (!committed) {
    EXPECT_TRUE(eventually([&] { return zombie.err().find("store.stale") != std::string::npos; })) << zombie.err();
  }
  zombie.signal(SIGTERM);
  EXPECT_EQ(zombie.wait().exit, 0);
  EXPECT_EQ(written(it.world.redis.admin_url()), before);
  EXPECT_EQ(it.wrongs_now(Stage::caught_up), "");
}

INSTANTIATE_TEST_SUITE_P(All, Zombies, testing::ValuesIn(zombies), [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace feedmill::test::zombie_test
