#include "storage/store/store.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "storage/entries/entries.hpp"
#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/redis/redis.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::store_test {
namespace {

namespace json = boost::json;
using test::feed_url;
using test::StoreTest;
using test::worker_a;
using test::worker_b;
using Result = Committed::Result;

TEST_F(StoreTest, RegistersAFeedOnceAndClaimsIt) {
  const std::vector<NewFeed> feeds{{feed_url, {}, R"({"keep":5})", "Title"}, {feed_url, {}, "", ""}};
  EXPECT_EQ(*Feeds(store).add(feeds), (std::vector<bool>{true, false}));
  EXPECT_EQ(*Feeds(store).urls_after("", 10'000), std::vector<std::string>{feed_url});
  const auto record = Feeds(store).records(std::vector{feed_url, std::string("https://no.where/")});
  ASSERT_TRUE((*record)[0]);
  EXPECT_FALSE((*record)[1]);
  EXPECT_EQ((*record)[0]->state.settings, R"({"keep":5})");
  EXPECT_EQ((*record)[0]->state.due.reason, "first");
  EXPECT_EQ((*record)[0]->feed, (Fields{{"title", "Title"}}));

  const ClaimBatch batch = claim();
  ASSERT_EQ(batch.claims.size(), 1U);
  EXPECT_EQ(batch.claims[0].feed_url, feed_url);
  EXPECT_EQ(batch.claims[0].state.settings, R"({"keep":5})");
  EXPECT_TRUE(batch.exhausted);
  EXPECT_TRUE(claim(worker_b).claims.empty()) << "claimed feeds are hidden";
}

// HTTP P12: feeds requested by programs do not delay regular polls.
TEST_F(StoreTest, FeedsThatProgramsAskForTakeTurns) {
  const auto clock_of_redis = [this] { return std::stoll(redis({"TIME"}).substr(0, 10)) * 1000; };
  const auto ask = [this](int i) -> bool {
    const NewFeed feed{.feed_url = "https://example.org/" + std::to_string(i)};
    return Feeds(store).add(std::span(&feed, 1), "", 100)->front();
  };
  const auto due = [this](int i) {
    return std::stoll(redis({"ZSCORE", "schedule", "https://example.org/" + std::to_string(i)}));
  };
  const auto before = clock_of_redis();
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(ask(i));
  const auto after = clock_of_redis();
  EXPECT_LE(due(0), after + 1000) << "the first at once";
  for (int i = 0; i < 200; ++i) EXPECT_GE(due(i), before + 10LL * i) << i;
  EXPECT_LE(due(199), after + 1000 + 1990);
  EXPECT_FALSE(ask(7)) << "known ones keep their turn";
  EXPECT_LE(due(7), after + 1000 + 70);
  add("https://example.org/by_hand");
  EXPECT_LE(std::stoll(redis({"ZSCORE", "schedule", "https://example.org/by_hand"})), clock_of_redis() + 1000)
      << "an operator's at once";
  // A turn in the far future must not delay all later feeds.
  redis({"HSET", "meta:store", "next_first", std::to_string(clock_of_redis() + 200'000'000)});
  ASSERT_TRUE(ask(200));
  EXPECT_LE(due(200), clock_of_redis() + 1000);
}

TEST_F(StoreTest, AnswersARepeatedClaimRequestWithTheSameBatch) {
  add();
  const ClaimBatch first = claim();
  --requests;
  const ClaimBatch again = claim();
  ASSERT_EQ(again.claims.size(), 1U);
  EXPECT_EQ(again.claims[0].id, first.claims[0].id);
}

TEST_F(StoreTest, HandsOutTheLongestOverdueFirst) {
  for (const char* url : {"http://a.org/", "http://b.org/", "http://c.org/"}) add(url);
  redis({"ZADD", "schedule", "XX", "30", "http://a.org/", "10", "http://b.org/", "20", "http://c.org/"});
  const ClaimBatch batch = claim(worker_a, 2);
  ASSERT_EQ(batch.claims.size(), 2U);
  EXPECT_EQ(batch.claims[0].feed_url, "http://b.org/");
  EXPECT_EQ(batch.claims[1].feed_url, "http://c.org/");
  EXPECT_FALSE(batch.exhausted);
}

TEST_F(StoreTest, LetsOneRequestAtATimeGoToAHost) {
  add("http://a.org/1");
  add("http://a.org/2");
  add("http://b.org:8080/1");
  ClaimRequest request;
  request.worker = worker_a;
  request.request = 1;
  request.max = 10;
  const auto batch = Ingest(store).claim(request);
  ASSERT_EQ(batch->claims.size(), 2U);
  EXPECT_EQ(batch->claims[0].feed_url, "http://a.org/1");
  EXPECT_EQ(batch->claims[1].feed_url, "http://b.org:8080/1");
  ASSERT_EQ(batch->deferred.size(), 1U);
  EXPECT_EQ(batch->deferred[0].feed_url, "http://a.org/2");
  EXPECT_GE(batch->deferred[0].due, batch->now + Milliseconds(1000));
  // The commit frees the slot.
  EXPECT_EQ(redis({"HEXISTS", "state:host:a.org", "s:" + batch->claims[0].id}), "1");
  send(plan(batch->claims[0], {}));
  EXPECT_EQ(redis({"HEXISTS", "state:host:a.org", "s:" + batch->claims[0].id}), "0");
}

TEST_F(StoreTest, ClaimsFeedsDueByATimeAndListsTheirDeferrals) {
  add("http://a.org/1");
  add("http://a.org/2");
  redis({"ZADD", "schedule", "XX", "5", "http://a.org/1", "6", "http://a.org/2"});
  ClaimRequest request;
  request.worker = worker_a;
  request.max = 10;
  request.request = 1;
  request.due_by = Milliseconds(10);
  request.host = {1, Milliseconds(0)};
  auto batch = Ingest(store).claim(request);
  ASSERT_EQ(batch->claims.size(), 1U);
  ASSERT_EQ(batch->deferred.size(), 1U);
  // The first one becomes due again at once, but was tried already. The deferred one is still pending.
  Commit again = plan(batch->claims[0], {});
  again.next_due = Milliseconds(11);
  send(again);
  redis({"ZADD", "schedule", "XX", "12", "http://a.org/2"});
  request.request = 2;
  request.only = {"http://a.org/2"};
  batch = Ingest(store).claim(request);
  ASSERT_EQ(batch->claims.size(), 1U);
  EXPECT_EQ(batch->claims[0].feed_url, "http://a.org/2");
  EXPECT_EQ(batch->claims[0].due, Milliseconds(6));
}

// RELIABILITY L10
TEST_F(StoreTest, ClaimsNamedFeedsIfTheyAreDueWhereThatIsAsked) {
  for (const char* url : {"http://a.org/1", "http://b.org/1", "http://c.org/1"}) add(url);
  const std::string later = std::to_string(store.now()->count() + 3'600'000);
  redis({"ZADD", "schedule", "XX", later, "http://b.org/1", later, "http://c.org/1"});
  redis({"HSET", "state:feed:http://c.org/1", "held", "5"});  // due, but held back
  ClaimRequest request;
  request.worker = worker_a;
  request.max = 10;
  request.request = 1;
  request.only = {"http://a.org/1", "http://b.org/1", "http://c.org/1"};
  request.only_if_due = true;
  const auto due = Ingest(store).claim(request);
  ASSERT_EQ(due->claims.size(), 2U);
  EXPECT_EQ(due->claims[0].feed_url, "http://a.org/1");
  EXPECT_EQ(due->claims[1].feed_url, "http://c.org/1");
  EXPECT_TRUE(due->exhausted);
  request.request = 2;
  request.only_if_due = false;
  const auto any = Ingest(store).claim(request);
  ASSERT_EQ(any->claims.size(), 1U);
  EXPECT_EQ(any->claims[0].feed_url, "http://b.org/1");
}

TEST_F(StoreTest, MakesTheFeedsOfADeadWorkerDueAgain) {
  add();
  const ClaimBatch lost = claim(worker_a, 10, Milliseconds(1));
  ASSERT_EQ(lost.claims.size(), 1U);
  ClaimBatch taken;
  while (taken.claims.empty()) taken = claim(worker_b);
  EXPECT_NE(taken.claims[0].id, lost.claims[0].id);
  // The first worker was only stalled: its commit changes nothing.
  EXPECT_EQ(send(plan(lost.claims[0], {post("a", 1)})).result, Result::stale);
  EXPECT_EQ(redis({"EXISTS", "ids:Entry", feed_url + ":sort", "stream:signals"}), "0");
  EXPECT_EQ(send(plan(taken.claims[0], {post("a", 1)})).created, 1U);
}

TEST_F(StoreTest, StoresEntriesWithTheirIndexes) {
  add();
  const Claim claimed = claim_one();
  Commit commit = plan(claimed, {post("new", 200, "New"), post("old", 100)});
  commit.feed = {{"title", "Feed"}};
  commit.state.validators.etag = "\"x\"";
  commit.events = {{"feed_created", "created", R"({"title":"Feed"})", ""}};
  const Committed done = send(commit);
  EXPECT_EQ(done.created, 2U);
  EXPECT_EQ(done.events, 3U);

  EXPECT_EQ(redis({"ZRANGE", feed_url + ":sort", "0", "-1", "WITHSCORES"}), "Entry:1 100 Entry:2 200");
  EXPECT_EQ(redis({"HGET", feed_url + ":guidmap", "new"}), "Entry:2");
  EXPECT_EQ(digests()["Entry:2"], test::packed_mark("New"));
  EXPECT_EQ(redis({"HMGET", "Entry:2", "feed_url", "guid", "title", "timestamp", "rev", "digest"}),
            feed_url + " new New 200 1 New");
  EXPECT_EQ(redis({"HGET", "Feed:" + feed_url, "title"}), "Feed");
  EXPECT_EQ(redis({"HGET", "state:feed:" + feed_url, "etag"}), "\"x\"");
  EXPECT_EQ(redis({"HGET", "stats:feeds:states", "healthy"}), "1");
  EXPECT_EQ(redis({"HGET", "stats:feeds:states", "new"}), "0");
  EXPECT_EQ(redis({"ZSCORE", "schedule", feed_url}), std::to_string(commit.next_due.count()));
  EXPECT_EQ(redis({"EXISTS", "none"}), "0");

  const auto found = Entries(store).get_by_guid(feed_url, "new");
  ASSERT_TRUE(*found);
  EXPECT_EQ((*found)->id, "Entry:2");
  EXPECT_EQ((*found)->get("title"), "New");
  EXPECT_FALSE(*Entries(store).get("Entry:99"));
  EXPECT_FALSE(*Entries(store).get("schedule")) << "only entries can be asked for";
}

TEST_F(StoreTest, SendsOneSignalEachWithAnUnbrokenChain) {
  add();
  Commit commit = plan(claim_one(), {post("b", 200, "B \"quoted\""), post("a", 100)});
  commit.events = {{"feed_created", "created", "{}", ""}};
  send(commit);
  refresh({post("b", 200, "B edited"), post("a", 100)});
  const auto all = signals();
  ASSERT_EQ(all.size(), 4U);
  std::string last = "0-0";
  for (const json::object& signal : all) {
    EXPECT_EQ(signal.at("prev").as_string(), last);
    last = signal.at("seq").as_string();
    EXPECT_EQ(signal.at("v").as_int64(), 1);
    EXPECT_EQ(signal.at("feed_url").as_string(), feed_url);
  }
  EXPECT_EQ(all[0].at("type").as_string(), "post_created");
  EXPECT_EQ(all[0].at("entity_id").as_string(), "Entry:1");
  EXPECT_TRUE(all[0].at("initial").as_bool());
  EXPECT_EQ(all[1].at("data").at("title").as_string(), "B \"quoted\"");
  EXPECT_EQ(all[2].at("type").as_string(), "feed_created");
  EXPECT_EQ(all[2].at("entity_id").as_string(), feed_url);
  EXPECT_EQ(all[3].at("type").as_string(), "post_modified");
  EXPECT_EQ(all[3].at("rev").as_int64(), 2);
  EXPECT_EQ(json::serialize(all[3].at("changed")), R"({"title":["B \"quoted\"","B edited"]})");
  EXPECT_EQ(all[3].at("data").at("link").as_string(), "https://example.org/b");
  EXPECT_EQ(*EventStream(store).last_id(), last);
}

TEST_F(StoreTest, ContinuesAfterTheStreamsLastIdWhenItsNoteIsLost) {
  add();
  refresh({post("a", 100)});
  redis({"HDEL", "meta:store", "last_signal"});
  redis({"XADD", "stream:signals", "9999999999999-7", "type", "x", "json", "{}"});
  EXPECT_EQ(refresh({post("b", 200), post("a", 100)}).created, 1U);
  EXPECT_EQ(*EventStream(store).last_id(), "9999999999999-8");
  redis({"HSET", "meta:store", "last_signal", "rubbish"});
  EXPECT_EQ(refresh({post("c", 300), post("b", 200), post("a", 100)}).created, 1U);
  EXPECT_EQ(*EventStream(store).last_id(), "9999999999999-9");
}

TEST_F(StoreTest, PublishesTheEventsOfTheStream) {
  add();
  Redis listener(*parse_redis_url(server.admin_url()), Milliseconds(5000));
  ASSERT_TRUE(listener.command({"SUBSCRIBE", "post_created"}));
  refresh({post("a", 100)});
  const auto message = listener.next();
  ASSERT_TRUE(message);
  EXPECT_EQ((*message)[1].text(), "post_created");
  EXPECT_EQ((*message)[2].text(), EventStream(store).read("0", 1, Milliseconds(0))->front().json);
}

TEST_F(StoreTest, WritesAndSignalsNothingForTheSameDocument) {
  add();
  const std::vector<EntryRecord> posts{post("b", 200), post("a", 100)};
  refresh(posts);
  for (int i = 0; i < 5; ++i) {
    const Committed done = refresh(posts);
    EXPECT_EQ(done.created + done.modified + done.events, 0U);
  }
  EXPECT_EQ(redis({"GET", "ids:Entry"}), "2");
}

TEST_F(StoreTest, AnswersDupWhenACommitIsSentAgain) {
  add();
  const Commit commit = plan(claim_one(), {post("a", 100)});
  EXPECT_EQ(send(commit).result, Result::ok);
  const Committed again = send(commit);
  EXPECT_EQ(again.result, Result::dup);
  EXPECT_EQ(again.created, 0U);
  EXPECT_EQ(redis({"XLEN", "stream:signals"}), "1");
}

TEST_F(StoreTest, WritesNothingWhenAKeyHasTheWrongType) {
  add();
  const Commit commit = plan(claim_one(), {post("a", 100)});
  redis({"SET", feed_url + ":guidmap", "spoilt"});
  const Commit* const one = &commit;
  const auto done = Ingest(store).commit(std::span(&one, 1)).front();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, StoreError::Code::refused);
  EXPECT_NE(done.error().detail.find(":guidmap"), std::string::npos);
  EXPECT_EQ(redis({"EXISTS", "ids:Entry", feed_url + ":sort", "stream:signals"}), "0");
}

/// A broken key that all feeds need must not postpone any feed; commits work again once the key is deleted.
TEST_F(StoreTest, WaitsWhileAKeyOfAllFeedsHasTheWrongType) {
  add();
  const Commit commit = plan(claim_one(), {post("a", 100)});
  const Commit* const one = &commit;
  for (const std::string key : {"stream:signals", "ids:Entry"}) {
    redis({"SET", key, "many"});
    const auto done = Ingest(store).commit(std::span(&one, 1)).front();
    ASSERT_FALSE(done) << key;
    EXPECT_EQ(done.error().code, StoreError::Code::misconfigured) << done.error().detail;
    EXPECT_NE(done.error().detail.find(key), std::string::npos) << done.error().detail;
    redis({"DEL", key});
    EXPECT_EQ(redis({"EXISTS", feed_url + ":sort", "stream:signals"}), "0");
  }
  EXPECT_EQ(send(commit).created, 1U);
}

TEST_F(StoreTest, WritesABigDocumentInPartsAndAPartOnce) {
  add();
  std::vector<EntryRecord> posts;
  for (int i = 350; i > 0; --i) posts.push_back(post("g" + std::to_string(i), 1000 + i));
  Commit commit = plan(claim_one(), posts, {.entries = 50, .listed = 0, .hard_cap = 2000});
  EXPECT_EQ(send(commit).created, 350U);
  EXPECT_EQ(send(commit).result, Result::dup);
  EXPECT_EQ(redis({"ZCARD", feed_url + ":sort"}), "350") << "what the document lists is kept";
  EXPECT_EQ(redis({"XLEN", "stream:signals"}), "350");
  EXPECT_EQ(redis({"HGET", "Entry:1", "guid"}), "g1") << "oldest first";
}

TEST_F(StoreTest, TombstonesWhatTheHardCapWouldTrimAtOnce) {
  add();
  std::vector<EntryRecord> posts;
  for (int i = 250; i > 0; --i) posts.push_back(post("g" + std::to_string(i), 1000 + i));
  const Committed done = refresh(posts, {.entries = 50, .listed = 0, .hard_cap = 120});
  EXPECT_EQ(done.created, 120U);
  EXPECT_EQ(done.tombstoned, 130U);
  EXPECT_EQ(done.trimmed, 0U);
  EXPECT_EQ(redis({"HEXISTS", feed_url + ":guidmap", "g131"}), "1");
  EXPECT_EQ(redis({"ZSCORE", feed_url + ":tombs", "g130"}), "inf");
  const Committed again = refresh(posts, {.entries = 50, .listed = 0, .hard_cap = 120});
  EXPECT_EQ(again.created + again.tombstoned + again.trimmed + again.events, 0U);
}

TEST_F(StoreTest, TrimsTheOldestAndNothingTrimmedComesBack) {
  add();
  const Retention strict{.entries = 3, .listed = 0, .hard_cap = 2000, .strict = true};
  refresh({post("c", 300), post("b", 200), post("a", 100)}, strict);
  const Committed done = refresh({post("d", 400), post("c", 300), post("b", 200), post("a", 100)}, strict);
  EXPECT_EQ(done.created, 1U);
  EXPECT_EQ(done.trimmed, 1U);
  EXPECT_EQ(redis({"EXISTS", "Entry:1"}), "0");
  EXPECT_EQ(redis({"HEXISTS", feed_url + ":guidmap", "a"}), "0");
  EXPECT_FALSE(digests().contains("Entry:1"));
  EXPECT_EQ(redis({"ZSCORE", feed_url + ":tombs", "a"}), "inf");
  EXPECT_EQ(signals("post_trimmed").size(), 1U);
  EXPECT_EQ(signals("post_trimmed")[0].at("guid").as_string(), "a");
  EXPECT_TRUE(signals("post_deleted").empty());

  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(refresh({post("d", 400), post("c", 300), post("b", 200), post("a", 100)}, strict).created, 0U);
  }
  // When the post leaves the document, its tombstone gets a date; when it returns, it still stays away.
  refresh({post("d", 400), post("c", 300)}, strict);
  EXPECT_NE(redis({"ZSCORE", feed_url + ":tombs", "a"}), "inf");
  EXPECT_EQ(refresh({post("d", 400), post("a", 100)}, strict).created, 0U);
  EXPECT_EQ(redis({"ZSCORE", feed_url + ":tombs", "a"}), "inf");
}

TEST_F(StoreTest, ForgetsATombstoneAfterItsGrace) {
  add();
  const Retention strict{.entries = 1, .listed = 0, .hard_cap = 2000, .strict = true, .grace = Milliseconds(0)};
  refresh({post("b", 200), post("a", 100)}, strict);
  EXPECT_EQ(redis({"ZCARD", feed_url + ":tombs"}), "1");
  refresh({post("b", 200)}, strict);
  EXPECT_EQ(redis({"ZCARD", feed_url + ":tombs"}), "0");
}

TEST_F(StoreTest, GivesClaimsBackAndForeignOnesNot) {
  add();
  const ClaimBatch batch = claim();
  Claim foreign = batch.claims[0];
  foreign.id = worker_b + ":1-1";
  EXPECT_EQ(*Ingest(store).release(std::vector{foreign}), 0U);
  EXPECT_EQ(*Ingest(store).release(batch.claims), 1U);
  const ClaimBatch again = claim(worker_b);
  ASSERT_EQ(again.claims.size(), 1U);
  EXPECT_EQ(again.claims[0].due, batch.claims[0].due);
}

TEST_F(StoreTest, GivesClaimsBackForALaterTime) {
  add();
  const ClaimBatch batch = claim();
  const Milliseconds later = batch.now + std::chrono::hours(24);
  EXPECT_EQ(*Ingest(store).release(batch.claims, later), 1U);
  EXPECT_EQ(redis({"ZSCORE", "schedule", feed_url}), std::to_string(later.count()));
  EXPECT_EQ(redis({"HEXISTS", "state:feed:" + feed_url, "claim"}), "0");
}

TEST_F(StoreTest, ABrokenKeyOfOneFeedDoesNotStopTheOthers) {
  const std::string broken = "https://broken.org/";
  add(broken);
  add();
  redis({"DEL", "state:feed:" + broken});
  redis({"SET", "state:feed:" + broken, "x"});
  redis({"SET", "state:host:example.org", "x"});
  const ClaimBatch batch = claim();
  ASSERT_EQ(batch.claims.size(), 1U);
  EXPECT_EQ(batch.claims[0].feed_url, feed_url);
  EXPECT_EQ(batch.refused, std::vector{broken});
  EXPECT_GE(std::stoll(redis({"ZSCORE", "schedule", broken})), (batch.now + std::chrono::hours(23)).count());
}

TEST_F(StoreTest, WritesNothingOfAFailureEitherWhenAKeyIsBroken) {
  add();
  Commit failure = plan(claim_one(), {});
  failure.document = false;
  failure.state.state = "failing";
  for (const std::string key : {"state:host:example.org", "stats:feeds:states", "meta:store"}) {
    const std::string kept = key + ":kept";
    redis({"RENAME", key, kept});
    redis({"SET", key, "x"});
    const Commit* const one = &failure;
    const auto done = Ingest(store).commit(std::span(&one, 1)).front();
    ASSERT_FALSE(done) << key;
    const bool is_of_all = !key.starts_with("state:host");
    EXPECT_EQ(done.error().code, is_of_all ? StoreError::Code::misconfigured : StoreError::Code::refused) << key;
    EXPECT_EQ(redis({"HGET", "state:feed:" + feed_url, "state"}), "new") << key;
    EXPECT_EQ(redis({"HEXISTS", "state:feed:" + feed_url, "claim"}), "1") << key;
    redis({"RENAME", kept, key});
  }
  EXPECT_EQ(send(failure).result, Result::ok);
}

TEST_F(StoreTest, RemovingAFeedUnderWorkFreesItsHost) {
  add();
  ASSERT_EQ(claim().claims.size(), 1U);
  EXPECT_EQ(redis({"HLEN", "state:host:example.org"}), "2");
  EXPECT_TRUE(*Feeds(store).remove(feed_url));
  EXPECT_EQ(redis({"HKEYS", "state:host:example.org"}), "last_start");
}

TEST_F(StoreTest, MakesSpreadFirstFetchesDueAndNothingElse) {
  std::vector<NewFeed> feeds;
  for (int i = 0; i < 2500; ++i) {
    feeds.push_back({"https://a.org/" + std::to_string(i), std::chrono::hours(1) + Milliseconds(i), "", ""});
  }
  const Milliseconds together = std::chrono::hours(1) + Milliseconds(1000);
  for (int i = 0; i < 2500; ++i) feeds.push_back({"https://b.org/" + std::to_string(i), together, "", ""});
  add();
  refresh({});  // also due in an hour, but not for the first time
  ASSERT_TRUE(Feeds(store).add(feeds));
  for (int i = 0; i < 1500; ++i) redis({"HSET", "state:feed:https://b.org/" + std::to_string(i), "won", "adaptive"});
  const auto start = Ingest(store).unspread();
  ASSERT_TRUE(start);
  EXPECT_EQ(redis({"ZCOUNT", "schedule", "-inf", std::to_string(start->count())}), "3500");
  EXPECT_EQ(redis({"ZCARD", "schedule"}), "5001");
  EXPECT_GE(*Ingest(store).unspread(), *start);
}

TEST_F(StoreTest, WakesAFeedButNotBeforeItsFloor) {
  add();
  const std::vector<std::string> urls{feed_url, "https://no.where/"};
  refresh({});
  auto answers = Feeds(store).wake(urls, std::chrono::hours(1), false);
  EXPECT_EQ((*answers)[0].result, Wake::Result::too_early);
  EXPECT_EQ((*answers)[1].result, Wake::Result::unknown);
  EXPECT_TRUE(claim().claims.empty());
  answers = Feeds(store).wake(urls, std::chrono::hours(1), true);
  EXPECT_EQ((*answers)[0].result, Wake::Result::due);
  const ClaimBatch batch = claim();
  ASSERT_EQ(batch.claims.size(), 1U);
  answers = Feeds(store).wake(urls, Milliseconds(0), true);
  EXPECT_EQ((*answers)[0].result, Wake::Result::noted);
  send(plan(batch.claims[0], {}));
  EXPECT_EQ(claim().claims.size(), 1U) << "a wish during a refresh is granted right after it";
}

TEST_F(StoreTest, WakesAFeedAtOnceIfOurPolicyRefusedItsAddress) {
  add();
  const std::vector<std::string> urls{feed_url};
  refresh({});
  const std::string key = "state:feed:" + feed_url;
  redis({"HSET", key, "last", "0 failed connect.refused"});
  EXPECT_EQ((*Feeds(store).wake(urls, std::chrono::hours(1), false))[0].result, Wake::Result::too_early);
  for (const char* reason : {"egress.blocked", "egress.port"}) {
    redis({"HSET", key, "last", std::string("302 failed ") + reason});
    EXPECT_EQ((*Feeds(store).wake(urls, std::chrono::hours(1), false))[0].result, Wake::Result::too_early)
        << "who answered with a redirect to there was asked";
  }
  redis({"HSET", key, "last", "0 failed egress.port"});
  EXPECT_EQ((*Feeds(store).wake(urls, std::chrono::hours(1), false))[0].result, Wake::Result::due);
  redis({"HSET", key, "last", "0 failed egress.blocked"});
  EXPECT_EQ((*Feeds(store).wake(urls, std::chrono::hours(1), false))[0].result, Wake::Result::due);
  EXPECT_EQ(claim().claims.size(), 1U);
}

TEST_F(StoreTest, RemovesAFeedWithItsWholeFamily) {
  add();
  std::vector<EntryRecord> posts;
  for (int i = 250; i > 0; --i) posts.push_back(post("g" + std::to_string(i), 1000 + i));
  refresh(posts);
  EXPECT_TRUE(*Feeds(store).remove(feed_url));
  EXPECT_FALSE(*Feeds(store).remove(feed_url));
  EXPECT_EQ(redis({"KEYS", "*"}).find(feed_url), std::string::npos) << redis({"KEYS", "*"});
  EXPECT_EQ(redis({"KEYS", "Entry:*"}), "");
  EXPECT_EQ(redis({"ZCARD", "schedule"}), "0");
  EXPECT_EQ(redis({"HGET", "stats:feeds:states", "healthy"}), "0");
  EXPECT_EQ(signals("post_trimmed").size(), 250U);
}

TEST_F(StoreTest, FinishesAnInterruptedRemovalBeforeAddingTheFeedAgain) {
  add();
  refresh({post("a", 1)});
  redis({"SREM", "feeds", feed_url});
  redis({"HSET", "state:feed:" + feed_url, "removing", "1"});
  EXPECT_EQ(*Feeds(store).add(std::vector{NewFeed{feed_url, {}, "", ""}}), std::vector<bool>{true});
  EXPECT_EQ(redis({"EXISTS", "Entry:1"}), "0");
}

TEST_F(StoreTest, PagesByScoreAndMember) {
  add();
  std::vector<EntryRecord> posts;
  for (int i = 9; i > 0; --i) posts.push_back(post("g" + std::to_string(i), 1000));  // all in one second
  posts.push_back(post("older", 1));
  refresh(posts);
  std::vector<std::string> seen;
  std::optional<EntryCursor> cursor;
  for (;;) {
    const auto page = Entries(store).all_by_order(feed_url, 4, cursor);
    if (page->empty()) break;
    for (const StoredEntry& entry : *page) seen.push_back(entry.id);
    cursor = EntryCursor{std::stoll(page->back().get("timestamp")), page->back().id};
  }
  ASSERT_EQ(seen.size(), 10U);
  const auto whole = Entries(store).all_by_order(feed_url, 20);
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], (*whole)[i].id);
}

TEST_F(StoreTest, PutsItsPrefixBeforeEveryKeyAndChannel) {
  redis({"ACL", "SETUSER", "feedmill", "resetkeys", "~p:*", "resetchannels", "&p:post_*", "&p:feed_*", "&p:request_*",
         "&p:notifications:*"});
  Store prefixed(StoreOptions{.url = server.url(), .password = "", .key_prefix = "p:"});
  ASSERT_TRUE(prefixed.open());
  redis({"DEL", "meta:store"});
  std::swap(store, prefixed);
  add();
  Redis listener(*parse_redis_url(server.admin_url()), Milliseconds(5000));
  ASSERT_TRUE(listener.command({"SUBSCRIBE", "p:post_created"}));
  const Claim claimed = claim().claims.at(0);
  send(plan(claimed, {post("a", 1)}));
  const auto message = listener.next();
  EXPECT_EQ((*message)[1].text(), "p:post_created");
  EXPECT_EQ(signals()[0].at("entity_id").as_string(), "p:Entry:1");
  for (const std::string given : {"1", "Entry:1", "p:Entry:1"}) EXPECT_EQ(Entries(store).id_of(given), "p:Entry:1");
  ASSERT_TRUE(Fleet(store).heartbeat(worker_a, {{"pid", "1"}}, Milliseconds(60'000)));
  const std::string keys = " " + redis({"KEYS", "*"});
  for (std::size_t at = keys.find(' '); at != std::string::npos; at = keys.find(' ', at + 1)) {
    EXPECT_EQ(keys.substr(at + 1, 2), "p:") << keys;
  }
}

// Broken display counters must not prevent a commit.
TEST_F(StoreTest, CommitsWhateverBecameOfTheCountsOfStates) {
  add();
  redis({"SET", "stats:feeds:in:degraded", "no list"});
  redis({"SET", "stats:feeds:in:new", "no list"});
  redis({"HSET", "stats:feeds:states", "new", "many", "degraded", "9223372036854775807"});
  Commit commit = plan(claim_one(), {post("a", 1000)});
  commit.state.state = "degraded";
  const Committed done = send(commit);
  EXPECT_EQ(done.result, Committed::Result::ok);
  EXPECT_EQ(done.created, 1U);
  EXPECT_EQ(redis({"HMGET", "state:feed:" + feed_url, "state", "claim"}), "degraded (nil)");
  EXPECT_EQ(send(commit).result, Committed::Result::dup) << "and whole";
  EXPECT_EQ(refresh({post("a", 1000), post("b", 1001)}).created, 1U);
}

TEST_F(StoreTest, CountsTheFleet) {
  add();
  add("https://example.org/2");
  ASSERT_TRUE(Fleet(store).heartbeat(worker_a, {{"in_flight", "3"}}, Milliseconds(60'000)));
  auto figures = Fleet(store).figures();
  EXPECT_EQ(figures->feeds, 2U);
  EXPECT_EQ(figures->due, 2U);
  EXPECT_EQ(figures->workers, 1U);
  EXPECT_EQ(figures->claimed, 3U);
  ASSERT_TRUE(Fleet(store).retire(worker_a));
  EXPECT_EQ(Fleet(store).figures()->workers, 0U);
}

TEST_F(StoreTest, LoadsAScriptOnceAndOnlyWhenItIsUsed) {
  add();
  redis({"SCRIPT", "FLUSH"});
  redis({"CONFIG", "RESETSTAT"});
  const auto loaded = [&] {
    const std::string stats = redis({"INFO", "commandstats"});
    const std::string_view name = "cmdstat_script|load:calls=";
    const auto at = stats.find(name);
    return at == std::string::npos ? 0 : std::stoi(stats.substr(at + name.size()));
  };
  Store first(StoreOptions{.url = server.url()}), second(StoreOptions{.url = server.url()});
  ASSERT_TRUE(Feeds(first).urls_after("", 10'000));
  EXPECT_EQ(loaded(), 0);
  ASSERT_TRUE(first.open());
  EXPECT_EQ(loaded(), 1) << "the one that looks at rights";
  ASSERT_TRUE(second.open());
  EXPECT_EQ(claim().claims.size(), 1U);
  ASSERT_TRUE(Feeds(second).wake(std::vector{feed_url}, Milliseconds(0), false));
  EXPECT_EQ(loaded(), 3) << "and those of claim and wake";
  ASSERT_TRUE(Feeds(first).wake(std::vector{feed_url}, Milliseconds(0), false));
  first.disconnect();
  ASSERT_TRUE(Feeds(first).wake(std::vector{feed_url}, Milliseconds(0), false));
  EXPECT_EQ(loaded(), 3);
}

TEST_F(StoreTest, LoadsItsScriptsAgainWhenTheServerForgotThem) {
  add();
  redis({"SCRIPT", "FLUSH"});
  EXPECT_EQ(claim().claims.size(), 1U);
}

TEST_F(StoreTest, ComesBackAfterTheServerWasKilled) {
  test::RedisServer durable({"--appendonly", "yes", "--appendfsync", "always"});
  Store other(StoreOptions{.url = durable.url()});
  ASSERT_TRUE(other.open());
  ASSERT_TRUE(Feeds(other).add(std::vector{NewFeed{feed_url, {}, "", ""}}));
  durable.kill();
  const auto lost = Feeds(other).urls_after("", 10'000);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, StoreError::Code::unavailable);
  durable.start();
  EXPECT_EQ(*Feeds(other).urls_after("", 10'000), std::vector<std::string>{feed_url});
  EXPECT_EQ(other.reconnects(), 1U);
}

TEST(StoreOpening, RefusesAServerThatWouldEvict) {
  test::RedisServer server({"--maxmemory-policy", "allkeys-lru"});
  const auto refused = Store(StoreOptions{.url = server.url()}).open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, StoreError::Code::unsupported);
  EXPECT_NE(refused.error().detail.find("noeviction"), std::string::npos);
  StoreOptions options{.url = server.url()};
  options.allow_eviction = true;
  EXPECT_TRUE(Store(options).open());
}

TEST(StoreOpening, ReportsAnInvalidUrl) {
  Store store(StoreOptions{.url = "http://localhost"});
  const auto refused = store.open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, StoreError::Code::unsupported);
  EXPECT_FALSE(Feeds(store).urls_after("", 10'000));
}

// WEBSUB U16
TEST(StoreOpening, GivesTheStoreAnIdForEver) {
  test::RedisServer server, other_server;
  Store store(StoreOptions{.url = server.url()}), other(StoreOptions{.url = other_server.url()});
  EXPECT_EQ(*store.id(), "") << "nobody has opened it";
  StoreOptions only_reading{.url = server.url()};
  only_reading.reads_only = true;
  ASSERT_TRUE(Store(only_reading).open());
  ASSERT_TRUE(store.open(false));
  EXPECT_EQ(*store.id(), "") << "nobody has opened it to write";
  ASSERT_TRUE(store.open());
  const std::string id = *store.id();
  EXPECT_EQ(id.size(), 32U);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
  ASSERT_TRUE(other.open());
  EXPECT_NE(*other.id(), id);
  ASSERT_TRUE(Store(StoreOptions{.url = server.url()}).open());
  EXPECT_EQ(*store.id(), id);

  // A store written by a build without ids.
  test::redis_command(server, {"HDEL", "meta:store", "id"});
  ASSERT_TRUE(Store(only_reading).open());
  EXPECT_EQ(*store.id(), "");
  ASSERT_TRUE(store.open());
  EXPECT_EQ(store.id()->size(), 32U);
  EXPECT_NE(*store.id(), id);
}

TEST(StoreOpening, RefusesAStoreOfANewerSchema) {
  test::RedisServer server;
  test::redis_command(server, {"HSET", "meta:store", "schema", "999"});
  const auto refused = Store(StoreOptions{.url = server.url()}).open();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("newer"), std::string::npos);
}

/// A node came back empty and workers carried on: their records alone do not make it a store.
TEST(StoreOpening, RecreatesAStoreThatWasEmptiedUnderItsWorkers) {
  for (const Partition partition : {Partition{}, Partition{.index = 2, .count = 4}}) {
    test::RedisServer server;
    Store store(StoreOptions{.url = server.url(), .partition = partition});
    ASSERT_TRUE(store.open());
    test::redis_command(server, {"FLUSHALL"});
    ASSERT_TRUE(Fleet(store).note({}, {}));
    ASSERT_EQ(test::redis_command(server, {"EXISTS", store.prefix() + "meta:store"}), "1");
    const auto opened = Store(StoreOptions{.url = server.url(), .partition = partition}).open();
    EXPECT_TRUE(opened) << opened.error().detail;
    EXPECT_EQ(test::redis_command(server, {"HGET", store.prefix() + "meta:store", "partitions"}),
              std::to_string(partition.count));
    const auto whole = Store(StoreOptions{.url = server.url()}).open();
    EXPECT_EQ(whole.has_value(), partition.is_whole());
  }
}

}  // namespace
}  // namespace feedmill::store_test
