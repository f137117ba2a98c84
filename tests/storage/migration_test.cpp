// A store of schema 1, with a hash of digests for each feed, becomes one of schema 2 with packed digests.
#include <gtest/gtest.h>

#include "storage/entries/entries.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/lua/scripts.hpp"
#include "storage/upkeep/verify.hpp"
#include "tests/storage/filled_store.hpp"
#include "tests/support/fault_proxy.hpp"

namespace feedmill::test::migration_test {
namespace {

using Fault = FaultProxy::Fault;
const std::string items = "state:items:" + feed_url;

class Migration : public FilledStoreTest {
 protected:
  using Marks = std::map<std::string, std::string>;

  void fill() {
    load_scripts(server);  // so that each call is one command
    FilledStoreTest::fill({});
    Commit commit = plan(claim_one(), listed());
    commit.items = std::string(24, 'i');
    send(commit);
    for (const std::string& url : {feed_url, other}) before[url] = digests(url);
    EXPECT_EQ(redis({"EVAL", written_by_schema_1, "0"}), "3");
    EXPECT_EQ(redis({"HGET", feed_url + ":digests", "e"}), "t");
    EXPECT_EQ(redis({"GET", items}), std::string(24, 'i'));
  }
  /// The posts of its last document.
  static std::vector<EntryRecord> listed() {
    return {post("b", 1001), post("c", 1002), post("d", 1003), post("e", 1004), post("f", 1005)};
  }

  StoreResult<std::string> open() { return Store(StoreOptions{.url = server.url_of("feedmill")}).open(); }

  void expect_migrated() {
    for (const std::string& url : {feed_url, other}) {
      EXPECT_EQ(digests(url), before[url]);
      EXPECT_FALSE(before[url].empty());
      EXPECT_EQ(redis({"EXISTS", url + ":digests"}), "0");
    }
    EXPECT_TRUE(redis({"GET", items}).ends_with(std::string(24, 'i'))) << "items are still passed over";
    EXPECT_EQ(redis({"HMGET", "meta:store", "schema", "migrating"}), "2 (nil)");
    for (const Violation& one : *verify(store, {})) ADD_FAILURE() << one.kind << " " << one.detail;
    const std::size_t told = signals().size();
    EXPECT_EQ(refresh(listed()).modified, 0U);
    EXPECT_EQ(signals().size(), told) << "nothing is news";
  }

  std::map<std::string, Marks> before;
};

TEST_F(Migration, PacksTheDigestsOfEachFeedOnce) {
  EXPECT_EQ(redis({"HGET", "meta:store", "schema"}), "2") << "of a new store";
  fill();
  EXPECT_TRUE(Store(StoreOptions{.url = server.url_of("feedmill")}).open(false)) << "verbs that only read";
  EXPECT_EQ(redis({"HGET", "meta:store", "schema"}), "1");
  EXPECT_TRUE(verify(store, {})->empty()) << "it knows this form";
  ASSERT_TRUE(open());
  expect_migrated();
}

TEST_F(Migration, WaitsForWorkersOfAnOlderBuild) {
  fill();
  ASSERT_TRUE(Fleet(store).heartbeat(worker_a, {{"in_flight", "0"}}, Milliseconds(60'000)));
  const auto refused = open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, StoreError::Code::loading) << "a worker asks again";
  EXPECT_NE(refused.error().detail.find("1 workers of an earlier version are running"), std::string::npos);
  EXPECT_EQ(redis({"HGET", "meta:store", "schema"}), "1");
  EXPECT_EQ(redis({"HGET", feed_url + ":digests", "e"}), "t");
  redis({"DEL", "state:workers"});
  ASSERT_TRUE(Fleet(store).heartbeat(worker_b, {{"in_flight", "0"}}, Milliseconds(60'000), false));
  EXPECT_FALSE(open()) << "one that does not fetch writes, too";
  redis({"DEL", "state:workers:other"});
  ASSERT_TRUE(open());
  expect_migrated();
  ASSERT_TRUE(Fleet(store).heartbeat(worker_a, {{"in_flight", "0"}}, Milliseconds(60'000)));
  EXPECT_TRUE(open()) << "that one is of this build";
}

/// Whether the request or the reply of its n-th step is lost.
class InterruptedMigration : public Migration, public testing::WithParamInterface<std::pair<std::size_t, Fault>> {};

TEST_P(InterruptedMigration, ContinuesWithTheNextOpen) {
  fill();
  const auto [nth, fault] = GetParam();
  FaultProxy proxy(server.admin_url(), FaultProxy::Speaks::redis);
  proxy.at(runs_script(scripts::migrate), nth, fault);
  EXPECT_FALSE(Store(StoreOptions{.url = proxy.redis_url_of("feedmill")}).open());
  ASSERT_TRUE(proxy.wait_for_faults(1));
  const bool has_begun = nth > 1 || fault == Fault::cut_reply;
  EXPECT_EQ(redis({"HGET", "meta:store", "schema"}), has_begun ? "2" : "1");
  for (const Violation& one : *verify(store, {})) ADD_FAILURE() << one.kind << " " << one.detail;
  // A worker of this build that was already running continues.
  const std::size_t told = signals().size();
  EXPECT_EQ(refresh(listed()).modified, 0U);
  EXPECT_EQ(signals().size(), told);
  ASSERT_TRUE(open());
  expect_migrated();
}

INSTANTIATE_TEST_SUITE_P(
    Steps, InterruptedMigration,
    testing::Values(std::pair(std::size_t{1}, Fault::cut_request), std::pair(std::size_t{1}, Fault::cut_reply),
                    std::pair(std::size_t{2}, Fault::cut_request), std::pair(std::size_t{2}, Fault::cut_reply),
                    std::pair(std::size_t{3}, Fault::cut_request), std::pair(std::size_t{3}, Fault::cut_reply)),
    [](const auto& test) {
      return std::to_string(test.param.first) + (test.param.second == Fault::cut_reply ? "Reply" : "Request");
    });

TEST_F(Migration, IncludesFeedsThatAreBeingRemovedOrImported) {
  fill();
  redis({"SREM", "feeds", feed_url, other});
  redis({"HSET", "state:feed:" + feed_url, "removing", "1"});
  redis({"SADD", "state:removals", feed_url});
  redis({"ZADD", "state:imports", "1", other});
  ASSERT_TRUE(open());
  EXPECT_EQ(redis({"EXISTS", feed_url + ":digests", other + ":digests"}), "0");
}

TEST_F(Migration, TakesAFeedOfAnySize) {
  fill();
  std::vector<std::string> words{"HSET", feed_url + ":digests"};
  for (int i = 0; i < 3000; ++i) words.insert(words.end(), {"ghost " + std::to_string(i), std::string(64, 'd')});
  redis(words);
  redis({"SET", "state:items:" + other, std::string(std::size_t{1} << 20U, 'z')});
  redis({"SET", "state:items:" + resting, "z"});
  ASSERT_TRUE(open());
  expect_migrated();
  EXPECT_EQ(redis({"EXISTS", "state:items:" + resting}), "0") << "it has neither posts nor items";
}

/// Damages of the packed value.
class LostDigests : public Migration, public testing::WithParamInterface<std::vector<std::string>> {};

TEST_P(LostDigests, CauseNoEventAndReturnWithTheNextDocument) {
  FilledStoreTest::fill({});
  ASSERT_TRUE(Entries(store).save({feed_url, "e", {{"title", "An operator's"}}}));
  const Marks whole = digests();
  ASSERT_EQ(whole.size(), 3U);
  redis(GetParam());
  const std::size_t told = signals().size();
  Committed done = refresh(listed());
  EXPECT_EQ(done.created + done.modified + done.trimmed + done.events, 0U);
  EXPECT_EQ(signals().size(), told);
  EXPECT_EQ(redis({"HGET", "Entry:3", "title"}), "An operator's");
  std::vector<EntryRecord> more = listed();
  more.insert(more.begin(), post("g", 1006));
  done = refresh(more);
  EXPECT_EQ(done.created, 1U);
  EXPECT_EQ(done.events, 1U);
  EXPECT_EQ(refresh(more).events, 0U);
  Marks all = digests();
  ASSERT_EQ(all.size(), 4U);
  for (const auto& [id, mark] : whole) EXPECT_EQ(all[id], mark) << id;
}

INSTANTIATE_TEST_SUITE_P(
    Damages, LostDigests,
    testing::Values(std::vector<std::string>{"DEL", items}, std::vector<std::string>{"SET", items, ""},
                    std::vector<std::string>{"SET", items, std::string("\1\0\0\0", 4)},
                    std::vector<std::string>{"SET", items, "\xff\xff\xff\xff"},
                    std::vector<std::string>{"APPEND", items, "z"},
                    std::vector<std::string>{"SET", items, std::string(24, 'z')},
                    std::vector<std::string>{"SET", items, std::string(std::size_t{1} << 20U, 'z')}));

/// The rows are of entries, not of guids.
TEST_F(Migration, DistinguishesPostsWithEqualBeginningsOfGuids) {
  add();
  const std::string start(2000, 'g');
  refresh({post(start + "1", 100, "same"), post(start + "2", 200, "same")});
  EXPECT_EQ(digests().size(), 2U);
  const Committed done = refresh({post(start + "1", 100, "another"), post(start + "2", 200, "same")});
  EXPECT_EQ(done.modified, 1U);
  EXPECT_EQ(digests(), (Marks{{"Entry:1", packed_mark("another")}, {"Entry:2", packed_mark("same")}}));
  EXPECT_EQ(refresh({post(start + "1", 100, "another"), post(start + "2", 200, "same")}).events, 0U);
}

}  // namespace
}  // namespace feedmill::test::migration_test
