// An export restores the store as it was; a broken file leaves nothing half-written.
#include "storage/upkeep/archive.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "storage/entries/entries.hpp"
#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/feeds/hosts.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/queues/topics.hpp"
#include "storage/redis/redis.hpp"
#include "storage/store/key_value.hpp"
#include "storage/upkeep/verify.hpp"
#include "tests/storage/filled_store.hpp"

namespace feedmill::test::archive_test {
namespace {

class ArchiveTest : public FilledStoreTest {
 protected:
  ArchiveTest() : second(StoreOptions{.url = second_server.url_of(admin)}) { EXPECT_TRUE(second.open()); }

  void fill() {
    FilledStoreTest::fill({.title = "changed",
                           .channels = {"news", "anna/work"},
                           .memberships = {{"news", feed_url}, {"news", other}, {"anna/work", other}}});
    const NewFeed named{.feed_url = feed_url, .title = "Mine"};
    ASSERT_TRUE(Feeds(store).add(std::span(&named, 1), "news"));
    const HostSettings slow{"slow.example", 1, Milliseconds(5000), {}, ""};
    ASSERT_TRUE(Hosts(store).set(std::span(&slow, 1)));
    redis({"HSET", "Entry:3", "comments", "caf\xe9"});  // not UTF-8, so no JSON string can hold it
  }
  static Texts written(Store& from, const Texts& urls = {}) {
    Texts lines;
    ExportOptions options;
    options.feed_urls = urls;
    const auto done = Archive(from).write(options, [&](std::string_view line) { lines.emplace_back(line); });
    EXPECT_TRUE(done) << done.error().detail;
    return lines;
  }
  static boost::system::result<ArchiveFigures, ArchiveError> read(Store& into, const Texts& lines, bool replace = false,
                                                                  bool dry_run = false) {
    ImportOptions options;
    options.replace = replace;
    options.dry_run = dry_run;
    options.is_feed_url = [](const std::string& url) { return url.starts_with("https://"); };
    std::size_t at = 0;
    return Archive(into).read(options, [&](std::string& line) {
      if (at == lines.size()) return false;
      line = lines[at++];
      return true;
    });
  }
  /// Imports the lines and calls `act` before it reads line `at` (from 0). An exception from `act` ends the import.
  static void read_with(Store& into, const Texts& lines, std::size_t at, const std::function<void()>& act,
                        bool replace = false) {
    ImportOptions options;
    options.replace = replace;
    options.is_feed_url = [](const std::string&) { return true; };
    std::size_t next = 0;
    const auto done = Archive(into).read(options, [&](std::string& line) {
      if (next == at) act();
      if (next == lines.size()) return false;
      line = lines[next++];
      return true;
    });
    ASSERT_TRUE(done.has_error());
    EXPECT_NE(done.error().error.detail.find("during the import"), std::string::npos) << done.error().error.detail;
  }
  static void kill(Store& into, const Texts& lines, std::size_t at, bool replace = false) {
    const auto die = [] { throw Killed(); };
    EXPECT_THROW(read_with(into, lines, at, die, replace), Killed);
  }
  struct Killed {};
  /// Every key that an archive covers, with its content.
  static std::map<std::string, Texts> content(const RedisServer& where) {
    std::map<std::string, Texts> all;
    Redis connection(*parse_redis_url(where.admin_url()), std::chrono::seconds(5));
    const auto keys = connection.command({"KEYS", "*"});
    for (const std::string& key : keys->texts()) {
      if (key.starts_with("state:host:") || key.starts_with("state:worker") || key.starts_with("deliver:") ||
          key == "stream:signals" || key == "meta:store" || key == "state:wake") {
        continue;
      }
      auto value = read_key(connection, key);
      EXPECT_TRUE(value);
      if (value->type == "hash" || value->type == "zset") {  // order is irrelevant
        std::vector<std::pair<std::string, std::string>> pairs;
        for (std::size_t i = 0; i < value->words.size(); i += 2)
          pairs.emplace_back(value->words[i], value->words[i + 1]);
        std::sort(pairs.begin(), pairs.end());
        if (key == "stats:feeds:states") std::erase_if(pairs, [](const auto& count) { return count.second == "0"; });
        const bool since_when = key.starts_with("stats:feeds:in:");  // an imported feed enters its state at import time
        value->words.clear();
        for (auto& [name, text] : pairs) {
          if (since_when) text.clear();
        }
        for (auto& [name, text] : pairs) value->words.insert(value->words.end(), {name, text});
      } else if (value->type == "set") {
        std::sort(value->words.begin(), value->words.end());
      } else if (key.starts_with("state:items:")) {
        const std::string packed = std::exchange(value->words, {}).front();
        const auto marks = packed_digests(packed);
        for (const auto& [id, mark] : marks) value->words.insert(value->words.end(), {id, mark});
        value->words.push_back(packed.substr(4 + 16 * marks.size()));
      }
      value->words.insert(value->words.begin(), value->type);
      all[key] = value->words;
    }
    return all;
  }
  /// Keys that differ, with both values; "" if there are none.
  static std::string difference(const std::map<std::string, Texts>& one, const std::map<std::string, Texts>& two) {
    std::string text;
    const auto add = [&](const char* side, const std::string& key, const Texts& words) {
      text += std::string(side) + " " + key + ":";
      for (const std::string& word : words) text += " " + word;
      text += "\n";
    };
    for (const auto& [key, words] : one) {
      if (const auto found = two.find(key); found == two.end() || found->second != words) add("<", key, words);
    }
    for (const auto& [key, words] : two) {
      if (const auto found = one.find(key); found == one.end() || found->second != words) add(">", key, words);
    }
    return text;
  }
  static std::string wrong(Store& where) {
    std::string text;
    for (const Violation& one : *verify(where)) text += one.kind + " " + one.detail + "\n";
    return text;
  }
  static std::string wrong_with_feeds(Store& where) {
    const std::vector<std::string> urls = *Feeds(where).urls_after("", 10'000);
    std::string text;
    if (urls.empty()) return text;
    for (const Violation& one : *verify(where, urls)) text += one.kind + " " + one.detail + "\n";
    return text;
  }

  RedisServer second_server;
  Store second;
};

// RELIABILITY L22
TEST_F(ArchiveTest, ReadsALargeChannelAndManyOfThemInPages) {
  constexpr std::size_t feeds = 2'500, many = 1'200;
  std::vector<NewFeed> added;
  std::vector<Membership> memberships;
  for (std::size_t i = 0; i < feeds; ++i) {
    added.push_back({.feed_url = "https://crowd.example/" + std::to_string(i)});
    memberships.push_back({"crowd", added.back().feed_url});
  }
  ASSERT_TRUE(Feeds(store).add(added));
  Texts names{"crowd"};
  for (std::size_t i = 0; i < many; ++i) names.push_back("c" + std::to_string(i));
  Channels channels(store);
  Notifications notifications(store);
  ASSERT_TRUE(channels.add(names));
  ASSERT_TRUE(channels.follow(memberships));
  for (std::size_t i = 0; i < many; ++i) {
    ASSERT_TRUE(notifications.watch({"u" + std::to_string(i), "", Watch::Kind::channel, "crowd"}));
  }
  ASSERT_EQ(redis({"SREM", "state:channels:" + added[1234].feed_url, "crowd"}), "1");
  redis({"CONFIG", "RESETSTAT"});

  EXPECT_EQ(channels.list()->size(), names.size());
  EXPECT_EQ((*channels.feeds("crowd"))->size(), feeds);
  EXPECT_EQ(notifications.all_watches()->size(), many);
  EXPECT_TRUE(channels.unbuilt()->empty());
  const auto found = verify(store);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().kind, "holders.missing");
  EXPECT_EQ(found->front().feed_url, added[1234].feed_url);

  const Texts lines = written(store);
  EXPECT_EQ(std::ranges::count_if(
                lines, [](const std::string& line) { return line.find("\"uid\":\"crowd\"") != std::string::npos; }),
            2);
  const auto done = read(second, lines);
  ASSERT_TRUE(done) << done.error().error.detail;
  EXPECT_EQ(done->channels, names.size());
  EXPECT_EQ(*channels.feeds("crowd"), *Channels(second).feeds("crowd"));

  ASSERT_TRUE(channels.rebuild("crowd", [] { return true; }));
  EXPECT_EQ(wrong(store), "") << "it puts right what a feed did not know";
  std::ranges::reverse(names);
  ASSERT_TRUE(channels.order(names));
  const auto ordered = channels.list();
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ((*ordered)[i].uid, names[i]);
    EXPECT_EQ((*ordered)[i].position, static_cast<std::int64_t>(i) + 1);
  }
  EXPECT_TRUE(*channels.remove("crowd"));
  EXPECT_EQ(redis({"EXISTS", "channel:crowd:feeds", "channel_sortorder_crowd", "state:watchers",
                   "state:channels:" + added.front().feed_url, "state:channels:" + added.back().feed_url}),
            "0");
  EXPECT_FALSE(*channels.remove("crowd"));
  EXPECT_EQ(redis({"INFO", "commandstats"}).find("cmdstat_smembers"), std::string::npos)
      << "nothing that grows is asked for in one reply";
}

TEST_F(ArchiveTest, ReadsLargeSortedSetsInTheOrderOfTheirScores) {
  std::vector<std::string> command{"ZADD", "many", "-inf", "last", "inf", "first", "1.5", "half"};
  for (int i = 0; i < 3000; ++i) command.insert(command.end(), {std::to_string(i % 7), "m" + std::to_string(i)});
  redis(command);
  Redis connection(*parse_redis_url(server.admin_url()), std::chrono::seconds(5));
  const auto value = read_key(connection, "many");
  ASSERT_TRUE(value);
  const auto all = connection.command({"ZRANGE", "many", "0", "-1", "WITHSCORES"});
  ASSERT_TRUE(all);
  EXPECT_EQ(value->words, all->texts());
}

TEST_F(ArchiveTest, BringsAStoreBackIntoAnEmptyOneKeyByKey) {
  fill();
  const auto done = read(second, written(store));
  ASSERT_TRUE(done) << done.error().error.detail;
  EXPECT_TRUE(done->kept_numbers);
  EXPECT_EQ(done->feeds, 3U);
  EXPECT_EQ(done->entries, 5U);
  EXPECT_EQ(done->channels, 2U);
  EXPECT_EQ(difference(content(second_server), content(server)), "");
  redis({"HDEL", "Entry:3", "comments"});  // the text that is not UTF-8
  redis_command(second_server, {"HDEL", "Entry:3", "comments"});
  EXPECT_EQ(wrong(store), "");
  EXPECT_EQ(wrong(second), "");
}

// WEBSUB U16
TEST_F(ArchiveTest, MakesOfAnEmptyStoreTheOneThatWasWrittenDown) {
  // After a failover, event ids can be ahead of the clock (RELIABILITY L24).
  redis({"HSET", "meta:store", "signals_from", "99999999999999-0"});
  fill();
  const Texts lines = written(store);
  ASSERT_TRUE(Feeds(second).add(std::vector{NewFeed{.feed_url = "https://third.example/"}}));
  const std::string own = *second.id();
  ASSERT_TRUE(read(second, lines));
  EXPECT_EQ(*second.id(), own) << "it had a feed: its posts are numbered anew";
  RedisServer third_server;
  Store third(StoreOptions{.url = third_server.url_of(admin)});
  ASSERT_TRUE(third.open());
  ASSERT_TRUE(read(third, lines));
  EXPECT_EQ(*third.id(), *store.id());
  EXPECT_GT(event_place(*EventStream(third).last_seq()), event_place(*EventStream(store).last_seq()))
      << "whoever has followed the one misses nothing of the other";

  Texts wrong = lines;
  wrong[0].replace(wrong[0].find(*store.id()), 4, "nope");
  EXPECT_FALSE(read(third, wrong));
  wrong = lines;
  wrong[0].replace(wrong[0].find("\"counter\":") + 10, 1, "562949953421313");
  EXPECT_FALSE(read(third, wrong)) << "no room is left above it";
  wrong = lines;
  wrong[0].replace(wrong[0].find("\"seq\":\"") + 7, 1, "x");
  EXPECT_FALSE(read(third, wrong));
}

TEST_F(ArchiveTest, TwiceIsOnce) {
  fill();
  const Texts lines = written(store);
  ASSERT_TRUE(read(second, lines));
  const auto before = content(second_server);
  const auto again = read(second, lines);
  ASSERT_TRUE(again) << again.error().error.detail;
  EXPECT_EQ(again->present, 3U);
  EXPECT_EQ(again->feeds, 0U);
  EXPECT_EQ(difference(content(second_server), before), "");
}

TEST_F(ArchiveTest, RenumbersPostsWhenTheStoreHasEntries) {
  fill();
  redis({"HDEL", "Entry:3", "comments"});
  ASSERT_TRUE(Feeds(second).add(std::vector{NewFeed{.feed_url = other}}));
  redis_command(second_server, {"SET", "ids:Entry", "1000"});
  const auto done = read(second, written(store));
  ASSERT_TRUE(done) << done.error().error.detail;
  EXPECT_FALSE(done->kept_numbers);
  EXPECT_EQ(done->feeds, 2U);
  EXPECT_EQ(done->present, 1U) << "what is there stays";
  const auto posts = Entries(second).all_by_order(feed_url);
  ASSERT_TRUE(posts && posts->size() == 3U);
  EXPECT_EQ((*posts)[0].get("guid"), "f");
  EXPECT_EQ((*posts)[0].id, "Entry:1003");
  EXPECT_EQ(EventStream(second).read("0", 100, Milliseconds(0))->size(), 5U) << "each is told of, and two feeds";
  deliver(second);
  EXPECT_EQ(wrong(second), "");
  EXPECT_EQ(redis_command(second_server, {"ZCARD", "zchannel:news:posts"}), "3") << "channels gather them";
}

TEST_F(ArchiveTest, ReplacesWhenAskedTo) {
  fill();
  redis({"HDEL", "Entry:3", "comments"});
  const Texts lines = written(store, {other});
  const Claim claimed = claim_one();
  send(plan(claimed, {post("z", 3000)}));
  const auto left_alone = read(store, lines);
  ASSERT_TRUE(left_alone && left_alone->present == 1U);
  const auto done = read(store, lines, true);
  ASSERT_TRUE(done) << done.error().error.detail;
  EXPECT_EQ(done->replaced, 1U);
  EXPECT_EQ(done->feeds, 1U);
  EXPECT_EQ(Entries(store).all_by_order(other)->size(), 2U);
  EXPECT_EQ(Feeds(store).urls_after("", 10'000)->size(), 3U);
  deliver(store);
  EXPECT_EQ(wrong(store), "");
}

TEST_F(ArchiveTest, LeavesAFeedThatItReplacesInItsChannelsAndUnderItsAddress) {
  fill();
  redis({"HDEL", "Entry:3", "comments"});
  const Texts lines = written(store, {other});
  Channels channels(store);
  Topics topics(store);
  const Topic topic{TopicKind::feed, other};
  const std::string token = topics.share(topic)->token;
  const auto whole = [&](bool replace) {
    const auto done = read(store, lines, replace);
    ASSERT_TRUE(done) << done.error().error.detail;
    EXPECT_EQ(done->feeds, 1U);
    EXPECT_EQ(channels.holding(std::span(&other, 1))->front(), (Texts{"anna/work", "news"}));
    EXPECT_EQ((*channels.timeline("anna/work", 10))->size(), 2U);
    const auto address = topics.find(topic);
    ASSERT_TRUE(address && *address);
    EXPECT_EQ((*address)->token, token);
    deliver(store);
    EXPECT_EQ((*channels.posts("anna/work", 10))->size(), 2U);
    EXPECT_EQ(wrong(store), "");
  };
  whole(true);

  kill(store, lines, 3, true);
  EXPECT_EQ(redis({"SISMEMBER", "feeds", other}), "0");
  EXPECT_EQ(*Feeds(store).finish_removals(), 0U) << "another may go on";
  whole(false);

  Texts broken = lines;
  broken[3] = "hello";
  ASSERT_TRUE(read(store, broken, true).has_error());
  EXPECT_EQ(*Feeds(store).finish_removals(), 0U);
  whole(false);

  kill(store, lines, 3, true);
  redis({"ZADD", "state:imports", "XX", "1", other});
  EXPECT_EQ(*Feeds(store).finish_removals(), 1U) << "nobody does";
  EXPECT_TRUE(channels.holding(std::span(&other, 1))->front().empty());
  EXPECT_FALSE(*topics.find(topic));
  deliver(store);
  EXPECT_EQ(wrong(store), "");
}

// At that point a feed in no channel has no key left except its topic's.
TEST_F(ArchiveTest, EndsTheTopicOfAFeedThatItDidNotReplaceToItsEnd) {
  fill();
  Texts lines = written(store, {resting});
  Topics topics(store);
  const Topic topic{TopicKind::feed, resting};
  const std::string token = topics.share(topic)->token;
  lines[2] = "hello";
  ASSERT_TRUE(read(store, lines, true).has_error());
  EXPECT_EQ(*Feeds(store).finish_removals(), 0U);
  EXPECT_EQ((*topics.find(topic))->token, token);
  redis({"ZADD", "state:imports", "XX", "1", resting});
  EXPECT_EQ(*Feeds(store).finish_removals(), 1U);
  EXPECT_FALSE(*topics.find(topic));
  EXPECT_EQ(redis({"EXISTS", "state:feed:" + resting, "state:imports", "state:removals"}), "0");
}

// RELIABILITY S15
TEST_F(ArchiveTest, WhatAKilledImportLeavesIsRemovedAndALiveOneLeftAlone) {
  add();
  std::vector<EntryRecord> posts;
  for (int i = 0; i < 120; ++i) posts.push_back(post("p" + std::to_string(i), 1000 + i));
  Retention many;
  many.entries = 1000;
  refresh(posts, many);
  const Texts lines = written(store);
  const auto long_ago = [&] { redis_command(second_server, {"ZADD", "state:imports", "XX", "1", feed_url}); };
  const auto nothing_is_left = [&] {
    EXPECT_EQ(redis_command(second_server, {"EXISTS", feed_url + ":sort", feed_url + ":guidmap",
                                            "state:feed:" + feed_url, "state:imports", "state:removals"}),
              "0");
    EXPECT_EQ(redis_command(second_server, {"KEYS", "Entry:*"}), "");
    EXPECT_EQ(wrong(second), "");
  };
  kill(second, lines, 110);
  EXPECT_EQ(*Feeds(second).finish_removals(), 0U) << "it may live";
  EXPECT_EQ(redis_command(second_server, {"ZCARD", feed_url + ":sort"}), "100");
  long_ago();
  EXPECT_EQ(*Feeds(second).finish_removals(), 1U);
  nothing_is_left();

  Store fleet(StoreOptions{.url = second_server.url_of(admin)});
  read_with(second, lines, 110, [&] {
    long_ago();
    EXPECT_EQ(*Feeds(fleet).finish_removals(), 1U);
  });
  nothing_is_left();

  const auto done = read(second, lines);
  ASSERT_TRUE(done) << done.error().error.detail;
  EXPECT_EQ(done->entries, 120U);
  EXPECT_EQ(redis_command(second_server, {"EXISTS", "state:imports"}), "0");
  long_ago();
  EXPECT_EQ(*Feeds(second).finish_removals(), 0U);
  EXPECT_EQ(wrong(second), "");
}

TEST_F(ArchiveTest, DryRunReportsChangesAndWritesNothing) {
  fill();
  const auto done = read(second, written(store), false, true);
  ASSERT_TRUE(done) << done.error().error.detail;
  EXPECT_EQ(done->feeds, 3U);
  EXPECT_EQ(done->entries, 5U);
  EXPECT_TRUE(content(second_server).empty());
}

TEST_F(ArchiveTest, LeavesNoFeedHalfWrittenWhereverTheFileIsCut) {
  fill();
  redis({"HDEL", "Entry:3", "comments"});
  const Texts lines = written(store);
  for (std::size_t cut = 0; cut < lines.size(); ++cut) {
    RedisServer fresh_server;
    Store fresh(StoreOptions{.url = fresh_server.url_of(admin)});
    ASSERT_TRUE(fresh.open());
    const auto done = read(fresh, Texts(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(cut)));
    ASSERT_TRUE(done.has_error());
    EXPECT_TRUE(done.error().bad_input);
    EXPECT_EQ(done.error().line, cut + 1);
    deliver(fresh);
    EXPECT_EQ(wrong_with_feeds(fresh), "") << "cut behind line " << cut;  // channels follow with the rest of the file
    const auto rest = read(fresh, lines);
    ASSERT_TRUE(rest) << rest.error().error.detail;
    deliver(fresh);
    EXPECT_EQ(wrong(fresh), "");
    if (cut > 0) {
      EXPECT_TRUE(rest->kept_numbers) << "it goes on as it was begun";
      EXPECT_EQ(difference(content(fresh_server), content(server)), "") << "cut behind line " << cut;
    }
  }
}

struct Garbage {
  const char* name;
  const char* line;
  const char* says;
};
class Hostile : public ArchiveTest, public testing::WithParamInterface<Garbage> {};
TEST_P(Hostile, LinesAreRefusedByNumber) {
  fill();
  Texts lines = written(store);
  const auto place = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find(R"("t":"entry")") != std::string::npos;
  });
  const auto number = static_cast<std::uint64_t>(place - lines.begin()) + 1;
  *place = GetParam().line;
  const auto done = read(second, lines);
  ASSERT_TRUE(done.has_error());
  EXPECT_EQ(done.error().line, number);
  EXPECT_NE(done.error().error.detail.find(GetParam().says), std::string::npos) << done.error().error.detail;
  EXPECT_EQ(redis_command(second_server, {"SCARD", "feeds"}), "0");
  EXPECT_EQ(redis_command(second_server, {"KEYS", "http*"}), "");
  EXPECT_EQ(wrong(second), "");
}
INSTANTIATE_TEST_SUITE_P(
    All, Hostile,
    testing::Values(
        Garbage{"Text", "hello", "not a JSON object"}, Garbage{"List", "[1,2]", "not a JSON object"},
        Garbage{"NoKind", "{}", "\"t\" is missing"}, Garbage{"UnknownKind", R"({"t":"bomb"})", "inside a feed"},
        Garbage{"KeyInsideAFeed", R"({"t":"key","key":"feeds","type":"set","words":["x"]})", "inside a feed"},
        Garbage{"NumberZero", R"({"t":"entry","id":"0","score":"1","fields":[]})", "\"id\" is 0"},
        Garbage{"NumberHuge", R"({"t":"entry","id":"99999999999999999999","score":"1","fields":[]})",
                "\"id\" is not a number"},
        Garbage{"ScoreNegative", R"({"t":"entry","id":"1","score":"-1","fields":[]})", "\"score\" is not a number"},
        Garbage{"NoGuid", R"({"t":"entry","id":"1","score":"1","fields":["title","x"]})", "lack guid"},
        Garbage{"NameWithoutValue", R"({"t":"entry","id":"1","score":"1","fields":["title"]})", "without a value"},
        Garbage{"OtherTimestamp",
                R"({"t":"entry","id":"1","score":"1","fields":["guid","g","digest","d","timestamp","2","rev","1"]})",
                "not its timestamp"},
        Garbage{"HexBroken", R"({"t":"entry","id":"1","score":"1","fields":["guid",{"hex":"xyz"}]})",
                "is not a string"},
        Garbage{"FeedInFeed", R"({"t":"feed","url":"https://a.org/"})", "within another"},
        Garbage{"EndOfAnother", R"({"t":"end","url":"https://a.org/","entries":0})", "was not begun"}),
    [](const auto& test) { return test.param.name; });

TEST_F(ArchiveTest, WritesOnlyKeysOfItsOwnKind) {
  Texts lines{R"({"t":"feedmill","v":1,"schema":1,"id":"x","whole":true,"feeds":0,"counter":0})",
              R"({"t":"key","key":"schedule","type":"zset","words":["https://a.org/","1"]})"};
  auto done = read(second, lines);
  ASSERT_TRUE(done.has_error());
  EXPECT_NE(done.error().error.detail.find("none that an export holds"), std::string::npos);
  lines[1] = R"({"t":"feed","url":"gopher://a.org/","due":"1","quarantined":"","state":[],"feed":[],"tombs":[]})";
  done = read(second, lines);
  ASSERT_TRUE(done.has_error());
  EXPECT_NE(done.error().error.detail.find("is not a feed URL"), std::string::npos);
  EXPECT_EQ(redis_command(second_server, {"ZCARD", "schedule"}), "0");
}

TEST_F(ArchiveTest, HoldsNoSecretsAndNothingOfTheMoment) {
  fill();
  redis({"HSET", "websub:callback:abc", "secret", "s3cret", "feed_url", feed_url});
  claim_one();
  for (const std::string& line : written(store)) {
    EXPECT_EQ(line.find("s3cret"), std::string::npos);
    EXPECT_EQ(line.find("\"claim\""), std::string::npos) << line;
    EXPECT_EQ(line.find("\"strikes\""), std::string::npos) << line;
  }
}

TEST_F(ArchiveTest, TakesBackAFeedThatChangedWhileItWasWritten) {
  add();
  std::vector<EntryRecord> posts;
  for (int i = 0; i < 120; ++i) posts.push_back(post("p" + std::to_string(i), 1000 + i));
  Retention many;
  many.entries = 1000;
  refresh(posts, many);
  Texts lines;
  bool changed = false;
  const auto done = Archive(store).write({}, [&](std::string_view line) {
    lines.emplace_back(line);
    if (changed || line.find(R"("t":"entry")") == std::string_view::npos) return;
    changed = true;
    Store busy(StoreOptions{.url = server.url_of(admin)});
    posts.push_back(post("new", 5000));
    redis({"ZADD", "schedule", "XX", "1", feed_url});
    ClaimRequest request;
    request.worker = worker_b;
    request.request = 1;
    request.host = {64, Milliseconds(0)};
    const auto batch = Ingest(busy).claim(request);
    ASSERT_TRUE(batch && batch->claims.size() == 1);
    const Commit commit = [&] {
      const LookUp look_up{feed_url, posts};
      const auto known = Ingest(busy).look_up(std::span(&look_up, 1)).front();
      Commit one;
      one.feed_url = feed_url;
      one.claim = batch->claims[0].id;
      one.next_due = batch->now + std::chrono::hours(1);
      one.before = one.state = batch->claims[0].state;
      one.document = true;
      one.entries = diff_entries(std::vector(posts), *known, batch->now).writes;
      one.retention = many;
      return one;
    }();
    const Commit* const one = &commit;
    ASSERT_TRUE(Ingest(busy).commit(std::span(&one, 1)).front());
  });
  ASSERT_TRUE(done) << done.error().detail;
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& line) { return line.find(R"("t":"again")") != std::string::npos; }),
            1);
  EXPECT_EQ(done->entries, 121U);
  const auto back = read(second, lines);
  ASSERT_TRUE(back) << back.error().error.detail;
  EXPECT_EQ(back->entries, 121U);
  EXPECT_EQ(Entries(second).all_by_order(feed_url, 1000)->size(), 121U);
  EXPECT_EQ(wrong(second), "");
}

}  // namespace
}  // namespace feedmill::test::archive_test
