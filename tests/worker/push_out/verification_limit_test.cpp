// Sites that never confirmed are asked rarely, then not at all (WEBSUB U19).
#include "worker/push_out/verification_limit.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace feedmill::verification_limit_test {
namespace {

using Outcome = VerificationLimit::Outcome;

TEST(VerificationLimit, AreAskedOnceASecondUntilOneHasConfirmed) {
  VerificationLimit sites;
  ASSERT_TRUE(sites.add("a.example", false));
  ASSERT_TRUE(sites.add("b.example", false));
  EXPECT_EQ(sites.enter("a.example"), Milliseconds(0));
  for (int i = 0; i < 1'000; ++i) {
    const Milliseconds wait = sites.enter("a.example");
    EXPECT_GT(wait, Milliseconds(900));
    EXPECT_LE(wait, Milliseconds(5'000));
  }
  EXPECT_EQ(sites.enter("b.example"), Milliseconds(0)) << "another site";
  sites.leave("a.example", Outcome::confirmed);
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(sites.enter("a.example"), Milliseconds(0));
  for (int i = 0; i < 1'000; ++i) sites.leave("a.example", Outcome::failed);
  EXPECT_EQ(sites.closed_for("a.example"), Milliseconds(0)) << "it has confirmed";
}

/// Closes `site` by ten failures in a row.
void close(VerificationLimit& sites, const std::string& site) {
  for (int i = 0; i < 10; ++i) sites.leave(site, Outcome::failed);
}

TEST(VerificationLimit, AreClosedForTenMinutesAfterTenFailures) {
  VerificationLimit sites;
  ASSERT_TRUE(sites.add("a.example", false));
  for (int i = 0; i < 9; ++i) sites.leave("a.example", Outcome::failed);
  EXPECT_EQ(sites.closed_for("a.example"), Milliseconds(0));
  EXPECT_EQ(sites.enter("a.example"), Milliseconds(0));
  EXPECT_GT(sites.enter("a.example"), Milliseconds(0)) << "the one under way may be the tenth";
  sites.leave("a.example", Outcome::failed);
  EXPECT_GT(sites.closed_for("a.example"), std::chrono::minutes(9));
  EXPECT_LE(sites.closed_for("a.example"), std::chrono::minutes(10));
  ASSERT_TRUE(sites.add("a.example", true)) << "another worker has asked it";
  EXPECT_EQ(sites.closed_for("a.example"), Milliseconds(0));
}

TEST(VerificationLimit, CountsFailuresOfANetworkDespiteConfirmations) {
  VerificationLimit networks(100, VerificationLimit::Confirmed::keeps);
  const Milliseconds full(777);
  EXPECT_EQ(networks.enter("192.0.2.0", full), Milliseconds(0));
  EXPECT_GT(networks.enter("192.0.2.0", full), Milliseconds(0)) << "a second has not passed";
  networks.leave("192.0.2.0", Outcome::confirmed);
  EXPECT_EQ(networks.enter("192.0.2.0", full), Milliseconds(0)) << "it has confirmed";
  for (int i = 0; i < 9; ++i) networks.leave("192.0.2.0", Outcome::failed);
  networks.leave("192.0.2.0", Outcome::confirmed);
  EXPECT_EQ(networks.closed_for("192.0.2.0"), Milliseconds(0));
  networks.leave("192.0.2.0", Outcome::failed);
  EXPECT_GT(networks.closed_for("192.0.2.0"), std::chrono::minutes(9)) << "the tenth, with a confirmation before it";
  EXPECT_GT(networks.enter("192.0.2.0", full), std::chrono::minutes(9));
}

TEST(VerificationLimit, EvictsOnlyNamesThatAreNotClosed) {
  VerificationLimit networks(2, VerificationLimit::Confirmed::keeps);
  const Milliseconds full(777);
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(networks.enter(name, full), Milliseconds(0));
    networks.leave(name, Outcome::failed);
  }
  close(networks, "b");
  EXPECT_EQ(networks.enter("c", full), Milliseconds(0)) << "in the place of a";
  networks.leave("c", Outcome::failed);
  close(networks, "c");
  EXPECT_EQ(networks.enter("d", full), full) << "both are closed";
}

TEST(VerificationLimit, IsBoundedAndNeverEvictsClosedSites) {
  VerificationLimit sites(100);
  ASSERT_TRUE(sites.add("closed.example", false));
  close(sites, "closed.example");
  for (int i = 0; i < 1'000; ++i) EXPECT_TRUE(sites.add(std::to_string(i) + ".example", i % 2 == 0));
  EXPECT_FALSE(sites.knows("1.example"));
  EXPECT_GT(sites.closed_for("closed.example"), Milliseconds(0));
  for (int i = 901; i < 1'000; ++i) close(sites, std::to_string(i) + ".example");
  EXPECT_FALSE(sites.add("new.example", false)) << "all others are closed";
  EXPECT_GT(sites.enter("new.example"), Milliseconds(0));
}

}  // namespace
}  // namespace feedmill::verification_limit_test
