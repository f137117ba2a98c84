// The primary of a store is lost while workers fetch and clients listen (RELIABILITY L24, L26): sentinels or the
// cluster promote another, and the store stays whole.
#include <algorithm>
#include <array>
#include <atomic>
#include <iostream>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <signal.h>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "tests/end_to_end/truth_world.hpp"
#include "tests/support/clustered_redis.hpp"
#include "tests/support/counts.hpp"
#include "tests/support/watched_redis.hpp"

namespace feedmill::test::failover_test {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

/// A client that reads the stream from its last position, from whichever server is the primary.
class Listener {
 public:
  explicit Listener(const std::string& redis_url) : store_(StoreOptions{.url = redis_url, .timeout = 2000ms}) {
    thread_ = std::thread([this] { listen(); });
  }
  ~Listener() { stop("0-0"); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Stops once the event `newest` has arrived; returns all events received, in order.
  const std::vector<EventRecord>& stop(const std::string& newest) {
    until_ = event_place(newest);
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
    return heard_;
  }

 private:
  void listen() {
    EventStream stream(store_);
    std::string after = "0-0";
    while (!stopping_ || event_place(after) < until_) {
      StoreResult<std::vector<EventRecord>> records = StoreError();
      if (!eventually([&] { return (records = stream.read(after, 1000, 100ms)).has_value(); })) return;
      for (EventRecord& record : *records) {
        after = record.id;
        heard_.push_back(std::move(record));
      }
    }
  }

  Store store_;
  std::vector<EventRecord> heard_;
  std::atomic<bool> stopping_ = false;
  EventPlace until_;  // set when stopping_ is
  std::thread thread_;
};

/// Workers on `Servers`, in which the primary changes now and then.
template <class Servers>
class TakenOver : public testing::Test {
 protected:
  static constexpr std::size_t feeds = 40;

  // Documents list all posts ever published, so that posts lost in a failover are stored again.
  TakenOver() : truth(world.http, {.text = 300}) {
    world.environment["FEEDMILL_REDIS_URL"] = redis.url();
    world.environment["FEEDMILL_SCHEDULE_CATCH_UP_RATE"] = "0";
    world.environment["FEEDMILL_HOST_CONCURRENCY"] = "64";
    world.environment["FEEDMILL_HOST_SPACING"] = "0ms";
    world.environment["FEEDMILL_SCHEDULE_FLOOR"] = world.environment["FEEDMILL_SCHEDULE_CEILING"] = "1s";
    world.environment["FEEDMILL_SIGNALS_MAX_LEN"] = "1000000";
    world.environment["FEEDMILL_WORKER_LANES"] = "16";
    for (const auto& [name, value] : lease(6000)) world.environment[name] = value;
    EXPECT_TRUE(store.open());
  }

  void begin() {
    std::vector<NewFeed> fresh;
    for (std::size_t i = 0; i < feeds; ++i) fresh.push_back({.feed_url = truth.add_feed(5)});
    ASSERT_TRUE(Feeds(store).add(fresh));
    const Finished once = world.run({"run", "--once"});
    ASSERT_EQ(once.exit, 0) << once.err;
    redis.await_replicas();
    for (auto& worker : workers) worker = std::make_unique<Program>(std::vector<std::string>{"run"}, world.environment);
  }

  /// Publishes changes and makes the changed feeds due until `requests` more have arrived.
  void let_work(std::size_t requests) {
    const std::size_t enough = truth.asked_in_all() + requests;
    ASSERT_TRUE(eventually([&] {
      std::vector<std::string> touched;
      for (int i = 0; i < 10; ++i) {
        const std::size_t feed = random() % feeds;
        truth.act(feed, static_cast<unsigned>(random()));
        touched.push_back(truth.url(feed));
      }
      // Fails while there is no primary.
      [[maybe_unused]] const auto woken = Feeds(store).wake(touched, Milliseconds(0), true);
      return truth.asked_in_all() >= enough;
    })) << workers[0]->err();
  }

  std::string wrongs_now(Stage stage) { return wrongs_text(redis.url(), truth, stage) + found_by_verify(redis.url()); }
  /// Waits until all documents of the publisher are stored; returns the store's faults, "" if none.
  std::string wrongs_at_the_end() {
    eventually([&] { return wrongs(redis.url(), truth, Stage::caught_up).empty(); });
    for (const auto& worker : workers) worker->signal(SIGTERM);
    for (const auto& worker : workers) EXPECT_EQ(worker->wait().exit, 0);
    return wrongs_now(Stage::caught_up);
  }

  /// Compares the listener's events with the store: none is missing after its start, ids grow, and no entry number was
  /// assigned to two posts.
  void compare(Listener& listener) {
    store.disconnect();  // the connection may be to a server that is gone
    const auto all = EventStream(store).read("0-0", 10'000'000, 0ms);
    ASSERT_TRUE(all) << all.error().detail;
    ASSERT_FALSE(all->empty());
    const std::vector<EventRecord>& heard = listener.stop(all->back().id);
    std::set<std::string> had, stand;
    std::map<std::string, std::string> posts;  // guid by entry id
    std::size_t lost = 0;
    for (const EventRecord& record : heard) had.insert(record.id);
    for (const EventRecord& record : *all) stand.insert(record.id);
    std::string unheard;
    std::size_t missed = 0;
    for (std::size_t i = 0; i < all->size(); ++i) {
      if (had.contains((*all)[i].id)) continue;
      ++missed;
      const bool follows = i > 0 && !had.contains((*all)[i - 1].id);
      if (!follows) unheard += " from " + (*all)[i].id;
    }
    EXPECT_EQ(missed, 0U) << "of " << all->size() << " were not heard:" << unheard
                          << "; the last that was: " << (heard.empty() ? "none" : heard.back().id)
                          << ", there: " << all->back().id;
    for (std::size_t i = 1; i < heard.size(); ++i) EXPECT_LT(event_place(heard[i - 1].id), event_place(heard[i].id));
    for (const EventRecord& record : heard) {
      lost += stand.contains(record.id) ? 0 : 1;
      if (record.type != "post_created") continue;
      const json::object event = json::parse(record.json).as_object();
      const std::string id(event.at("entity_id").as_string()), guid(event.at("guid").as_string());
      const auto [known, is_new] = posts.emplace(id, guid);
      EXPECT_TRUE(is_new || known->second == guid) << id << " was " << known->second << " and is " << guid;
    }
    RecordProperty("events", std::to_string(all->size()));
    RecordProperty("lost_events", std::to_string(lost));
  }

  /// How often `words` occurs in `log`.
  static std::size_t count(const std::string& log, std::string_view words) {
    std::size_t times = 0;
    for (std::size_t at = log.find(words); at != std::string::npos; at = log.find(words, at + 1)) ++times;
    return times;
  }
  /// Expects a consistent store while the workers are stopped, at whatever point they were.
  void expect_whole(int time) {
    for (const auto& worker : workers) worker->signal(SIGSTOP);
    // a round trip per ping: earlier commands have been executed
    for (int ping = 0; ping < 2; ++ping) redis_command(redis.node(redis.primary()), {"PING"});
    EXPECT_EQ(wrongs_now(Stage::any), "") << "after time " << time;
    for (const auto& worker : workers) worker->signal(SIGCONT);
  }

  /// After the primary was killed: another takes over, work continues, and the old one returns. The log has one line
  /// for the outage and one for its end.
  void go_on_without(std::size_t first, Listener& listener) {
    redis.await_another(first);
    const auto from = std::chrono::steady_clock::now();
    ASSERT_NO_FATAL_FAILURE(let_work(1));
    this->RecordProperty("back_after_ms", std::to_string((std::chrono::steady_clock::now() - from) / 1ms));
    ASSERT_NO_FATAL_FAILURE(let_work(100));
    redis.node(first).start();  // it becomes a replica
    redis.await_replicas();
    ASSERT_NO_FATAL_FAILURE(let_work(50));
    eventually([&] { return workers[0]->err().find("Redis is available again") != std::string::npos; });
    const std::string log = workers[0]->err();
    EXPECT_EQ(count(log, "Redis is unavailable"), 1U) << log;
    EXPECT_EQ(count(log, "Redis is available again"), 1U) << log;
    EXPECT_EQ(wrongs_at_the_end(), "");
    compare(listener);
  }

  Servers redis;
  World world;
  GroundTruth truth;
  Store store{StoreOptions{.url = redis.url(), .timeout = 2000ms}};
  std::array<std::unique_ptr<Program>, 4> workers;
  std::minstd_rand random{std::random_device()()};
};

using Failover = TakenOver<WatchedRedis>;
using InACluster = TakenOver<ClusteredRedis>;

TEST_F(Failover, OfAKilledPrimaryLosesNoPostAndIsLoggedOnce) {
  world.environment["FEEDMILL_ADMIN_LISTEN"] = "127.0.0.1:0";
  ASSERT_NO_FATAL_FAILURE(begin());
  ASSERT_TRUE(eventually([&] { return !listening_at(*workers[0]).empty(); }));
  const std::string admin = listening_at(*workers[0]);
  Listener listener(redis.url());
  ASSERT_NO_FATAL_FAILURE(let_work(100));
  const std::size_t first = redis.primary();
  redis.kill_sentinel(0);  // the sentinel that all clients ask first
  redis.node(first).kill();
  EXPECT_TRUE(eventually([&] { return workers[0]->err().find("Redis is unavailable") != std::string::npos; }));
  EXPECT_NE(get(admin, "/livez").find(" 200 "), std::string::npos);
  ASSERT_NO_FATAL_FAILURE(go_on_without(first, listener));
  const Finished told = world.run({"doctor"});
  EXPECT_NE(told.out.find("the primary of mymaster as its sentinels say"), std::string::npos) << told.out;
  EXPECT_NE(told.out.find("1 failover"), std::string::npos) << told.out;
  EXPECT_NE(told.out.find("ready to take over: 127.0.0.1:"), std::string::npos) << told.out;
}

/// A server gets replicas and sentinels, and its workers are switched over to them one by one
/// (docs/SCALING.md).
TEST_F(Failover, IsPreparedWhileWorkersKeepRunning) {
  const std::size_t first = redis.primary();
  world.environment["FEEDMILL_REDIS_URL"] = redis.node(first).url();
  ASSERT_NO_FATAL_FAILURE(begin());
  Listener listener(redis.url());
  ASSERT_NO_FATAL_FAILURE(let_work(50));
  world.environment["FEEDMILL_REDIS_URL"] = redis.url();
  for (auto& worker : workers) {
    auto next = std::make_unique<Program>(std::vector<std::string>{"run"}, world.environment);
    ASSERT_NO_FATAL_FAILURE(let_work(30));
    worker->signal(SIGTERM);
    ASSERT_NO_FATAL_FAILURE(let_work(10));
    EXPECT_EQ(worker->wait().exit, 0);
    worker = std::move(next);
  }
  redis.node(first).kill();
  redis.await_another(first);
  ASSERT_NO_FATAL_FAILURE(let_work(50));
  EXPECT_EQ(wrongs_at_the_end(), "");
  compare(listener);
}

/// The new primary does not know of the last request that the old one allowed.
TEST_F(Failover, WithLostWritesRepeatsAtMostOneRequestPerHost) {
  world.environment["FEEDMILL_HOST_CONCURRENCY"] = "1";
  world.environment["FEEDMILL_HOST_SPACING"] = "1h";  // allows one request per host
  constexpr std::size_t hosts = 10, feeds_of_each = 3;
  std::vector<std::unique_ptr<HttpServer>> servers;
  std::vector<NewFeed> fresh;
  for (std::size_t host = 0; host < hosts; ++host) {
    const auto address = boost::asio::ip::address_v4(0x7f000002U + static_cast<unsigned>(host));
    servers.push_back(std::make_unique<HttpServer>(std::uint16_t{0}, address));
    servers.back()->serve_rest([](const ServedRequest&) { return Response{.body = rss({{"a", "Post"}})}; });
    for (std::size_t feed = 0; feed < feeds_of_each; ++feed) {
      fresh.push_back({.feed_url = "http://" + address.to_string() + ":" + std::to_string(servers.back()->port()) +
                                   "/" + std::to_string(feed)});
    }
  }
  ASSERT_TRUE(Feeds(store).add(fresh));
  redis.await_replicas();
  const auto asked = [&](std::size_t times) {
    return std::ranges::all_of(servers, [&](const auto& server) { return server->requests().size() >= times; });
  };
  const std::size_t first = redis.primary();
  std::vector<pid_t> replicas;
  for (std::size_t node = 0; node < redis.nodes(); ++node) {
    if (node != first) replicas.push_back(redis.node(node).pid());
  }
  for (const pid_t replica : replicas) kill(replica, SIGSTOP);
  redis_command(redis.node(first), {"CLIENT", "KILL", "TYPE", "replica"});  // drop data queued in their sockets
  for (auto& worker : workers) worker = std::make_unique<Program>(std::vector<std::string>{"run"}, world.environment);
  ASSERT_TRUE(eventually([&] { return asked(1); }));
  redis.node(first).kill();
  for (const pid_t replica : replicas) kill(replica, SIGCONT);
  redis.await_another(first);
  ASSERT_TRUE(eventually([&] { return asked(2); })) << workers[0]->err();
  for (const auto& worker : workers) worker->signal(SIGTERM);
  for (const auto& worker : workers) EXPECT_EQ(worker->wait().exit, 0);
  for (const auto& server : servers) EXPECT_EQ(server->requests().size(), 2U);
  EXPECT_EQ(found_by_verify(redis.url()), "");
}

/// Failovers by command, stall and crash; returning primaries lack the writes they missed.
TEST_F(Failover, AgainAndAgainLosesNoPost) {
  ASSERT_NO_FATAL_FAILURE(begin());
  Listener listener(redis.url());
  const int times = tries(3, 30, 100);
  for (int i = 0; i < times; ++i) {
    ASSERT_NO_FATAL_FAILURE(let_work(50));
    const std::size_t before = redis.primary();
    const int how = i % 3;
    if (how == 0) {
      redis.hand_over();
    } else {
      kill(redis.node(before).pid(), how == 1 ? SIGSTOP : SIGKILL);
      if (how == 2) redis.node(before).kill();
    }
    redis.await_another(before);
    ASSERT_NO_FATAL_FAILURE(let_work(30)) << "after failover " << i;
    if (how == 1) kill(redis.node(before).pid(), SIGCONT);
    if (how == 2) redis.node(before).start();
    redis.await_replicas();
    expect_whole(i);
    if (HasFailure()) return;
  }
  EXPECT_EQ(wrongs_at_the_end(), "");
  compare(listener);
}

TEST_F(InACluster, AKilledPrimaryLosesNoPostAndIsLoggedOnce) {
  ASSERT_NO_FATAL_FAILURE(begin());
  Listener listener(redis.url());
  ASSERT_NO_FATAL_FAILURE(let_work(100));
  const std::size_t first = redis.primary();
  redis.node(first).kill();
  EXPECT_TRUE(eventually([&] { return workers[0]->err().find("Redis is unavailable") != std::string::npos; }));
  ASSERT_NO_FATAL_FAILURE(go_on_without(first, listener));
  const Finished told = world.run({"doctor"});
  EXPECT_NE(told.out.find("which holds slot"), std::string::npos) << told.out;
  EXPECT_NE(told.out.find("ready to take over: 127.0.0.1:"), std::string::npos) << told.out;
  EXPECT_NE(told.out.find("1 failover"), std::string::npos) << told.out;

  // After a move to a single server, entries keep their numbers.
  const RedisServer single;
  const std::string file = (single.directory() / "store.jsonl").string();
  const Finished exported = world.run({"store", "export", file});
  ASSERT_EQ(exported.exit, 0) << exported.err;
  world.environment["FEEDMILL_REDIS_URL"] = single.admin_url();
  const Finished imported = world.run({"store", "import", file});
  ASSERT_EQ(imported.exit, 0) << imported.err;
  EXPECT_EQ(found_by_verify(single.admin_url()), "");
  const std::string map = truth.url(0) + ":guidmap", guid = GroundTruth::guid(0, 0);
  const std::string there = redis_command(single, {"HGET", map, guid});
  EXPECT_TRUE(there.starts_with("Entry:")) << there;
  EXPECT_EQ("{p000}:" + there, redis_command(redis.node(redis.primary()), {"HGET", "{p000}:" + map, guid}));
}

/// The slot's keys are on two nodes for a while; no command executes partially.
TEST_F(InACluster, MigratingASlotPausesAllWorkersAndLosesNothing) {
  ASSERT_NO_FATAL_FAILURE(begin());
  Listener listener(redis.url());
  for (int i = 0; i < 2; ++i) {
    ASSERT_NO_FATAL_FAILURE(let_work(100));
    redis.move_slot([&] {
      EXPECT_TRUE(eventually([&] {  // each feed is due every second
        const std::size_t asked = truth.asked_in_all();
        std::this_thread::sleep_for(1s);
        return truth.asked_in_all() == asked;
      })) << "somebody claims";
    });
    ASSERT_NO_FATAL_FAILURE(let_work(100));
    expect_whole(i);
  }
  const Finished told = world.run({"doctor"});
  EXPECT_EQ(told.out.find("failover"), std::string::npos) << "it was none: " << told.out;
  EXPECT_EQ(wrongs_at_the_end(), "");
  compare(listener);
}

/// Each round hands over, pauses, kills, moves a slot, or restarts all nodes.
TEST_F(InACluster, AgainAndAgainLosesNoPost) {
  ASSERT_NO_FATAL_FAILURE(begin());
  Listener listener(redis.url());
  const int times = tries(5, 40, 100);
  for (int i = 0; i < times; ++i) {
    ASSERT_NO_FATAL_FAILURE(let_work(50));
    const std::size_t before = redis.primary();
    const int how = i % 5;
    if (how == 0) redis.hand_over();
    if (how == 1) redis.pause(before);
    if (how == 2) redis.node(before).kill();
    if (how == 3) redis.move_slot([] {});
    if (how == 4) {
      redis.await_replicas();
      for (std::size_t node = 0; node < redis.nodes(); ++node) redis.node(node).kill_once_written();
      for (std::size_t node = 0; node < redis.nodes(); ++node) redis.node(node).start();
    }
    if (how < 4) redis.await_another(before);
    if (how == 4) redis.await_service();
    ASSERT_NO_FATAL_FAILURE(let_work(30)) << "after time " << i;
    if (how == 1) redis.resume(before);
    if (how == 2) redis.node(before).start();
    redis.await_service();
    redis.await_replicas();
    expect_whole(i);
    if (HasFailure()) return;
  }
  EXPECT_EQ(wrongs_at_the_end(), "");
  compare(listener);
}

}  // namespace
}  // namespace feedmill::test::failover_test
