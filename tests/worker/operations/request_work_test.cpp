// Requests of clients against a real Redis: each operation, refs, order, takeover, invalid input (RELIABILITY Q1–Q4).
#include "worker/operations/request_work.hpp"

#include <algorithm>
#include <thread>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/feeds/logins.hpp"
#include "storage/timelines/channels.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_server.hpp"
#include "worker/config/config.hpp"
#include "worker/process/run_options.hpp"

namespace feedmill::request_work_test {
namespace {

namespace json = boost::json;

using namespace std::chrono_literals;

const std::string url = "https://example.org/feed.xml";

Config plain_config() {
  const auto loaded = load_config(ConfigSources());
  EXPECT_TRUE(loaded);
  return loaded ? *loaded : Config();
}

class RequestWorkTest : public testing::Test {
 protected:
  RequestWorkTest() { EXPECT_TRUE(store.open()); }

  static Requests::Options options_of(char worker) {
    Requests::Options options;
    options.token = std::string(32, worker);
    return options;
  }

  std::string redis(const std::vector<std::string>& words) { return test::redis_command(server, words); }

  /// Adds a request and returns its stream id.
  std::string ask(std::vector<std::string> fields) {
    fields.insert(fields.begin(), {"XADD", "stream:requests", "*"});
    return redis(fields);
  }

  void work_off(RequestWork& with) {
    for (int steps = 0; steps < 1000; ++steps) {
      const auto step = with.step(rules);
      ASSERT_TRUE(step) << step.error().detail;
      if (step->idle || step->waiting) return;
    }
    FAIL() << "it never came to an end";
  }
  void work_off() { work_off(work); }

  /// The answers to a request, oldest first.
  std::vector<json::object> answers(const std::string& id) {
    std::vector<json::object> found;
    const auto records = EventStream(store).read("0", 100'000, Milliseconds(0));
    EXPECT_TRUE(records);
    for (const EventRecord& record : *records) {
      json::object event = json::parse(record.json).as_object();
      if (event.at("entity_type") == "request" && event.at("entity_id").as_string() == id) found.push_back(event);
    }
    return found;
  }
  /// The only answer to a request, such as "done added" or "failed no_such_feed".
  std::string answer(const std::string& id) {
    const auto all = answers(id);
    EXPECT_EQ(all.size(), 1U) << id;
    if (all.size() != 1) return {};
    const json::object& data = all[0].at("data").as_object();
    return all[0].at("type") == "request_done" ? "done " + std::string(data.at("result").as_string())
                                               : "failed " + std::string(data.at("reason").as_string());
  }
  /// Adds a request, executes it, and returns its answer.
  std::string result(const std::vector<std::string>& fields) {
    const std::string id = ask(fields);
    work_off();
    return answer(id);
  }

  test::RedisServer server;
  Store store{StoreOptions{.url = server.url()}};
  RequestRules rules = request_rules(plain_config());
  RequestWork work{StoreOptions{.url = server.url()}, options_of('a')};
};

TEST_F(RequestWorkTest, CarriesOutEachOperation) {
  EXPECT_EQ(result({"op", "add", "url", "HTTPS://Example.org/feed.xml", "channel", "anna/news", "title", "Notes",
                    "set.keep", "20"}),
            "done added");
  EXPECT_EQ(redis({"SISMEMBER", "channel:anna/news:feeds", url}), "1");
  EXPECT_EQ(redis({"HGET", "state:feed:" + url, "settings"}), "{\"keep\":20}");
  EXPECT_EQ(redis({"HGET", "channel:anna/news:titles", url}), "Notes");
  EXPECT_EQ(redis({"HGET", "Feed:" + url, "title"}), "(nil)") << "that is the publisher's";
  EXPECT_EQ(result({"op", "add", "url", url, "channel", "anna/news", "title", ""}), "done present");
  EXPECT_EQ(redis({"HGET", "channel:anna/news:titles", url}), "(nil)") << "an empty one removes the channel's";
  EXPECT_EQ(result({"op", "add", "url", url, "channel", "bert/all"}), "done present");
  EXPECT_EQ(redis({"SISMEMBER", "channel:bert/all:feeds", url}), "1") << "a known feed goes into a channel, too";

  EXPECT_EQ(result({"op", "set", "url", url, "set.keep", "30", "set.interval_min", "2h"}), "done set");
  EXPECT_EQ(redis({"HGET", "state:feed:" + url, "settings"}), "{\"keep\":30,\"interval_min\":7200}");
  EXPECT_EQ(result({"op", "pause", "url", url}), "done paused");
  EXPECT_EQ(result({"op", "pause", "url", url}), "done paused_already");
  EXPECT_EQ(result({"op", "refresh", "url", url}), "failed paused");
  EXPECT_EQ(result({"op", "resume", "url", url}), "done resumed");
  EXPECT_EQ(result({"op", "resume", "url", url}), "done not_paused");
  EXPECT_EQ(result({"op", "refresh", "url", url}), "done due");
  EXPECT_EQ(result({"op", "move", "url", url, "to", "https://example.org/new.xml"}), "done moved");
  EXPECT_EQ(result({"op", "move", "url", url, "to", "https://example.org/new.xml"}), "done same");
  EXPECT_EQ(result({"op", "move", "url", url, "undo", "yes"}), "done moved");
  EXPECT_EQ(result({"op", "move", "url", url, "to", "https://example.org/new.xml", "undo", "no"}), "done moved");
  EXPECT_EQ(result({"op", "move", "url", url, "undo", "yes"}), "done moved");
  EXPECT_EQ(redis({"HGET", "state:feed:" + url, "fetch_url"}), "(nil)");

  const std::vector<std::string> put{"op", "entry_put", "url", url, "guid", "a", "entry", R"({"title":"One"})"};
  EXPECT_EQ(result(put), "done created");
  EXPECT_EQ(result(put), "done unchanged");
  EXPECT_EQ(result({"op", "entry_put", "url", url, "entry", R"({"guid":"a","title":"Two"})"}), "done modified");
  EXPECT_EQ(redis({"HGET", "Entry:1", "title"}), "Two");

  EXPECT_EQ(result({"op", "channel_follow", "channel", "anna/news", "url", url}), "done followed_already");
  EXPECT_EQ(redis({"ZCARD", "zchannel:anna/news:posts"}), "1");
  EXPECT_EQ(result({"op", "channel_mark", "channel", "anna/news", "as", "read", "entries", "1 Entry:1"}),
            "done marked");
  EXPECT_EQ(redis({"ZCARD", "zchannel:anna/news:posts"}), "0");
  EXPECT_EQ(result({"op", "channel_mark", "channel", "anna/news", "as", "unread", "entries", "Entry:1"}),
            "done marked");
  EXPECT_EQ(redis({"ZCARD", "zchannel:anna/news:posts"}), "1");
  EXPECT_EQ(result({"op", "channel_mark", "channel", "anna/news", "as", "read", "entries", "all"}), "done marked");
  EXPECT_EQ(redis({"ZCARD", "zchannel:anna/news:posts"}), "0");
  EXPECT_EQ(result({"op", "channel_unfollow", "channel", "anna/news", "url", url}), "done unfollowed");
  EXPECT_EQ(result({"op", "channel_unfollow", "channel", "anna/news", "url", url}), "done not_followed");
  EXPECT_EQ(result({"op", "channel_follow", "channel", "anna/news", "url", url}), "done followed");

  EXPECT_EQ(result({"op", "entry_remove", "id", "Entry:1"}), "done removed");
  EXPECT_EQ(redis({"EXISTS", "Entry:1"}), "0");
  EXPECT_EQ(result({"op", "remove", "url", url}), "done removed");
  EXPECT_EQ(redis({"EXISTS", "state:feed:" + url, "channel:anna/news:feeds", "channel:bert/all:feeds"}), "0");
  EXPECT_EQ(redis({"XLEN", "stream:requests"}), "0");
  EXPECT_EQ(redis({"EXISTS", "state:requests"}), "0") << "nothing is left in hand";
}

TEST_F(RequestWorkTest, KeepsChannelsNoticesAndRules) {
  EXPECT_EQ(result({"op", "channel_add", "channel", "anna/a"}), "done added");
  EXPECT_EQ(result({"op", "channel_add", "channel", "anna/a"}), "done present");
  EXPECT_EQ(result({"op", "channel_add", "channel", "anna/b"}), "done added");
  EXPECT_EQ(result({"op", "channel_order", "channels", R"(["anna/b","anna/a"])"}), "done ordered");
  EXPECT_EQ(redis({"GET", "channel_sortorder_anna/b"}), "1");
  EXPECT_EQ(result({"op", "channel_order", "channels", R"(["anna/b","none"])"}), "failed no_such_channel");
  EXPECT_EQ(result({"op", "add", "url", url, "channel", "anna/a"}), "done added");
  EXPECT_EQ(result({"op", "watch_add", "user", "anna", "channel", "anna/a"}), "done watching");
  EXPECT_EQ(result({"op", "watch_add", "user", "anna", "words", "redis cluster"}), "done watching");
  EXPECT_EQ(redis({"HVALS", "state:watches:anna"}), "channel anna/a words redis cluster");
  EXPECT_EQ(result({"op", "channel_remove", "channel", "anna/a"}), "done removed");
  EXPECT_EQ(redis({"HVALS", "state:watches:anna"}), "words redis cluster") << "what watched it goes, too";
  EXPECT_EQ(redis({"EXISTS", "channel:anna/a:feeds", "state:channels:" + url}), "0");
  EXPECT_EQ(result({"op", "channel_remove", "channel", "anna/a"}), "failed no_such_channel");
  EXPECT_EQ(result({"op", "watch_remove", "user", "anna", "id", "2"}), "done removed");
  EXPECT_EQ(result({"op", "watch_remove", "user", "anna", "id", "2"}), "failed no_such_rule");

  redis({"LPUSH", "list:notification:user_id:anna", "1-1", "2-1"});
  redis({"HSET", "hash:notification:user_id:anna", "1-1", R"({"read":false,"id":"1-1"})", "2-1",
         R"({"read":false,"id":"2-1"})"});
  EXPECT_EQ(result({"op", "notice_mark", "user", "anna", "as", "read", "notices", "1-1 9-9"}), "done marked");
  EXPECT_EQ(redis({"HGET", "hash:notification:user_id:anna", "1-1"}), R"({"read":true,"id":"1-1"})");
  EXPECT_EQ(redis({"HGET", "hash:notification:user_id:anna", "2-1"}), R"({"read":false,"id":"2-1"})");
  const std::string all = ask({"op", "notice_mark", "user", "anna", "as", "read", "notices", "all"});
  work_off();
  EXPECT_EQ(answers(all).at(0).at("data").at("changed"), 1);
  EXPECT_EQ(result({"op", "notice_mark", "user", "anna", "as", "unread", "notices", "all"}), "failed bad_value");

  // The worker that removed the channel died before it answered.
  const std::string resumed = ask({"op", "channel_remove", "channel", "anna/gone"});
  redis({"HSET", "state:requests", resumed, std::string(32, 'b') + " 1 begun"});
  work_off();
  EXPECT_EQ(answer(resumed), "done removed");
  EXPECT_EQ(redis({"EXISTS", "state:requests"}), "0");
}

TEST_F(RequestWorkTest, ReportsMissingFeedsAndChannels) {
  EXPECT_EQ(redis({"SADD", "channels", "news"}), "1");
  for (const char* const op : {"remove", "pause", "resume", "refresh"}) {
    EXPECT_EQ(result({"op", op, "url", url}), "failed no_such_feed") << op;
  }
  EXPECT_EQ(result({"op", "set", "url", url, "set.keep", "1"}), "failed no_such_feed");
  EXPECT_EQ(result({"op", "move", "url", url, "to", "https://example.org/b"}), "failed no_such_feed");
  EXPECT_EQ(result({"op", "move", "url", url, "undo", "yes"}), "failed no_such_feed");
  EXPECT_EQ(result({"op", "channel_follow", "channel", "news", "url", url}), "failed no_such_feed");
  EXPECT_EQ(result({"op", "entry_put", "url", url, "guid", "a", "entry", "{}"}), "failed no_such_feed");
  EXPECT_EQ(result({"op", "entry_remove", "id", "7"}), "failed no_such_entry");
  EXPECT_EQ(result({"op", "entry_remove", "id", "{p001.d}:Entry:7"}), "failed no_such_entry") << "of another store";
  EXPECT_EQ(result({"op", "add", "url", url}), "done added");
  EXPECT_EQ(result({"op", "move", "url", url, "undo", "yes"}), "failed not_moved");
  EXPECT_EQ(result({"op", "add", "url", "https://example.org/b"}), "done added");
  EXPECT_EQ(result({"op", "move", "url", url, "to", "https://example.org/b"}), "failed taken");
  for (const char* const op : {"channel_follow", "channel_unfollow"}) {
    EXPECT_EQ(result({"op", op, "channel", "other", "url", url}), "failed no_such_channel") << op;
  }
  EXPECT_EQ(result({"op", "channel_mark", "channel", "other", "as", "read", "entries", "all"}),
            "failed no_such_channel");
  EXPECT_EQ(result({"op", "channel_mark", "channel", "other", "as", "read", "entries", "1"}), "failed no_such_channel");
}

TEST_F(RequestWorkTest, AnswersWhatMakesNoSense) {
  const std::string binary("\xff\x00\x01\"\\", 5);
  EXPECT_EQ(result({"op", "nonsense"}), "failed unknown_op");
  EXPECT_EQ(result({"url", url}), "failed missing_field");
  EXPECT_EQ(result({binary, binary}), "failed missing_field");
  EXPECT_EQ(result({"op", binary}), "failed unknown_op");
  EXPECT_EQ(result({"op", "add"}), "failed missing_field");
  EXPECT_EQ(result({"op", "add", "url", url, "urls", url}), "failed unknown_field");
  EXPECT_EQ(result({"op", "add", "url", url, binary, binary}), "failed unknown_field");
  EXPECT_EQ(result({"op", "add", "url", url, "url", url}), "failed bad_value");
  EXPECT_EQ(result({"op", "add", "url", binary}), "failed bad_value");
  EXPECT_EQ(result({"op", "add", "url", "ftp://example.org/"}), "failed bad_value");
  EXPECT_EQ(result({"op", "add", "url", "https://u:p@example.org/feed"}), "failed bad_value");
  EXPECT_EQ(result({"op", "add", "url", url, "channel", binary}), "failed bad_value");
  EXPECT_EQ(result({"op", "add", "url", url, "channel", "\xff"}), "failed bad_value");
  EXPECT_EQ(result({"op", "add", "url", url, "channel", "/a"}), "failed bad_value");
  EXPECT_EQ(result({"op", "channel_add", "channel", "a/"}), "failed bad_value");
  EXPECT_EQ(result({"op", "watch_add", "user", "\xff", "words", "w"}), "failed bad_value");
  EXPECT_EQ(result({"op", "watch_add", "user", "anna", "words", "w\xff"}), "failed bad_value");
  EXPECT_EQ(result({"op", "channel_remove", "channel", "/a"}), "failed no_such_channel") << "it might be there";
  EXPECT_EQ(result({"op", "watch_remove", "user", "a/b", "id", "1"}), "failed no_such_rule");
  EXPECT_EQ(result({"op", "add", "url", url, "title", binary}), "failed bad_value");
  EXPECT_EQ(result({"op", "add", "url", url, "app", "a b"}), "failed bad_value");
  EXPECT_EQ(result({"op", "add", "url", url, "ref", binary}), "failed bad_value");
  EXPECT_EQ(result({"op", "add", "url", url, "set.keep", "many"}), "failed bad_value");
  EXPECT_EQ(result({"op", "add", "url", url, "set.policy", "unheard-of"}), "failed bad_value");
  EXPECT_EQ(result({"op", "add", "url", url, "set.nothing", "1"}), "failed bad_value");
  EXPECT_EQ(result({"op", "move", "url", url}), "failed missing_field");
  EXPECT_EQ(result({"op", "channel_mark", "channel", "news", "as", "seen", "entries", "1"}), "failed bad_value");
  EXPECT_EQ(result({"op", "channel_mark", "channel", "news", "as", "read", "entries", binary}), "failed bad_value");
  EXPECT_EQ(result({"op", "channel_mark", "channel", "news", "as", "unread", "entries", "all"}), "failed bad_value");
  EXPECT_EQ(result({"op", "entry_put", "url", url, "guid", "a", "entry", "{"}), "failed bad_value");
  EXPECT_EQ(result({"op", "entry_put", "url", url, "guid", "a", "entry", "[]"}), "failed bad_value");
  EXPECT_EQ(redis({"SCARD", "feeds"}), "0");
  EXPECT_EQ(redis({"XLEN", "stream:requests"}), "0");
}

TEST_F(RequestWorkTest, RefusesAddressesThatThePolicyClosesAsTheyAreWritten) {
  for (const char* const closed : {"http://127.0.0.1/feed", "http://[::1]/feed", "http://169.254.169.254/feed.xml",
                                   "https://198.41.0.4:22/feed", "http://0x7f000001/feed"}) {
    EXPECT_EQ(result({"op", "add", "url", closed}), "failed refused_address") << closed;
  }
  EXPECT_EQ(result({"op", "add", "url", url}), "done added");
  EXPECT_EQ(result({"op", "move", "url", url, "to", "http://10.0.0.1/feed"}), "failed refused_address");
  EXPECT_EQ(redis({"SCARD", "feeds"}), "1");
}

TEST_F(RequestWorkTest, RejectsOversizedRequestsUnread) {
  const std::string ref = "long-1";
  const std::string large = ask({"op", "add", "ref", ref, "url", url, "title", std::string(1 << 20, 'x')});
  std::vector<std::string> many{"op", "add", "url", url};
  for (int i = 0; i < 300; ++i) many.insert(many.end(), {"f" + std::to_string(i), "x"});
  const std::string wide = ask(many);
  const std::string after = ask({"op", "add", "url", url});
  work_off();
  EXPECT_EQ(answer(large), "failed too_long");
  EXPECT_EQ(answers(large)[0].at("ref").as_string(), ref);
  EXPECT_EQ(answer(wide), "failed too_long");
  EXPECT_EQ(answer(after), "done added");
}

TEST_F(RequestWorkTest, WakesOnANewRequest) {
  const auto come = [&](Milliseconds longest) -> StoreResult<bool> {
    const auto begun = work.begin_to_wait(longest);
    if (!begun) return begun.error();
    EXPECT_GE(begun->socket, 0);
    return work.has_come();
  };
  EXPECT_FALSE(*come(20ms));
  std::thread program([this] {
    EXPECT_TRUE(test::eventually([&] {
      return redis({"INFO", "clients"}).find("blocked_clients:1") != std::string::npos;
    }));
    ask({"op", "add", "url", url});
  });
  EXPECT_TRUE(*come(60s));
  program.join();
  EXPECT_TRUE(*come(60s)) << "it is there still";
  work_off();
  EXPECT_FALSE(*come(20ms));

  const std::string large = ask({"op", "add", "url", url, "title", std::string(4 << 20, 'x')});
  const auto longer = come(60s);
  ASSERT_FALSE(longer);
  EXPECT_NE(longer.error().detail.find("longer than it may be"), std::string::npos) << longer.error().detail;
  work_off();
  EXPECT_EQ(answer(large), "failed too_long");
}

TEST_F(RequestWorkTest, TakesByBytes) {
  Requests requests(store, options_of('a'));
  for (int i = 0; i < 6; ++i) ask({"op", "add", "url", url, "title", std::string(400 << 10, 'x')});
  const auto taken = requests.take();
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->records.size(), 2U) << "1 MiB together";
  for (int i = 0; i < 400; ++i) ask({"op", "nonsense"});
  work_off();
  EXPECT_EQ(redis({"XLEN", "stream:requests"}), "0");
}

TEST_F(RequestWorkTest, ARefIsAnsweredAgainAndChangesNothing) {
  const std::vector<std::string> asked{"op", "add", "url", url, "app", "reader", "ref", "1"};
  EXPECT_EQ(result(asked), "done added");
  EXPECT_EQ(result({"op", "remove", "url", url}), "done removed");
  const std::string again = ask(asked);
  const std::string turned = ask({"ref", "1", "url", url, "app", "reader", "op", "add"});
  const std::string other = ask({"op", "pause", "url", url, "app", "reader", "ref", "1"});
  const std::string elsewhere = ask({"op", "pause", "url", url, "app", "mailer", "ref", "1"});
  work_off();
  EXPECT_EQ(answer(again), "done added") << "as it was answered";
  EXPECT_TRUE(answers(again)[0].at("repeated").as_bool());
  EXPECT_EQ(answer(turned), "done added") << "the order of fields is nothing";
  EXPECT_EQ(answer(other), "failed ref_reused");
  EXPECT_EQ(answer(elsewhere), "failed no_such_feed") << "another application's is another";
  EXPECT_EQ(redis({"SCARD", "feeds"}), "0") << "nothing was done again";
  const std::string failed = ask({"op", "pause", "url", url, "app", "mailer", "ref", "1"});
  work_off();
  EXPECT_EQ(answer(failed), "failed no_such_feed");
  EXPECT_TRUE(answers(failed)[0].contains("repeated"));
  EXPECT_EQ(redis({"PTTL", "state:request:reader:1"}).size(), 9U) << "7 days in ms, begun";
}

TEST_F(RequestWorkTest, KeepsTheOrderOfAFeed) {
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    ids.push_back(ask({"op", "add", "url", url, "channel", "c" + std::to_string(i)}));
    ids.push_back(ask({"op", "pause", "url", url}));
    ids.push_back(ask({"op", "remove", "url", url}));
    ids.push_back(ask({"op", "pause", "url", url}));
  }
  work_off();
  for (std::size_t i = 0; i < ids.size(); i += 4) {
    EXPECT_EQ(answer(ids[i]), "done added");
    EXPECT_EQ(answer(ids[i + 1]), "done paused");
    EXPECT_EQ(answer(ids[i + 2]), "done removed");
    EXPECT_EQ(answer(ids[i + 3]), "failed no_such_feed");
  }
}

/// Stores posts of a feed directly, without the worker.
void fill(Store& store, const std::string& feed_url, int posts) {
  for (int i = 0; i < posts; ++i) {
    GivenEntry entry;
    entry.feed_url = feed_url;
    entry.guid = std::to_string(i);
    ASSERT_TRUE(Entries(store).save(entry));
  }
}

TEST_F(RequestWorkTest, ALongRequestDelaysOnlyRequestsOfTheSameNames) {
  const std::string other = "https://example.org/other";
  EXPECT_EQ(result({"op", "add", "url", url, "channel", "news"}), "done added");
  EXPECT_EQ(result({"op", "add", "url", other, "channel", "all"}), "done added");
  fill(store, url, 350);
  work.part = Milliseconds(0);  // each part is one step
  const std::string removal = ask({"op", "remove", "url", url});
  const std::string first = ask({"op", "pause", "url", other});
  const std::string behind = ask({"op", "add", "url", url, "channel", "all"});
  const std::string far_behind = ask({"op", "channel_unfollow", "url", "https://example.org/third", "channel", "all"});
  const std::string second = ask({"op", "resume", "url", other});
  ASSERT_TRUE(work.step(rules));
  EXPECT_EQ(answer(first), "done paused");
  EXPECT_EQ(answer(second), "done resumed");
  for (const std::string& id : {removal, behind, far_behind}) EXPECT_TRUE(answers(id).empty()) << id;
  EXPECT_EQ(redis({"HGET", "state:requests", removal}), "- 0 begun") << "it is in nobody's hand between its parts";

  const std::string later = ask({"op", "pause", "url", other});
  const auto step = work.step(rules);
  ASSERT_TRUE(step);
  EXPECT_FALSE(step->idle || step->resting);
  EXPECT_EQ(answer(later), "done paused") << "what comes while it is under way does not wait either";
  EXPECT_TRUE(answers(removal).empty());
  work_off();
  EXPECT_EQ(answer(removal), "done removed");
  EXPECT_EQ(answer(behind), "done added") << "in its order";
  EXPECT_EQ(answer(far_behind), "done not_followed");
  EXPECT_EQ(redis({"ZCARD", url + ":sort"}), "0");
  EXPECT_EQ(redis({"ZCARD", "zchannel:news:posts"}), "0");
  EXPECT_EQ(redis({"EXISTS", "state:requests"}), "0");
}

TEST_F(RequestWorkTest, AnyNumberOfLongOnesIsUnderWay) {
  std::vector<std::string> removals;
  for (int i = 0; i < 20; ++i) {
    const std::string one = url + std::to_string(i);
    EXPECT_EQ(result({"op", "add", "url", one, "channel", "news"}), "done added");
    fill(store, one, 250);
    removals.push_back(one);
  }
  work.part = Milliseconds(0);
  for (std::string& one : removals) one = ask({"op", "remove", "url", one});
  const std::string small = ask({"op", "add", "url", url});
  ASSERT_TRUE(work.step(rules));
  EXPECT_EQ(answer(small), "done added");
  for (const std::string& id : removals) EXPECT_TRUE(answers(id).empty());
  work_off();
  for (const std::string& id : removals) EXPECT_EQ(answer(id), "done removed");
}

TEST_F(RequestWorkTest, PartsOfALongOneComeToTheSameAsTheWhole) {
  const std::string other = "https://example.org/other";
  for (const std::string& one : {url, other}) EXPECT_EQ(result({"op", "add", "url", one}), "done added");
  fill(store, url, 1200);
  fill(store, other, 700);
  for (const std::string& one : {url, other}) {
    EXPECT_EQ(result({"op", "add", "url", one, "channel", "news"}), "done present");
  }
  EXPECT_EQ(result({"op", "add", "url", url, "channel", "more"}), "done present");
  EXPECT_EQ(redis({"ZCARD", "zchannel:more:posts"}), "1200");
  EXPECT_EQ(redis({"ZCARD", "zchannel:news:posts"}), "1900");
  work.part = Milliseconds(0);
  const std::string marked = ask({"op", "channel_mark", "channel", "more", "as", "read", "entries", "all"});
  const std::string out = ask({"op", "channel_unfollow", "channel", "news", "url", url});
  ASSERT_TRUE(work.step(rules));
  EXPECT_TRUE(answers(marked).empty());
  EXPECT_TRUE(answers(out).empty());
  work_off();
  EXPECT_EQ(answer(marked), "done marked");
  EXPECT_EQ(answer(out), "done unfollowed");
  EXPECT_EQ(redis({"ZCARD", "zchannel:more:posts"}), "0");
  EXPECT_EQ(redis({"ZCARD", "zchannel:news:posts"}), "700");
  EXPECT_EQ(redis({"ZCARD", "zchannel:news:all"}), "700");
  EXPECT_EQ(Channels(store).unbuilt()->size(), 0U);
}

/// A removal is in progress when another request kills the workers.
TEST_F(RequestWorkTest, CrashOfAnotherRequestDoesNotCountAgainstAWaitingOne) {
  EXPECT_EQ(result({"op", "add", "url", url}), "done added");
  fill(store, url, 450);
  const std::string removal = ask({"op", "remove", "url", url});
  const std::string killer = ask({"op", "add", "url", "https://example.org/killer"});
  for (const char worker : {'b', 'c', 'd'}) {
    RequestWork mortal(StoreOptions{.url = server.url()}, options_of(worker));
    mortal.part = Milliseconds(0);
    mortal.cancelled = [&, times = 0]() mutable { return ++times > 2; };  // stops within the first request
    ASSERT_TRUE(mortal.step(rules));
    EXPECT_TRUE(answers(removal).empty());
    Requests dying(store, options_of(worker));
    const Request request = read_request(dying.take_again(killer)->records.front());
    ASSERT_EQ(dying.begin(request.asked)->state, Begun::State::go);
    redis({"DEL", "lock:requests"});
  }
  work_off();
  EXPECT_EQ(answer(killer), "failed poison");
  EXPECT_EQ(answer(removal), "done removed");
}

/// The test supplies the results of probes; tests/end_to_end has sites that answer.
TEST_F(RequestWorkTest, TheFeedOfAPageIsAddedOnceItIsKnown) {
  const std::string page = "https://example.org/", other = "https://example.org/comments.xml";
  const auto sought = [&](RequestWork& with) {
    std::vector<std::string> ids;
    const auto step = with.step(rules);
    EXPECT_TRUE(step) << step.error().detail;
    if (step) std::ranges::transform(step->pages, std::back_inserter(ids), &SoughtPage::request);
    return ids;
  };
  const auto found_feed = [](const std::string& feed) { return FoundFeed{feed, "A \n title", "rss", 3, {}, {}}; };
  const auto data_of = [&](const std::string& id) { return answers(id).at(0).at("data").as_object(); };

  EXPECT_EQ(result({"op", "add", "url", page, "page", "maybe"}), "failed bad_value");
  EXPECT_EQ(result({"op", "add", "url", other, "page", "yes"}), "done added") << "its words say feed";
  EXPECT_EQ(result({"op", "remove", "url", other}), "done removed");

  const std::string one = ask({"op", "add", "url", page, "page", "yes", "channel", "anna/news"});
  const std::string behind = ask({"op", "pause", "url", page});
  const std::string beside = ask({"op", "add", "url", "https://example.net/feed.xml"});
  EXPECT_EQ(sought(work), std::vector{one});
  EXPECT_EQ(answer(beside), "done added") << "others do not wait";
  EXPECT_TRUE(answers(one).empty());
  EXPECT_TRUE(answers(behind).empty()) << "it names the page";
  const auto idle = work.step(rules);
  EXPECT_TRUE(idle && idle->resting) << "nothing is asked of Redis meanwhile";
  work.found(one, {{found_feed(url)}, "no_feed", ""});
  EXPECT_TRUE(sought(work).empty());
  EXPECT_EQ(answer(one), "done added");
  EXPECT_EQ(data_of(one).at("url").as_string(), page);
  EXPECT_EQ(data_of(one).at("feed").as_string(), url);
  EXPECT_EQ(answers(one)[0].at("feed_url").as_string(), url);
  EXPECT_EQ(redis({"SISMEMBER", "channel:anna/news:feeds", url}), "1");
  work_off();
  EXPECT_EQ(answer(behind), "failed no_such_feed") << "the page is no feed";

  const auto look = [&](const std::vector<std::string>& fields, const FoundPage& what) {
    const std::string id = ask(fields);
    EXPECT_EQ(sought(work), std::vector{id});
    work.found(id, what);
    work_off();
    return id;
  };
  const FoundPage two{{found_feed(other), found_feed(url)}, "no_feed", ""};
  const std::string many = look({"op", "add", "url", page, "page", "yes"}, two);
  EXPECT_EQ(answer(many), "failed many_feeds");
  EXPECT_EQ(data_of(many).at("feeds").at(1).at("url").as_string(), url);
  EXPECT_EQ(answer(look({"op", "add", "url", page, "page", "first"}, two)), "done added");
  EXPECT_EQ(redis({"SISMEMBER", "feeds", other}), "1");
  EXPECT_EQ(answer(look({"op", "add", "url", page, "page", "yes"}, {{}, "unreachable", "no route"})),
            "failed unreachable");
  EXPECT_EQ(answer(look({"op", "add", "url", page, "page", "yes"}, {{found_feed("http://10.0.0.1/feed")}, "", ""})),
            "failed refused_address");

  // A page that was added by mistake is probed once it was fetched in vain.
  EXPECT_EQ(result({"op", "add", "url", page}), "done added");
  EXPECT_EQ(result({"op", "add", "url", page, "page", "first"}), "done present") << "it was not fetched yet";
  redis({"HSET", "state:feed:" + page, "last_at", "1795437223360"});
  const std::string repaired = look({"op", "add", "url", page, "page", "first"}, two);
  EXPECT_EQ(data_of(repaired).at("feed").as_string(), other);
  const std::string none = look({"op", "add", "url", page, "page", "yes"}, {{}, "unreachable", "no route"});
  EXPECT_EQ(answer(none), "done present");
  EXPECT_EQ(data_of(none).at("feed").as_string(), page);
  redis({"HSET", "state:feed:" + page, "times", "1795437223360 1795437223360 0 0"});
  EXPECT_EQ(result({"op", "add", "url", page, "page", "first"}), "done present") << "it is a feed";
  EXPECT_EQ(redis({"EXISTS", "state:requests"}), "0") << "none is left in hand";
}

/// A request is in progress while its page is probed, so a page that kills workers counts against it.
TEST_F(RequestWorkTest, APageThatThreeWorkersDieOfIsPoison) {
  const std::string page = "https://example.org/";
  std::vector<std::string> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(ask({"op", "add", "url", page + std::to_string(i), "page", "yes"}));
  for (const char worker : {'b', 'c', 'd'}) {
    RequestWork mortal(StoreOptions{.url = server.url()}, options_of(worker));
    const auto step = mortal.step(rules);
    ASSERT_TRUE(step);
    EXPECT_EQ(step->pages.size(), 2U) << "at once";
    redis({"DEL", "lock:requests"});
  }
  RequestWork polite(StoreOptions{.url = server.url()}, options_of('e'));
  const auto step = polite.step(rules);
  ASSERT_TRUE(step);
  for (const std::string& id : {ids[0], ids[1]}) EXPECT_EQ(answer(id), "failed poison");
  EXPECT_EQ(step->pages.size(), 2U);
  const std::string refused = ask({"op", "add", "url", "http://10.0.0.1/", "page", "yes"});
  ASSERT_TRUE(polite.step(rules));
  EXPECT_EQ(answer(refused), "failed refused_address") << "it waits for no look at others";
  ASSERT_TRUE(polite.let_go());
  EXPECT_EQ(redis({"HGET", "state:requests", ids[2]}), "- 0 ") << "nobody died of it";
  EXPECT_TRUE(answers(ids[3]).empty());
}

TEST_F(RequestWorkTest, WhatNeedsNoMemoryDoesNotWaitForWhatDoes) {
  const std::string other = "https://example.org/other", third = "https://example.org/third";
  for (const std::string& one : {other, third}) EXPECT_EQ(result({"op", "add", "url", one}), "done added");
  const std::string put = ask({"op", "entry_put", "url", other, "guid", "a", "entry", R"({"title":"One"})"});
  const std::string add = ask({"op", "add", "url", url, "channel", "anna"});
  const std::string behind = ask({"op", "remove", "url", other});
  const std::string beside = ask({"op", "remove", "url", third});
  const std::string senseless = ask({"op", "nonsense"});
  redis({"CONFIG", "SET", "maxmemory", "1"});
  const auto step = work.step(rules);
  ASSERT_TRUE(step) << step.error().detail;
  ASSERT_TRUE(step->no_memory);
  EXPECT_EQ(step->no_memory->code, StoreError::Code::out_of_memory);
  EXPECT_EQ(answer(beside), "done removed");
  EXPECT_EQ(answer(senseless), "failed unknown_op");
  for (const std::string& id : {put, add, behind}) EXPECT_TRUE(answers(id).empty()) << id;
  EXPECT_EQ(redis({"HGET", "state:requests", put}), "- 0 ") << "nobody died of it";
  const auto resting = work.step(rules);
  ASSERT_TRUE(resting);
  EXPECT_TRUE(resting->resting) << "and it is not tried all the time";
  redis({"CONFIG", "SET", "maxmemory", "0"});
  for (int tries = 0; tries < 1000 && redis({"XLEN", "stream:requests"}) != "0"; ++tries) {
    ASSERT_TRUE(work.step(rules));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(answer(put), "done created");
  EXPECT_EQ(answer(add), "done added");
  EXPECT_EQ(answer(behind), "done removed");
}

/// A worker that loses the right to take requests forgets those it has begun.
TEST_F(RequestWorkTest, LosingTheRightDropsBegunRequests) {
  EXPECT_EQ(result({"op", "add", "url", url}), "done added");
  fill(store, url, 350);
  work.part = Milliseconds(0);
  const std::string removal = ask({"op", "remove", "url", url});
  const std::string behind = ask({"op", "add", "url", url});
  ASSERT_TRUE(work.step(rules));
  redis({"DEL", "lock:requests"});
  RequestWork other(StoreOptions{.url = server.url()}, options_of('b'));
  ASSERT_TRUE(other.step(rules));
  EXPECT_TRUE(work.step(rules)->waiting || work.step(rules)->idle);
  work_off(other);
  work_off();
  EXPECT_EQ(answer(removal), "done removed");
  EXPECT_EQ(answer(behind), "done added");
}

TEST_F(RequestWorkTest, TenClientsAddOneUrlAtOnce) {
  std::vector<std::string> ids(10);
  std::vector<std::thread> clients;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    clients.emplace_back([&, i] { ids[i] = ask({"op", "add", "url", url, "channel", "u" + std::to_string(i)}); });
  }
  for (std::thread& client : clients) client.join();
  work_off();
  std::size_t added = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string said = answer(ids[i]);
    EXPECT_TRUE(said == "done added" || said == "done present") << said;
    added += said == "done added" ? 1 : 0;
    EXPECT_EQ(redis({"SISMEMBER", "channel:u" + std::to_string(i) + ":feeds", url}), "1");
  }
  EXPECT_EQ(added, 1U);
}

TEST_F(RequestWorkTest, OneTakesAtATime) {
  const std::string id = ask({"op", "add", "url", url});
  Requests first(store, options_of('a')), second(store, options_of('b'));
  EXPECT_FALSE(first.take()->waiting);
  EXPECT_TRUE(second.take()->waiting);
  RequestWork other(StoreOptions{.url = server.url()}, options_of('b'));
  const auto step = other.step(rules);
  ASSERT_TRUE(step);
  EXPECT_TRUE(step->waiting);
  ASSERT_TRUE(first.let_go());
  work_off(other);
  EXPECT_EQ(answer(id), "done added");
}

/// The lease expires while the worker is only paused.
TEST_F(RequestWorkTest, WorkerThatLostARequestDoesNotExecuteIt) {
  const std::string id = ask({"op", "add", "url", url});
  Requests slow(store, options_of('b'));
  const auto taken = slow.take();
  ASSERT_TRUE(taken && taken->records.size() == 1);
  const Request request = read_request(taken->records.front());
  ASSERT_EQ(slow.begin(request.asked)->state, Begun::State::go);
  redis({"DEL", "lock:requests"});
  work_off();
  EXPECT_EQ(answer(id), "done added");
  EXPECT_EQ(result({"op", "remove", "url", url}), "done removed");
  {
    const Requests::Step step(slow, request.asked, request.op);
    const NewFeed feed{.feed_url = url};
    const auto late = Feeds(store).add(std::span(&feed, 1));
    ASSERT_FALSE(late);
    EXPECT_TRUE(Requests::is_in_other_hands(late.error())) << late.error().detail;
  }
  EXPECT_EQ(redis({"SCARD", "feeds"}), "0");
  EXPECT_EQ(slow.begin(request.asked)->state, Begun::State::gone);
  EXPECT_EQ(answer(id), "done added");
}

TEST_F(RequestWorkTest, AThirdDeathIsPoison) {
  const std::string id = ask({"op", "add", "url", url, "ref", "p"});
  const std::string behind = ask({"op", "add", "url", "https://example.org/b"});
  for (const char worker : {'b', 'c', 'd'}) {
    Requests mortal(store, options_of(worker));
    const auto taken = mortal.take();
    ASSERT_TRUE(taken && !taken->waiting);
    const Request request = read_request(taken->records.front());
    ASSERT_EQ(mortal.begin(request.asked)->state, Begun::State::go) << worker;
    ASSERT_EQ(mortal.begin(request.asked)->state, Begun::State::go) << "the same worker's again is no death";
    redis({"DEL", "lock:requests"});
  }
  work_off();
  EXPECT_EQ(answer(id), "failed poison");
  EXPECT_EQ(answer(behind), "done added");
  EXPECT_EQ(redis({"XLEN", "state:requests:poison"}), "1");
  EXPECT_NE(redis({"XRANGE", "state:requests:poison", "-", "+"}).find(id + " op add url " + url), std::string::npos);
}

TEST_F(RequestWorkTest, ReleasingARequestDoesNotCountAsACrash) {
  const std::string id = ask({"op", "add", "url", url});
  for (const char worker : {'b', 'c', 'd', 'e', 'f'}) {
    Requests patient(store, options_of(worker));
    const Request request = read_request(patient.take()->records.front());
    ASSERT_EQ(patient.begin(request.asked)->state, Begun::State::go) << worker;
    ASSERT_TRUE(patient.release(request.asked.id));
    ASSERT_TRUE(patient.let_go());
  }
  work_off();
  EXPECT_EQ(answer(id), "done added");
}

TEST_F(RequestWorkTest, ARemovalThatBeganIsResumedAndTakesNothingElse) {
  EXPECT_EQ(result({"op", "add", "url", url}), "done added");
  const std::string id = ask({"op", "remove", "url", url});
  Requests mortal(store, options_of('b'));
  const Request request = read_request(mortal.take()->records.front());
  ASSERT_EQ(mortal.begin(request.asked)->state, Begun::State::go);
  redis({"HSET", "state:requests", id, std::string(32, 'b') + " 1 begun"});  // its first step was executed
  redis({"DEL", "lock:requests"});
  // Another client has completed that removal and added the feed again.
  work_off();
  EXPECT_EQ(answer(id), "done removed");
  EXPECT_EQ(redis({"SISMEMBER", "feeds", url}), "1") << "it was added by somebody else";
}

TEST_F(RequestWorkTest, AKeyOfTheWrongTypeDoesNotStopLaterRequests) {
  redis({"SET", "channel:bad:feeds", "x"});
  redis({"SADD", "channels", "bad"});
  EXPECT_EQ(result({"op", "add", "url", url}), "done added");
  const std::string bad = ask({"op", "channel_follow", "channel", "bad", "url", url});
  const std::string good = ask({"op", "pause", "url", url});
  work_off();
  EXPECT_EQ(answer(bad), "failed store_refused");
  EXPECT_EQ(answer(good), "done paused");
}

TEST_F(RequestWorkTest, EventsOfRequestsKeepTheChainAndAreNoticed) {
  for (int i = 0; i < 5; ++i) ask({"op", "nonsense"});
  ask({"op", "channel_mark", "channel", "none", "as", "read", "entries", "all"});
  work_off();
  std::string last = "0-0";
  const auto records = EventStream(store).read("0", 100, Milliseconds(0));
  ASSERT_TRUE(records);
  for (const EventRecord& record : *records) {
    const json::object event = json::parse(record.json).as_object();
    EXPECT_EQ(event.at("prev").as_string(), last);
    last = event.at("seq").as_string();
  }
  EXPECT_EQ(records->size(), 6U);
}

TEST_F(RequestWorkTest, ItsLengthAndBytesAreKnown) {
  EXPECT_EQ(Requests(store, {}).figures()->waiting, 0U);
  for (int i = 0; i < 10; ++i) ask({"op", "add", "url", url, "title", std::string(1000, 'x')});
  const auto figures = Requests(store, {}).figures();
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->waiting, 10U);
  EXPECT_GT(figures->bytes, 10'000U);
  EXPECT_FALSE(figures->piles_up());
}

/// SECURITY E11.
TEST_F(RequestWorkTest, ProgramsNameNoFiles) {
  const std::string trusted = "https://example.org/trusted.xml";
  EXPECT_EQ(result({"op", "add", "url", url, "set.ca_file", "/etc/ssl/own.pem"}), "failed bad_value");
  EXPECT_EQ(result({"op", "add", "url", url}), "done added");
  EXPECT_EQ(result({"op", "set", "url", url, "set.ca_file", "/tmp/fifo"}), "failed bad_value");
  EXPECT_EQ(redis({"HGET", "state:feed:" + url, "settings"}), "(nil)");
  EXPECT_EQ(result({"op", "add", "url", trusted}), "done added");
  redis({"HSET", "state:feed:" + trusted, "settings", R"({"ca_file":"/etc/ssl/own.pem"})"});  // as an operator sets it
  EXPECT_EQ(result({"op", "set", "url", trusted, "set.keep", "30"}), "done set");
  EXPECT_NE(redis({"HGET", "state:feed:" + trusted, "settings"}).find("own.pem"), std::string::npos);
  EXPECT_EQ(result({"op", "set", "url", trusted, "set.ca_file", ""}), "done set");
  EXPECT_EQ(redis({"HGET", "state:feed:" + trusted, "settings"}).find("own.pem"), std::string::npos);
}

/// SECURITY K7: clients of the stream can write any `app`.
TEST_F(RequestWorkTest, StreamClientsCannotUseLogins) {
  ASSERT_TRUE(*Logins(store).put({.name = "reader/paper", .origin = "https://example.org", .header_line = "X-Key: s"}));
  for (const std::string app : {"reader", "other", "operator", ""}) {
    EXPECT_EQ(result({"op", "add", "url", url, "set.auth", "reader/paper", "app", app}), "failed bad_value") << app;
  }
  EXPECT_EQ(result({"op", "add", "url", url, "app", "reader"}), "done added");
  EXPECT_EQ(result({"op", "set", "url", url, "set.auth", "reader/paper", "app", "reader"}), "failed bad_value");
  EXPECT_EQ(redis({"HGET", "state:feed:" + url, "settings"}), "(nil)");
  redis({"HSET", "state:feed:" + url, "settings", R"({"auth":"reader/paper"})"});  // as an operator sets it
  EXPECT_EQ(result({"op", "move", "url", url, "to", "https://example.org/other", "app", "reader"}), "failed bad_value");
  EXPECT_EQ(result({"op", "set", "url", url, "set.keep", "30", "app", "other"}), "done set");
  EXPECT_NE(redis({"HGET", "state:feed:" + url, "settings"}).find("reader/paper"), std::string::npos);
  EXPECT_EQ(result({"op", "set", "url", url, "set.auth", ""}), "done set") << "like pausing it";
}

/// The API vouches for requests of its tokens that have to queue.
TEST_F(RequestWorkTest, UsesALoginThatTheApiVouchesFor) {
  ASSERT_TRUE(*Logins(store).put({.name = "reader/paper", .origin = "https://example.org", .header_line = "X-Key: s"}));
  const auto vouched = [&](Fields fields) {
    Asked asked;
    asked.app = "reader";
    asked.ref = "r-" + fields[0].second;
    fields.emplace_back("app", asked.app);
    asked.hash = content_hash(fields);
    EXPECT_TRUE(RequestStream(store).vouch(asked, 60'000ms));
    std::vector<std::string> words{"ref", asked.ref};
    for (const auto& [name, value] : fields) words.insert(words.end(), {name, value});
    return result(words);
  };
  EXPECT_EQ(vouched({{"op", "add"}, {"url", url}, {"set.auth", "reader/none"}}), "failed bad_value") << "not stored";
  EXPECT_EQ(result({"op", "add", "url", url}), "done added");
  EXPECT_EQ(vouched({{"op", "set"}, {"url", url}, {"set.auth", "reader/paper"}}), "done set");
  EXPECT_EQ(redis({"HGET", "state:feed:" + url, "settings"}), R"({"auth":"reader/paper"})");
  EXPECT_EQ(result({"op", "set", "url", "https://example.org/2", "set.auth", "reader/paper", "app", "reader", "ref",
                    "r-set"}),
            "failed ref_reused")
      << "with what was said of another request";
  EXPECT_EQ(vouched({{"op", "move"}, {"url", url}, {"to", "https://example.org/other"}}), "done moved");
}

/// RELIABILITY Q5.
class FarIds : public RequestWorkTest {
 protected:
  const std::string last_of_all = "18446744073709551615-18446744073709551615";

  std::string ask_as(const std::string& id, const std::string& feed) {
    return redis({"XADD", "stream:requests", id, "op", "add", "url", feed, "ref", "r" + id});
  }
  /// Redis time plus `ahead`, in milliseconds.
  std::string at(Milliseconds ahead) { return std::to_string((*store.now() + ahead).count()); }
};

TEST_F(FarIds, AreSetAsideAndTheStreamContinues) {
  const std::string honest = ask({"op", "add", "url", url});
  const std::string near = ask_as(at(std::chrono::minutes(50)) + "-1", "https://example.org/near");
  const std::string far = ask_as(at(std::chrono::minutes(70)) + "-1", "https://example.org/far");
  const std::string behind = ask({"op", "add", "url", "https://example.org/behind"});  // gets a higher id than far
  work_off();
  EXPECT_EQ(answer(honest), "done added");
  EXPECT_EQ(answer(near), "done added");
  EXPECT_EQ(answer(far), "failed poison");
  EXPECT_EQ(answer(behind), "failed poison");
  EXPECT_EQ(Requests(store, {}).figures()->set_aside, 2U);
  EXPECT_NE(redis({"XRANGE", "state:requests:poison", "-", "+"}).find(far + " op add url https://example.org/far"),
            std::string::npos);
  EXPECT_EQ(result({"op", "add", "url", "https://example.org/after"}), "done added");
}

/// The ref belongs to another client; its request got an id after the far one.
TEST_F(FarIds, AnswersToTheirRefsExpireSoon) {
  ask_as(at(std::chrono::hours(24)) + "-1", "https://example.org/far");
  const std::string id = ask({"op", "add", "url", url, "app", "mailer", "ref", "1"});
  work_off();
  EXPECT_EQ(answer(id), "failed poison");
  const auto keep = std::stoll(redis({"PTTL", "state:request:mailer:1"}));
  EXPECT_LE(keep, 5000);
  redis({"DEL", "state:request:mailer:1"});  // as after five seconds
  EXPECT_EQ(result({"op", "add", "url", url, "app", "mailer", "ref", "1"}), "done added");
}

TEST_F(FarIds, TheLastIdOfAllDoesNotEndTheStream) {
  const std::string far = ask_as(last_of_all, "https://example.org/far");
  EXPECT_NE(ask({"op", "add", "url", url}).find("exhausted"), std::string::npos);
  work_off();
  EXPECT_EQ(answer(far), "failed poison");
  EXPECT_EQ(result({"op", "add", "url", url}), "done added");
}

TEST_F(FarIds, OfManyValuesAreSetAsideToo) {
  std::vector<std::string> words{"XADD", "stream:requests", last_of_all, "op", "add"};
  for (int i = 0; i < 20'000; ++i) words.push_back("x" + std::to_string(i));
  const std::string far = redis(words);
  work_off();
  EXPECT_EQ(answer(far), "failed poison");
  EXPECT_EQ(Requests(store, {}).figures()->set_aside, 1U);
}

TEST_F(FarIds, OfALongAndAnOrderedRequestAreTakenInSequence) {
  const std::string first = ask_as(at(std::chrono::hours(24)) + "-1", url);
  const std::string second = ask_as(last_of_all, url);
  work_off();
  EXPECT_EQ(answer(first), "failed poison");
  EXPECT_EQ(answer(second), "failed poison");
  EXPECT_EQ(redis({"EXISTS", "stream:requests"}), "0");
}

TEST_F(FarIds, TrimmedAwayDoNotEndTheStreamEither) {
  redis({"XADD", "stream:requests", "MAXLEN", "0", last_of_all, "op", "add"});
  EXPECT_NE(ask({"op", "add", "url", url}).find("exhausted"), std::string::npos);
  ASSERT_TRUE(RequestStream(store).renew());
  EXPECT_EQ(result({"op", "add", "url", url}), "done added");
}

TEST_F(FarIds, AreNotFedBackByTheApi) {
  redis({"XADD", "stream:requests", "MAXLEN", "0", last_of_all, "op", "add"});
  const auto id = RequestStream(store).ask({{"op", "add"}, {"url", url}}, 10);
  ASSERT_TRUE(id && *id) << (id ? "" : id.error().detail);
  work_off();
  EXPECT_EQ(answer(**id), "done added");
}

TEST_F(FarIds, AStreamOfTheClockIsLeftAlone) {
  const std::string id = ask({"op", "add", "url", url});
  work_off();
  ASSERT_TRUE(RequestStream(store).renew());
  EXPECT_EQ(redis({"EXISTS", "stream:requests"}), "1");
  EXPECT_NE(redis({"XINFO", "STREAM", "stream:requests"}).find(id), std::string::npos);
}

}  // namespace
}  // namespace feedmill::request_work_test
