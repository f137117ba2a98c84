// What operators query: the state of a host, the server itself.
#include <gtest/gtest.h>

#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/feeds/hosts.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/store/store.hpp"
#include "tests/support/redis_server.hpp"

namespace feedmill::facts_test {
namespace {

class Facts : public testing::Test {
 protected:
  test::RedisServer server_;
  Store store_{StoreOptions{.url = server_.url()}};
};

TEST_F(Facts, OfAHostThatWasNotAskedAreNothing) {
  const auto host = Hosts(store_).state("a.example");
  ASSERT_TRUE(host.has_value());
  EXPECT_EQ(*host, HostState());
  EXPECT_EQ(test::redis_command(server_, {"DBSIZE"}), "0");
}

TEST_F(Facts, OfAHostAreWhatAClaimLeft) {
  ASSERT_TRUE(store_.open());
  ASSERT_TRUE(Feeds(store_).add(
      std::vector<NewFeed>{{.feed_url = "https://a.example:8443/1"}, {.feed_url = "https://a.example/2"}}));
  ClaimRequest request;
  request.worker = "0123456789abcdef0123456789abcdef";
  request.request = 1;
  request.max = 2;
  const auto batch = Ingest(store_).claim(request);
  ASSERT_TRUE(batch.has_value());
  ASSERT_EQ(batch->claims.size(), 1U);
  const auto host = Hosts(store_).state("a.example");
  ASSERT_TRUE(host.has_value());
  EXPECT_EQ(host->last_start, batch->now);
  EXPECT_EQ(host->waiting, 0U);
  const auto other_port = Hosts(store_).state("a.example:8443");
  EXPECT_EQ(other_port->waiting, 1U) << "in a line of its own";
  EXPECT_EQ(other_port->in_flight, 1U) << "of the same host";
  EXPECT_EQ(other_port->last_start, batch->now);
  EXPECT_EQ(host->in_flight, 1U);
  EXPECT_EQ(host->not_before, Milliseconds(0));
  ASSERT_TRUE(Ingest(store_).release(batch->claims));
  EXPECT_EQ(Hosts(store_).state("a.example")->in_flight, 0U);
}

TEST_F(Facts, OmitExpiredSlotsAndKeepUnknownFields) {
  test::redis_command(server_, {"HSET", "state:host:a.example", "s:dead", "1", "not_before", "17", "k", "3"});
  const auto host = Hosts(store_).state("a.example");
  ASSERT_TRUE(host.has_value());
  EXPECT_EQ(host->in_flight, 0U);
  EXPECT_EQ(host->not_before, Milliseconds(17));
  EXPECT_EQ(host->other, (Fields{{"k", "3"}}));
}

TEST_F(Facts, OfTheServerNeedNoStoreAndLeaveNothing) {
  const auto facts = Fleet(store_).server();
  ASSERT_TRUE(facts.has_value()) << facts.error().detail;
  EXPECT_NE(facts->server.find(' '), std::string::npos);
  EXPECT_EQ(facts->role, "master");
  EXPECT_EQ(facts->policy, "noeviction");
  EXPECT_EQ(facts->write_error, "");
  EXPECT_EQ(facts->last_save, "ok");
  EXPECT_GT(facts->used_memory, 0U);
  EXPECT_GT(facts->now.count(), 1'700'000'000'000);
  EXPECT_EQ(test::redis_command(server_, {"DBSIZE"}), "0");
}

TEST_F(Facts, NameWhyAServerCannotWrite) {
  test::redis_command(server_, {"ACL", "SETUSER", "feedmill", "-set"});
  const auto facts = Fleet(store_).server();
  ASSERT_TRUE(facts.has_value()) << facts.error().detail;
  EXPECT_NE(facts->write_error.find("NOPERM"), std::string::npos) << facts->write_error;
}

TEST_F(Facts, AnEmptyStoreStaysEmptyWhenToldSo) {
  EXPECT_TRUE(store_.open(false));
  EXPECT_EQ(test::redis_command(server_, {"DBSIZE"}), "0");
  EXPECT_TRUE(store_.open());
  EXPECT_EQ(test::redis_command(server_, {"DBSIZE"}), "1");
}

}  // namespace
}  // namespace feedmill::facts_test
