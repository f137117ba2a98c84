// What operators view: lists of feeds by state, workers, hosts that back off (OPERATIONS §6).
#include <algorithm>
#include <set>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/feeds/hosts.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::test::status_test {
namespace {

using namespace std::chrono_literals;
using Urls = std::vector<std::string>;

class StatusStoreTest : public StoreTest {
 protected:
  static std::string url(std::size_t i) {
    return "https://host" + std::to_string(i % 7) + ".example/" + std::to_string(i);
  }

  void add_many(std::size_t count) {
    std::vector<NewFeed> feeds;
    for (std::size_t i = 0; i < count; ++i)
      feeds.push_back({.feed_url = url(i), .after = Milliseconds(1'000'000 + i / 50)});
    ASSERT_TRUE(Feeds(store).add(feeds));
  }

  /// Reads all pages of a list and checks the figures of each.
  Urls walk(FeedQuery query, std::size_t* pages = nullptr) {
    Urls all;
    for (std::size_t i = 0; i < 10'000; ++i) {
      const auto page = Feeds(store).page(query);
      EXPECT_TRUE(page) << page.error().detail;
      if (!page) break;
      EXPECT_LE(page->feeds.size(), query.limit);
      EXPECT_LE(page->looked_at, query.look);
      for (const FeedRecord& feed : page->feeds) all.push_back(feed.feed_url);
      if (pages != nullptr) ++*pages;
      if (!page->next) return all;
      query.after = page->next;
    }
    ADD_FAILURE() << "no end";
    return all;
  }

  Urls in_state(const std::string& state) { return walk({.state = state, .part = "", .host = "", .after = {}}); }

  /// Commits a refresh of the only feed that leaves it in `state`.
  void end_in(const std::string& state) {
    Commit commit = plan(claim_one(), {post("a", 1'700'000'000)});
    commit.state.state = state;
    send(commit);
  }
};

TEST_F(StatusStoreTest, WalksTheScheduleOnceThroughInItsOrder) {
  add_many(233);
  make_all_due();  // with equal scores
  std::size_t pages = 0;
  Urls all = walk({.state = "", .part = "", .host = "", .after = {}, .limit = 50}, &pages);
  EXPECT_EQ(pages, 5U);
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), 233U);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));  // equal scores are ordered by name
  redis({"ZADD", "schedule", "XX", "0", url(200), "5", url(3)});
  all = walk({.state = "", .part = "", .host = "", .after = {}, .limit = 50});
  EXPECT_EQ(all.size(), 233U);
  EXPECT_EQ(all.front(), url(200));
  EXPECT_EQ(all.back(), url(3));
}

TEST_F(StatusStoreTest, ContinuesAfterAPageThoughEarlierFeedsMoved) {
  add_many(100);
  std::vector<std::string> order{"ZADD", "schedule", "XX"};
  for (std::size_t i = 0; i < 100; ++i) order.insert(order.end(), {std::to_string(i + 10), url(i)});
  redis(order);
  const auto first = Feeds(store).page({.state = "", .part = "", .host = "", .after = {}, .limit = 10});
  ASSERT_TRUE(first && first->next);
  for (std::size_t i = 0; i < 9; ++i) redis({"ZADD", "schedule", "XX", "900", url(i)});  // claimed in the meantime
  const auto second = Feeds(store).page({.state = "", .part = "", .host = "", .after = first->next, .limit = 10});
  ASSERT_TRUE(second);
  ASSERT_EQ(second->feeds.size(), 10U);
  EXPECT_EQ(second->feeds.front().feed_url, url(10));
}

TEST_F(StatusStoreTest, FindsByHostAndByPartOfTheUrlWithinItsLimit) {
  add_many(700);
  EXPECT_EQ(walk({.state = "", .part = "", .host = "host3.example", .after = {}}).size(), 100U);
  EXPECT_EQ(walk({.state = "", .part = "e/69", .host = "", .after = {}}).size(), 11U);  // 69, 690 … 699
  EXPECT_EQ(walk({.state = "", .part = "e/69", .host = "host0.example", .after = {}}), (Urls{url(693)}));
  EXPECT_EQ(walk({.state = "", .part = "%d+", .host = "", .after = {}}), Urls());  // text, not a pattern
  EXPECT_EQ(walk({.state = "", .part = "", .host = "host", .after = {}}), Urls());
  const auto page =
      Feeds(store).page({.state = "", .part = "nowhere", .host = "", .after = {}, .limit = 5, .look = 300});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->looked_at, 300U);
  EXPECT_EQ(page->total, 700U);
  EXPECT_TRUE(page->next);
}

TEST_F(StatusStoreTest, FindsByPartOfTheTitle) {
  add_many(30);
  redis({"HSET", "Feed:" + url(7), "title", "Caf\xc3\xa9 News [%d]"});
  redis({"SET", "Feed:" + url(8), "news"});  // of the wrong type
  for (const char* part : {"news", "NEWS [%", "Caf\xc3\xa9"})
    EXPECT_EQ(walk({.state = "", .part = part, .host = "", .after = {}}), Urls{url(7)}) << part;
  EXPECT_EQ(walk({.state = "", .part = "newsy", .host = "", .after = {}}), Urls());
}

TEST_F(StatusStoreTest, ListsFeedsByStateFromTheFirstToTheLastDay) {
  add();
  EXPECT_EQ(in_state("new"), Urls{feed_url});
  end_in("healthy");
  EXPECT_EQ(in_state("new"), Urls());
  EXPECT_EQ(in_state("healthy"), Urls{feed_url});
  EXPECT_EQ(redis({"EXISTS", "stats:feeds:in:healthy"}), "0");  // the usual state has no list of its own
  end_in("degraded");
  EXPECT_EQ(in_state("degraded"), Urls{feed_url});
  EXPECT_EQ(in_state("healthy"), Urls());
  end_in("failing");
  EXPECT_EQ(in_state("degraded"), Urls());
  EXPECT_EQ(in_state("failing"), Urls{feed_url});
  const Urls one{feed_url};
  ASSERT_TRUE(Feeds(store).pause(one));
  EXPECT_EQ(in_state("paused"), one);  // though it is not in the schedule
  EXPECT_EQ(in_state("failing"), Urls());
  const ResumedFeed resumed{feed_url, 0ms};
  ASSERT_TRUE(Feeds(store).resume(std::span(&resumed, 1), 0ms));
  EXPECT_EQ(in_state("paused"), Urls());
  EXPECT_EQ(in_state("failing"), one);
  ASSERT_TRUE(Feeds(store).remove(feed_url));
  EXPECT_EQ(in_state("failing"), Urls());
}

TEST_F(StatusStoreTest, PutsThoseFirstThatCameIntoTheStateLast) {
  for (const char* path : {"a", "b", "c"}) add(std::string("https://example.org/") + path);
  for (int i = 0; i < 3; ++i) {
    redis({"ZADD", "stats:feeds:in:new", "XX", std::to_string(1000 + i % 2),
           std::string("https://example.org/") + "abc"[i]});
  }
  EXPECT_EQ(walk({.state = "new", .part = "", .host = "", .after = {}, .limit = 1}),
            (Urls{"https://example.org/b", "https://example.org/c", "https://example.org/a"}));
}

TEST_F(StatusStoreTest, CommitsThoughAListHasTheWrongType) {
  add();
  redis({"SET", "stats:feeds:in:failing", "x"});
  end_in("failing");
  EXPECT_EQ(redis({"HGET", "stats:feeds:states", "failing"}), "1");
  EXPECT_FALSE(Feeds(store).page({.state = "failing", .part = "", .host = "", .after = {}}));
}

TEST_F(StatusStoreTest, KnowsWorkersByTheirHeartbeats) {
  ASSERT_TRUE(Fleet(store).workers());
  EXPECT_TRUE(Fleet(store).workers()->empty());
  ASSERT_TRUE(
      Fleet(store).heartbeat(worker_a, {{"host", "<b>"}, {"pid", "7"}, {"version", "1"}, {"in_flight", "3"}}, 20s));
  const auto workers = Fleet(store).workers();
  ASSERT_TRUE(workers);
  ASSERT_EQ(workers->size(), 1U);
  EXPECT_EQ(workers->front().id, worker_a);
  EXPECT_GT(workers->front().alive_at.count(), 0);
  EXPECT_EQ(workers->front().fields, (Fields{{"host", "<b>"}, {"pid", "7"}, {"version", "1"}, {"in_flight", "3"}}));
}

TEST_F(StatusStoreTest, KnowsWorkersThatDoNotFetch) {
  ASSERT_TRUE(Fleet(store).heartbeat(worker_a, {{"in_flight", "1"}, {"does", "fetch deliver"}}, 20s));
  EXPECT_EQ(*Fleet(store).heartbeat("pusher", {{"does", "push_out"}}, 20s, false), 2U);
  const auto workers = Fleet(store).workers();
  ASSERT_TRUE(workers);
  ASSERT_EQ(workers->size(), 2U);
  EXPECT_TRUE(workers->front().fetches);
  EXPECT_FALSE(workers->back().fetches);
  EXPECT_EQ(workers->back().fields, (Fields{{"does", "push_out"}}));
  EXPECT_EQ(Fleet(store).figures()->workers, 1U) << "who fetches";
  EXPECT_EQ(Fleet(store).figures()->other_workers, 1U);
  ASSERT_TRUE(Fleet(store).retire("pusher"));
  EXPECT_EQ(Fleet(store).figures()->other_workers, 0U);
}

TEST_F(StatusStoreTest, ComparesTheConfigurationsOfWorkers) {
  const auto beat = [&](const std::string& id, const std::string& configuration, const std::string& does) {
    ASSERT_TRUE(
        Fleet(store).heartbeat(id, {{"does", does}, {"configuration", configuration}}, 20s, does.starts_with("fetch")));
  };
  using Keys = std::vector<std::string>;
  ASSERT_TRUE(Fleet(store).heartbeat("older", {{"in_flight", "0"}}, 20s)) << "a build that sends no configuration";
  beat("one", "egress.allow=00000001 retention.entries=00000002", "fetch deliver");
  EXPECT_EQ(Fleet(store).figures()->differing, Keys());
  beat("two", "egress.allow=00000001 retention.entries=00000003 host=00000004", "fetch");
  EXPECT_EQ(Fleet(store).figures()->differing, (Keys{"host", "retention.entries"}));
  beat("two", "retention.entries=00000002 egress.allow=00000001", "fetch push_out");
  EXPECT_EQ(Fleet(store).figures()->differing, Keys());
  beat("pusher", "push_out.give_up=00000001", "push_out");
  EXPECT_EQ(Fleet(store).figures()->differing, Keys{"push_out.give_up"}) << "what it does not use is not compared";
}

TEST_F(StatusStoreTest, KnowsEveryWorkerOfALargeFleet) {
  for (int i = 0; i < 1'030; ++i) {
    ASSERT_TRUE(Fleet(store).heartbeat("worker" + std::to_string(i), {{"pid", "7"}}, 20min));
  }
  EXPECT_EQ(Fleet(store).workers()->size(), 1'030U);
  EXPECT_EQ(Fleet(store).figures(false)->workers, 1'030U);
}

/// RELIABILITY L23.
TEST_F(StatusStoreTest, OneWorkerLeadsAndAnotherTakesOver) {
  EXPECT_TRUE(*Fleet(store).lead("one", 20s));
  EXPECT_FALSE(*Fleet(store).lead("two", 20s));
  EXPECT_TRUE(*Fleet(store).lead("one", 20s)) << "it goes on";
  ASSERT_TRUE(Fleet(store).retire("two"));
  EXPECT_FALSE(*Fleet(store).lead("two", 20s)) << "nobody lets go what another holds";
  ASSERT_TRUE(Fleet(store).retire("one"));
  EXPECT_TRUE(*Fleet(store).lead("two", 20s));
  redis({"PEXPIRE", "lock:fleet", "0"});  // as if it had died
  EXPECT_TRUE(*Fleet(store).lead("one", 20s));

  EXPECT_EQ(*Fleet(store).heartbeat("one", {{"in_flight", "3"}}, 20s), 1U);
  EXPECT_EQ(Fleet(store).figures()->claimed, 3U);
  EXPECT_EQ(Fleet(store).figures(false)->claimed, 0U) << "nobody has noted anything";
  FleetFigures noted;
  noted.claimed = 7;
  ASSERT_TRUE(Fleet(store).note(noted, Milliseconds(123'456)));
  noted.claimed = 8;
  noted.differing = {"egress.allow", "host"};
  ASSERT_TRUE(Fleet(store).note(noted, std::nullopt));
  EXPECT_EQ(Fleet(store).figures(false)->claimed, 8U);
  EXPECT_EQ(Fleet(store).figures(false)->differing, noted.differing);
  EXPECT_EQ(Fleet(store).figures()->oldest_success, Milliseconds(123'456));
  EXPECT_EQ(*Fleet(store).heartbeat("two", {}, 20s), 2U);
  ASSERT_TRUE(Fleet(store).retire("two"));
  EXPECT_EQ(*Fleet(store).heartbeat("one", {}, 20s), 1U) << "who is gone is not counted";
}

TEST_F(StatusStoreTest, KnowsHostsThatBackOffUntilTheyServeAgain) {
  const Urls both{"https://example.org/a", "https://example.org/b"};
  for (const std::string& one : both) add(one);
  make_all_due();
  for (const Claim& claimed : claim().claims) {
    Commit commit = plan(claimed, {});
    commit.host = {.is = HostAnswer::Is::refused, .server = "", .cause = "rate_limited"};
    send(commit);
  }
  EXPECT_EQ(*Hosts(store).backing_off(5), Urls{"example.org"});
  EXPECT_EQ(*Hosts(store).backing_off(0), Urls());
  const auto states = Hosts(store).states(Urls{"example.org", "other.example"});
  ASSERT_TRUE(states);
  ASSERT_EQ(states->size(), 2U);
  EXPECT_EQ((*states)[0], *Hosts(store).state("example.org"));
  EXPECT_GT((*states)[0].not_before.count(), 0);
  EXPECT_EQ((*states)[1], HostState());
  redis({"HSET", "state:host:example.org", "not_before", "1"});
  make_all_due();
  const ClaimBatch probe = claim();  // one of the two, to probe the host
  ASSERT_EQ(probe.claims.size(), 1U);
  Commit commit = plan(probe.claims[0], {});
  commit.host = {.is = HostAnswer::Is::served, .server = "", .cause = ""};
  EXPECT_EQ(send(commit).circuit, Committed::Circuit::closed);
  EXPECT_EQ(*Hosts(store).backing_off(5), Urls());
}

TEST_F(StatusStoreTest, FindsTheNewestSignalsOfAFeed) {
  add();
  add("https://example.org/feed.xml2");
  make_all_due();
  for (const Claim& claimed : claim().claims) {
    send(plan(claimed, {post("a", 1'700'000'000), post("b", 1'700'000'100)}));
  }
  const auto found = EventStream(store).of_feed(feed_url, 1000, 10);
  ASSERT_TRUE(found) << found.error().detail;
  ASSERT_EQ(found->size(), 2U);
  EXPECT_GT((*found)[0].id, (*found)[1].id);
  for (const EventRecord& record : *found) {
    EXPECT_EQ(record.type, "post_created");
    EXPECT_EQ(boost::json::parse(record.json).at("feed_url").as_string(), feed_url);
  }
  EXPECT_EQ(EventStream(store).of_feed(feed_url, 1000, 1)->size(), 1U);
  EXPECT_EQ(EventStream(store).of_feed("https://example.org/none", 1000, 10)->size(), 0U);
}

/// Number of commands that the server has executed, including those in scripts.
std::uint64_t commands_of(const RedisServer& server) {
  const std::string stats = redis_command(server, {"INFO", "commandstats"});
  std::uint64_t calls = 0;
  for (std::size_t at = stats.find("calls="); at != std::string::npos; at = stats.find("calls=", at + 1)) {
    calls += std::stoull(stats.substr(at + 6));
  }
  return calls;
}

TEST_F(StatusStoreTest, AsksLittleOfAStoreOfAHundredThousandFeeds) {
  constexpr std::size_t count = 100'000;
  add_many(count);
  const auto cost = [&](const FeedQuery& query) {
    const std::uint64_t before = commands_of(server);
    const auto page = Feeds(store).page(query);
    EXPECT_TRUE(page) << page.error().detail;
    return commands_of(server) - before;
  };
  EXPECT_LE(cost({.state = "", .part = "", .host = "", .after = {}}), 300U);
  EXPECT_LE(cost({.state = "new", .part = "", .host = "", .after = {}}), 300U);
  EXPECT_LE(cost({.state = "gone", .part = "", .host = "", .after = {}}), 10U);
  EXPECT_LE(cost({.state = "healthy", .part = "", .host = "", .after = {}}), 5'100U);  // no feed is: examines 5,000
  EXPECT_LE(cost({.state = "", .part = "nowhere", .host = "", .after = {}}), 5'100U);  // reads 5,000 titles
  EXPECT_LE(cost({.state = "", .part = "", .host = "nowhere", .after = {}}), 20U);
  const auto middle = Milliseconds(store.now()->count() + 1'000'000 + 1'000).count();
  EXPECT_LE(cost({.state = "", .part = "", .host = "", .after = FeedPlace{middle, 3}}), 300U);
}

}  // namespace
}  // namespace feedmill::test::status_test
