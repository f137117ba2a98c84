// A worker during failures of Redis (RELIABILITY §6): fetched documents are kept and stored once, claims wait, and the
// outage is logged once when it begins and once when it ends.
#include <chrono>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <signal.h>

#include "storage/feeds/feeds.hpp"
#include "storage/lua/scripts.hpp"
#include "tests/end_to_end/program.hpp"
#include "tests/support/counts.hpp"
#include "tests/support/fault_proxy.hpp"
#include "tests/support/sanitized.hpp"

namespace feedmill::test::redis_faults_test {
namespace {

namespace asio = boost::asio;
using Fault = FaultProxy::Fault;

class RedisFaults : public testing::Test {
 protected:
  RedisFaults() {
    world.environment["FEEDMILL_REDIS_URL"] = proxy.redis_url_of("feedmill");
    world.environment["FEEDMILL_REDIS_TIMEOUT"] = "500ms";
    world.environment["FEEDMILL_SCHEDULE_FLOOR"] = world.environment["FEEDMILL_SCHEDULE_CEILING"] = "24h";
    test::load_scripts(world.redis);
  }
  /// Holds back a feed's document until let_go() is called.
  void serve_held() {
    world.http.serve("/feed.xml", {.body = rss({{"a", "First"}}), .hold_until = 2});
    ASSERT_TRUE(Feeds(world.store).add(std::vector{NewFeed{.feed_url = world.http.url("/feed.xml")}}));
  }
  void let_go() {
    asio::io_context loop;
    asio::ip::tcp::socket second(loop);
    second.connect({asio::ip::make_address("127.0.0.1"), world.http.port()});
    asio::write(second, asio::buffer(std::string("GET /other HTTP/1.1\r\nHost: x\r\n\r\n")));
    world.http.wait_for_requests(2);
  }
  bool logs(const Program& worker, const std::string& what) {
    return eventually([&] { return worker.err().find(what) != std::string::npos; });
  }
  void expect_stored_once(const Program& worker) {
    EXPECT_TRUE(eventually([&] { return world.count("post_created") > 0; })) << worker.err();
    EXPECT_TRUE(logs(worker, "event=redis_up")) << worker.err();
    EXPECT_EQ(world.count("post_created"), 1U);
    EXPECT_EQ(world.http.count("/feed.xml"), 1U) << "what was fetched is not fetched again";
    EXPECT_EQ(count_of(worker.err(), "event=redis_down"), 1U) << worker.err();
    EXPECT_EQ(count_of(worker.err(), "event=redis_up"), 1U) << worker.err();
    EXPECT_NE(worker.err().find("down_s="), std::string::npos);
    EXPECT_NE(worker.err().find("errors="), std::string::npos);
  }

  World world;
  FaultProxy proxy{world.redis.admin_url(), FaultProxy::Speaks::redis};
};

struct Trouble {
  const char* name;
  const char* kind;
  bool noticed;  // the outage is logged, however short
  std::function<void(RedisFaults&, RedisServer&, FaultProxy&)> begin, end;
};

void settings(const RedisServer& server, const std::vector<std::string>& words) {
  std::vector<std::string> all{"CONFIG", "SET"};
  all.insert(all.end(), words.begin(), words.end());
  EXPECT_EQ(redis_command(server, all), "OK");
}

const Trouble troubles[] = {
    {"OutOfMemory", "oom", true,
     [](auto&, auto& server, auto&) {
       settings(server, {"maxmemory", "1"});
     },
     [](auto&, auto& server, auto&) {
       settings(server, {"maxmemory", "0"});
     }},
    {"NoReplicas", "misconf", true,
     [](auto&, auto& server, auto&) {
       settings(server, {"min-replicas-to-write", "1"});
     },
     [](auto&, auto& server, auto&) {
       settings(server, {"min-replicas-to-write", "0"});
     }},
    {"IsAReplica", "readonly", true,
     [](auto&, auto& server, auto&) {
       redis_command(server, {"REPLICAOF", "127.0.0.1", "1"});
     },
     [](auto&, auto& server, auto&) {
       redis_command(server, {"REPLICAOF", "NO", "ONE"});
     }},
    {"Refused", "connection", false, [](auto&, auto&, auto& proxy) { proxy.down(); },
     [](auto&, auto&, auto& proxy) { proxy.up(); }},
    {"DoesNotAnswer", "timeout", false, [](auto&, auto& server, auto&) { ::kill(server.pid(), SIGSTOP); },
     [](auto&, auto& server, auto&) { ::kill(server.pid(), SIGCONT); }},
};

class AWorkerOutlasts : public RedisFaults, public testing::WithParamInterface<Trouble> {};

TEST_P(AWorkerOutlasts, AndStoresFetchedDocumentsOnce) {
  serve_held();
  Program worker({"run", "--listen", "127.0.0.1:0"}, world.environment);
  const std::string address = listening_at(worker);
  world.http.wait_for_requests(1);
  GetParam().begin(*this, world.redis, proxy);
  let_go();
  EXPECT_TRUE(logs(worker, "event=redis_down")) << worker.err();
  const std::string trouble = "feedmill_redis_trouble{kind=\"" + std::string(GetParam().kind) + "\"} 1\n";
  EXPECT_TRUE(eventually([&] { return get(address, "/metrics").find(trouble) != std::string::npos; }))
      << get(address, "/metrics") << worker.err();
  EXPECT_TRUE(get(address, "/readyz").starts_with("HTTP/1.1 503"));
  EXPECT_NE(get(address, "/metrics").find("feedmill_ready 0\n"), std::string::npos);
  EXPECT_TRUE(get(address, "/livez").starts_with("HTTP/1.1 200"));
  GetParam().end(*this, world.redis, proxy);
  expect_stored_once(worker);
  EXPECT_NE(get(address, "/metrics").find("feedmill_redis_up 1\n"), std::string::npos);
  EXPECT_EQ(
      get(address, "/metrics").find("feedmill_redis_errors_total{kind=\"" + std::string(GetParam().kind) + "\"} 0"),
      std::string::npos);
  if (GetParam().noticed) {
    EXPECT_TRUE(eventually([&] {
      return world.redis_text({"HVALS", "hash:notification:user_id:_operator"}).find("store_outage") !=
             std::string::npos;
    })) << worker.err();
    EXPECT_NE(world.run({"notices"}).out.find("Redis was unavailable"), std::string::npos);
  }
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

INSTANTIATE_TEST_SUITE_P(All, AWorkerOutlasts, testing::ValuesIn(troubles),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_F(RedisFaults, LostCommitReplyIsRecognisedAsADuplicate) {
  serve_held();
  proxy.at(runs_script(scripts::commit), 1, Fault::cut_reply);
  Program worker({"run", "--listen", "127.0.0.1:0"}, world.environment);
  const std::string address = listening_at(worker);
  world.http.wait_for_requests(1);
  let_go();
  EXPECT_TRUE(eventually([&] {
    return get(address, "/metrics").find("feedmill_commits_total{result=\"dup\"} 1\n") != std::string::npos;
  })) << worker.err();
  expect_stored_once(worker);
}

TEST_F(RedisFaults, LostClaimReplyReturnsTheSameFeeds) {
  serve_held();
  proxy.at(
      [claims = runs_script(scripts::claim), this](const auto& words) {
        return claims(words) && world.redis_text({"ZCOUNT", "schedule", "-inf", "+inf"}) == "1";
      },
      1, Fault::cut_reply);
  Program worker({"run"}, world.environment);
  world.http.wait_for_requests(1);
  let_go();
  expect_stored_once(worker);
  EXPECT_EQ(world.redis_text({"HGET", "state:feed:" + world.http.url("/feed.xml"), "strikes"}), "(nil)");
}

/// HTTP H6: a redirect's target is fetched only once the store answers again.
TEST_F(RedisFaults, ARedirectWaitsForTheStore) {
  const std::string url = world.http.url("/feed.xml");
  world.http.serve("/there.xml", {.body = rss({{"a", "First"}})});
  world.http.serve("/feed.xml", [this](const ServedRequest&) {
    proxy.down();
    return Response{.status = 302, .headers = {{"Location", world.http.url("localhost", "/there.xml")}}};
  });
  ASSERT_TRUE(Feeds(world.store).add(std::vector{NewFeed{.feed_url = url}}));
  Program worker({"run"}, world.environment);
  world.http.wait_for_requests(1);
  std::this_thread::sleep_for(Milliseconds(500));
  proxy.up();
  EXPECT_TRUE(eventually([&] { return world.count("post_created") > 0; })) << worker.err();
  EXPECT_EQ(world.http.count("/feed.xml"), 1U);
}

/// An outage longer than the leases: no feed is suspected of killing a worker, and all continue at once.
TEST_F(RedisFaults, AnOutageLongerThanALeaseLeavesNoSuspects) {
  constexpr std::size_t feeds = 30;
  world.environment["FEEDMILL_SCHEDULE_LEASE"] = "1500ms";
  world.environment["FEEDMILL_FETCH_WALL"] = "1s";
  std::vector<NewFeed> list;
  for (std::size_t i = 0; i < feeds; ++i) {
    const std::string path = "/feed/" + std::to_string(i);
    world.http.serve(path, {.body = rss({{"a", "First"}}), .hold_until = feeds});
    list.push_back({.feed_url = world.http.url(path)});
  }
  ASSERT_TRUE(Feeds(world.store).add(list));
  proxy.at(runs_script(scripts::commit), 0, Fault::cut_request);  // no commit gets through
  Program worker({"run", "--listen", "127.0.0.1:0"}, world.environment);
  const std::string address = listening_at(worker);
  world.http.wait_for_requests(feeds);
  EXPECT_TRUE(eventually([&] {  // all were abandoned because their leases had ended
    return get(address, "/metrics").find("feedmill_failures_total{reason=\"store.unavailable\"} 30\n") !=
           std::string::npos;
  })) << get(address, "/metrics");
  proxy.clear();
  EXPECT_TRUE(eventually([&] {
    return world.redis_text({"GET", "ids:Entry"}) == std::to_string(feeds);
  })) << worker.err();
  EXPECT_NE(get(address, "/metrics").find("feedmill_claims_total{result=\"quarantined\"} 0\n"), std::string::npos)
      << "none had to wait for another";
  for (const NewFeed& feed : list)
    EXPECT_EQ(world.redis_text({"HGET", "state:feed:" + feed.feed_url, "strikes"}), "(nil)");
}

/// RELIABILITY B2: the slower Redis is, the fewer feeds are claimed at once.
TEST_F(RedisFaults, ASlowRedisLosesNoLease) {
  constexpr std::size_t feeds = 40;
  world.environment["FEEDMILL_REDIS_TIMEOUT"] = "5s";
  std::vector<NewFeed> list;
  for (std::size_t i = 0; i < feeds; ++i) {
    const std::string path = "/feed/" + std::to_string(i);
    world.http.serve(path, {.body = rss({{"a", "First"}})});
    list.push_back({.feed_url = world.http.url(path)});
  }
  ASSERT_TRUE(Feeds(world.store).add(list));
  proxy.shape(FaultProxy::Towards::client, {.delay = std::chrono::milliseconds(20)});  // for each of many replies
  Program worker({"run", "--listen", "127.0.0.1:0"}, world.environment);
  const std::string address = listening_at(worker);
  EXPECT_TRUE(eventually([&] {
    return world.redis_text({"GET", "ids:Entry"}) == std::to_string(feeds);
  })) << worker.err();
  for (const char* const lost : {"dup", "stale", "error"}) {
    EXPECT_NE(get(address, "/metrics").find("feedmill_commits_total{result=\"" + std::string(lost) + "\"} 0\n"),
              std::string::npos)
        << lost;
  }
}

TEST_F(RedisFaults, TheNetworkMayCutAnything) {
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}, {"b", "Second"}})});
  ASSERT_TRUE(Feeds(world.store).add(std::vector{NewFeed{.feed_url = world.http.url("/feed.xml")}}));
  proxy.shape(FaultProxy::Towards::client, {.piece = 1});
  Program worker({"run"}, world.environment);
  EXPECT_TRUE(eventually([&] { return world.redis_text({"GET", "ids:Entry"}) == "2"; })) << worker.err();
  EXPECT_EQ(worker.err().find("event=bug"), std::string::npos) << worker.err();
}

// --- at the start ----------------------------------------------------------------------------------------------------

TEST_F(RedisFaults, AtTheStartNameTheRemedy) {
  world.redis_text({"ACL", "SETUSER", "feedmill", "-xadd"});
  const Finished lacking = world.run({"run"});
  EXPECT_EQ(lacking.exit, 78);
  EXPECT_NE(lacking.err.find("+xadd"), std::string::npos) << lacking.err;
  world.redis_text({"ACL", "SETUSER", "feedmill", "+xadd", "resetchannels", "&post_*", "&feed_*", "&request_*"});
  world.redis_text({"FLUSHALL"});
  const Finished yesterdays = world.run({"run"});
  EXPECT_EQ(yesterdays.exit, 78);
  EXPECT_NE(yesterdays.err.find("grant &notifications:*"), std::string::npos) << yesterdays.err;
  EXPECT_EQ(world.redis_text({"DBSIZE"}), "0") << "nothing was written";
  world.redis_text({"ACL", "SETUSER", "feedmill", "&notifications:*", "resetpass", ">another"});
  const Finished unknown = world.run({"run"});
  EXPECT_EQ(unknown.exit, 78);
  EXPECT_NE(unknown.err.find("WRONGPASS"), std::string::npos) << unknown.err;
  world.redis_text({"ACL", "SETUSER", "feedmill", "resetpass", ">feedmill"});
  settings(world.redis, {"maxmemory-policy", "allkeys-lru"});
  const Finished evicting = world.run({"run"});
  EXPECT_EQ(evicting.exit, 78);
  EXPECT_NE(evicting.err.find("noeviction"), std::string::npos) << evicting.err;
  settings(world.redis, {"maxmemory-policy", "noeviction"});
  const Finished durable = world.run({"run", "--once"}, {{"FEEDMILL_STORE_DURABILITY", "fsync"}});
  EXPECT_EQ(durable.exit, 78);
  EXPECT_NE(durable.err.find("appendonly"), std::string::npos) << durable.err;
  EXPECT_EQ(world.run({"run", "--once"}).exit, 0);
}

TEST_F(RedisFaults, AtTheStartAreLoggedOnceAndSoIsTheirEnd) {
  proxy.down();
  const Program worker({"run"}, world.environment);
  EXPECT_TRUE(logs(worker, "event=redis_down")) << worker.err();
  proxy.up();
  EXPECT_TRUE(logs(worker, "event=ready")) << worker.err();
  EXPECT_EQ(count_of(worker.err(), "event=redis_down"), 1U) << worker.err();
  EXPECT_EQ(count_of(worker.err(), "event=redis_up"), 1U) << worker.err();
}

TEST_F(RedisFaults, AtTheStartNameTheRemedyForAReplica) {
  redis_command(world.redis, {"REPLICAOF", "127.0.0.1", "1"});
  const Program worker({"run"}, world.environment);
  EXPECT_TRUE(logs(worker, "event=redis_down")) << worker.err();
  EXPECT_NE(worker.err().find("point redis.url at the primary"), std::string::npos) << worker.err();
  redis_command(world.redis, {"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(logs(worker, "event=ready")) << worker.err();
}

TEST_F(RedisFaults, APolicyThatBeginsToEvictStopsTheClaims) {
  Program worker({"run", "--listen", "127.0.0.1:0"}, world.environment);
  const std::string address = listening_at(worker);
  ASSERT_TRUE(eventually([&] { return get(address, "/readyz").starts_with("HTTP/1.1 200"); }));
  settings(world.redis, {"maxmemory-policy", "allkeys-lru"});
  EXPECT_TRUE(eventually([&] { return get(address, "/readyz").starts_with("HTTP/1.1 503"); })) << worker.err();
  EXPECT_NE(get(address, "/metrics").find("feedmill_redis_trouble{kind=\"unsupported\"} 1\n"), std::string::npos);
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  ASSERT_TRUE(Feeds(world.store).add(std::vector{NewFeed{.feed_url = world.http.url("/feed.xml")}}));
  EXPECT_TRUE(eventually([&] {
    return world.redis_text({"HVALS", "hash:notification:user_id:_operator"}).find("store_unfit") != std::string::npos;
  })) << worker.err();
  EXPECT_EQ(world.http.count("/feed.xml"), 0U);
  settings(world.redis, {"maxmemory-policy", "noeviction"});
  EXPECT_TRUE(eventually([&] { return world.redis_text({"GET", "ids:Entry"}) == "1"; })) << worker.err();
  EXPECT_TRUE(eventually([&] { return get(address, "/readyz").starts_with("HTTP/1.1 200"); }));
}

// --- rights and secrets ----------------------------------------------------------------------------------------------

TEST_F(RedisFaults, FullRunNeedsOnlyPublishedRights) {
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  const std::string url = world.http.url("/feed.xml");
  EXPECT_EQ(world.run({"add", url}).exit, 0);
  EXPECT_EQ(world.run({"notify", "rules", "anna", "--words", "first"}).exit, 0);
  EXPECT_EQ(world.run({"run", "--once"}).exit, 0);
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{{"list"},
                                                                                    {"show", url},
                                                                                    {"entries", url},
                                                                                    {"stats"},
                                                                                    {"plan"},
                                                                                    {"explain", url},
                                                                                    {"doctor"},
                                                                                    {"export"},
                                                                                    {"channel", "list"},
                                                                                    {"notices"},
                                                                                    {"pause", url},
                                                                                    {"resume", url},
                                                                                    {"remove", url}}) {
    EXPECT_EQ(world.run(verb).err.find("NOPERM"), std::string::npos) << verb[0];
  }
  EXPECT_EQ(world.redis_text({"ACL", "LOG"}), "") << "nothing was refused";
}

/// SECURITY K1–K3: checks the values of all keys, the debug log, metrics and error messages.
TEST_F(RedisFaults, SecretsShowNowhere) {
  const std::string canary = "canary7Zq";
  const auto text_of_all_keys = [&] {
    std::string all;
    std::istringstream keys(world.redis_text({"KEYS", "*"}));
    for (std::string key; keys >> key;) {
      all += key + "\n";
      for (const std::vector<std::string>& read : std::vector<std::vector<std::string>>{{"GET", key},
                                                                                        {"HGETALL", key},
                                                                                        {"SMEMBERS", key},
                                                                                        {"ZRANGE", key, "0", "-1"},
                                                                                        {"LRANGE", key, "0", "-1"},
                                                                                        {"XRANGE", key, "-", "+"}}) {
        all += world.redis_text(read) + "\n";
      }
    }
    return all;
  };
  world.redis_text({"ACL", "SETUSER", "feedmill", "resetpass", ">" + canary + "redis"});
  const auto file = world.redis.directory() / "password";
  std::ofstream(file) << canary << "redis\n";
  world.environment["FEEDMILL_REDIS_URL"] = "redis://feedmill@" + proxy.address();
  world.environment["FEEDMILL_REDIS_PASSWORD_FILE"] = file.string();
  world.environment["FEEDMILL_LOG_LEVEL"] = "debug";
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});

  const std::string port = std::to_string(world.http.port());
  const Finished refused = world.run({"add", "http://me:" + canary + "url@127.0.0.1:" + port + "/feed.xml"});
  EXPECT_NE(refused.exit, 0);
  EXPECT_EQ((refused.out + refused.err).find(canary), std::string::npos) << refused.err;
  EXPECT_EQ(world.run({"add", world.http.url("/feed.xml")}).exit, 0);

  Program worker({"run", "--listen", "127.0.0.1:0"}, world.environment);
  const std::string address = listening_at(worker);
  EXPECT_TRUE(eventually([&] { return world.redis_text({"GET", "ids:Entry"}) == "1"; })) << worker.err();
  proxy.down();
  EXPECT_TRUE(logs(worker, "event=redis_down")) << worker.err();
  proxy.up();
  EXPECT_TRUE(logs(worker, "event=redis_up")) << worker.err();
  world.redis_text({"ACL", "SETUSER", "feedmill", "resetpass", ">changed"});
  proxy.cut();
  EXPECT_TRUE(eventually([&] { return get(address, "/readyz?verbose").find("WRONGPASS") != std::string::npos; }))
      << get(address, "/readyz?verbose");
  EXPECT_EQ(worker.err().find(canary), std::string::npos);
  EXPECT_EQ(get(address, "/metrics").find(canary), std::string::npos);
  EXPECT_EQ(get(address, "/readyz?verbose").find(canary), std::string::npos);
  EXPECT_EQ(text_of_all_keys().find(canary), std::string::npos);
  const Finished wrong = world.run({"list"});
  EXPECT_EQ(wrong.exit, 78);
  EXPECT_EQ((wrong.out + wrong.err).find(canary), std::string::npos) << wrong.err;

  // A value in the query is part of the feed's name; only messages about the feed must hide it.
  world.redis_text({"ACL", "SETUSER", "feedmill", "resetpass", ">" + canary + "redis"});
  world.http.serve("/token.xml", {.status = 500, .body = "no"});
  const std::string with_token = world.http.url("/token.xml?token=" + canary + "query");
  world.redis_text({"SADD", "feeds", with_token});
  world.redis_text({"ZADD", "schedule", "1", with_token});
  const Finished once = world.run({"run", "--once"});
  EXPECT_EQ(world.http.count("/token.xml"), 1U) << once.err;
  EXPECT_NE(once.err.find("/token.xml?token=<redacted>"), std::string::npos) << once.err;
  EXPECT_EQ(once.err.find(canary), std::string::npos) << once.err;
}

// --- one pass over many ----------------------------------------------------------------------------------------------

/// More feeds than one claim examines, deferred by their only host, and due again before the pass is over.
TEST(OnePass, OverThousandsOfFeedsOfOneHostTakesEachOnce) {
  // A claim examines 5,000.
  const auto feeds = static_cast<std::size_t>(is_sanitized ? 6'000 : tries(6'000, 12'000, 12'000));
  World world;
  world.environment["FEEDMILL_HOST_CONCURRENCY"] = "32";
  world.environment["FEEDMILL_WORKER_LANES"] = "64";
  world.environment["FEEDMILL_FETCH_CONTACT"] = "https://example.org/bot";
  world.http.forget_requests();
  world.http.serve_rest([](const ServedRequest&) { return Response{.body = rss({{"a", "First"}})}; });
  std::vector<NewFeed> list;
  for (std::size_t i = 0; i < feeds; ++i) list.push_back({.feed_url = world.http.url("/" + std::to_string(i))});
  ASSERT_TRUE(Feeds(world.store).add(list));
  Program worker({"run", "--once", "--no-deliver"}, world.environment);
  int patience = is_sanitized ? 12 : 3;
  while (!eventually([&] { return worker.ended(); }) && --patience > 0) {
  }
  ASSERT_GT(patience, 0) << world.redis_text({"GET", "ids:Entry"});
  EXPECT_EQ(worker.wait().exit, 0);
  EXPECT_EQ(world.redis_text({"GET", "ids:Entry"}), std::to_string(feeds));
  std::size_t polled_once = 0;
  for (std::size_t from = 0; from < feeds; from += 500) {
    std::vector<std::string> urls;
    for (std::size_t i = from; i < from + 500; ++i) urls.push_back(list[i].feed_url);
    const auto records = Feeds(world.store).records(urls);
    ASSERT_TRUE(records);
    for (const auto& record : *records) polled_once += record && record->state.counts.polls == 1 ? 1 : 0;
  }
  EXPECT_EQ(polled_once, feeds);
}

}  // namespace
}  // namespace feedmill::test::redis_faults_test
