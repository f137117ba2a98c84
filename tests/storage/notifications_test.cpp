#include "storage/timelines/notifications.hpp"

#include <random>
#include <thread>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "storage/redis/redis.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::test::notifications_test {
namespace {

using Texts = std::vector<std::string>;

class NotificationsTest : public StoreTest {
 protected:
  void notify(const std::string& user, const std::string& id) {
    const Notice notice{user, id, R"({"id":")" + id + R"("})"};
    ASSERT_TRUE(notifications.add(std::span(&notice, 1)));
  }
  Texts ids(const std::string& user) {
    Texts all;
    for (const StoredNotice& notice : *notifications.list(user)) all.push_back(notice.id);
    return all;
  }

  Notifications notifications{store};
};

TEST_F(NotificationsTest, KeepsTheNewestThirtyNewestFirst) {
  for (int i = 1; i <= 33; ++i) notify("anna", std::to_string(i));
  notify("bob", "1");
  const Texts anna = ids("anna");
  ASSERT_EQ(anna.size(), 30U);
  EXPECT_EQ(anna.front(), "33");
  EXPECT_EQ(anna.back(), "4");
  EXPECT_EQ(redis({"HLEN", "hash:notification:user_id:anna"}), "30");
  EXPECT_EQ(ids("bob"), Texts{"1"});
  notify("anna", "33");
  EXPECT_EQ(ids("anna"), anna) << "an equal id is the same notice";
}

TEST_F(NotificationsTest, OperatorsLoseTheOldestOfTheMostFrequentKind) {
  const auto tell = [&](const std::string& id, const std::string& members) {
    const Notice notice{"_operator", id, R"({"id":")" + id + R"(",)" + members + "}"};
    ASSERT_TRUE(notifications.add(std::span(&notice, 1)));
  };
  tell("outage 1", R"("type":"store_outage","detail":"\"state\":\"never_read\"")");
  tell("2-0", R"("type":"feed_failing","state":"blocked")");
  for (int i = 3; i < 63; ++i) tell(std::to_string(i) + "-0", R"("type":"feed_failing","state":"never_read")");
  const Texts kept = ids("_operator");
  ASSERT_EQ(kept.size(), 30U);
  EXPECT_EQ(redis({"HLEN", "hash:notification:user_id:_operator"}), "30");
  EXPECT_EQ(kept.front(), "62-0");
  EXPECT_EQ(kept[27], "35-0");
  EXPECT_EQ(kept[28], "2-0") << "another state of the same event";
  EXPECT_EQ(kept[29], "outage 1");
}

TEST_F(NotificationsTest, PublishesNewNoticesOnceToUserTopicAndAll) {
  Redis listener(*parse_redis_url(server.url_of("feedmill_reader")), Milliseconds(5000));
  ASSERT_TRUE(listener.command({"PSUBSCRIBE", "notifications:*"}));
  const std::vector<Notice> notices{
      {"anna \xff\"",
       "7-1",
       R"({"id":"7-1","title":"x"})",
       1'000,
       "https://example.org/",
       {"words a \xfe b", "feed u"}},
      {"global", "7-1", R"({"id":"7-1"})"},
  };
  ASSERT_TRUE(notifications.add(notices));
  ASSERT_TRUE(notifications.add(notices)) << "again: nothing is new";
  redis({"PUBLISH", "notifications:end", "end"});
  std::vector<std::string> channels, messages;
  for (;;) {
    const auto message = listener.next();
    ASSERT_TRUE(message);
    channels.emplace_back((*message)[2].text());
    if (channels.back() == "notifications:end") break;
    messages.emplace_back((*message)[3].text());
  }
  EXPECT_EQ(channels, (Texts{"notifications:anna \xff\"", "notifications:global", "notifications:topic:words a \xfe b",
                             "notifications:topic:feed u", "notifications:global", "notifications:end"}));
  ASSERT_EQ(messages.size(), 5U);
  for (int i = 1; i < 4; ++i) EXPECT_EQ(messages[i], messages[0]);
  EXPECT_EQ(boost::json::parse(messages[0]),
            boost::json::parse(R"({"v":1,"type":"notification_created","entity_type":"notification","entity_id":"7-1",)"
                               R"("action":"created","timestamp":1000,"feed_url":"https://example.org/",)"
                               "\"user_id\":\"anna \uFFFD\\\"\","
                               R"("data":{"id":"7-1","title":"x"}})"));
  // A notice that is not stored is not published either.
  redis({"SET", "hash:notification:user_id:bob", "of another type"});
  const Notice refused{"bob", "8-1", R"({"id":"8-1"})"};
  EXPECT_FALSE(notifications.add(std::span(&refused, 1)));
  redis({"PUBLISH", "notifications:end", "end"});
  EXPECT_EQ((*listener.next())[2].text(), "notifications:end");
}

TEST_F(NotificationsTest, TurnsTheReadFlagInsideTheValueAndNothingElse) {
  for (const char* id : {"1", "2", "3"}) notify("anna", id);
  EXPECT_EQ(*notifications.mark_read("anna", Texts{"1", "3", "9"}), 2U);
  EXPECT_EQ(*notifications.mark_read("anna", Texts{"1"}), 0U);
  const auto all = *notifications.list("anna");
  EXPECT_EQ(all[0].json, R"({"read":true,"id":"3"})");
  EXPECT_EQ(all[1].json, R"({"read":false,"id":"2"})");
  EXPECT_EQ(*notifications.mark_unread("anna"), 2U);
  EXPECT_EQ(*notifications.remove("anna", Texts{"2"}), 1U);
  EXPECT_EQ(ids("anna"), (Texts{"3", "1"}));
  EXPECT_EQ(*notifications.remove("anna"), 2U);
  EXPECT_EQ(redis({"EXISTS", "list:notification:user_id:anna", "hash:notification:user_id:anna"}), "0");
}

TEST_F(NotificationsTest, ListAndHashAgreeWhateverEightWritersDo) {
  constexpr int writers = 8, rounds = 400;
  const Texts users{"anna", "bob", "_operator"};
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, writer] {
      Store own(StoreOptions{.url = server.url()});
      Notifications notices(own);
      Redis raw(*parse_redis_url(server.admin_url()), Milliseconds(5000));
      std::minstd_rand random(static_cast<unsigned>(writer + 1));
      for (int round = 0; round < rounds; ++round) {
        const std::string& user = users[random() % users.size()];
        const Texts id{std::to_string(random() % 200)};
        switch (random() % 6) {
          case 0:
            wrong += notices.remove(user, id) ? 0 : 1;
            break;
          case 1:
            wrong += notices.mark_read(user, random() % 8 == 0 ? Texts{} : id) ? 0 : 1;
            break;
          default: {
            const std::vector<Notice> some{{user, id.front(), R"({"by":1})"},
                                           {users[0], std::to_string(random() % 200), R"({"by":2})"}};
            wrong += notices.add(some) ? 0 : 1;
          }
        }
        const std::string script =
            "local l = redis.call('LRANGE', KEYS[1], 0, -1) local seen = {} for _, id in ipairs(l) do "
            "if seen[id] or redis.call('HEXISTS', KEYS[2], id) == 0 then return 1 end seen[id] = true end "
            "return (#l > 30 or redis.call('HLEN', KEYS[2]) ~= #l) and 1 or 0";
        const auto bad = raw.command(
            {"EVAL", script, "2", "list:notification:user_id:" + user, "hash:notification:user_id:" + user});
        wrong += bad && bad->integer() == 0 ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(redis({"LLEN", "list:notification:user_id:anna"}), "30") << "there was enough to be trimmed";
}

TEST_F(NotificationsTest, ReportsAListOfTheWrongType) {
  redis({"SET", "list:notification:user_id:anna", "spoilt"});
  const std::vector<Notice> some{{"anna", "1", R"({"a":1})"}, {"bob", "1", R"({"a":1})"}};
  const auto done = notifications.add(some);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, StoreError::Code::refused);
  EXPECT_EQ(ids("bob"), Texts{"1"}) << "one user's trouble is not another's";
}

TEST_F(NotificationsTest, KeepsRulesByUser) {
  const std::string before = *notifications.watch_version();
  const auto first = notifications.watch({"anna", "", Watch::Kind::words, "redis cluster"});
  const auto second = notifications.watch({"anna", "", Watch::Kind::feed, feed_url});
  ASSERT_TRUE(first && *first && second && *second);
  EXPECT_EQ(**notifications.watch({"anna", "", Watch::Kind::words, "redis cluster"}), **first);
  EXPECT_NE(*notifications.watch_version(), before);
  ASSERT_TRUE(notifications.watch({"bob", "", Watch::Kind::channel, "bob/my news"}));
  EXPECT_EQ(*notifications.watches("anna"), (std::vector<Watch>{{"anna", **first, Watch::Kind::words, "redis cluster"},
                                                                {"anna", **second, Watch::Kind::feed, feed_url}}));
  EXPECT_EQ(notifications.all_watches()->size(), 3U);
  EXPECT_EQ(*notifications.unwatch("anna", Texts{**first, "99"}), 1U);
  EXPECT_EQ(*notifications.unwatch("anna", Texts{**second}), 1U);
  EXPECT_EQ(notifications.all_watches()->front().target, "bob/my news");
  EXPECT_EQ(redis({"SMEMBERS", "state:watchers"}), "bob");
  for (std::size_t i = 0; i < max_watches; ++i) {
    ASSERT_TRUE(*notifications.watch({"anna", "", Watch::Kind::words, "w" + std::to_string(i)}));
  }
  EXPECT_FALSE(*notifications.watch({"anna", "", Watch::Kind::words, "one more"}));
  EXPECT_TRUE(*notifications.watch({"anna", "", Watch::Kind::words, "w7"})) << "it is there already";
}

}  // namespace
}  // namespace feedmill::test::notifications_test
