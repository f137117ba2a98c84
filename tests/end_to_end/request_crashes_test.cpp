// A thousand requests while workers and Redis are killed between any two steps; then each script that requests run,
// with its reply lost or its worker killed (RELIABILITY Q1, Q4, §4). With scripts/test --full a worker or Redis dies
// every few requests, and each script fails in two more ways.
#include <chrono>
#include <map>
#include <random>
#include <thread>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <signal.h>

#include "storage/events/event_stream.hpp"
#include "storage/lua/scripts.hpp"
#include "tests/end_to_end/program.hpp"
#include "tests/support/counts.hpp"
#include "tests/support/fault_proxy.hpp"

namespace feedmill::test::request_crashes_test {
namespace {

namespace json = boost::json;

class AskedWorld {
 protected:
  AskedWorld() : world({"--appendonly", "yes", "--appendfsync", "always"}) {
    world.environment["FEEDMILL_SIGNALS_MAX_LEN"] = "100000";
  }

  void ask(const std::string& answer, std::vector<std::string> fields) {
    fields.insert(fields.begin(), {"XADD", "stream:requests", "*"});
    expected[world.redis_text(fields)] = answer;
  }

  /// Sends requests for feed `number`, each with the only answer possible if all are executed once and in order.
  void ask_for(int number) {
    const std::string url = "https://example.invalid/" + std::to_string(number);
    const std::string channel = "user" + std::to_string(number % 7) + "/news";
    ask("added", {"op", "add", "url", url, "channel", channel, "ref", "add-" + std::to_string(number)});
    ask("paused", {"op", "pause", "url", url});
    ask("set", {"op", "set", "url", url, "set.keep", "7"});
    ask("created", {"op", "entry_put", "url", url, "guid", "a", "entry", "{\"title\":\"One\"}"});
    ask("created", {"op", "entry_put", "url", url, "guid", "b", "entry", "{\"title\":\"Two\"}"});
    ask("unfollowed", {"op", "channel_unfollow", "url", url, "channel", channel});
    ask("followed", {"op", "channel_follow", "url", url, "channel", channel});
    ask("moved", {"op", "move", "url", url, "to", url + "/new"});
    if (number % 2 == 0) {
      ask("removed", {"op", "remove", "url", url});
      ask("no_such_feed", {"op", "pause", "url", url});
    } else {
      ask("paused_already", {"op", "pause", "url", url});
      ask("unknown_op", {"op", "nonsense"});
    }
  }

  std::string waiting() { return world.redis_text({"XLEN", "stream:requests"}); }

  void expect_each_answered_once() {
    std::map<std::string, int> answers;
    const auto records = EventStream(world.store).read("0", 100'000, Milliseconds(0));
    ASSERT_TRUE(records);
    for (const EventRecord& record : *records) {
      if (!record.type.starts_with("request_")) continue;
      const json::object event = json::parse(record.json).as_object();
      const json::object& data = event.at("data").as_object();
      const std::string id(event.at("entity_id").as_string());
      const char* const member = record.type == "request_done" ? "result" : "reason";
      EXPECT_EQ(data.at(member).as_string(), expected[id]) << record.json;
      ++answers[id];
    }
    EXPECT_EQ(answers.size(), expected.size()) << "each was answered";
    for (const auto& [id, times] : answers) EXPECT_EQ(times, 1) << id;
    EXPECT_EQ(world.redis_text({"HLEN", "state:requests"}), "0");
    EXPECT_EQ(world.run({"verify", "--redis", world.redis.url_of("feedmill_admin")}).exit, 0);
  }

  World world;
  std::map<std::string, std::string> expected;  // by request id
};

class RequestCrashes : public AskedWorld, public testing::Test {};

TEST_F(RequestCrashes, EachIsDoneOnceAndAnswered) {
  constexpr int feeds = 100;
  for (int i = 0; i < feeds; ++i) ask_for(i);
  ASSERT_EQ(waiting(), "1000");
  std::mt19937 random(18);
  int deaths = 0, outages = 0;
  const int fewest = tries(20, 2, 2), more = tries(80, 7, 7);  // requests between two kills
  for (int round = 0; round < 1000 && waiting() != "0"; ++round) {
    const bool redis_dies = round % 3 == 2;
    const char* const point = round % 3 == 1 ? "S18" : "S17";
    const int pass = fewest + static_cast<int>(random() % static_cast<unsigned>(more));
    const std::string at = std::string(point) + ":" + std::to_string(pass);
    Program worker({"run"}, world.with({{redis_dies ? "FEEDMILL_PAUSE_AT" : "FEEDMILL_CRASH_AT", at},
                                        {"FEEDMILL_ADMIN_LISTEN", "127.0.0.1:0"}}));
    if (redis_dies) {
      if (waiting() != "0" && worker.stopped()) {
        world.redis.kill();
        world.redis.start();
        ++outages;
        const std::string before = waiting();
        worker.signal(SIGCONT);
        EXPECT_TRUE(eventually([&] { return waiting() != before; })) << "it goes on by itself: " << worker.err();
      }
    } else {
      eventually([&] { return worker.ended() || waiting() == "0"; });
      deaths += worker.ended() ? 1 : 0;
    }
    if (!worker.ended()) worker.signal(SIGKILL);
    worker.wait();
    world.redis_text({"DEL", "lock:requests"});  // the killed worker's lock lasts its full time
  }
  EXPECT_EQ(waiting(), "0");
  EXPECT_GE(deaths, 5);
  EXPECT_GE(outages, 2);

  expect_each_answered_once();
  EXPECT_EQ(world.redis_text({"SCARD", "feeds"}), std::to_string(feeds / 2));
}

TEST_F(RequestCrashes, ARemovalIsResumedWhereItWas) {
  std::vector<std::pair<std::string, std::string>> posts;
  for (int i = 0; i < 350; ++i) posts.emplace_back("guid-" + std::to_string(i), "Post");
  world.http.serve("/feed.xml", {.body = rss(posts)});
  const std::string url = world.http.url("/feed.xml");
  ask("added", {"op", "add", "url", url, "channel", "news"});
  ASSERT_EQ(world.run({"run", "--once"}).exit, 0);
  ask("removed", {"op", "remove", "url", url});
  ask("added", {"op", "add", "url", url});
  for (const char* const at : {"S15:1", "S15:2"}) {
    Program worker({"run"}, world.with({{"FEEDMILL_CRASH_AT", at}}));
    EXPECT_EQ(worker.wait().exit, -SIGKILL);
    world.redis_text({"DEL", "lock:requests"});
  }
  Program worker({"run"}, world.environment);
  EXPECT_TRUE(eventually([&] { return waiting() == "0"; })) << worker.err();
  EXPECT_TRUE(eventually([&] { return world.redis_text({"ZCARD", url + ":sort"}) == "350"; })) << "added anew";
  EXPECT_EQ(world.count("request_done"), 3U);
  EXPECT_EQ(world.redis_text({"ZCARD", "zchannel:news:posts"}), "0") << "out of the channel with its old posts";
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

/// A call of a script that requests run.
struct ScriptCall {
  const char* name;
  const char* const* script;
  std::size_t nth = 1;
};

constexpr ScriptCall calls[] = {
    {"requests_take", &scripts::requests_take},
    {"request_begin", &scripts::request_begin, 2},
    {"request_end", &scripts::request_end},
    {"request_end", &scripts::request_end, 2},
    {"add", &scripts::add},
    {"pause", &scripts::pause},
    {"settings", &scripts::settings},
    {"entry_save", &scripts::entry_save},
    {"entry_save", &scripts::entry_save, 2},
    {"channel_mark", &scripts::channel_mark},
    {"channel_mark", &scripts::channel_mark, 2},
    {"channel_unfollow", &scripts::channel_unfollow},
    {"channel_follow", &scripts::channel_follow},
    {"entry_remove", &scripts::entry_remove},
    {"move", &scripts::move},
    {"resume", &scripts::resume},
    {"wake", &scripts::wake},
    {"remove", &scripts::remove},
    {"remove", &scripts::remove, 2},
};

struct Loss {
  const ScriptCall* call;
  char kind;  ///< B: the call is lost; N: its reply; R: Redis dies before it replies; W: the worker dies
};

std::string name_of(const Loss& loss) {
  return std::string(loss.call->name) + "_" + std::to_string(loss.call->nth) + "_" + loss.kind;
}

void PrintTo(const Loss& loss, std::ostream* out) {
  *out << name_of(loss);
}

std::vector<Loss> losses() {
  std::vector<Loss> all;
  for (const char kind : std::string("NWBR").substr(0, static_cast<std::size_t>(tries(2, 4, 4)))) {
    for (const ScriptCall& call : calls) all.push_back({&call, kind});
  }
  return all;
}

class RequestLosses : public AskedWorld, public testing::TestWithParam<Loss> {};

TEST_P(RequestLosses, LeaveEachDoneOnceAndAnswered) {
  load_scripts(world.redis);
  const std::string url = "https://example.invalid/1", channel = "anna/news";
  ask("added", {"op", "add", "url", url, "channel", channel, "ref", "1"});
  ask("paused", {"op", "pause", "url", url});
  ask("set", {"op", "set", "url", url, "set.keep", "7"});
  ask("created", {"op", "entry_put", "url", url, "guid", "a", "entry", R"({"title":"One"})"});
  ask("modified", {"op", "entry_put", "url", url, "guid", "a", "entry", R"({"title":"Two"})"});
  ask("unchanged", {"op", "entry_put", "url", url, "guid", "a", "entry", R"({"title":"Two"})"});
  ask("marked", {"op", "channel_mark", "channel", channel, "as", "read", "entries", "1"});
  ask("marked", {"op", "channel_mark", "channel", channel, "as", "read", "entries", "all"});
  ask("unfollowed", {"op", "channel_unfollow", "url", url, "channel", channel});
  ask("followed", {"op", "channel_follow", "url", url, "channel", channel});
  ask("removed", {"op", "entry_remove", "id", "1"});
  ask("moved", {"op", "move", "url", url, "to", url + "/new"});
  ask("paused", {"op", "refresh", "url", url});
  ask("resumed", {"op", "resume", "url", url});
  ask("removed", {"op", "remove", "url", url});
  ask("no_such_feed", {"op", "remove", "url", url});

  const auto [call, kind] = GetParam();
  FaultProxy proxy(world.redis.admin_url(), FaultProxy::Speaks::redis);
  proxy.at(runs_script(*call->script), call->nth,
           kind == 'B'   ? FaultProxy::Fault::cut_request
           : kind == 'N' ? FaultProxy::Fault::cut_reply
                         : FaultProxy::Fault::hold_reply);
  Program worker({"run"}, world.with({{"FEEDMILL_REDIS_URL", proxy.redis_url()}}));
  ASSERT_TRUE(proxy.wait_for_faults(1)) << worker.err();
  if (kind == 'W') {
    worker.signal(SIGKILL);
    worker.wait();
    world.redis_text({"DEL", "lock:requests", "lock:delivery:000"});  // their time would not be over
    EXPECT_EQ(world.run({"run", "--once"}).exit, 0);
  } else {
    if (kind == 'R') {
      world.redis.kill();
      world.redis.start();
      proxy.cut();
    }
    EXPECT_TRUE(eventually([&] { return waiting() == "0"; })) << worker.err();
    worker.signal(SIGTERM);
    EXPECT_EQ(worker.wait().exit, 0);
  }
  EXPECT_EQ(waiting(), "0");
  expect_each_answered_once();
  EXPECT_EQ(world.count("post_created"), 1U);
  EXPECT_EQ(world.count("post_modified"), 1U);
  EXPECT_EQ(world.redis_text({"SCARD", "feeds"}), "0");
  EXPECT_EQ(world.redis_text({"SCARD", "channel:" + channel + ":feeds"}), "0");
}

INSTANTIATE_TEST_SUITE_P(Scripts, RequestLosses, testing::ValuesIn(losses()),
                         [](const auto& test) { return name_of(test.param); });

/// Each worker suspends the removal, continues with other requests, and dies after its first answer.
TEST_F(RequestCrashes, NextWorkerContinuesSuspendedRequests) {
  std::vector<std::pair<std::string, std::string>> posts;
  for (int i = 0; i < 350; ++i) posts.emplace_back("guid-" + std::to_string(i), "Post");
  world.http.serve("/feed.xml", {.body = rss(posts)});
  const std::string url = world.http.url("/feed.xml"), other = "https://example.invalid/other";
  ask("added", {"op", "add", "url", url, "channel", "news"});
  ASSERT_EQ(world.run({"run", "--once"}).exit, 0);
  ask("removed", {"op", "remove", "url", url});
  ask("added", {"op", "add", "url", other});
  ask("added", {"op", "add", "url", url});
  for (int deaths = 0; deaths < 3; ++deaths) {
    Program worker({"run"}, world.with({{"FEEDMILL_PAUSE_AT", "S15:1"}, {"FEEDMILL_CRASH_AT", "S18:1"}}));
    EXPECT_TRUE(eventually([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the current part finishes
      worker.signal(SIGCONT);
      return worker.ended();
    })) << worker.err();
    EXPECT_EQ(worker.wait().exit, -SIGKILL);
    world.redis_text({"DEL", "lock:requests", "lock:delivery:000"});  // their time would not be over
  }
  EXPECT_EQ(waiting(), "0") << "each has answered one";
  EXPECT_EQ(world.count("request_done"), 4U);
  EXPECT_EQ(world.count("request_failed"), 0U);
  for (const std::string& one : {url, other}) EXPECT_EQ(world.redis_text({"SISMEMBER", "feeds", one}), "1");
  EXPECT_EQ(world.redis_text({"EXISTS", "state:requests"}), "0");
  Program last({"run"}, world.environment);  // delivers what the killed workers left undelivered
  EXPECT_TRUE(eventually([&] {
    return world.redis_text({"ZCARD", "zchannel:news:posts"}) == "0";
  })) << "added anew, and into no channel";
}

}  // namespace
}  // namespace feedmill::test::request_crashes_test
