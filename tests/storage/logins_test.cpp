// Logins of feeds in the store (SECURITY K7).
#include "storage/feeds/logins.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/queues/requests.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::logins_test {
namespace {

using Names = std::vector<std::string>;

FeedLogin login(const std::string& name, const std::string& secret = "s3cret") {
  return {.name = name,
          .origin = "https://paper.example:8443",
          .user = "",
          .header = "X-Key",
          .by = "operator",
          .at = Milliseconds(1'795'000'000'123),
          .header_line = "X-Key: " + secret};
}

class LoginsTest : public test::StoreTest {
 protected:
  Names listed(const std::string& owner, const std::string& after, std::size_t limit) {
    const auto found = Logins(store).list(owner, after, limit);
    EXPECT_TRUE(found);
    Names names;
    for (const FeedLogin& one : found ? *found : std::vector<FeedLogin>()) {
      EXPECT_EQ(one.header_line, "") << "no list holds a secret";
      names.push_back(one.name);
    }
    return names;
  }
  std::string secret(const std::string& name) {
    const auto found = Logins(store).find(name);
    EXPECT_TRUE(found);
    return found && *found ? (*found)->header_line : "none";
  }
};

TEST_F(LoginsTest, AreFoundReplacedAndRemovedByName) {
  Logins logins(store);
  ASSERT_TRUE(*logins.put(login("reader/paper")));
  const auto found = logins.find("reader/paper");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->name, "reader/paper");
  EXPECT_EQ((*found)->origin, "https://paper.example:8443");
  EXPECT_EQ((*found)->user, "");
  EXPECT_EQ((*found)->header, "X-Key");
  EXPECT_EQ((*found)->by, "operator");
  EXPECT_EQ((*found)->at, Milliseconds(1'795'000'000'123));
  EXPECT_EQ((*found)->header_line, "X-Key: s3cret");
  ASSERT_TRUE(*logins.put(login("other/paper", "of another")));
  ASSERT_TRUE(*logins.put(login("reader/paper", "newer")));
  EXPECT_EQ(secret("reader/paper"), "X-Key: newer");
  EXPECT_TRUE(*logins.remove("reader/paper"));
  EXPECT_FALSE(*logins.remove("reader/paper"));
  EXPECT_EQ(secret("reader/paper"), "none");
  EXPECT_EQ(secret("other/paper"), "X-Key: of another");
  for (const char* name : {"", "/", "paper", "reader/", "/paper", "reader/paper/x", "a:b/c"})
    EXPECT_EQ(secret(name), "none") << name;
}

TEST_F(LoginsTest, AreListedByOwnerAndNamePageByPage) {
  EXPECT_EQ(listed("", "", 10), Names());
  for (const char* name : {"b/1", "a-b/z", "a/2", "a/10", "c/x"}) ASSERT_TRUE(*Logins(store).put(login(name)));
  EXPECT_EQ(listed("", "", 10), (Names{"a/10", "a/2", "a-b/z", "b/1", "c/x"}));
  EXPECT_EQ(listed("", "", 2), (Names{"a/10", "a/2"}));
  EXPECT_EQ(listed("", "a/10", 2), (Names{"a/2", "a-b/z"}));
  EXPECT_EQ(listed("", "a-b/z", 2), (Names{"b/1", "c/x"}));
  EXPECT_EQ(listed("", "c/x", 2), Names());
  EXPECT_EQ(listed("a", "", 10), (Names{"a/10", "a/2"}));
  EXPECT_EQ(listed("a", "a/10", 10), Names{"a/2"});
  EXPECT_EQ(listed("nobody", "", 10), Names());
}

TEST_F(LoginsTest, AreBoundedForEachOwner) {
  Logins logins(store);
  std::vector<std::string> words{"HSET", "secret:logins:full"};
  for (std::size_t i = 0; i < Logins::most_of_owner; ++i) words.insert(words.end(), {"n" + std::to_string(i), "x"});
  redis(words);
  EXPECT_FALSE(*logins.put(login("full/another")));
  EXPECT_TRUE(*logins.put(login("full/n7"))) << "one that is there";
  EXPECT_EQ(secret("full/n7"), "X-Key: s3cret");
  EXPECT_TRUE(*logins.put(login("other/another")));
  ASSERT_TRUE(*logins.remove("full/n8"));
  EXPECT_TRUE(*logins.put(login("full/another")));
}

TEST_F(LoginsTest, AreTheSameInEveryPartition) {
  redis({"FLUSHALL"});
  const auto at = [&](unsigned index) {
    return Store(StoreOptions{.url = server.url_of("feedmill"), .partition = {index, 4}});
  };
  Store third = at(3), first = at(0), second = at(1);
  for (Store* one : {&first, &second, &third}) ASSERT_TRUE(one->open());
  ASSERT_TRUE(*Logins(third).put(login("reader/paper")));
  EXPECT_TRUE(*Logins(first).find("reader/paper"));
  EXPECT_EQ(Logins(second).list("", "", 10)->size(), 1U);
  EXPECT_EQ(redis({"EXISTS", first.prefix() + "secret:logins:reader"}), "1");
  EXPECT_TRUE(*Logins(second).remove("reader/paper"));
  EXPECT_FALSE(*Logins(third).find("reader/paper"));
}

TEST_F(LoginsTest, AreVouchedForWithTheContentOfTheRequest) {
  RequestStream stream(store);
  Asked asked{.id = "1-1", .app = "reader", .ref = "r-1", .op = "set", .feed_url = "", .members = "", .hash = "h1"};
  EXPECT_FALSE(*stream.is_vouched(asked));
  ASSERT_TRUE(stream.vouch(asked, Milliseconds(60'000)));
  EXPECT_TRUE(*stream.is_vouched(asked));
  EXPECT_NE(redis({"PTTL", "secret:asked:reader:r-1"}), "-1") << "it ends by itself";
  asked.hash = "h2";
  EXPECT_FALSE(*stream.is_vouched(asked)) << "another request under the same ref";
  asked.hash = "";
  EXPECT_FALSE(*stream.is_vouched(asked));
  asked.hash = "h1";
  asked.ref = "r-2";
  EXPECT_FALSE(*stream.is_vouched(asked));
}

}  // namespace
}  // namespace feedmill::logins_test
