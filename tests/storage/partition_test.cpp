// A store with several partitions: where each one is stored, which feeds it accepts, and which host gates it owns
// (RELIABILITY L27).
#include "storage/store/partition.hpp"

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "storage/entries/entries.hpp"
#include "storage/events/event_stream.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/queues/subscribers.hpp"
#include "storage/records/json_members.hpp"
#include "storage/redis/placement.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/timelines/timelines_of_all.hpp"
#include "storage/upkeep/archive.hpp"
#include "storage/upkeep/verify.hpp"
#include "tests/storage/store_fixture.hpp"
#include "tests/support/clustered_redis.hpp"
#include "tests/support/eventually.hpp"

namespace feedmill::partition_test {
namespace {

using namespace std::chrono_literals;
using Code = StoreError::Code;
using test::ClusteredRedis;
using test::redis_command;
using test::RedisServer;

TEST(PartitionsOfKeys, AreThoseOfTheirTags) {
  EXPECT_EQ(partition_of_key("{" + tag_of({3, 16}) + "}:Entry:17", 16), 3U);
  EXPECT_EQ(partition_of_key("pre:{" + tag_of({15, 16}) + "}:Entry:17", 16), 15U);
  for (const char* const key : {"Entry:17", "17", "", "{", "}{", "{}", "{p003}:Entry:17", "{p003.zzz}:Entry:17",
                                "{p016.a}:Entry:17", "{x}:Entry:17"}) {
    EXPECT_EQ(partition_of_key(key, 16), std::nullopt) << key;
  }
}

TEST(PartitionsOfEntries, AreNamedByKeysAndNumbers) {
  const std::string third = "{" + tag_of({3, 16}) + "}:Entry:51";
  for (const auto& [id, partition] : std::map<std::string, unsigned>{
           {third, 3}, {"pre:" + third, 3}, {"Entry:51", 3}, {"51", 3}, {"32", 0}, {"nonsense", 0}, {"", 0}})
    EXPECT_EQ(partition_of_entry(id, 16), partition) << id;
  EXPECT_EQ(partition_of_entry("Entry:51", 1), 0U);
  const std::vector<std::string> ids{"3", third, "Entry:32"};
  EXPECT_EQ(shares_of_entries(ids, 16), (std::map<unsigned, std::vector<std::size_t>>{{0, {2}}, {3, {0, 1}}}));
}

std::string feed_at(unsigned host) {
  return "https://host" + std::to_string(host) + ".example/feed.xml";
}

TEST(PartitionTags, PutEachIntoItsShareOfTheSlots) {
  for (const unsigned count : {2U, 3U, 16U, 255U, 256U}) {
    for (unsigned i = 0; i < count; ++i) {
      const std::string tag = tag_of({i, count});
      EXPECT_EQ(slot_of_tag(tag) * count / cluster_slots, i) << tag;
      EXPECT_EQ(tag.substr(0, 5), "p" + std::to_string(1000 + i).substr(1) + ".");
      EXPECT_LE(tag.size(), 9U);
    }
  }
  EXPECT_EQ(tag_of({}), "p000");
  for (const unsigned nodes : {2U, 4U, 8U}) {  // redis-cli --cluster create distributes slots like this
    std::vector<unsigned> shares(nodes);
    for (unsigned i = 0; i < 16; ++i) ++shares[slot_of_tag(tag_of({i, 16})) * nodes / cluster_slots];
    EXPECT_EQ(shares, std::vector<unsigned>(nodes, 16 / nodes));
  }
}

TEST(PartitionTags, AreWhatAServerHashes) {
  const RedisServer node({"--cluster-enabled", "yes"});
  for (const Partition& partition : {Partition{0, 16}, Partition{3, 16}, Partition{255, 256}}) {
    const std::string tag = tag_of(partition);
    EXPECT_EQ(redis_command(node, {"CLUSTER", "KEYSLOT", "any:{" + tag + "}:Entry:5"}),
              std::to_string(slot_of_tag(tag)));
  }
  EXPECT_EQ(key_hash("123456789"), 0x31c3U) << "of the specification";
}

TEST(PartitionsOfFeeds, GoByTheHostAlone) {
  const std::string longest(2000, 'x');
  for (const auto& [url, host] : {std::pair<std::string, std::string>("https://example.org/feed.xml", "example.org"),
                                  {"http://example.org:8080/other?x=1", "example.org"},
                                  {"https://example.org?q={p001}", "example.org"},
                                  {"https://example.org/{p003.a}/" + longest, "example.org"},
                                  {"https://{a}.example/", "{a}.example"},
                                  {"https://xn--bcher-kva.example/", "xn--bcher-kva.example"},
                                  {"http://[2001:db8::1]:8080/f", "[2001:db8::1]"},
                                  {"http://[2001:db8::1]/f", "[2001:db8::1]"},
                                  {"http://127.0.0.1:80/", "127.0.0.1"},
                                  {"no url", ""},
                                  {"", ""}}) {
    for (const unsigned count : {1U, 7U, 16U, 256U}) {
      EXPECT_EQ(partition_of(url, count), key_hash(host) % count) << url;
      EXPECT_LT(partition_of(url, count), count);
    }
  }
  std::array<unsigned, 16> feeds{};
  for (unsigned i = 0; i < 16'000; ++i) ++feeds[partition_of(feed_at(i), 16)];
  for (const unsigned of_one : feeds) EXPECT_NEAR(of_one, 1000, 150);
}

Store store_at(const std::string& url, Partition partition, bool reads = false) {
  StoreOptions options{.url = url, .partition = partition, .timeout = 2000ms};
  options.reads_only = reads;
  return Store(std::move(options));
}

/// The number of a host with a feed in this partition, starting at `from`.
unsigned host_in(const Partition& partition, unsigned from = 0) {
  while (partition_of(feed_at(from), partition.count) != partition.index) ++from;
  return from;
}

class Partitioned : public testing::Test {
 protected:
  static constexpr unsigned count = 4;

  Store open(unsigned index) {
    Store store = store_at(server.admin_url(), {index, count});
    const auto opened = store.open();
    EXPECT_TRUE(opened) << opened.error().detail;
    return store;
  }
  static void add(Store& store, const std::string& feed) {
    const auto added = Feeds(store).add(std::vector<NewFeed>{{.feed_url = feed}});
    ASSERT_TRUE(added) << added.error().detail;
  }
  static std::string save(Store& store, const std::string& feed, const std::string& guid) {
    const auto saved = Entries(store).save({.feed_url = feed, .guid = guid, .fields = {{"title", guid}}});
    EXPECT_TRUE(saved) << saved.error().detail;
    return saved ? saved->id : "";
  }
  static boost::system::result<ArchiveFigures, ArchiveError> bring(Archive into,
                                                                   const std::vector<std::string>& lines) {
    ImportOptions options;
    options.is_feed_url = [](const std::string&) { return true; };
    std::size_t at = 0;
    return into.read(options, [&](std::string& line) {
      if (at == lines.size()) return false;
      line = lines[at++];
      return true;
    });
  }
  static std::uint64_t number_of(const std::string& id) { return std::stoull(id.substr(id.rfind(':') + 1)); }
  static std::string wrongs(Store& store) {
    std::string text;
    for (const Violation& one : *verify(store)) text += one.kind + " " + one.detail + "\n";
    return text;
  }

  RedisServer server;
};

TEST_F(Partitioned, StoresTakeTheirOwnFeedsAndNoOthers) {
  Store mine = open(1), other = open(3);
  const std::string feed = feed_at(host_in({1, count}));
  EXPECT_FALSE(mine.elsewhere(feed));
  EXPECT_EQ(other.elsewhere(feed), 1U);
  add(mine, feed);
  const auto refused = Feeds(other).add(std::vector<NewFeed>{{.feed_url = feed}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::refused);
  EXPECT_NE(refused.error().detail.find("partition 1"), std::string::npos) << refused.error().detail;
  EXPECT_EQ(*Feeds(mine).count(), 1U);
  EXPECT_EQ(*Feeds(other).count(), 0U);
}

TEST_F(Partitioned, StoresNeverGiveOutTheSameNumber) {
  std::set<std::uint64_t> numbers;
  for (unsigned i = 0; i < count; ++i) {
    Store store = open(i);
    const std::string feed = feed_at(host_in({i, count}));
    add(store, feed);
    for (const char* const guid : {"a", "b", "c"}) {
      const std::string id = save(store, feed, guid);
      EXPECT_TRUE(id.starts_with("{" + tag_of({i, count}) + "}:Entry:")) << id;
      EXPECT_EQ(number_of(id) % count, i);
      EXPECT_TRUE(numbers.insert(number_of(id)).second) << id;
    }
    EXPECT_EQ(wrongs(store), "");
  }
}

/// Imports one store into all partitions: each feed goes into one partition, and its posts keep their numbers.
TEST_F(Partitioned, StoresAreFilledFromOneFile) {
  const RedisServer single;
  Store whole(StoreOptions{.url = single.admin_url()});
  ASSERT_TRUE(whole.open());
  constexpr unsigned feeds = 40;
  std::map<std::string, std::uint64_t> numbers;
  std::vector<Membership> memberships;
  for (unsigned i = 0; i < feeds; ++i) {
    add(whole, feed_at(i));
    numbers[feed_at(i)] = number_of(save(whole, feed_at(i), "a"));
    memberships.push_back({"all", feed_at(i)});
  }
  const std::string channel = "all";
  ASSERT_TRUE(Channels(whole).add(std::span(&channel, 1)));
  ASSERT_TRUE(Channels(whole).follow(memberships));
  std::vector<std::string> lines;
  ASSERT_TRUE(Archive(whole).write({}, [&](std::string_view line) { lines.emplace_back(line); }));

  std::uint64_t in_all = 0;
  for (unsigned i = 0; i < count; ++i) {
    Store store = open(i);
    for (int time = 0; time < 2; ++time) {
      const auto done = bring(Archive(store), lines);
      ASSERT_TRUE(done) << done.error().error.detail;
      EXPECT_EQ(done->feeds + done->present + done->elsewhere, feeds);
      if (time == 0) in_all += done->feeds;
    }
    const auto urls = Feeds(store).urls_after("", 100);
    ASSERT_TRUE(urls);
    for (const std::string& url : *urls) {
      EXPECT_FALSE(store.elsewhere(url));
      const auto posts = Entries(store).all_by_order(url);
      ASSERT_TRUE(posts && posts->size() == 1);
      EXPECT_EQ(number_of(posts->front().id), numbers[url]);
    }
    const std::uint64_t next = number_of(save(store, urls->front(), "b"));
    EXPECT_GT(next, feeds) << "behind all that the file has";
    EXPECT_EQ(next % count, i);
    EXPECT_EQ(wrongs(store), "");
  }
  EXPECT_EQ(in_all, feeds);
}

/// The view of readers and consumers, which must not depend on the number of partitions: post numbers by feed and guid,
/// unread posts, rules with their ids, notices with the numbers of their posts.
std::set<std::string> seen_of(std::vector<Store>& stores) {
  const auto count = static_cast<unsigned>(stores.size());
  const auto number = [](std::string_view id) { return std::string(id.substr(id.rfind(':') + 1)); };
  std::set<std::string> seen;
  std::vector<std::vector<StoredNotice>> notices;
  std::size_t copies = 0, wanted = 0;
  for (unsigned i = 0; i < count; ++i) {
    Store& store = stores[i];
    for (const std::string& url : *Feeds(store).urls_after("", 1000)) {
      EXPECT_FALSE(store.elsewhere(url));
      for (const StoredEntry& entry : *Entries(store).all_by_order(url)) {
        EXPECT_TRUE(entry.id.starts_with(store.prefix())) << entry.id;
        seen.insert("post " + url + " " + std::string(entry.get("guid")) + " " + number(entry.id));
      }
    }
    for (const ChannelRecord& channel : *Channels(store).list()) {
      if (home_of_channel(channel.uid, count) == i)
        seen.insert("channel " + channel.uid + " " + std::to_string(channel.position));
      if (const auto unread = *Channels(store).timeline(channel.uid, 1000)) {
        for (const StoredEntry& entry : *unread) seen.insert("unread " + channel.uid + " " + number(entry.id));
      }
    }
    for (const Watch& rule : *Notifications(store).all_watches()) {
      const auto its = copies_of_rule(rule, count);
      const bool is_home = home_of_user(rule.user, count) == i;
      wanted += is_home ? its.size() : 0;
      copies += static_cast<std::size_t>(std::ranges::count(its, i));
      if (is_home) seen.insert("rule " + rule.id + " " + rule.user + " " + rule.target);
    }
    notices.push_back(*Notifications(store).list("anna"));
  }
  for (const StoredNotice& notice : notices_together("anna", notices)) {
    const std::string id(string_member(boost::json::parse(notice.json).as_object(), "entity_id"));
    const auto at = partition_of_key(id, count).value_or(0);
    EXPECT_TRUE(*Entries(stores[at]).get(id)) << id;
    seen.insert("notice " + notice.id + " " + number(id));
  }
  EXPECT_EQ(copies, wanted);
  return seen;
}

/// RELIABILITY L27: moves partitions into another number of partitions, into one store, and back.
TEST_F(Partitioned, StoresComeBackInAnotherNumberOfThem) {
  const auto open_all = [this](unsigned of, const std::string& key_prefix) {
    std::vector<Store> stores;
    for (unsigned i = 0; i < of; ++i) {
      StoreOptions options{.url = server.admin_url(), .key_prefix = key_prefix, .partition = {i, of}};
      EXPECT_TRUE(stores.emplace_back(std::move(options)).open());
    }
    return stores;
  };
  const auto archive_of = [](std::vector<Store>& stores) {
    std::vector<Store*> all;
    for (Store& store : stores) all.push_back(&store);
    return Archive(Deployment(std::move(all)));
  };
  const auto written = [&](std::vector<Store>& stores) {
    std::vector<std::string> lines;
    EXPECT_TRUE(archive_of(stores).write({}, [&](std::string_view line) { lines.emplace_back(line); }));
    return lines;
  };

  std::vector<Store> before = open_all(count, "a:");
  constexpr unsigned feeds = 24;
  const std::string uid = "anna/all", empty = "anna/empty";
  Store& home = before[home_of_channel(uid, count)];
  ASSERT_TRUE(Channels(home).add(std::vector{uid, empty}));
  for (unsigned i = 0; i < feeds; ++i) {
    Store& store = before[partition_of(feed_at(i), count)];
    add(store, feed_at(i));
    const Membership follows{uid, feed_at(i)};
    const std::string first = save(store, feed_at(i), "first"), second = save(store, feed_at(i), "second");
    ASSERT_TRUE(Channels(store).follow(std::span(&follows, 1)));
    ASSERT_EQ(Channels(store).mark_read(uid, std::span(&first, 1))->value_or(0), 1U);
    for (const std::string& id : {first, second}) {  // in all more notices than one store keeps
      const auto sequence = std::to_string(1000 + number_of(id)) + "-0";
      const Notice notice{"anna", sequence, R"({"entity_id":")" + id + R"(","feed_url":")" + feed_at(i) + "\"}"};
      ASSERT_TRUE(Notifications(store).add(std::span(&notice, 1)));
    }
  }
  ASSERT_TRUE(Channels(home).order(std::vector{empty, uid}));
  for (const Watch& rule :
       {Watch{"anna", "", Watch::Kind::words, "redis cluster"}, Watch{"anna", "", Watch::Kind::feed, feed_at(3)},
        Watch{"bob", "", Watch::Kind::channel, uid}}) {
    ASSERT_TRUE(Notifications(before[home_of_user(rule.user, count)]).watch(rule));
    for (const unsigned copy : copies_of_rule(rule, count)) ASSERT_TRUE(Notifications(before[copy]).watch(rule));
  }
  const std::set<std::string> seen = seen_of(before);
  EXPECT_EQ(seen.size(), 2 * feeds + feeds + 2 + 3 + max_notices);
  const std::vector<std::string> lines = written(before);

  for (const unsigned other : {1U, 3U, count, 7U}) {
    SCOPED_TRACE(other);
    const std::string key_prefix = "b" + std::to_string(other) + ":";
    std::vector<Store> after = open_all(other, key_prefix);
    const auto done = bring(archive_of(after), lines);
    ASSERT_TRUE(done) << done.error().error.detail;
    EXPECT_EQ(done->feeds, feeds);
    EXPECT_EQ(done->elsewhere, 0U);
    EXPECT_TRUE(done->kept_numbers);
    EXPECT_EQ(seen_of(after), seen);
    for (unsigned i = 0; i < other; ++i) {
      EXPECT_EQ(wrongs(after[i]), "");
      if (other == count) {
        EXPECT_EQ(*after[i].id(), *before[i].id());
      }
    }
    const auto again = bring(archive_of(after), lines);
    ASSERT_TRUE(again) << again.error().error.detail;
    EXPECT_EQ(again->present, feeds);
    EXPECT_EQ(seen_of(after), seen) << "twice is once";

    std::vector<Store> back = open_all(count, key_prefix + "back:");
    const auto returned = bring(archive_of(back), written(after));
    ASSERT_TRUE(returned) << returned.error().error.detail;
    EXPECT_EQ(seen_of(back), seen);
    std::set<std::uint64_t> numbers;
    for (std::vector<Store>* const stores : {&after, &back}) {
      numbers.clear();
      for (unsigned i = 0; i < feeds; ++i) {
        Store& store = (*stores)[partition_of(feed_at(i), static_cast<unsigned>(stores->size()))];
        EXPECT_TRUE(numbers.insert(number_of(save(store, feed_at(i), "third"))).second);
        for (const StoredEntry& entry : *Entries(store).all_by_order(feed_at(i))) numbers.insert(number_of(entry.id));
      }
      EXPECT_EQ(numbers.size(), 3 * feeds) << "none is given out twice";
    }
  }
}

/// Posts keep their numbers only where no other partition has assigned or will assign these.
TEST_F(Partitioned, StoresInUseDoNotTakeNumbersOver) {
  const RedisServer single;
  Store whole(StoreOptions{.url = single.admin_url()});
  ASSERT_TRUE(whole.open());
  for (unsigned i = 0; i < 40; ++i) {
    add(whole, feed_at(i));
    save(whole, feed_at(i), "a");
  }
  std::vector<std::string> lines;
  ASSERT_TRUE(Archive(whole).write({}, [&](std::string_view line) { lines.emplace_back(line); }));
  for (const bool in_use : {false, true}) {
    SCOPED_TRACE(in_use);
    redis_command(server, {"FLUSHALL"});
    std::set<std::uint64_t> numbers;
    Store other = open(3);
    const std::string its_feed = feed_at(host_in({3, count}, 100));
    if (in_use) {
      add(other, its_feed);
      numbers.insert(number_of(save(other, its_feed, "early")));
    }
    Store store = open(0);
    const auto done = bring(Archive(store), lines);
    ASSERT_TRUE(done) << done.error().error.detail;
    EXPECT_EQ(done->kept_numbers, !in_use);
    for (const std::string& url : *Feeds(store).urls_after("", 100)) {
      for (const StoredEntry& entry : *Entries(store).all_by_order(url))
        EXPECT_TRUE(numbers.insert(number_of(entry.id)).second) << entry.id;
    }
    if (!in_use) add(other, its_feed);
    for (int post = 0; post < 40; ++post) {
      const std::uint64_t number = number_of(save(other, its_feed, std::to_string(post)));
      EXPECT_TRUE(numbers.insert(number).second) << number;
    }
  }
}

/// The error of open(), which must be equal for readers and writers.
std::string refusal(const std::string& url, Partition partition) {
  std::string said;
  for (const bool reads : {true, false}) {
    Store store = store_at(url, partition, reads);
    const auto opened = store.open(!reads);
    EXPECT_FALSE(opened) << partition.index << " of " << partition.count;
    if (opened) continue;
    EXPECT_EQ(opened.error().code, Code::unsupported);
    EXPECT_TRUE(said.empty() || said == opened.error().detail) << opened.error().detail;
    said = opened.error().detail;
  }
  return said;
}

TEST(PartitionsOfAStore, AreAsManyAsItWasMadeWith) {
  for (const bool in_cluster : {false, true}) {
    std::optional<ClusteredRedis> cluster;
    const RedisServer single, other;
    if (in_cluster) cluster.emplace();
    const std::string url = in_cluster ? cluster->url() : single.admin_url();
    EXPECT_TRUE(store_at(url, {2, 4}, true).open(false)) << "nobody has made it yet";
    ASSERT_TRUE(store_at(url, {2, 4}).open());
    ASSERT_TRUE(store_at(url, {3, 4}).open());
    EXPECT_NE(refusal(url, {}).find("write redis.partitions = 4"), std::string::npos) << refusal(url, {});
    EXPECT_NE(refusal(url, {2, 8}).find("write redis.partitions = 4"), std::string::npos) << refusal(url, {2, 8});
    EXPECT_NE(refusal(url, {0, 2}).find("write redis.partitions = 4"), std::string::npos) << refusal(url, {0, 2});
    if (in_cluster) continue;
    ASSERT_TRUE(store_at(other.admin_url(), {}).open());
    EXPECT_NE(refusal(other.admin_url(), {2, 4}).find("in one piece"), std::string::npos);
  }
}

TEST(PartitionsOfAStore, StandOnAllNodesOfACluster) {
  ClusteredRedis cluster;
  std::set<std::string> nodes;
  for (unsigned i = 0; i < 4; ++i) {
    Store store = store_at(cluster.url_of("feedmill"), {i, 4});
    const auto opened = store.open();
    ASSERT_TRUE(opened) << opened.error().detail;
    const std::string feed = feed_at(host_in({i, 4}));
    ASSERT_TRUE(Feeds(store).add(std::vector<NewFeed>{{.feed_url = feed}}));
    const auto node = store.node();
    ASSERT_TRUE(node);
    nodes.insert(*node);
    Store looks = store_at(cluster.url_of("feedmill_viewer"), {i, 4}, true);
    ASSERT_TRUE(looks.open(false));
    EXPECT_TRUE(Feeds(looks).is_registered(feed));
  }
  EXPECT_EQ(nodes.size(), 3U);
}

/// A process that joins or leaves changes only its own share.
TEST_F(Partitioned, HaveProcessesThatStandFirst) {
  constexpr unsigned many = 48;
  const std::vector<std::string> processes{std::string(28, 'a'), std::string(28, 'b'), std::string(28, 'c')};
  std::array<std::string, many> first;
  std::map<std::string, unsigned> shares;
  for (unsigned i = 0; i < many; ++i) {
    Store store = store_at(server.admin_url(), {i, many});
    ASSERT_TRUE(store.open());
    EXPECT_EQ(Fleet(store).figures()->first, "");
    for (const std::string& process : processes) {
      for (const char* const loop : {"0000", "0001"})
        ASSERT_TRUE(Fleet(store).heartbeat(process + loop, {{"in_flight", "0"}}, 60s));
    }
    first[i] = Fleet(store).figures()->first;
    ++shares[first[i]];
  }
  for (const std::string& process : processes) EXPECT_NEAR(shares[process], many / 3.0, 10) << process;
  for (unsigned i = 0; i < many; ++i) {
    Store store = store_at(server.admin_url(), {i, many});
    ASSERT_TRUE(Fleet(store).retire(processes[0] + "0000"));
    EXPECT_EQ(Fleet(store).figures()->first, first[i]) << "a loop of it is left";
    ASSERT_TRUE(Fleet(store).retire(processes[0] + "0001"));
    const std::string then = Fleet(store).figures()->first;
    if (first[i] == processes[0])
      EXPECT_NE(then, processes[0]);
    else
      EXPECT_EQ(then, first[i]);
  }
}

/// Claims in another partition for a host with its gate in this one.
class Gates : public Partitioned {
 protected:
  Gates() {
    for (const unsigned from : {0U, 20U}) {
      Claim& claim = claims.emplace_back();
      claim.feed_url = feed_at(host_in({0, count}, from));
      claim.id = std::string(32, from == 0 ? 'a' : 'b') + ":1-1";
    }
  }
  Milliseconds take(std::size_t claim, Milliseconds lease = 90s) {
    const auto wait = Ingest(home).take_slot_for(claims[claim], host, {1, Milliseconds(0), ""}, lease);
    EXPECT_TRUE(wait) << wait.error().detail;
    return wait ? *wait : Milliseconds(-1);
  }

  Store home = open(1);
  const std::string host = "host" + std::to_string(host_in({1, count})) + ".example";
  std::vector<Claim> claims;
};

TEST_F(Gates, LetInAsManyAsTheHostMayHave) {
  EXPECT_EQ(take(0), 0ms);
  EXPECT_EQ(take(0), 0ms) << "asked again";
  EXPECT_GT(take(1), 0ms);
  ASSERT_TRUE(Ingest(home).leave_slot(claims[0], host, nullptr));
  EXPECT_EQ(take(1), 0ms);
  ASSERT_TRUE(Ingest(home).leave_slot(claims[1], host, nullptr));
  EXPECT_EQ(take(0, 2s), 0ms);
  EXPECT_GT(take(1), 0ms);
  EXPECT_TRUE(test::eventually([&] { return take(1) == 0ms; })) << "whoever held it was killed";
}

TEST_F(Gates, RememberWhatTheHostAnswered) {
  HostAnswer refused;
  refused.is = HostAnswer::Is::refused;
  refused.cause = "rate_limited";
  for (std::size_t claim : {0U, 1U}) {  // two feeds are refused in a row
    EXPECT_EQ(take(claim), 0ms);
    ASSERT_TRUE(Ingest(home).leave_slot(claims[claim], host, &refused));
  }
  EXPECT_GT(take(0), 5min) << "its circuit is open for all partitions";
}

/// Without the wake-up the line would stop until its worker polls next, while the next start stays reserved for it.
TEST_F(Gates, WakeTheWorkerOfTheirLineWhenASlotIsFree) {
  add(home, feed_at(host_in({1, count})));
  const auto told = [&](Milliseconds longest) {
    EXPECT_TRUE(Ingest(home).begin_to_wait_for_wish(longest));
    return *Ingest(home).hear_wish();
  };
  EXPECT_TRUE(told(1s)) << "it was added";
  EXPECT_EQ(take(0), 0ms);
  ClaimRequest request;
  request.worker = std::string(32, 'c');
  request.request = 1;
  request.host = {1, Milliseconds(0), ""};
  ASSERT_TRUE(Ingest(home).claim(request)->claims.empty()) << "it stands in the line";
  EXPECT_FALSE(told(10ms));
  ASSERT_TRUE(Ingest(home).leave_slot(claims[0], host, nullptr));
  EXPECT_TRUE(told(1s));
}

/// Events of all partitions in one stream.
class Merged : public Partitioned {
 protected:
  Merged() {
    for (unsigned i = 0; i < count; ++i) {
      stores.push_back(open(i));
      add(stores.back(), feed_at(host_in({i, count})));
    }
  }
  void write(unsigned partition, const std::string& guid) {
    save(stores[partition], feed_at(host_in({partition, count})), guid);
    written += stores[partition].prefix() + guid + "\n";
  }
  static void copy(MergedStream& stream) {
    for (;;) {
      const auto step = stream.step(2);
      ASSERT_TRUE(step) << step.error().detail;
      if (step->copied == 0) return;
    }
  }
  std::vector<EventRecord> merged() const {
    Store all(StoreOptions{.url = server.admin_url(), .of_all = true, .reads_only = true});
    EXPECT_TRUE(all.open(false));
    auto records = EventStream(all).read("0-0", 10'000, 0ms);
    EXPECT_TRUE(records);
    return records ? *records : std::vector<EventRecord>();
  }
  /// Faults in the stream as seen by a consumer; "" if there are none.
  static std::string broken(const std::vector<EventRecord>& records) {
    std::string last = "0-0", text;
    for (const EventRecord& record : records) {
      const boost::json::object event = boost::json::parse(record.json).as_object();
      if (event.at("seq").as_string() != record.id) text += record.id + " says that it is another\n";
      if (event.at("prev").as_string() != last) text += record.id + " is not behind " + last + "\n";
      if (!(event_place(last) < event_place(record.id))) text += record.id + " goes back\n";
      last = record.id;
    }
    return text;
  }
  /// Partition and guid of each created post, in the order of the stream; only those with ids that begin with `prefix`.
  static std::string guids(const std::vector<EventRecord>& records, std::string_view prefix = "") {
    std::string text;
    for (const EventRecord& record : records) {
      const boost::json::object event = boost::json::parse(record.json).as_object();
      const std::string id(event.at("entity_id").as_string());
      if (record.type == "post_created" && id.starts_with(prefix))
        text += id.substr(0, id.find("Entry:")) + std::string(event.at("guid").as_string()) + "\n";
    }
    return text;
  }

  std::vector<Store> stores;
  std::string written;
};

TEST_F(Merged, EachEventComesOnceAndThoseOfAPartitionInTheirOrder) {
  std::vector<std::unique_ptr<MergedStream>> streams;
  for (Store& store : stores) streams.push_back(std::make_unique<MergedStream>(store));
  for (int round = 0; round < 3; ++round) {
    for (unsigned i = 0; i < count; ++i) {
      for (int post = 0; post < 5; ++post) write(i, std::to_string(round) + "." + std::to_string(post));
      copy(*streams[i]);
    }
  }
  const auto records = merged();
  EXPECT_EQ(guids(records), written) << "as they were copied";
  EXPECT_EQ(broken(records), "");
}

TEST_F(Merged, SurvivesDeadAndConcurrentCopiers) {
  MergedStream one(stores[1]);
  {
    MergedStream another(stores[1]);
    for (int post = 0; post < 20; ++post) {
      write(1, std::to_string(post));
      MergedStream& next = post % 3 == 0 ? another : one;
      ASSERT_TRUE(next.step(1)) << "who is behind sees it and goes on";
      if (post == 10) {
        ASSERT_TRUE(MergedStream(stores[1]).step(1)) << "and is killed";
      }
    }
  }
  copy(one);
  const auto records = merged();
  EXPECT_EQ(guids(records), written);
  EXPECT_EQ(broken(records), "");
}

/// A replica takes over that lacks the latest copies and may have a slow clock.
TEST_F(Merged, NoIdOfALostCopyIsGivenOutAgain) {
  MergedStream stream(stores[1]);
  write(1, "kept");
  copy(stream);
  const std::string places = "{stream:signals}:merged";
  const std::string kept = redis_command(server, {"HGET", places, "1"});
  const std::string last = redis_command(server, {"HGET", places, "last"});
  write(1, "lost");
  copy(stream);
  const std::string seen = merged().back().id;
  redis_command(server, {"XDEL", "stream:signals", seen});
  redis_command(server, {"HSET", places, "1", kept, "last", last});
  write(1, "new");
  copy(stream);  // finds that another worker has not come as far
  copy(stream);
  const auto records = merged();
  EXPECT_EQ(guids(records), written);
  EXPECT_TRUE(event_place(seen) < event_place(records[records.size() - 2].id)) << "the lost one comes again behind it";
  EXPECT_EQ(broken(records), "");
}

TEST_F(Merged, ReportsEventsTrimmedBeforeTheCopy) {
  MergedStream stream(stores[1]);
  write(1, "a");
  copy(stream);
  write(1, "b");
  write(1, "c");
  const std::string own = stores[1].prefix() + "stream:signals";
  redis_command(server, {"XTRIM", own, "MAXLEN", "1"});
  const auto step = stream.step(10);
  ASSERT_TRUE(step);
  EXPECT_TRUE(step->missed);
  EXPECT_EQ(step->copied, 1U);
}

TEST_F(Merged, HasWebhooksOfItsOwn) {
  MergedStream stream(stores[1]);
  write(1, "before");
  copy(stream);
  Store all(StoreOptions{.url = server.admin_url(), .of_all = true});
  ASSERT_TRUE(all.open());
  Subscribers of_all(all), of_one(stores[1]);
  ASSERT_TRUE(of_all.lead("token", 30s));
  EXPECT_EQ(*of_all.begin_leading(), "") << "nobody has looked the stream through";
  Subscriber webhook;
  webhook.url = "https://receiver.example/hook";
  const std::string id = *of_all.add(webhook);
  EXPECT_FALSE(*of_one.get(id)) << "it is none of a partition's";
  const std::string newest = *EventStream(all).last_id();
  EXPECT_EQ((*of_all.get(id))->cursor, newest) << "it begins at the end of the one stream";

  write(1, "behind");
  copy(stream);
  const std::string mark = *EventStream(all).last_id();
  EXPECT_NE(mark, newest);
  const Subscribers::Concerned concerned{id, newest};
  EXPECT_TRUE(*of_all.wake("token", std::span(&concerned, 1), mark));
  const auto taken = of_all.take(10, 10s, "token");
  ASSERT_TRUE(taken);
  ASSERT_EQ(taken->subscribers.size(), 1U);
  const SubscriberSettlement end{id, taken->claim, mark, SubscriberSettlement::Then::idle, {}, {}};
  EXPECT_EQ(*of_all.settle(std::span(&end, 1), 10s), std::vector<bool>{true});
  EXPECT_EQ((*of_all.get(id))->cursor, mark);
  EXPECT_FALSE((*of_all.get(id))->due) << "all there is was looked at";
  const auto group = EventStream(all).figures();
  ASSERT_TRUE(group && !group->groups.empty());
  EXPECT_EQ(group->groups.front().lag, 0U) << "the one stream has been looked through";
  EXPECT_TRUE(*of_all.remove(id));
}

}  // namespace
}  // namespace feedmill::partition_test
