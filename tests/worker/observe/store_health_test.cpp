#include "worker/observe/store_health.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/log_in_memory.hpp"

namespace feedmill::store_health_test {
namespace {

using namespace std::chrono_literals;
using Code = StoreError::Code;

/// RELIABILITY E3.
TEST(Retries, WaitLongerEachTimeUpToACapWithJitter) {
  const StoreError away{Code::unavailable, ""};
  Milliseconds longest = 50ms;
  for (int attempt = 0; attempt < 40; ++attempt) {
    std::set<Milliseconds> waits;
    for (int i = 0; i < 200; ++i) waits.insert(wait_before_retry(away, attempt));
    EXPECT_GE(*waits.begin(), longest / 2) << attempt;
    EXPECT_LE(*waits.rbegin(), longest) << attempt;
    EXPECT_GT(waits.size(), 5U) << "no jitter";
    longest = std::min<Milliseconds>(longest * 2, 2s);
  }
}

TEST(Retries, ComeWithinFiveSecondsForUnwritableServersAndThirtyForRefusals) {
  for (const Code code : {Code::out_of_memory, Code::misconfigured}) {
    EXPECT_GE(wait_before_retry({code, ""}, 0), 2500ms);
    EXPECT_LE(wait_before_retry({code, ""}, 9), 5s);
  }
  EXPECT_LE(wait_before_retry({Code::misconfigured, "NOREPLICAS Not enough"}, 9), 2s);
  for (const Code code : {Code::auth, Code::tls}) {
    EXPECT_GE(wait_before_retry({code, ""}, 0), 15s);
    EXPECT_LE(wait_before_retry({code, ""}, 9), 30s);
    EXPECT_TRUE(needs_operator({code, ""}));
  }
}

TEST(Retries, ArePossibleForStateErrorsAndNotForRefusals) {
  for (const Code code : {Code::unavailable, Code::timeout, Code::loading, Code::out_of_memory, Code::misconfigured,
                          Code::read_only, Code::auth, Code::tls}) {
    EXPECT_TRUE(is_transient({code, ""}));
  }
  for (const Code code : {Code::refused, Code::unsupported, Code::bug}) EXPECT_FALSE(is_transient({code, ""}));
}

class OutagesTest : public testing::Test {
 protected:
  test::LogInMemory lines;
  Metrics metrics{{"test", "test", ""}};
  int began = 0;
  StoresAway away;
  Outages outages{metrics, lines.log(), away, [this] { ++began; }};
};

/// RELIABILITY E2. An expired server certificate looks like a closed connection at first.
TEST_F(OutagesTest, AreLoggedWhenTheyBeginAndWhenTheyNeedAnOperator) {
  StoreHealth health(outages);
  for (int i = 0; i < 3; ++i) health.mark_down({Code::unavailable, "closed"});
  health.mark_down({Code::misconfigured, "NOREPLICAS"});  // as each new primary answers for a moment
  for (int i = 0; i < 3; ++i) health.mark_down({Code::tls, "expired"});
  health.mark_down({Code::unavailable, "closed"});
  health.mark_down({Code::auth, "NOPERM"});  // the operator already knows
  EXPECT_TRUE(health.mark_up());
  health.mark_down({Code::out_of_memory, "OOM"});
  for (int i = 0; i < 3; ++i) health.mark_down({Code::misconfigured, "MISCONF"});
  const std::string text = lines.text();
  std::string told;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    for (const char* const word :
         {"event=redis_down", "event=redis_up", "closed", "expired", "NOPERM", "OOM", "MISCONF", "NOREPLICAS"}) {
      if (line.find(word) != std::string::npos) told.append(told.empty() ? "" : " ").append(word);
    }
  }
  EXPECT_EQ(told, "event=redis_down closed event=redis_down expired event=redis_up event=redis_down OOM");
}

/// In a process with several loops, which meet the outage differently and at different times.
TEST_F(OutagesTest, OfAnyLoopAreLoggedOnceAndLastUntilAllAreServed) {
  StoreHealth first(outages), second(outages);
  EXPECT_FALSE(first.mark_up());
  second.mark_down({Code::unavailable, "closed"});
  EXPECT_FALSE(outages.is_up()) << "one is enough";
  EXPECT_TRUE(first.is_up());
  first.mark_down({Code::timeout, "slow"});
  EXPECT_EQ(outages.trouble(), "slow");
  EXPECT_FALSE(second.mark_up());
  EXPECT_FALSE(outages.is_up());
  const auto outage = first.mark_up();
  ASSERT_TRUE(outage);
  EXPECT_EQ(outage->errors, 2U);
  EXPECT_TRUE(outages.is_up());
  EXPECT_EQ(outages.trouble(), "");
  EXPECT_EQ(began, 1);
  const std::string text = lines.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

/// RELIABILITY E2. A primary that has handed over names its successor; only if it does so for long is that an outage.
TEST_F(OutagesTest, AreNoneWhereAnotherServerIsFoundAtOnce) {
  StoreHealth health(outages);
  const StoreError moved{Code::loading, "MOVED 42 10.0.0.2:6379"}, lost{Code::unavailable, "they do not know yet"};
  auto now = StoreHealth::Clock::now();
  health.mark_down(moved, now);
  health.mark_down(lost, now + 100ms);
  EXPECT_TRUE(outages.is_up());
  EXPECT_FALSE(health.mark_up());
  now += 10s;
  health.mark_down(moved, now);
  EXPECT_TRUE(outages.is_up()) << "again";
  health.mark_down(moved, now + 600ms);
  EXPECT_FALSE(outages.is_up());
  EXPECT_TRUE(health.mark_up());
  health.mark_down(lost, now + 1s);
  EXPECT_FALSE(outages.is_up()) << "nobody has said where else";
}

/// A primary that has just taken over takes no writes before its replicas have found it (min-replicas-to-write).
TEST_F(OutagesTest, AreNoneWhileReplicasComeToANewPrimary) {
  StoreHealth health(outages);
  const StoreError alone{Code::misconfigured, "NOREPLICAS Not enough good replicas to write."};
  const auto now = StoreHealth::Clock::now();
  health.mark_down(alone, now);
  health.mark_down(alone, now + 14s);
  EXPECT_TRUE(outages.is_up());
  health.mark_down(alone, now + 16s);
  EXPECT_FALSE(outages.is_up()) << "they do not come";
  EXPECT_EQ(began, 1);
}

/// An outage of several stores is logged once.
TEST_F(OutagesTest, OfSeveralStoresEndWithTheLastOfThem) {
  Outages others{metrics, lines.log(), away};
  StoreHealth first(outages), second(others);
  first.mark_down({Code::unavailable, "closed"});
  second.mark_down({Code::unavailable, "closed"});
  EXPECT_FALSE(first.mark_up());
  const auto outage = second.mark_up();
  ASSERT_TRUE(outage);
  EXPECT_EQ(outage->errors, 2U);
}

/// In a process that serves many partitions, a failing node takes down its stores one after the other.
TEST(StoresAwayTest, AreReportedByTheFirstAndByTheLastToReturn) {
  StoresAway away;
  const auto now = StoresAway::Clock::now();
  const std::array<int, 4> stores{};
  EXPECT_TRUE(away.went(&stores[0], now));
  EXPECT_FALSE(away.went(&stores[1], now + 2s));
  EXPECT_FALSE(away.went(&stores[2], now + 11s)) << "9 s behind the one before";
  EXPECT_TRUE(away.went(&stores[0], now + 12s)) << "whoever tells of it goes on to";
  EXPECT_FALSE(away.came(&stores[0], 7, now + 13s));
  EXPECT_FALSE(away.went(&stores[0], now + 14s)) << "it was told";
  EXPECT_TRUE(away.went(&stores[3], now + 30s)) << "another outage";
  EXPECT_FALSE(away.came(&stores[1], 2, now + 31s));
  const auto another = away.came(&stores[3], 3, now + 32s);
  ASSERT_TRUE(another);
  EXPECT_EQ(another->stores, 1U);
  EXPECT_EQ(another->errors, 3U);
  EXPECT_EQ(another->away_for, 2s);
  EXPECT_FALSE(away.came(&stores[2], 1, now + 33s));
  const auto first = away.came(&stores[0], 1, now + 40s);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->stores, 3U);
  EXPECT_EQ(first->errors, 11U);
  EXPECT_EQ(first->away_for, 40s);
  EXPECT_FALSE(away.came(&stores[0], 1, now + 41s)) << "it was there";
}

}  // namespace
}  // namespace feedmill::store_health_test
