#include "storage/feeds/memory_use.hpp"

#include "tests/storage/store_fixture.hpp"
#include "tests/support/eventually.hpp"

namespace feedmill::memory_use_test {
namespace {

using test::feed_url;

class MemoryUseTest : public test::StoreTest {
 protected:
  static EntryRecord long_post(int number) {
    const std::string name = "https://example.org/posts/" + std::to_string(number);
    EntryRecord record = test::StoreTest::post(name, 1000 + number);
    for (const char* field :
         {"author", "authors", "canonical_url", "categories", "date_published", "language", "media"})
      record.fields.emplace_back(field, name);
    record.fields.emplace_back("content", std::string(500 + 90 * static_cast<std::size_t>(number), 'x'));
    std::ranges::sort(record.fields);
    return record;
  }

  /// Stores a feed of 40 posts.
  void fill() {
    std::vector<EntryRecord> posts;
    for (int i = 0; i < 40; ++i) posts.push_back(long_post(i));
    add();
    refresh(posts);
  }

  MemoryUse measured() {
    const auto use = memory_use(store, std::vector{feed_url});
    EXPECT_TRUE(use);
    return use ? *use : MemoryUse();
  }

  /// Memory of the server without the scripts and the buffers of other clients; their reported size may be a second
  /// old.
  std::uint64_t used_memory() {
    redis({"SCRIPT", "FLUSH", "SYNC"});
    redis({"CLIENT", "KILL", "TYPE", "normal"});
    const std::string info = redis({"INFO", "memory"});
    EXPECT_TRUE(test::eventually([&] { return store.open().has_value(); }));
    const auto figure = [&](const std::string& name) {
      return std::stoull(info.substr(info.find(name) + name.size()));
    };
    return figure("used_memory:");
  }
};

TEST_F(MemoryUseTest, IsWhatAFeedAddsToTheServer) {
  fill();  // the first use of each command takes memory for statistics
  const std::uint64_t before = used_memory();
  const MemoryUse first = measured();
  const std::string other = "https://other.example.org/feed.xml";
  std::vector<EntryRecord> posts;
  for (int i = 0; i < 40; ++i) posts.push_back(long_post(400 + i));
  add(other);
  redis({"ZADD", "schedule", "XX", "1", other});
  for (const Claim& claimed : claim().claims) send(plan(claimed, posts));
  const auto added = static_cast<double>(used_memory() - before);
  const auto use = memory_use(store, std::vector{other});
  ASSERT_TRUE(use);
  EXPECT_EQ(use->feeds, 1U);
  EXPECT_EQ(use->posts, 6U);
  EXPECT_EQ(use->posts_a_feed, 40);
  const double told =
      use->feed_bytes + 40 * use->post_bytes + static_cast<double>(use->shared_bytes - first.shared_bytes);
  EXPECT_NEAR(told / added, 1, 0.1);
}

TEST_F(MemoryUseTest, OfListpacksIsForeseenFromHashTables) {
  fill();
  const MemoryUse loose = measured();
  EXPECT_EQ(redis({"OBJECT", "ENCODING", "Entry:1"}), "hashtable");
  EXPECT_GT(loose.saved_by_packing(), 0.1);
  redis({"FLUSHALL"});
  redis({"CONFIG", "SET", "hash-max-listpack-value", "65536"});
  ASSERT_TRUE(store.open());
  fill();
  const MemoryUse packed = measured();
  EXPECT_EQ(redis({"OBJECT", "ENCODING", "Entry:1"}), "listpack");
  EXPECT_LT(packed.saved_by_packing(), 0.05);
  EXPECT_NEAR(packed.post_bytes / loose.packed_post_bytes, 1, 0.05);
}

TEST_F(MemoryUseTest, PassesOverKeysOfTheWrongType) {
  fill();
  redis({"DEL", "Entry:1"});
  redis({"SET", "Entry:1", "x"});
  EXPECT_EQ(measured().feeds, 1U);
  redis({"DEL", feed_url + ":sort"});
  redis({"SET", feed_url + ":sort", "x"});
  EXPECT_EQ(measured().posts, 0U);
}

TEST_F(MemoryUseTest, OfAnEmptyStoreHasNoPosts) {
  const auto use = memory_use(store, {});
  ASSERT_TRUE(use);
  EXPECT_EQ(use->posts, 0U);
  EXPECT_EQ(measured().posts, 0U) << "not stored";
}

TEST(FeedSample, IsTheSameInAnyOrder) {
  FeedSample up(5), down(5);
  for (int i = 0; i < 100; ++i) up.add("https://example.org/" + std::to_string(i));
  for (int i = 99; i >= 0; --i) down.add("https://example.org/" + std::to_string(i));
  EXPECT_EQ(up.urls(), down.urls());
  EXPECT_EQ(up.urls().size(), 5U);
}

}  // namespace
}  // namespace feedmill::memory_use_test
