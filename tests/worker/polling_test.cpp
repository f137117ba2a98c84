// Documents one after the other, as a worker takes them, on a real store: what becomes of posts whose identity is in
// doubt (DESIGN §5, RELIABILITY I2, I3, I10, I15, SECURITY T19). Only the network is left out.
#include <algorithm>
#include <functional>
#include <set>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "storage/store.hpp"
#include "tests/support/redis_server.hpp"
#include "worker/decide.hpp"
#include "worker/identity.hpp"

namespace feedmill::test {
namespace {

const std::string url = "https://example.org/feed.xml";

struct Item {
  std::string guid, link, title;
  int day = 0;  ///< of March 2026, 0 = undated
  std::string text{};
};

std::string rss(const std::vector<Item>& items, const std::string& comment = "") {
  std::string xml = "<rss version='2.0'><channel><title>Feed</title><link>https://example.org/</link>";
  for (const Item& item : items) {
    xml += "<item>";
    if (!item.guid.empty()) xml += "<guid isPermaLink='false'>" + item.guid + "</guid>";
    if (!item.link.empty()) xml += "<link>" + item.link + "</link>";
    xml += "<title>" + item.title + "</title>";
    if (!item.text.empty()) xml += "<description>" + item.text + "</description>";
    if (item.day > 0) xml += "<pubDate>" + std::to_string(item.day) + " Mar 2025 12:00:00 GMT</pubDate>";
    xml += "</item>";
  }
  return xml + "</channel></rss>" + (comment.empty() ? "" : "<!-- " + comment + " -->");
}

/// Posts `newest` … 1 as a site lists them.
std::vector<Item> site(int newest, const std::string& base = "https://example.org/", const std::string& guids = "g") {
  std::vector<Item> items;
  for (int n = newest; n > 0; --n) {
    const std::string number = std::to_string(n);
    items.push_back({guids + number, base + "post/" + number, "Post " + number, n, "What post " + number + " says"});
  }
  return items;
}

class Polling : public testing::Test {
 protected:
  Polling() : store(StoreOptions{.url = server.url()}) {
    EXPECT_TRUE(store.open());
    EXPECT_TRUE(store.add_feeds(std::vector{NewFeed{.feed_url = url}}));
  }

  std::string redis(const std::vector<std::string>& words) { return redis_command(server, words); }

  /// As Refresher does it, whose network is left out.
  Committed poll(const std::string& body) {
    Store::ClaimRequest request;
    request.worker = std::string(32, 'a');
    request.request = ++requests;
    request.host = {64, Milliseconds(0)};
    request.only = {url};
    redis({"ZADD", "schedule", "XX", "1", url});
    const auto batch = store.claim(request);
    EXPECT_TRUE(batch && batch->claims.size() == 1);
    const Claim& claim = batch->claims.front();
    FetchResponse response;
    response.status = 200;
    response.url = url;
    response.body = body;
    FetchResult fetched = std::move(response);
    Reading reading = read(fetched, claim.state, {});
    Known known;
    reads = 0;
    if (auto* document = std::get_if<Document>(&reading)) {
      known = look_up({url, document->entries, document->deleted});
      if (must_compare(claim.state, *document, known)) {
        const auto stored = store.stored_posts(url);
        EXPECT_TRUE(stored);
        const Recognised recognised = recognise(claim.state, *document, known, *stored);
        ++reads;
        if (!recognised.look_up.empty()) add_recognised(known, recognised, look_up({url, recognised.look_up, {}}));
      }
    }
    Exchange exchange;
    exchange.requested_url = url;
    PolicyOptions options;
    options.retention = retention;
    decision = decide(claim, reading, exchange, known, options, claim.now);
    const Commit* const commit = &decision.commit;
    const auto done = store.commit(std::span(&commit, 1)).front();
    EXPECT_TRUE(done) << done.error().detail;
    if (requests < 50 || requests % 100 == 0) expect_whole();  // it asks much
    return done ? *done : Committed();
  }

  Known look_up(const Store::LookUp& wanted) {
    ++reads;
    const auto known = store.look_up(std::span(&wanted, 1)).front();
    EXPECT_TRUE(known);
    return *known;
  }

  /// I2, I3, I4, and no guid is both mapped and tombstoned (I15).
  void expect_whole() {
    const auto entries = store.all_by_order(url, 100'000);
    ASSERT_TRUE(entries);
    std::set<std::string> guids;
    for (const StoredEntry& entry : *entries) {
      const std::string& guid = entry.get("guid");
      EXPECT_TRUE(guids.insert(guid).second) << guid << " twice";
      EXPECT_EQ(redis({"HGET", url + ":guidmap", guid}), entry.id);
      EXPECT_EQ(redis({"HGET", url + ":digests", guid}), entry.get("digest"));
      EXPECT_EQ(redis({"ZSCORE", url + ":tombs", guid}), "(nil)");
    }
    EXPECT_EQ(redis({"HLEN", url + ":guidmap"}), std::to_string(guids.size()));
    EXPECT_EQ(redis({"HLEN", url + ":digests"}), std::to_string(guids.size()));
  }

  std::vector<boost::json::object> signals(const std::string& type = "") {
    std::vector<boost::json::object> all;
    const auto records = store.read_signals("0", 100'000, Milliseconds(0));
    EXPECT_TRUE(records);
    for (const SignalRecord& record : *records) {
      if (type.empty() || record.type == type) all.push_back(boost::json::parse(record.json).as_object());
    }
    return all;
  }
  std::size_t count(const std::string& type) { return signals(type).size(); }
  FeedState state() { return (*store.feed_records(std::vector{url}))[0]->state; }
  std::string title_of(const std::string& id) { return redis({"HGET", id, "title"}); }

  RedisServer server;
  Store store;
  Retention retention;
  Decision decision;
  int reads = 0;  ///< read-only round trips of the last poll
  std::uint64_t requests = 0;
};

// RELIABILITY I10
TEST_F(Polling, TheSameDocumentAThousandTimesSendsNothing) {
  std::vector<Item> items = site(5);
  items[2].day = 0;  // undated
  items[3].guid = items[3].link = "";
  poll(rss(items));
  std::vector<std::string> before;
  const auto dump = [&] {
    std::vector<std::string> all;
    for (const char* key : {":sort", ":guidmap", ":digests", ":tombs"}) all.push_back(redis({"DUMP", url + key}));
    for (const StoredEntry& entry : *store.all_by_order(url)) {
      for (const auto& [name, value] : entry.fields) all.push_back(entry.id + name + value);
    }
    return all;
  };
  before = dump();
  const std::size_t sent = signals().size();
  for (int i = 0; i < 1000; ++i) {
    for (Item& item : items) {
      if (!item.link.empty())
        item.link = item.link.substr(0, item.link.find('?')) + "?utm_campaign=" + std::to_string(i);
      if (item.guid.empty()) continue;  // it is known by its text alone, which must stay
      item.text = item.text.substr(0, item.text.find("&lt;")) + "&lt;img src='https://t.example/" + std::to_string(i) +
                  "' width='1' height='1'&gt;";
    }
    const Committed done = poll(rss(items, "built " + std::to_string(i)));
    ASSERT_EQ(done.created + done.modified + done.signals, 0U) << i;
    ASSERT_EQ(reads, 1) << i;
  }
  EXPECT_EQ(dump(), before);
  EXPECT_EQ(signals().size(), sent);
  EXPECT_EQ(state().polls, 1001U);
}

TEST_F(Polling, RekeysWhatANewCmsPublishesUnderNewGuids) {
  poll(rss(site(10, "http://www.example.org/")));
  std::vector<Item> moved = site(10, "https://example.org/", "https://example.org/?p=");
  moved.insert(moved.begin(), {"https://example.org/?p=11", "https://example.org/post/11", "Post 11", 20, ""});
  const Committed done = poll(rss(moved));
  EXPECT_EQ(done.rekeyed, 10U);
  EXPECT_EQ(done.created, 1U);
  EXPECT_EQ(done.modified, 0U) << "the scheme of a link is nothing a reader notices then";
  EXPECT_EQ(reads, 3);
  EXPECT_EQ(redis({"HMGET", "Entry:3", "title", "guid", "link", "rev"}),
            "Post 3 https://example.org/?p=3 https://example.org/post/3 1");
  ASSERT_EQ(count("feed_rekeyed"), 1U);
  EXPECT_EQ(signals("feed_rekeyed")[0].at("data").at("count").as_int64(), 10);
  EXPECT_EQ(count("post_created"), 11U);
  EXPECT_EQ(count("feed_gap"), 0U);
  EXPECT_EQ(poll(rss(moved, "again")).signals, 0U);
  EXPECT_EQ(reads, 1) << "and then it is a feed like others";
}

TEST_F(Polling, RekeysAMovedDomainByTheTexts) {
  poll(rss(site(10, "http://old.example/")));
  const Committed done = poll(rss(site(10, "https://new.example/blog/", "n")));
  EXPECT_EQ(done.rekeyed, 10U);
  EXPECT_EQ(done.created, 0U);
  EXPECT_EQ(done.modified, 10U) << "readers must get the new links";
  EXPECT_EQ(redis({"HMGET", "Entry:3", "title", "guid", "link"}), "Post 3 n3 https://new.example/blog/post/3");
  EXPECT_EQ(count("post_created"), 10U);
}

TEST_F(Polling, DoesNotRekeyWhatIsNew) {
  poll(rss(site(5)));
  std::vector<Item> next;
  for (int n = 10; n > 5; --n) next.push_back(site(n).front());
  const Committed done = poll(rss(next));
  EXPECT_EQ(done.created, 5U);
  EXPECT_EQ(done.rekeyed, 0U);
  EXPECT_EQ(count("feed_rekeyed"), 0U);
}

// RELIABILITY I15
TEST_F(Polling, BringsNoTrimmedPostBackUnderANewGuid) {
  retention.entries = 5;
  retention.strict = true;
  poll(rss(site(20)));
  EXPECT_EQ(count("post_created"), 5U);
  const Committed done = poll(rss(site(20, "https://example.org/", "new")));
  EXPECT_EQ(done.rekeyed, 5U);
  EXPECT_EQ(done.created, 0U);
  EXPECT_EQ(redis({"ZSCORE", url + ":tombs", "new3"}), "inf");
  EXPECT_NE(redis({"ZSCORE", url + ":tombs", "g3"}), "inf") << "it goes after its grace";
  EXPECT_EQ(poll(rss(site(20, "https://example.org/", "new"), "again")).created, 0U);
  EXPECT_EQ(redis({"ZCARD", url + ":sort"}), "5");
}

// SECURITY T19
TEST_F(Polling, SwitchesAFeedWhoseGuidsAreNewAtEveryFetch) {
  poll(rss(site(5)));
  for (int i = 1; i <= 1000; ++i) {
    const Committed done = poll(rss(site(5, "https://example.org/", "fetch-" + std::to_string(i) + "-")));
    ASSERT_EQ(done.created, 0U) << i;
    ASSERT_EQ(done.rekeyed, i <= 3 ? 5U : 0U) << i;
    ASSERT_EQ(state().identified_by, i < 3 ? IdentifiedBy::guid : IdentifiedBy::link) << i;
  }
  EXPECT_EQ(redis({"HGET", "Entry:5", "guid"}), "link:example.org/post/5");
  EXPECT_EQ(redis({"GET", "ids:Entry"}), "5");
  EXPECT_EQ(count("feed_rekeyed"), 3U);
  EXPECT_EQ(count("post_created"), 5U);
  EXPECT_EQ(signals("feed_rekeyed")[2].at("data").at("identified_by").as_string(), "link");
  EXPECT_EQ(poll(rss(site(6, "https://example.org/", "x"))).created, 1U) << "what is new is still seen";
  EXPECT_EQ(poll(rss(site(6, "http://www.example.org/", "x"))).created, 0U);
  EXPECT_EQ(poll(rss(site(6))).created, 0U) << "and the guids of old bring nothing back";
  EXPECT_EQ(state().identified_by, IdentifiedBy::link) << "it does not go back";
}

TEST_F(Polling, SwitchesAFeedOfWhichAPartIsNewAtEveryFetch) {
  poll(rss(site(20)));
  std::uint32_t created = 0;
  for (int i = 1; i <= 40; ++i) {
    std::vector<Item> items = site(20);
    for (std::size_t place : {2U, 9U, 15U}) items[place].guid += "-" + std::to_string(i);
    created += poll(rss(items)).created;
  }
  EXPECT_EQ(state().identified_by, IdentifiedBy::link);
  EXPECT_LE(created, 3U * 5U) << "until it was noticed";
  EXPECT_EQ(poll(rss(site(20))).created, 0U);
}

TEST_F(Polling, TellsPostsUnderOneGuidApartByTheirLinksFromTheBeginning) {
  std::vector<Item> items = site(2);
  for (Item& item : items) item.guid = "https://example.org/";
  EXPECT_EQ(poll(rss(items)).created, 2U);
  EXPECT_EQ(state().identified_by, IdentifiedBy::link);
  items.insert(items.begin(), {"https://example.org/", "https://example.org/post/3", "Post 3", 20, ""});
  const Committed done = poll(rss(items));
  EXPECT_EQ(done.created, 1U);
  EXPECT_EQ(done.modified, 0U) << "none takes the place of another";
  EXPECT_EQ(title_of("Entry:3"), "Post 3");
}

TEST_F(Polling, SwitchesWhenASecondPostComesUnderTheSameGuid) {
  std::vector<Item> items = site(1);
  items[0].guid = "https://example.org/";
  poll(rss(items));
  EXPECT_EQ(state().identified_by, IdentifiedBy::guid);
  items.insert(items.begin(), {"https://example.org/", "https://example.org/post/2", "Post 2", 20, ""});
  const Committed done = poll(rss(items));
  EXPECT_EQ(done.created, 1U);
  EXPECT_EQ(done.modified, 0U);
  EXPECT_EQ(done.rekeyed, 1U);
  EXPECT_EQ(title_of("Entry:1"), "Post 1");
  EXPECT_EQ(title_of("Entry:2"), "Post 2");
}

TEST_F(Polling, LosesNoPostThatOnlyItsTextTellsFromOthers) {
  std::vector<Item> items = site(4);
  for (Item& item : items) item.guid = "", item.link = "https://example.org/";
  EXPECT_EQ(poll(rss(items)).created, 4U);
  EXPECT_EQ(state().identified_by, IdentifiedBy::digest);
  EXPECT_EQ(poll(rss(items, "again")).created, 0U);
}

TEST_F(Polling, LetsTombstonesFollowTheSwitch) {
  retention.entries = 3;
  retention.strict = true;
  poll(rss(site(10)));
  std::vector<Item> items = site(10);
  items[0].guid = items[1].guid = items[2].guid = "https://example.org/";
  const Committed done = poll(rss(items));
  EXPECT_EQ(state().identified_by, IdentifiedBy::link);
  EXPECT_EQ(done.created, 0U);
  EXPECT_EQ(redis({"ZSCORE", url + ":tombs", "link:example.org/post/2"}), "inf");
  EXPECT_EQ(poll(rss(items, "again")).created, 0U);
  EXPECT_EQ(count("post_created"), 3U);
}

TEST_F(Polling, NoticesAGapAndComesAgainSooner) {
  std::vector<Item> later;
  for (int n = 20; n > 15; --n) later.push_back(site(n).front());
  poll(rss(site(5)));
  EXPECT_EQ(count("feed_gap"), 0U) << "a first import misses nothing";
  poll(rss(later));
  ASSERT_EQ(count("feed_gap"), 1U);
  const auto data = signals("feed_gap")[0].at("data").as_object();
  EXPECT_EQ(data.at("from").as_int64(), 1'741'176'000) << "5 March 2025";
  EXPECT_EQ(data.at("to").as_int64(), 1'742'126'400) << "16 March 2025";
  EXPECT_NE(state().why.find("\"gap\""), std::string::npos) << state().why;
  poll(rss(later, "again"));
  EXPECT_EQ(count("feed_gap"), 1U);
  EXPECT_EQ(state().why.find("\"gap\""), std::string::npos);
}

TEST_F(Polling, SeesNoGapAfterAnEmptyDocument) {
  poll(rss(site(5)));
  poll(rss({}));
  std::vector<Item> later;
  for (int n = 20; n > 15; --n) later.push_back(site(n).front());
  EXPECT_EQ(poll(rss(later)).created, 5U);
  EXPECT_EQ(count("feed_gap"), 0U);
}

// RFC 6721
TEST_F(Polling, HonoursWhatItsPublisherDeletes) {
  const auto entry = [](const std::string& id, const std::string& updated) {
    return "<entry><id>" + id + "</id><title>" + id + "</title><updated>" + updated + "</updated></entry>";
  };
  const auto atom = [](const std::string& children) {
    return "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:at='http://purl.org/atompub/tombstones/1.0'><id>f</id>" +
           children + "</feed>";
  };
  const std::string gone = "<at:deleted-entry ref='a' when='2025-03-02T00:00:00Z'/>";
  poll(atom(entry("a", "2025-03-01T00:00:00Z") + entry("b", "2025-03-05T00:00:00Z")));
  poll(atom(entry("b", "2025-03-05T00:00:00Z") + "<at:deleted-entry ref='b' when='2025-03-02T00:00:00Z'/>"));
  EXPECT_EQ(count("post_deleted"), 0U) << "b was updated since";
  EXPECT_EQ(poll(atom(entry("b", "2025-03-05T00:00:00Z") + gone)).deleted, 1U);
  ASSERT_EQ(count("post_deleted"), 1U);
  EXPECT_EQ(signals("post_deleted")[0].at("guid").as_string(), "a");
  EXPECT_EQ(poll(atom(entry("b", "2025-03-05T00:00:00Z") + gone + "<!-- again -->")).signals, 0U);
  EXPECT_EQ(poll(atom(entry("a", "2025-03-01T00:00:00Z") + entry("b", "2025-03-05T00:00:00Z"))).created, 0U);
  EXPECT_EQ(poll(atom(entry("c", "2025-03-01T00:00:00Z") + entry("b", "2025-03-05T00:00:00Z") +
                      "<at:deleted-entry ref='c' when='2025-03-02T00:00:00Z'/>"))
                .created,
            0U)
      << "listed and deleted at once";
}

// RELIABILITY I11
TEST_F(Polling, TakesNoOlderVersionFromASlowCache) {
  const auto atom = [](const std::string& title, const std::string& updated) {
    return "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id><entry><id>a</id><title>" + title +
           "</title><updated>" + updated + "</updated></entry></feed>";
  };
  poll(atom("First", "2025-03-01T00:00:00Z"));
  poll(atom("Second", "2025-03-02T00:00:00Z"));
  const std::string second = redis({"HMGET", "Entry:1", "title", "rev", "date_updated", "timestamp"});
  EXPECT_EQ(poll(atom("First", "2025-03-01T00:00:00Z")).signals, 0U);
  EXPECT_EQ(redis({"HMGET", "Entry:1", "title", "rev", "date_updated", "timestamp"}), second);
  EXPECT_EQ(poll(atom("Third", "2025-03-03T00:00:00Z")).modified, 1U);
  EXPECT_EQ(redis({"HMGET", "Entry:1", "title", "rev"}), "Third 3");
}

}  // namespace
}  // namespace feedmill::test
