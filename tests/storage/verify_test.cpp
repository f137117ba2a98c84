// The checker names each kind of damage, repairs it where possible, and reports a busy store as healthy.
#include "storage/upkeep/verify.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/ingest/ingest.hpp"
#include "tests/storage/filled_store.hpp"

namespace feedmill::test::verify_test {
namespace {

std::string list_of(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& one : violations) {
    text += one.invariant + " " + one.kind + " " + one.feed_url + ":";
    for (const std::string& key : one.keys) text += " " + key;
    text += ": " + one.detail + "\n";
  }
  return text;
}

class VerifyTest : public FilledStoreTest {
 protected:
  void fill() { FilledStoreTest::fill({}); }
  std::vector<Violation> found(const Texts& urls = {}) {
    const auto all = verify(store, urls);
    EXPECT_TRUE(all) << all.error().detail;
    return all ? *all : std::vector<Violation>();
  }
  VerifySummary repair(std::vector<Violation>& told) {
    VerifyOptions options;
    options.found = [&](const Violation& one) { told.push_back(one); };
    options.journal = [&](const Violation& one, const std::vector<KeyValue>& whole) {
      journalled.push_back(one);
      for (const KeyValue& value : whole) kept.push_back(value);
      return true;
    };
    const auto done = Verifier(store, options).run();
    EXPECT_TRUE(done) << done.error().detail;
    return done ? *done : VerifySummary();
  }

  /// Number of calls of a command since CONFIG RESETSTAT.
  int calls(const std::string& command) {
    const std::string stats = redis({"INFO", "commandstats"}), name = "cmdstat_" + command + ":calls=";
    const std::size_t at = stats.find(name);
    return at == std::string::npos ? 0 : std::stoi(stats.substr(at + name.size()));
  }

  std::vector<Violation> journalled;
  std::vector<KeyValue> kept;
};

TEST_F(VerifyTest, FindsAnEmptyStoreAndAFilledOneHealthy) {
  EXPECT_EQ(list_of(found()), "");
  fill();
  EXPECT_EQ(list_of(found()), "");
  EXPECT_EQ(list_of(found({feed_url})), "");
  std::vector<Violation> told;
  const VerifySummary summary = repair(told);
  EXPECT_EQ(summary.feeds, 3U);
  EXPECT_EQ(summary.entries, 5U);
  EXPECT_EQ(summary.channels, 1U);
  EXPECT_EQ(summary.repaired, 0U);
  EXPECT_TRUE(journalled.empty());
}

TEST_F(VerifyTest, DistinguishesTimelinesThatLagFromEqualOnes) {
  fill();
  std::vector<Violation> told;
  EXPECT_FALSE(repair(told).behind_since);
  refresh({post("f", 1005), post("g", 1006)});
  const auto since = EventStream(store).read("0", 1000, Milliseconds(0))->back().id;
  const auto behind = repair(told).behind_since;
  ASSERT_TRUE(behind);
  EXPECT_LE(behind->count(), std::stoll(since));
  EXPECT_GT(behind->count(), std::stoll(since) - 10'000);
  EXPECT_EQ(list_of(told), "");
  deliver(store);
  EXPECT_FALSE(repair(told).behind_since);
}

TEST_F(VerifyTest, TakesClaimsOfPushesForClaims) {
  fill();
  redis({"HSET", "state:feed:" + feed_url, "claim", "0a1f:push12", "claim_due", "1"});
  EXPECT_EQ(list_of(found()), "");
}

struct Damage {
  const char* name;
  std::vector<Texts> commands;
  const char* invariant;
  const char* kind;
  const char* key;
  bool repairable = true;
};

class Damages : public VerifyTest, public testing::WithParamInterface<Damage> {};

TEST_P(Damages, AreFoundByNameAndRepaired) {
  fill();
  const Damage& damage = GetParam();
  for (const Texts& command : damage.commands) redis(command);
  const std::vector<Violation> all = found();
  const auto is_it = [&](const Violation& one) {
    return one.kind == damage.kind && one.invariant == damage.invariant &&
           std::find(one.keys.begin(), one.keys.end(), damage.key) != one.keys.end();
  };
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), is_it)) << list_of(all);
  std::vector<Violation> told;
  repair(told);
  const auto told_of = std::find_if(told.begin(), told.end(), is_it);
  ASSERT_NE(told_of, told.end()) << list_of(told);
  if (damage.repairable) {
    EXPECT_EQ(told_of->outcome, Violation::Outcome::repaired) << list_of(told);
    EXPECT_TRUE(std::any_of(journalled.begin(), journalled.end(), is_it));
    deliver(store);
    EXPECT_EQ(list_of(found()), "") << "after the repair of\n" << list_of(told);
  } else {
    EXPECT_EQ(told_of->outcome, Violation::Outcome::unrepairable);
    const std::vector<Violation> left = found();
    EXPECT_TRUE(std::any_of(left.begin(), left.end(), is_it)) << "it is left as it is";
  }
}

const std::string state = "state:feed:" + feed_url, guidmap = feed_url + ":guidmap", items = "state:items:" + feed_url,
                  old_digests = feed_url + ":digests", sort = feed_url + ":sort", tombs = feed_url + ":tombs",
                  other_state = "state:feed:" + other;

INSTANTIATE_TEST_SUITE_P(
    All, Damages,
    testing::Values(
        Damage{"MapLeadsNowhere", {{"HSET", guidmap, "ghost", "Entry:99"}}, "I3", "map.dangling", "Entry:99"},
        Damage{"MapLeadsToNoEntry", {{"HSET", guidmap, "ghost", "state:feed"}}, "I3", "map.dangling", "state:feed"},
        Damage{"MapLeadsToAnotherPost", {{"HSET", guidmap, "ghost", "Entry:3"}}, "I3", "map.differs", "Entry:3"},
        Damage{"EntryLost", {{"DEL", "Entry:3"}}, "I4", "index.dangling", "Entry:3"},
        Damage{"EntryLostFromTheStream", {{"DEL", "Entry:3"}}, "I1", "entry.lost", "Entry:3"},
        Damage{"EntryOfTheWrongType",
               {{"DEL", "Entry:3"}, {"SET", "Entry:3", "x"}},
               "I13",
               "entry.stray",
               "Entry:3",
               false},
        Damage{"NotInTheIndex", {{"ZREM", sort, "Entry:3"}}, "I4", "index.missing", "Entry:3"},
        Damage{"NotInTheMap", {{"HDEL", guidmap, "e"}}, "I3", "map.missing", "Entry:3"},
        Damage{"InNeitherMapNorIndex",
               {{"HDEL", guidmap, "e"}, {"ZREM", sort, "Entry:3"}, {"DEL", items}},
               "I3",
               "map.missing",
               "Entry:3"},
        Damage{"DigestsGone", {{"DEL", items}}, "I4", "digest.differs", items.c_str()},
        Damage{"DigestDiffers", {{"SETRANGE", items, "10", "zzz"}}, "I4", "digest.differs", items.c_str()},
        Damage{"DigestOfNothing", {{"SETRANGE", items, "4", "z"}}, "I4", "digest.stray", items.c_str()},
        Damage{"DigestsDamaged", {{"APPEND", items, "z"}}, "I4", "items.damaged", items.c_str()},
        Damage{"DigestsOverwritten",
               {{"SET", items, std::string(std::size_t{1} << 20U, 'z')}},
               "I4",
               "items.damaged",
               items.c_str()},
        Damage{"ItemsOfAnOlderBuild", {{"SET", items, std::string(24, 'z')}}, "I4", "items.damaged", items.c_str()},
        Damage{"DigestsOfAnOlderBuild", {{"HSET", old_digests, "e", "1"}}, "I4", "digests.old", old_digests.c_str()},
        Damage{"EntryWithoutDigest", {{"HDEL", "Entry:3", "digest"}}, "I4", "digest.missing", "Entry:3"},
        Damage{"WrongPlace", {{"ZADD", sort, "5", "Entry:3"}}, "I4", "index.score", "Entry:3"},
        Damage{"ForeignMember", {{"ZADD", sort, "5", "banana"}}, "I4", "index.dangling", "banana"},
        Damage{
            "TimestampInTheFuture", {{"HSET", "Entry:3", "timestamp", "99999999999"}}, "I4", "entry.future", "Entry:3"},
        Damage{"TimestampNoNumber", {{"HSET", "Entry:3", "timestamp", "soon"}}, "I4", "entry.timestamp", "Entry:3"},
        Damage{"RevisionZero", {{"HSET", "Entry:3", "rev", "0"}}, "I11", "entry.rev", "Entry:3"},
        Damage{"EntryWithoutGuid", {{"HDEL", "Entry:3", "guid"}}, "I3", "entry.guid", "Entry:3"},
        Damage{"EntryOfAnotherFeed", {{"HSET", "Entry:3", "feed_url", other}}, "I3", "entry.feed", "Entry:3"},
        Damage{"BytesOfAPost", {{"HSET", "Entry:3", "bytes", "5"}}, "statistics", "entry.bytes", "Entry:3"},
        Damage{"BytesOfAPostGone", {{"HDEL", "Entry:3", "bytes"}}, "statistics", "entry.bytes", "Entry:3"},
        Damage{"BytesOfAFeed", {{"HINCRBY", state, "bytes", "7"}}, "statistics", "bytes.sum", state.c_str()},
        Damage{"RevisionNobodyWasToldOf", {{"HSET", "Entry:3", "rev", "2"}}, "I5", "signal.missing", "Entry:3", false},
        Damage{"StoredTwice",
               {{"HSET", "Entry:50", "feed_url", feed_url, "guid", "e", "digest", "t", "timestamp", "1004", "rev", "1"},
                {"ZADD", sort, "1004", "Entry:50"},
                {"SET", "ids:Entry", "50"}},
               "I2",
               "duplicate",
               "Entry:50"},
        Damage{"HalfATrim",
               {{"HSET", "Entry:50", "feed_url", feed_url, "guid", "a", "digest", "t", "timestamp", "1000", "rev", "1"},
                {"SET", "ids:Entry", "50"}},
               "I3",
               "trim.half",
               "Entry:50"},
        Damage{"EntryOfNoFeed",
               {{"HSET", "Entry:50", "feed_url", "https://nobody.org/", "guid", "g"}, {"SET", "ids:Entry", "50"}},
               "I13",
               "entry.orphan",
               "Entry:50"},
        Damage{"StrayEntryKey",
               {{"HSET", "Entry:seven", "feed_url", feed_url, "guid", "g"}},
               "I13",
               "entry.stray",
               "Entry:seven",
               false},
        Damage{"CounterBehind", {{"SET", "ids:Entry", "2"}}, "I2", "counter", "ids:Entry"},
        Damage{"NotScheduled", {{"ZREM", "schedule", other}}, "I6", "schedule.missing", "schedule"},
        Damage{"DueNever", {{"ZADD", "schedule", "inf", other}}, "I6", "schedule.score", "schedule"},
        Damage{"PausedAndScheduled", {{"ZADD", "schedule", "5", resting}}, "I6", "schedule.paused", "schedule"},
        Damage{"StrangerInTheSchedule",
               {{"ZADD", "schedule", "5", "https://nobody.org/"}},
               "I6",
               "schedule.stray",
               "schedule"},
        Damage{"InALineAndInTheSchedule",
               {{"HSET", other_state, "line", "other.org"},
                {"ZADD", "line:other.org", "5", other},
                {"ZADD", "lines", "5", "other.org"}},
               "I6",
               "line.stray",
               other_state.c_str()},
        Damage{"PausedInALine",
               {{"HSET", "state:feed:" + resting, "line", "rests.org"},
                {"ZADD", "line:rests.org", "5", resting},
                {"ZADD", "lines", "5", "rests.org"}},
               "I6",
               "line.stray",
               "line:rests.org"},
        Damage{"InNoLine",
               {{"HSET", other_state, "line", "other.org"}, {"ZREM", "schedule", other}},
               "I6",
               "schedule.missing",
               "schedule"},
        Damage{
            "InALineWithoutKnowing",
            {{"ZADD", "line:other.org", "5", other}, {"ZADD", "lines", "5", "other.org"}, {"ZREM", "schedule", other}},
            "I6",
            "schedule.missing",
            "schedule"},
        Damage{"ScheduledInALineWithoutKnowing",
               {{"ZADD", "line:other.org", "5", other}, {"ZADD", "lines", "5", "other.org"}},
               "I6",
               "line.stray",
               "line:other.org"},
        Damage{"InALineThatNobodyComesTo",
               {{"HSET", other_state, "line", "other.org"},
                {"ZADD", "line:other.org", "5", other},
                {"ZREM", "schedule", other}},
               "I6",
               "lines.missing",
               "lines"},
        Damage{
            "LineOfTheWrongType",
            {{"HSET", other_state, "line", "other.org"}, {"SET", "line:other.org", "x"}, {"ZREM", "schedule", other}},
            "I6",
            "schedule.missing",
            "schedule"},
        Damage{"LinesOfTheWrongType", {{"SET", "lines", "x"}}, "I6", "type", "lines", false},
        Damage{"NotInTheIndexByUrl", {{"ZREM", "state:feeds", other}}, "I6", "by_url.missing", "state:feeds"},
        Damage{"StrangerInTheIndexByUrl",
               {{"ZADD", "state:feeds", "0", "https://nobody.org/"}},
               "I6",
               "by_url.stray",
               "state:feeds"},
        Damage{"IndexByUrlOfTheWrongType",
               {{"DEL", "state:feeds"}, {"SET", "state:feeds", "x"}},
               "I6",
               "type",
               "state:feeds"},
        Damage{"RegistrationLost", {{"SREM", "feeds", other}}, "I6", "feeds.missing", "feeds"},
        Damage{"StateLost", {{"DEL", other_state}}, "I6", "state.unknown", other_state.c_str()},
        Damage{"NothingButTheRegistration",
               {{"SADD", "feeds", "https://bare.org/"}},
               "I6",
               "state.unknown",
               "state:feed:https://bare.org/"},
        Damage{"StateOfTheWrongType",
               {{"DEL", other_state}, {"SET", other_state, "x"}},
               "I6",
               "type",
               other_state.c_str(),
               false},
        Damage{"StrangerInQuarantine", {{"ZADD", "quarantine", "5", other}}, "I14", "quarantine.stray", "quarantine"},
        Damage{"NotInQuarantine",
               {{"HSET", other_state, "state", "quarantined", "quarantined_at", "5"}},
               "I14",
               "quarantine.missing",
               "quarantine"},
        Damage{"CountsOff",
               {{"HINCRBY", "stats:feeds:states", "healthy", "3"}},
               "statistics",
               "states.count",
               "stats:feeds:states"},
        Damage{"ClaimTwice",
               {{"HSET", state, "claim", "a:1-1", "last_claim", "a:1-1", "claim_due", "1"}},
               "I7",
               "claim.repeated",
               state.c_str()},
        Damage{"ClaimMalformed",
               {{"HSET", state, "claim", "mine", "claim_due", "1"}},
               "I7",
               "claim.malformed",
               state.c_str()},
        Damage{"ClaimWithoutDue",
               {{"HSET", state, "claim", "a:1-1"}, {"HDEL", state, "claim_due"}},
               "I7",
               "claim.due",
               state.c_str()},
        Damage{"FeedRecordOfNoFeed",
               {{"HSET", "Feed:https://nobody.org/", "title", "x"}},
               "I13",
               "feed.orphan",
               "Feed:https://nobody.org/"},
        Damage{"StateOfNoFeed",
               {{"HSET", "state:feed:https://nobody.org/", "state", "healthy"}},
               "I13",
               "feed.orphan",
               "state:feed:https://nobody.org/"},
        Damage{"IndexOfNoFeed",
               {{"ZADD", "https://nobody.org/:sort", "1", "Entry:77"}},
               "I13",
               "feed.orphan",
               "https://nobody.org/:sort"},
        Damage{"RemovalInterrupted",
               {{"SREM", "feeds", other},
                {"ZREM", "schedule", other},
                {"HINCRBY", "stats:feeds:states", "healthy", "-1"},
                {"HSET", other_state, "removing", "1"}},
               "I13",
               "removal.unfinished",
               other_state.c_str()},
        Damage{"StoredAndEntombed", {{"ZADD", tombs, "inf", "e"}}, "I15", "tomb.stored", "Entry:3"},
        Damage{"TombstoneForEver", {{"ZADD", tombs, "99999999999999", "b"}}, "I15", "tomb.score", tombs.c_str()},
        Damage{"TombstoneBeforeTime", {{"ZADD", tombs, "-5", "b"}}, "I15", "tomb.score", tombs.c_str()},
        Damage{"TombstonesOfTheWrongType", {{"DEL", tombs}, {"SET", tombs, "x"}}, "I15", "type", tombs.c_str(), false},
        Damage{"MapOfTheWrongType", {{"DEL", guidmap}, {"SET", guidmap, "x"}}, "I3", "type", guidmap.c_str()},
        Damage{"IndexOfTheWrongType", {{"DEL", sort}, {"SADD", sort, "x"}}, "I4", "type", sort.c_str()},
        Damage{"DigestsOfTheWrongType", {{"DEL", items}, {"LPUSH", items, "x"}}, "I4", "type", items.c_str()},
        Damage{
            "ScheduleOfTheWrongType", {{"DEL", "schedule"}, {"SET", "schedule", "x"}}, "I6", "type", "schedule", false},
        Damage{
            "LastSignalBehind", {{"HSET", "meta:store", "last_signal", "1-1"}}, "I5", "meta.last_signal", "meta:store"},
        Damage{"SchemaGone", {{"HDEL", "meta:store", "schema"}}, "I5", "meta.schema", "meta:store"},
        Damage{"StreamLost", {{"DEL", "stream:signals"}}, "I5", "stream.lost", "stream:signals", false},
        Damage{"RecordOfNobody",
               {{"XADD", "stream:signals", "*", "type", "x", "json", "garbage"}},
               "I5",
               "signal.unreadable",
               "stream:signals",
               false},
        Damage{"RevisionWithoutSignal",
               {{"HSET", "Entry:3", "rev", "7", "last_changed", "99999999999"}},
               "I5",
               "signal.missing",
               "Entry:3",
               false},
        Damage{"NotUtf8", {{"HSET", "Entry:3", "title", "caf\xe9"}}, "DESIGN 3.1", "text", "Entry:3"},
        Damage{"ControlCharacter",
               {{"HSET", "Feed:" + feed_url, "title", "a\x01z"}},
               "DESIGN 3.1",
               "text",
               "Feed:https://example.org/feed.xml"},
        Damage{"NotInTheTimeline",
               {{"ZREM", "zchannel:news:posts", "Entry:3"}},
               "I4",
               "timeline.missing",
               "zchannel:news:posts"},
        Damage{"WrongPlaceInTheTimeline",
               {{"ZADD", "zchannel:news:posts", "9", "Entry:3"}},
               "I4",
               "timeline.score",
               "zchannel:news:posts"},
        Damage{"ReadAndInTheTimeline",
               {{"ZADD", "zchannel:news:posts", "1003", "Entry:2"}},
               "I4",
               "timeline.read",
               "zchannel:news:posts"},
        Damage{"GoneAndInTheTimeline",
               {{"ZADD", "zchannel:news:posts", "9", "Entry:77"}},
               "I4",
               "timeline.gone",
               "zchannel:news:posts"},
        Damage{"ForeignInTheTimeline",
               {{"ZADD", "zchannel:news:posts", "9", "Entry:5"}},
               "I4",
               "timeline.foreign",
               "zchannel:news:posts"},
        Damage{
            "MarkOfTheGone", {{"ZADD", "channel:news:read", "9", "Entry:77"}}, "I12", "read.gone", "channel:news:read"},
        Damage{"FeedDoesNotKnowItsChannel",
               {{"SREM", "state:channels:" + feed_url, "news"}},
               "I4",
               "holders.missing",
               "channel:news:feeds"},
        Damage{"FeedNamesAChannel",
               {{"SADD", "state:channels:" + other, "news"}},
               "I4",
               "holders.stray",
               "channel:news:feeds"},
        Damage{"TitleOfAFeedElsewhere",
               {{"HSET", "channel:news:titles", other, "Mine"}},
               "I4",
               "title.stray",
               "channel:news:titles"},
        Damage{"ChannelWithoutPlace",
               {{"DEL", "channel_sortorder_news"}},
               "I4",
               "channel.order",
               "channel_sortorder_news"},
        Damage{"ChannelOfNobody",
               {{"SADD", "channel:ghost:feeds", other}},
               "I13",
               "channel.orphan",
               "channel:ghost:feeds"},
        Damage{"NoticeWithoutValue",
               {{"LPUSH", "list:notification:user_id:anna", "9"}},
               "L16",
               "notices",
               "list:notification:user_id:anna"},
        Damage{"NoticeWithoutPlace",
               {{"HSET", "hash:notification:user_id:anna", "9", "{}"}},
               "L16",
               "notices",
               "hash:notification:user_id:anna"},
        Damage{"NoticeListGone",
               {{"DEL", "list:notification:user_id:anna"}},
               "L16",
               "notices",
               "hash:notification:user_id:anna"},
        Damage{"WatcherForgotten", {{"SREM", "state:watchers", "anna"}}, "L16", "watcher", "state:watchers"},
        Damage{"WatcherWithoutRules", {{"SADD", "state:watchers", "bob"}}, "L16", "watcher", "state:watchers"},
        Damage{"NoneExists", {{"SET", "none", "x"}}, "I13", "none", "none", false}),
    [](const auto& test) { return test.param.name; });

TEST_F(VerifyTest, RepairsAnUnreachablePostInOnePass) {
  fill();
  redis({"HDEL", "Entry:3", "digest", "bytes", "rev"});
  redis({"HDEL", guidmap, "e"});
  redis({"DEL", items});
  redis({"ZREM", sort, "Entry:3"});
  std::vector<Violation> told;
  repair(told);
  deliver(store);
  EXPECT_EQ(list_of(found()), "") << "after the repair of\n" << list_of(told);
}

TEST_F(VerifyTest, KeepsWhatGoesAsAWholeForTheJournal) {
  fill();
  redis({"HSET", "Entry:50", "feed_url", "https://nobody.org/", "guid", "g", "title", "caf\xe9"});
  redis({"SET", "ids:Entry", "50"});
  std::vector<Violation> told;
  repair(told);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].key, "Entry:50");
  EXPECT_EQ(kept[0].type, "hash");
  EXPECT_EQ(kept[0].words, (Texts{"feed_url", "https://nobody.org/", "guid", "g", "title", "caf\xe9"}));
  EXPECT_EQ(redis({"EXISTS", "Entry:50"}), "0");
}

TEST_F(VerifyTest, DoesNotRepairWhatTheJournalDoesNotTake) {
  fill();
  redis({"SET", "ids:Entry", "2"});
  VerifyOptions options;
  options.journal = [](const Violation&, const std::vector<KeyValue>&) { return false; };
  const auto done = Verifier(store, options).run();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->violations, 1U);
  EXPECT_EQ(done->repaired, 0U);
  EXPECT_EQ(redis({"GET", "ids:Entry"}), "2");
}

TEST_F(VerifyTest, LeavesAloneWhatChangedSinceItWasFound) {
  fill();
  redis({"SET", "ids:Entry", "2"});
  VerifyOptions options;
  options.journal = [&](const Violation&, const std::vector<KeyValue>&) {
    redis({"SET", "ids:Entry", "100"});  // as a worker may do at that moment
    return true;
  };
  const auto done = Verifier(store, options).run();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->violations, 0U);
  EXPECT_EQ(redis({"GET", "ids:Entry"}), "100");
}

TEST_F(VerifyTest, LooksAtOneFeedWhenAskedTo) {
  fill();
  redis({"HDEL", guidmap, "e"});
  redis({"HDEL", other + ":guidmap", "x"});
  const std::vector<Violation> one = found({other});
  ASSERT_EQ(one.size(), 1U) << list_of(one);
  EXPECT_EQ(one[0].feed_url, other);
}

TEST_F(VerifyTest, SeesOnlyItsOwnPrefix) {
  fill();
  Store second(StoreOptions{.url = server.admin_url(), .key_prefix = "b:"});
  ASSERT_TRUE(second.open());
  ASSERT_TRUE(Feeds(second).add(std::vector{NewFeed{.feed_url = other}}));
  EXPECT_EQ(list_of(found()), "");
  EXPECT_EQ(list_of(*verify(second)), "");
  redis({"ZREM", "b:schedule", other});
  EXPECT_EQ(list_of(found()), "");
  ASSERT_EQ(verify(second)->size(), 1U);
  EXPECT_EQ(verify(second)->front().keys, Texts{"b:schedule"});
}

TEST_F(VerifyTest, BigFeedsAreLookedAtInBoundedSteps) {
  add();
  std::vector<EntryRecord> posts;
  for (int i = 0; i < 2000; ++i) posts.push_back(post("p" + std::to_string(i), 1000 + i));
  Retention many;
  many.entries = 2000;
  refresh(posts, many);
  for (int i = 0; i < 20'000; i += 1000) {
    Texts words{"ZADD", tombs};
    for (int j = i; j < i + 1000; ++j) words.insert(words.end(), {"inf", "t" + std::to_string(j)});
    redis(words);
  }
  redis({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(list_of(found({feed_url})), "");
  // Counts commands instead of time: a few script calls, and none that scans the tombstones.
  EXPECT_LE(calls("evalsha"), 10);
  EXPECT_LE(calls("zrangebyscore"), 2);
  EXPECT_LE(calls("zscore"), 2010);
  redis({"ZADD", tombs, "5", "one too many"});
  redis({"HDEL", guidmap, "p7"});
  const std::vector<Violation> all = found();
  EXPECT_EQ(all.size(), 2U) << list_of(all);
  std::vector<Violation> told;
  EXPECT_EQ(repair(told).repaired, 2U) << list_of(told);
  EXPECT_EQ(redis({"ZCARD", tombs}), "20000");
  EXPECT_EQ(redis({"ZSCORE", tombs, "one too many"}), "(nil)") << "the oldest goes first";
  EXPECT_EQ(list_of(found()), "");
}

TEST_F(VerifyTest, FindsAStoreHealthyWhileWorkersCommit) {
  for (int i = 0; i < 20; ++i) add("https://busy.org/" + std::to_string(i));
  const Texts news{"news"};
  Channels channels(store);
  ASSERT_TRUE(channels.add(news));
  std::vector<Membership> memberships;
  for (int i = 0; i < 20; ++i) memberships.push_back({"news", "https://busy.org/" + std::to_string(i)});
  ASSERT_TRUE(channels.follow(memberships));
  std::atomic<bool> stop = false;
  std::atomic<int> commits = 0;
  std::thread worker([&] {  // a connection of its own, like every worker
    Store busy(StoreOptions{.url = server.url_of(admin)});
    Deliveries deliveries(busy);
    std::string applied = "0";
    for (int round = 0; !stop; ++round) {
      ClaimRequest request;
      request.worker = worker_b;
      request.request = static_cast<std::uint64_t>(round) + 1;
      request.max = 20;
      request.host = {64, Milliseconds(0)};
      for (int i = 0; i < 20; ++i) request.only.push_back("https://busy.org/" + std::to_string(i));
      const auto batch = Ingest(busy).claim(request);
      ASSERT_TRUE(batch) << batch.error().detail;
      for (const Claim& claimed : batch->claims) {
        std::vector<EntryRecord> posts;
        for (int i = round; i < round + 12; ++i) {
          posts.push_back(post("g" + std::to_string(i), 1000 + i, "title " + std::to_string(i % 5 == 0 ? round : 0)));
        }
        const LookUp look_up{claimed.feed_url, posts};
        const auto known = Ingest(busy).look_up(std::span(&look_up, 1)).front();
        ASSERT_TRUE(known);
        Commit commit;
        commit.feed_url = claimed.feed_url;
        commit.claim = claimed.id;
        commit.next_due = claimed.now;
        commit.before = commit.state = claimed.state;
        commit.state.state = round % 2 == 0 ? "healthy" : "degraded";
        commit.document = true;
        commit.entries = diff_entries(std::vector(posts), *known, claimed.now).writes;
        commit.tombs_left = known->left;
        commit.tombs_back = known->back;
        commit.retention.entries = 8;
        commit.retention.strict = true;
        const Commit* const one = &commit;
        ASSERT_TRUE(Ingest(busy).commit(std::span(&one, 1)).front());
        ++commits;
      }
      const auto records = EventStream(busy).read(applied, 10'000, Milliseconds(0));
      ASSERT_TRUE(records);
      std::vector<Event> read;
      for (const EventRecord& record : *records) read.push_back(*read_event(record));
      if (!read.empty()) {
        ASSERT_TRUE(deliveries.apply(read));
        applied = records->back().id;
      }
    }
  });
  for (int i = 0, seen = 0; i < 15; ++i) {
    while (commits < seen + 5) std::this_thread::yield();
    seen = commits;
    EXPECT_EQ(list_of(found()), "");
  }
  stop = true;
  worker.join();
  EXPECT_EQ(list_of(found()), "");
}

}  // namespace
}  // namespace feedmill::test::verify_test
