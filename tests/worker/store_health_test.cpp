#include "worker/store_health.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace feedmill {
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
    longest = std::min<Milliseconds>(longest * 2, 5s);
  }
}

TEST(Retries, OfAServerThatCannotWriteComeEveryFiveSecondsAndOfOneThatRefusesUsEveryThirty) {
  for (const Code code : {Code::out_of_memory, Code::misconfigured}) {
    EXPECT_GE(wait_before_retry({code, ""}, 0), 2500ms);
    EXPECT_LE(wait_before_retry({code, ""}, 9), 5s);
  }
  for (const Code code : {Code::auth, Code::tls}) {
    EXPECT_GE(wait_before_retry({code, ""}, 0), 15s);
    EXPECT_LE(wait_before_retry({code, ""}, 9), 30s);
    EXPECT_TRUE(needs_operator({code, ""}));
  }
}

TEST(Retries, AreOfUseForTheStoresStateAndNotForWhatWasAsked) {
  for (const Code code : {Code::unavailable, Code::timeout, Code::loading, Code::out_of_memory, Code::misconfigured,
                          Code::read_only, Code::auth, Code::tls}) {
    EXPECT_TRUE(is_passing({code, ""}));
  }
  for (const Code code : {Code::refused, Code::unsupported, Code::bug}) EXPECT_FALSE(is_passing({code, ""}));
}

}  // namespace
}  // namespace feedmill
