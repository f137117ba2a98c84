// Documents in sequence, as a worker reads them, on a real store: how posts of doubtful identity are handled (DESIGN
// §5, RELIABILITY I2, I3, I10, I15). Only the network is left out.
#include <fstream>
#include <functional>
#include <set>

#include "storage/entries/entries.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/upkeep/archive.hpp"
#include "tests/worker/ingest/polling_fixture.hpp"

namespace feedmill::test::polling_test {
namespace {

// RELIABILITY I10
TEST_F(Polling, TheSameDocumentAThousandTimesSendsNothing) {
  std::vector<Item> items = site(5);
  items[2].day = 0;  // undated
  items[3].guid = items[3].link = "";
  poll(rss(items));
  std::vector<std::string> before;
  const auto dump = [&] {
    std::vector<std::string> all;
    for (const char* key : {":sort", ":guidmap", ":tombs"}) all.push_back(redis({"DUMP", url + key}));
    for (const auto& [id, mark] : digests()) all.push_back(id + mark);
    for (const StoredEntry& entry : *Entries(store).all_by_order(url)) {
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
      if (item.guid.empty()) continue;  // identified by its text alone, which must not change
      item.text = item.text.substr(0, item.text.find("&lt;")) + "&lt;img src='https://t.example/" + std::to_string(i) +
                  "' width='1' height='1'&gt;";
    }
    const Committed done = poll(rss(items, "built " + std::to_string(i)));
    ASSERT_EQ(done.created + done.modified + done.events, 0U) << i;
    ASSERT_EQ(reads, 1) << i;
  }
  EXPECT_EQ(dump(), before);
  EXPECT_EQ(signals().size(), sent);
  EXPECT_EQ(state().counts.polls, 1001U);
}

std::string atom_of(const std::vector<std::pair<std::string, std::vector<std::string>>>& posts) {
  std::string xml = "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:m='urn:feedmill:feed:1'><title>Mill</title>";
  for (const auto& [guid, trail] : posts) {
    xml +=
        "<entry><id>" + guid + "</id><title>Post " + guid + "</title><link href='https://example.org/" + guid + "'/>";
    for (const std::string& store : trail) xml += "<m:via>" + store + "</m:via>";
    xml += "</entry>";
  }
  return xml + "</feed>";
}

// WEBSUB U17
TEST_F(Polling, PostsThatCameFromHereAreNotStoredAgain) {
  const std::string own = *store.id(), other(32, 'f');
  reading_options.store_id = own;
  const std::vector<std::string> far(17, other), far_enough(16, other);
  EXPECT_EQ(poll(atom_of({{"a", {other}}, {"b", {other, own}}, {"c", {}}, {"d", far}, {"e", far_enough}})).created, 3U);
  EXPECT_EQ(redis({"HMGET", url + ":guidmap", "a", "b", "c", "d", "e"}), "Entry:3 (nil) Entry:2 (nil) Entry:1");
  EXPECT_EQ(redis({"HGET", "Entry:3", "via"}), other);

  // Nor has their coming and going any effect: no gap, no deletion, no other identity.
  passes_over = true;
  EXPECT_EQ(poll(atom_of({{"b2", {own}}, {"b3", {own}}, {"b4", {own}}})).created, 0U);
  EXPECT_EQ(poll(atom_of({{"b5", {own}}, {"a", {other}}, {"b", {own}}, {"c", {}}, {"x", {}}})).created, 1U);
  EXPECT_EQ(redis({"ZCARD", url + ":sort"}), "4");
  EXPECT_EQ(redis({"HGET", url + ":guidmap", "x"}), "Entry:4");
  EXPECT_EQ(count("feed_gap"), 0U);
  EXPECT_EQ(count("post_deleted"), 0U);
  EXPECT_EQ(count("post_modified"), 0U);
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
  EXPECT_EQ(poll(rss(moved, "again")).events, 0U);
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

TEST_F(Polling, DoesNotRekeyNewPosts) {
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

// DESIGN §5
TEST_F(Polling, SwitchesAFeedThatRenewsItsGuidsAtEveryFetch) {
  poll(rss(site(5)));
  for (int i = 1; i <= 1000; ++i) {
    const Committed done = poll(rss(site(5, "https://example.org/", "fetch-" + std::to_string(i) + "-")));
    ASSERT_EQ(done.created, 0U) << i;
    ASSERT_EQ(done.rekeyed, i <= 3 ? 5U : 0U) << i;
    ASSERT_EQ(state().identity.by, i < 3 ? IdentifiedBy::guid : IdentifiedBy::link) << i;
  }
  EXPECT_EQ(redis({"HGET", "Entry:5", "guid"}), "link:example.org/post/5");
  EXPECT_EQ(redis({"GET", "ids:Entry"}), "5");
  EXPECT_EQ(count("feed_rekeyed"), 3U);
  EXPECT_EQ(count("post_created"), 5U);
  EXPECT_EQ(signals("feed_rekeyed")[2].at("data").at("identified_by").as_string(), "link");
  EXPECT_EQ(poll(rss(site(6, "https://example.org/", "x"))).created, 1U) << "what is new is still seen";
  EXPECT_EQ(poll(rss(site(6, "http://www.example.org/", "x"))).created, 0U);
  EXPECT_EQ(poll(rss(site(6))).created, 0U) << "and the guids of old bring nothing back";
  EXPECT_EQ(state().identity.by, IdentifiedBy::link) << "one document proves nothing";
  EXPECT_EQ(poll(rss(site(6), "2")).events, 0U);
  const Committed back = poll(rss(site(7), "3"));
  EXPECT_EQ(state().identity.by, IdentifiedBy::guid);
  EXPECT_EQ(back.created, 1U);
  EXPECT_EQ(back.rekeyed, 6U);
  EXPECT_EQ(back.modified, 0U);
  for (int n = 1; n <= 5; ++n) {
    EXPECT_EQ(redis({"HGET", url + ":guidmap", "g" + std::to_string(n)}), "Entry:" + std::to_string(n));
  }
  EXPECT_EQ(signals("feed_rekeyed")[3].at("data").at("identified_by").as_string(), "guid");
  // After a failed return to guids, the next one takes longer.
  for (int i = 1; i <= 3; ++i) poll(rss(site(7, "https://example.org/", "again-" + std::to_string(i) + "-")));
  EXPECT_EQ(state().identity.by, IdentifiedBy::link);
  for (int i = 1; i <= 6; ++i) {
    EXPECT_EQ(state().identity.by, IdentifiedBy::link) << i;
    poll(rss(site(7), "sound " + std::to_string(i)));
  }
  EXPECT_EQ(state().identity.by, IdentifiedBy::guid);
  EXPECT_EQ(count("post_created"), 7U);
}

// --- one bad document has no lasting effect

TEST_F(Polling, KeepsItsGuidsWhenAPostIsThereTwiceUnderAnotherTitle) {
  poll(rss(site(30)));
  for (int i = 0; i < 5; ++i) {  // listed before or after it, for any number of polls
    std::vector<Item> items = site(30 + i);
    Item copy = items[26 + static_cast<std::size_t>(i)];
    copy.title += " again";
    items.insert(items.begin() + (i % 2 == 0 ? 0 : 8), copy);
    const Committed done = poll(rss(items));
    EXPECT_EQ(done.created, i == 0 ? 0U : 1U) << i;
    EXPECT_EQ(done.modified + done.rekeyed, 0U) << i;
    EXPECT_EQ(reads, 1) << i;
  }
  std::vector<Item> items = site(34);
  EXPECT_EQ(poll(rss(items)).events, 0U);
  for (Item& item : items) item.title += ", edited";
  const Committed done = poll(rss(items));
  EXPECT_EQ(done.modified, 34U) << "an edit is an edit";
  EXPECT_EQ(done.created, 0U);
  EXPECT_EQ(state().identity.by, IdentifiedBy::guid);
  EXPECT_EQ(redis({"HGET", url + ":guidmap", "g4"}), "Entry:4");
  EXPECT_EQ(count("feed_rekeyed"), 0U);
}

TEST_F(Polling, KeepsItsGuidsWhenOneComesTwiceWithAnotherLink) {
  poll(rss(site(10)));
  for (const bool before : {true, false}) {
    std::vector<Item> items = site(10);
    const Item other{"g4", "https://example.org/other", "Another post", 20, "What another post says"};
    items.insert(items.begin() + (before ? 0 : 10), other);
    for (std::size_t again = 0; again < 4; ++again) {
      const Committed done = poll(rss(items, std::to_string(again)));
      EXPECT_EQ(done.created, before && again == 0 ? 1U : 0U);
      EXPECT_EQ(done.modified + done.rekeyed, 0U);
    }
  }
  EXPECT_EQ(poll(rss(site(10))).events, 0U);
  EXPECT_EQ(state().identity.by, IdentifiedBy::guid);
  EXPECT_EQ(redis({"HGET", url + ":guidmap", "g4"}), "Entry:4");
  EXPECT_EQ(title_of("Entry:4"), "Post 4");
  std::vector<Item> mended = site(10);
  mended.insert(mended.begin(), {"another", "https://example.org/other", "Another post", 20, "What another post says"});
  const Committed done = poll(rss(mended));
  EXPECT_EQ(done.created, 0U);
  EXPECT_EQ(done.rekeyed, 1U) << "the other one gets its guid at last";
  EXPECT_EQ(redis({"HGET", url + ":guidmap", "another"}), "Entry:11");
  EXPECT_EQ(poll(rss(mended, "again")).events, 0U);
  mended.insert(mended.begin(), {"g11", "https://example.org/post/11", "Post 11", 21});
  EXPECT_EQ(poll(rss(mended)).created, 1U);
  EXPECT_EQ(reads, 1) << "and then it is a feed like others";
}

TEST_F(Polling, DistinguishesAPostFromTheOwnerOfItsGuid) {
  poll(rss(site(10)));
  const std::vector<Item> base = site(10);
  const auto oldest = std::ranges::find(base, "g1", &Item::guid);
  ASSERT_NE(oldest, base.end());
  Item other{"g1", "https://example.org/other", "Another post", 20, "What another post says"};
  std::vector<Item> items = base;
  items.insert(items.begin(), other);
  EXPECT_EQ(poll(rss(items)).created, 1U);
  std::erase_if(items, [](const Item& item) { return item.link.ends_with("/1"); });  // the owner of the guid
  ASSERT_EQ(items.size(), 10U);
  EXPECT_EQ(poll(rss(items)).events, 0U);
  items.front().guid = "another";
  EXPECT_EQ(poll(rss(items)).created, 0U);
  EXPECT_EQ(redis({"HGET", url + ":guidmap", "g1"}), "Entry:1");
  EXPECT_EQ(title_of("Entry:1"), "Post 1");
  EXPECT_EQ(redis({"HGET", url + ":guidmap", "another"}), "Entry:11");
}

TEST_F(Polling, RecognisesPostsThatSwappedGuids) {
  poll(rss(site(10)));
  std::vector<Item> items = site(10);
  std::swap(items[2].guid, items[7].guid);
  EXPECT_EQ(poll(rss(items)).events, 0U);
  items = site(10);
  items[2].guid.clear();
  EXPECT_EQ(poll(rss(items)).events, 0U);
  EXPECT_EQ(poll(rss(site(10))).events, 0U);
}

TEST_F(Polling, RecognisesAPostThatRegainsItsGuidFromANewOne) {
  poll(rss(site(10)));
  std::vector<Item> items = site(10);
  const Item post{"gP", "https://example.org/p", "A post", 20, "What a post says"};
  const Item later{"gQ", "https://example.org/q", "A later post", 21, "What a later post says"};
  items.insert(items.begin(), post);
  items[0].guid.clear();
  EXPECT_EQ(poll(rss(items)).created, 1U);
  items.insert(items.begin(), later);
  items[0].guid = "gP";
  EXPECT_EQ(poll(rss(items)).created, 1U);
  items[0] = later;
  items[1] = post;
  EXPECT_EQ(poll(rss(items)).created, 0U);
  EXPECT_EQ(poll(rss(items, "again")).created, 0U);
  EXPECT_EQ(title_of(redis({"HGET", url + ":guidmap", "gP"})), "A post");
  EXPECT_EQ(title_of(redis({"HGET", url + ":guidmap", "gQ"})), "A later post");
}

TEST_F(Polling, KeepsItsGuidsWhenOneIsMissing) {
  poll(rss(site(10)));
  std::vector<Item> items = site(10);
  items[6].guid.clear();
  items[2].guid.clear();
  for (int again = 0; again < 5; ++again) {
    EXPECT_EQ(poll(rss(items, std::to_string(again))).events, 0U);
    EXPECT_EQ(redis({"HGET", url + ":guidmap", "g4"}), "Entry:4");
  }
  items[6].title += ", edited";
  EXPECT_EQ(poll(rss(items)).modified, 1U) << "its link says which it is";
  EXPECT_EQ(title_of("Entry:4"), "Post 4, edited");
  EXPECT_EQ(redis({"HGET", url + ":guidmap", "g4"}), "Entry:4");
  for (Item& item : items) item.guid.clear();
  EXPECT_EQ(poll(rss(items)).events, 0U) << "all of them";
  EXPECT_EQ(poll(rss(site(10))).created, 0U);
  EXPECT_EQ(state().identity.by, IdentifiedBy::guid);
  EXPECT_EQ(count("feed_rekeyed"), 0U);
}

TEST_F(Polling, GivesAPostItsGuidThatCameWithoutOne) {
  std::vector<Item> items = site(30);
  items[0].guid.clear();
  EXPECT_EQ(poll(rss(items)).created, 30U);
  EXPECT_EQ(redis({"HGET", url + ":guidmap", "https://example.org/post/30"}), "Entry:30");
  const Committed done = poll(rss(site(30)));
  EXPECT_EQ(done.created, 0U);
  EXPECT_EQ(done.rekeyed, 1U);
  EXPECT_EQ(redis({"HGET", url + ":guidmap", "g30"}), "Entry:30");
  EXPECT_EQ(poll(rss(site(31))).created, 1U);
  EXPECT_EQ(reads, 1) << "and then it is a feed like others";
  EXPECT_EQ(redis({"HGET", "state:feed:" + url, "identity"}), "(nil)") << "nothing is left to remember";
}

/// tests/data/stores/: g1 … g10, then one document with another post under g3, then g3 … g11 (and an edit of g5 if
/// posts are identified by their text), as the build before this rule wrote them.
TEST_F(Polling, HealsStoresThatOneBadDocumentSwitched) {
  for (const std::string by : {"link", "digest"}) {
    redis({"FLUSHALL"});
    ASSERT_TRUE(store.open());
    std::ifstream file(FEEDMILL_SOURCE_DIR "/tests/data/stores/switched_to_" + by + ".jsonl");
    ImportOptions options;
    options.is_feed_url = [](const std::string&) { return true; };
    const auto next = [&](std::string& line) { return static_cast<bool>(std::getline(file, line)); };
    ASSERT_TRUE(Archive(store).read(options, next));
    ASSERT_EQ(to_string(state().identity.by), by);
    const std::string entries = redis({"ZCARD", url + ":sort"});
    const auto document = [&](int newest) {
      std::vector<Item> items = site(newest);
      items.resize(9);
      if (by == "digest") items[static_cast<std::size_t>(newest - 5)].title = "Post 5, edited";
      return items;
    };
    EXPECT_EQ(poll(rss(document(11), "1")).events, 0U);
    EXPECT_EQ(poll(rss(document(11), "2")).events, 0U);
    EXPECT_EQ(to_string(state().identity.by), by);
    const Committed done = poll(rss(document(11), "3"));
    EXPECT_EQ(state().identity.by, IdentifiedBy::guid) << by;
    EXPECT_EQ(done.created + done.modified, 0U);
    EXPECT_EQ(done.rekeyed, 9U);
    EXPECT_EQ(count("feed_rekeyed"), 1U);
    EXPECT_EQ(redis({"ZCARD", url + ":sort"}), entries);
    for (int n = 3; n <= 11; ++n) {
      const std::string id = redis({"HGET", url + ":guidmap", "g" + std::to_string(n)});
      EXPECT_EQ(title_of(id), document(11)[static_cast<std::size_t>(11 - n)].title);
    }
    std::vector<Item> edited = document(11);
    edited[2].title += ", edited";
    EXPECT_EQ(poll(rss(edited)).modified, 1U) << "an edit is an edit again";
    edited.push_back(site(2).front());
    const Committed again = poll(rss(edited, "again"));
    EXPECT_EQ(again.created, 0U) << "listed again: it gets its guid back as well";
    EXPECT_EQ(again.rekeyed, 1U);
    EXPECT_EQ(poll(rss(edited, "and again")).events, 0U);
    expect_whole();
  }
}

TEST_F(Polling, ComparesNothingForFeedsWithoutGuids) {
  std::vector<Item> items = site(30);
  for (Item& item : items) item.guid.clear();
  poll(rss(items));
  for (int n = 31; n < 35; ++n) {
    items.insert(items.begin(), site(n).front());
    items.front().guid.clear();
    EXPECT_EQ(poll(rss(items)).created, 1U);
    EXPECT_EQ(reads, 1);
  }
}

TEST_F(Polling, SwitchesAFeedThatRenewsPartOfItsGuidsAtEveryFetch) {
  poll(rss(site(20)));
  std::uint32_t created = 0;
  for (int i = 1; i <= 40; ++i) {
    std::vector<Item> items = site(20);
    for (std::size_t place : {2U, 9U, 15U}) items[place].guid += "-" + std::to_string(i);
    created += poll(rss(items)).created;
  }
  EXPECT_EQ(state().identity.by, IdentifiedBy::link);
  EXPECT_LE(created, 3U * 5U) << "until it was noticed";
  EXPECT_EQ(poll(rss(site(20))).created, 0U);
}

TEST_F(Polling, TellsPostsUnderOneGuidApartByTheirLinksFromTheBeginning) {
  std::vector<Item> items = site(2);
  for (Item& item : items) item.guid = "https://example.org/";
  EXPECT_EQ(poll(rss(items)).created, 2U);
  EXPECT_EQ(state().identity.by, IdentifiedBy::link);
  items.insert(items.begin(), {"https://example.org/", "https://example.org/post/3", "Post 3", 20, ""});
  const Committed done = poll(rss(items));
  EXPECT_EQ(done.created, 1U);
  EXPECT_EQ(done.modified, 0U) << "none takes the place of another";
  EXPECT_EQ(title_of("Entry:3"), "Post 3");
}

TEST_F(Polling, TellsApartTheSecondPostThatComesUnderTheSameGuid) {
  std::vector<Item> items = site(1);
  items[0].guid = "https://example.org/";
  poll(rss(items));
  EXPECT_EQ(state().identity.by, IdentifiedBy::guid);
  items.insert(items.begin(), {"https://example.org/", "https://example.org/post/2", "Post 2", 20, ""});
  const Committed done = poll(rss(items));
  EXPECT_EQ(done.created, 1U);
  EXPECT_EQ(done.modified, 0U);
  EXPECT_EQ(done.rekeyed, 0U);
  EXPECT_EQ(redis({"HGET", url + ":guidmap", "https://example.org/"}), "Entry:1") << "whoever stands first";
  EXPECT_EQ(title_of("Entry:1"), "Post 1");
  EXPECT_EQ(title_of("Entry:2"), "Post 2");
}

TEST_F(Polling, KeepsPostsThatDifferOnlyInText) {
  std::vector<Item> items = site(4);
  for (Item& item : items) item.guid = "", item.link = "https://example.org/";
  EXPECT_EQ(poll(rss(items)).created, 4U);
  EXPECT_EQ(state().identity.by, IdentifiedBy::digest);
  EXPECT_EQ(poll(rss(items, "again")).created, 0U);
}

TEST_F(Polling, KeepsUndatedPostsThatDifferOnlyInTitle) {
  std::vector<Item> items = site(4);
  for (Item& item : items) item.guid = "", item.link = "https://example.org/alerts", item.day = 0, item.text = "Now.";
  EXPECT_EQ(poll(rss(items)).created, 4U);
  EXPECT_EQ(poll(rss(items, "again")).created, 0U);
  for (Item& item : items) item.title += " of today";
  EXPECT_EQ(poll(rss(items)).created + count("post_modified"), 4U) << "each is stored";
}

TEST_F(Polling, LetsTombstonesFollowTheSwitch) {
  retention.entries = 3;
  retention.strict = true;
  poll(rss(site(10)));
  std::vector<Item> items = site(10);
  for (std::size_t i = 0; i < 6; ++i) items[i].guid = "https://example.org/";
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(state().identity.by, IdentifiedBy::guid);
    EXPECT_EQ(poll(rss(items, std::to_string(i))).created, 0U);
  }
  EXPECT_EQ(state().identity.by, IdentifiedBy::link);
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
  EXPECT_NE(state().due.why.find("gap "), std::string::npos) << state().due.why;
  poll(rss(later, "again"));
  EXPECT_EQ(count("feed_gap"), 1U);
  EXPECT_EQ(state().due.why.find("gap "), std::string::npos);
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
  EXPECT_EQ(poll(atom(entry("b", "2025-03-05T00:00:00Z") + gone + "<!-- again -->")).events, 0U);
  EXPECT_EQ(poll(atom(entry("a", "2025-03-01T00:00:00Z") + entry("b", "2025-03-05T00:00:00Z") + gone)).created, 0U)
      << "it says both";
  EXPECT_EQ(poll(atom(entry("a", "2025-03-04T00:00:00Z") + entry("b", "2025-03-05T00:00:00Z") + gone)).created, 1U)
      << "written anew since it was deleted";
  EXPECT_EQ(poll(atom(entry("b", "2025-03-05T00:00:00Z") + "<at:deleted-entry ref='a' when='2025-03-06T00:00:00Z'/>"))
                .deleted,
            1U);
  EXPECT_EQ(poll(atom(entry("a", "2025-03-04T00:00:00Z") + entry("b", "2025-03-05T00:00:00Z"))).created, 1U)
      << "its publisher lists it again";
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
  EXPECT_EQ(poll(atom("First", "2025-03-01T00:00:00Z")).events, 0U);
  EXPECT_EQ(redis({"HMGET", "Entry:1", "title", "rev", "date_updated", "timestamp"}), second);
  EXPECT_EQ(poll(atom("Third", "2025-03-03T00:00:00Z")).modified, 1U);
  EXPECT_EQ(redis({"HMGET", "Entry:1", "title", "rev"}), "Third 3");
}

TEST_F(Polling, TakesADateOfUpdateThatGoesBack) {
  const auto atom = [](const std::string& title, const std::string& date) {
    return "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id><entry><id>a</id><title>" + title +
           "</title><published>" + date + "</published><updated>" + date + "</updated></entry></feed>";
  };
  poll(atom("First", "2025-03-10T00:00:00Z"));
  EXPECT_EQ(poll(atom("Second", "2025-03-02T00:00:00Z")).modified, 1U);
  EXPECT_EQ(redis({"HMGET", "Entry:1", "title", "date_updated", "timestamp"}),
            "Second 2025-03-02T00:00:00Z 1740873600");
}

TEST_F(Polling, HonoursDeletionsInAFeedIdentifiedByLinks) {
  const auto entry = [](int n) {
    const std::string link = "https://example.org/post/" + std::to_string(n);
    return "<entry><id>same</id><link href='" + link + "'/><title>" + std::to_string(n) +
           "</title><updated>2025-03-01T00:00:00Z</updated></entry>";
  };
  const auto atom = [](const std::string& children) {
    return "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:at='http://purl.org/atompub/tombstones/1.0'><id>f</id>" +
           children + "</feed>";
  };
  poll(atom(entry(1) + entry(2) + entry(3)));
  ASSERT_EQ(state().identity.by, IdentifiedBy::link);
  EXPECT_EQ(poll(atom(entry(1) + entry(3) + "<at:deleted-entry ref='same' when='2025-03-02T00:00:00Z'/>")).deleted, 0U)
      << "which of them?";
  EXPECT_EQ(poll(atom(entry(1) + entry(3) +
                      "<at:deleted-entry ref='http://example.org/post/2' when='2025-03-02T00:00:00Z'/>"))
                .deleted,
            1U);
  EXPECT_EQ(signals("post_deleted")[0].at("entity_id").as_string(), "Entry:2");
}

// HTTP §4: a body that ends early
TEST_F(Polling, StoresCompletePostsAndTheRestWithTheWholeDocument) {
  const std::string xml = rss(site(10));
  etag = "\"whole\"";
  const Committed part = poll_cut(xml, xml.find("Post 7"));
  EXPECT_EQ(part.created, 3U);
  EXPECT_EQ(decision.reason, Reason::http_truncated);
  EXPECT_EQ(state().validators.etag, "");
  EXPECT_EQ(state().state, "degraded");
  EXPECT_EQ(poll_cut(xml, xml.find("Post 7")).events, 0U) << "I10";
  EXPECT_EQ(poll(xml).created, 7U);
  for (const auto& created : signals("post_created")) {
    EXPECT_TRUE(created.contains("initial")) << "all of it is the first import";
  }
  EXPECT_EQ(count("feed_created"), 1U);
  EXPECT_EQ(state().validators.etag, "\"whole\"");
  EXPECT_EQ(count("post_modified"), 0U);
}

TEST_F(Polling, CutDocumentsNeverChangeStoredPosts) {
  const std::string xml = rss(site(6));
  poll(xml);
  const FeedState before = state();
  const std::size_t sent = signals().size();
  for (std::size_t end = 0; end < xml.size(); end += 7) {
    ASSERT_EQ(poll_cut(xml, end).events, 0U) << end;
    ASSERT_EQ(state().document.body_hash, before.document.body_hash);
  }
  EXPECT_EQ(signals().size(), sent);
  EXPECT_EQ(redis({"HGETALL", "Feed:" + url}), "title Feed link https://example.org/ format rss20 san_ver 3");
  EXPECT_EQ(poll(xml).events, 0U);
}

TEST_F(Polling, TrimsAndBuriesNothingForACutDocument) {
  retention.entries = 3;
  poll(rss(site(40)));
  EXPECT_EQ(redis({"ZCARD", url + ":sort"}), "40") << "as many as are listed";
  const std::string xml = rss(site(40), "again");
  poll_cut(xml, xml.find("Post 36"));
  EXPECT_EQ(redis({"ZCARD", url + ":sort"}), "40");
  poll(rss({}));
  EXPECT_EQ(redis({"ZCARD", url + ":sort"}), "40") << "nor for an empty one";
}

TEST_F(Polling, RekeysNothingByACutDocument) {
  poll(rss(site(10)));
  const std::string xml = rss(site(11, "https://example.org/", "https://example.org/?p="));
  const Committed part = poll_cut(xml, xml.find("Post 3"));
  EXPECT_EQ(part.rekeyed, 0U);
  EXPECT_EQ(part.created, 1U) << "only what is new under any name";
  EXPECT_EQ(title_of("Entry:11"), "Post 11");
  EXPECT_EQ(redis({"HGET", "Entry:10", "guid"}), "g10");
  const Committed whole = poll(xml);
  EXPECT_EQ(whole.rekeyed, 10U);
  EXPECT_EQ(whole.created, 0U);
  EXPECT_EQ(count("feed_gap"), 0U);
}

TEST_F(Polling, KeepsTheIdentityThatAPartWouldChange) {
  std::vector<Item> items = site(40);
  items[0].guid = items[1].guid = "https://example.org/";  // 2 of 40 are tolerated, 2 of 5 are not
  poll(rss(items));
  ASSERT_EQ(state().identity.by, IdentifiedBy::guid);
  const std::string xml = rss(items, "again");
  EXPECT_EQ(poll_cut(xml, xml.find("Post 35")).events, 0U);
  EXPECT_EQ(state().identity.by, IdentifiedBy::guid);
}

TEST_F(Polling, GivesAPartAndTheWholeOneIdentity) {
  std::vector<Item> items = site(10);
  for (Item& item : items) item.guid = "https://example.org/";
  const std::string xml = rss(items);
  EXPECT_EQ(poll_cut(xml, xml.find("Post 5")).created, 5U);
  EXPECT_EQ(state().identity.by, IdentifiedBy::link);
  EXPECT_EQ(poll(xml).created, 5U);
  EXPECT_EQ(count("post_created"), 10U);

  // The same if only the whole document shows that its guids are useless.
  std::vector<Item> others = site(10);
  for (std::size_t i = 4; i < 10; ++i) others[i].guid = "https://example.org/";
  redis({"FLUSHALL"});
  ASSERT_TRUE(store.open());
  ASSERT_TRUE(Feeds(store).add(std::vector{NewFeed{.feed_url = url}}));
  const std::string second = rss(others);
  EXPECT_EQ(poll_cut(second, second.find("Post 6")).created, 4U);
  EXPECT_EQ(state().identity.by, IdentifiedBy::guid);
  const Committed done = poll(second);
  EXPECT_EQ(done.created, 6U);
  EXPECT_EQ(done.rekeyed, 0U);
  EXPECT_EQ(state().identity.by, IdentifiedBy::guid);
  poll(second + "<!-- 2 -->");
  EXPECT_EQ(poll(second + "<!-- 3 -->").rekeyed, 10U);
  EXPECT_EQ(state().identity.by, IdentifiedBy::link) << "three documents in a row";
  EXPECT_EQ(count("post_created"), 10U);
}

TEST_F(Polling, ReadsADocumentThatEndsInTheMiddleAgainUntilItComesTwice) {
  const std::string xml = rss(site(10)), cut = xml.substr(0, xml.find("Post 7"));
  etag = "\"whole\"";
  poll(xml);
  etag = "\"cut\"";
  EXPECT_EQ(poll(cut).events, 0U);
  EXPECT_EQ(state().validators.etag, "\"whole\"");
  EXPECT_EQ(state().state, "healthy");
  EXPECT_EQ(poll(cut).events, 0U);
  EXPECT_EQ(state().validators.etag, "\"cut\"") << "it is all there is";
}

TEST_F(Polling, StoresThePostThatADocumentAlwaysEndsIn) {
  const std::string xml = rss(site(3)), cut = xml.substr(0, xml.find("post 1 says"));
  EXPECT_EQ(poll(cut).created, 2U);
  EXPECT_EQ(poll(cut).created, 1U) << "there is no more of it to wait for";
  EXPECT_EQ(redis({"HMGET", "Entry:3", "guid", "title", "summary", "truncated"}), "g1 Post 1 What entry");
  EXPECT_EQ(poll(cut).events, 0U);
  EXPECT_EQ(decision.outcome, Outcome::unchanged);
  // A stored post is not overwritten by a shorter version of it.
  const std::string more = rss(site(4)), shorter = more.substr(0, more.find("post 2 says"));
  EXPECT_EQ(poll(shorter).created, 1U);
  EXPECT_EQ(poll(shorter).events, 0U);
  EXPECT_EQ(redis({"HMGET", "Entry:1", "guid", "summary", "truncated"}), "g2 What post 2 says (nil)");
  const Committed whole = poll(more);
  EXPECT_EQ(whole.created, 0U);
  EXPECT_EQ(whole.modified, 1U);
  EXPECT_EQ(redis({"HMGET", "Entry:3", "summary", "truncated"}), "What post 1 says (nil)");
}

// DESIGN §5: some feeds never arrive complete.
TEST_F(Polling, RecognisesPostsWithRotatingGuidsInCutDocuments) {
  const std::string first = rss(site(20)), base = "https://example.org/";
  const auto cut_of = [](const std::string& xml) { return xml.substr(0, xml.find("Post 1<")); };
  poll(cut_of(first));
  std::uint32_t created = 0;
  for (int i = 1; i <= 8; ++i) {
    const std::string xml = rss(site(20, base, "fetch-" + std::to_string(i) + "-"));
    created += poll(cut_of(xml)).created + poll_cut(xml, cut_of(xml).size()).created;
  }
  EXPECT_EQ(created, 0U) << "all of them";
  for (int i = 1; i <= 40; ++i) {
    std::vector<Item> items = site(20);
    for (std::size_t place : {2U, 9U, 15U}) items[place].guid += "-" + std::to_string(i);
    created += poll(cut_of(rss(items))).created;
  }
  EXPECT_LE(created, 3U * 3U) << "a part of them, until it was noticed";
  EXPECT_EQ(count("feed_rekeyed"), 0U);
  EXPECT_EQ(state().identity.by, IdentifiedBy::guid);
  EXPECT_EQ(poll(rss(site(21))).created, 2U) << "the one that was always cut off, and the new one";
}

// DESIGN §5
TEST_F(Polling, IgnoresPositionalGuids) {
  const auto numbered = [](int newest) {
    std::vector<Item> items = site(newest);
    items.resize(10);
    for (std::size_t place = 0; place < items.size(); ++place) items[place].guid = std::to_string(place + 1);
    return items;
  };
  poll(rss(numbered(15)));
  const Committed done = poll(rss(numbered(17)));
  EXPECT_EQ(done.created, 2U);
  EXPECT_EQ(done.modified, 0U) << "none takes the place of another";
  EXPECT_EQ(state().identity.by, IdentifiedBy::link);
  EXPECT_EQ(redis({"ZCARD", url + ":sort"}), "12") << "those that have left are kept";
  std::set<std::string> titles;
  for (const StoredEntry& entry : *Entries(store).all_by_order(url)) titles.insert(entry.get("title"));
  EXPECT_EQ(titles.size(), 12U);
  EXPECT_EQ(poll(rss(numbered(18))).created, 1U);
  EXPECT_EQ(poll(rss(numbered(18), "again")).events, 0U);
  EXPECT_EQ(count("post_modified"), 0U);
  EXPECT_EQ(count("post_created"), 13U);
}

TEST_F(Polling, IgnoresPositionalGuidsWhenAllPostsChanged) {
  const auto numbered = [](int newest) {
    std::vector<Item> items = site(newest);
    items.resize(5);
    for (std::size_t place = 0; place < items.size(); ++place) items[place].guid = std::to_string(place);
    return items;
  };
  poll(rss(numbered(5)));
  const Committed done = poll(rss(numbered(20)));
  EXPECT_EQ(done.created, 5U);
  EXPECT_EQ(done.modified, 0U);
  EXPECT_EQ(redis({"ZCARD", url + ":sort"}), "10");
}

TEST_F(Polling, IgnoresTombstonesOfPositionalGuids) {
  const auto numbered = [](int newest) {
    std::vector<Item> items = site(newest);
    items.resize(10);
    for (std::size_t place = 0; place < items.size(); ++place) items[place].guid = std::to_string(place + 1);
    return items;
  };
  poll(rss(numbered(15)));
  for (const char* place : {"1", "4", "5"}) {
    const auto entry = Entries(store).get_by_guid(url, place);
    ASSERT_TRUE(entry && *entry);
    ASSERT_TRUE(*Entries(store).remove((*entry)->id));
  }
  poll(rss(numbered(17)));
  EXPECT_EQ(state().identity.by, IdentifiedBy::link) << "most of what is not buried stands elsewhere";
  std::set<std::string> titles;
  for (const StoredEntry& entry : *Entries(store).all_by_order(url)) {
    EXPECT_TRUE(titles.insert(entry.get("title")).second) << entry.get("title") << " twice";
  }
  for (const char* title : {"Post 17", "Post 16"}) {
    EXPECT_TRUE(titles.contains(title)) << title << " is new, where a post was removed or elsewhere";
  }
  for (const char* title : {"Post 14", "Post 13", "Post 10", "Post 6"}) EXPECT_TRUE(titles.contains(title)) << title;
  EXPECT_EQ(count("post_modified"), 0U) << "none takes the place of another";
  EXPECT_EQ(redis({"EXISTS", url + ":tombs"}), "1") << "the places, until their grace is over";
  EXPECT_EQ(poll(rss(numbered(17), "again")).events, 0U);
  EXPECT_EQ(poll(rss(numbered(18))).created, 1U);
}

// RELIABILITY I15, L7: a removed post does not return because its guid is spelt differently.
TEST_F(Polling, BringsNoRemovedPostBackUnderANewGuid) {
  const auto permalinks = [](const std::string& base, int newest) {
    std::vector<Item> items = site(newest, base);
    for (Item& item : items) item.guid = item.link;
    return items;
  };
  poll(rss(permalinks("http://www.example.org/", 10)));
  const auto third = Entries(store).get_by_guid(url, "http://www.example.org/post/3");
  ASSERT_TRUE(third && *third);
  ASSERT_TRUE(*Entries(store).remove((*third)->id));
  const Committed done = poll(rss(permalinks("https://example.org/", 11)));
  EXPECT_EQ(done.rekeyed, 9U);
  EXPECT_EQ(done.created, 1U) << "post 11";
  EXPECT_EQ(redis({"ZSCORE", url + ":tombs", "https://example.org/post/3"}), "inf");
  EXPECT_EQ(poll(rss(permalinks("https://example.org/", 11), "again")).events, 0U);
  EXPECT_EQ(count("post_created"), 11U);
}

TEST_F(Polling, BringsNoRemovedPostBackWhenItsFeedIsSwitchedToLinks) {
  std::vector<Item> items = site(10);
  for (Item& item : items) item.guid = item.link;
  poll(rss(items));
  const auto third = Entries(store).get_by_guid(url, "https://example.org/post/3");
  ASSERT_TRUE(third && *third);
  ASSERT_TRUE(*Entries(store).remove((*third)->id));
  for (Item& item : items) item.guid = "https://example.org/";
  for (int i = 1; i <= 4; ++i) EXPECT_EQ(poll(rss(items, std::to_string(i))).created, 0U) << i;
  EXPECT_EQ(state().identity.by, IdentifiedBy::link);
  EXPECT_EQ(count("post_created"), 10U);
}

// --- other ways to lose posts or to flood readers with them

TEST_F(Polling, KeepsPostsOfTheFutureWhereTheyCameIn) {
  std::vector<Item> items = site(3);
  std::string xml = rss(items);
  for (std::size_t at = xml.find("2025"); at != std::string::npos; at = xml.find("2025", at))
    xml.replace(at, 4, "2095");
  poll(xml);
  const std::int64_t now_s = decision.commit.state.last.at.count() / 1000;
  for (const StoredEntry& entry : *Entries(store).all_by_order(url)) {
    EXPECT_LE(std::stoll(entry.get("timestamp")), now_s);
  }
  xml.replace(xml.find("Post 2"), 6, "Post B");
  const Committed done = poll(xml);
  EXPECT_EQ(done.modified, 1U);
  EXPECT_EQ(done.created, 0U);
  EXPECT_EQ(poll(xml + "<!-- again -->").events, 0U);
}

TEST_F(Polling, LosesNoPostWhenTheCapIsLoweredAndRaised) {
  poll(rss(site(30)));
  retention.entries = 5;
  retention.strict = true;
  poll(rss(site(30), "fewer"));
  EXPECT_EQ(redis({"ZCARD", url + ":sort"}), "5");
  retention.entries = 50;
  EXPECT_EQ(poll(rss(site(30), "more")).created, 0U) << "what was trimmed stays away";
  EXPECT_EQ(poll(rss(site(31))).created, 1U);
  EXPECT_EQ(redis({"ZCARD", url + ":sort"}), "6");
}

TEST_F(Polling, DistinguishesAFewPostsUnderOneGuid) {
  std::vector<Item> items = site(40);
  items[3].guid = items[30].guid = "twice";
  EXPECT_EQ(poll(rss(items)).created, 40U);
  EXPECT_EQ(state().identity.by, IdentifiedBy::guid);
  EXPECT_EQ(poll(rss(items, "again")).events, 0U);
  std::vector<Item> exact = items;
  exact.push_back(items[5]);  // the same post, listed twice
  EXPECT_EQ(poll(rss(exact)).created, 0U);
}

TEST_F(Polling, IgnoresWhiteSpaceAroundGuids) {
  poll(rss(site(5)));
  std::vector<Item> items = site(5);
  for (Item& item : items) item.guid = "\n\t " + item.guid + "  ";
  EXPECT_EQ(poll(rss(items)).events, 0U);
}

TEST_F(Polling, ImportsTheNewestOfALongListOnce) {
  std::string items;
  for (int n = 6000; n > 0; --n) {
    items += "<item><guid isPermaLink='false'>" + std::to_string(n) + "</guid><title>" + std::to_string(n) +
             "</title><comments>" + std::string(100, ' ') + "</comments></item>";
  }
  const auto document = [&](const std::string& more) {
    return "<rss version='2.0'><channel><title>T</title>" + more + items + "</channel></rss>";
  };
  retention.hard_cap = 300;
  EXPECT_EQ(poll(document("")).created, 300U);
  EXPECT_EQ(redis({"ZCARD", url + ":tombs"}), "5700");
  EXPECT_EQ(poll(document("") + "<!-- again -->").events, 0U);
  const Committed next = poll(document("<item><guid isPermaLink='false'>new</guid><title>new</title></item>"));
  EXPECT_EQ(next.created, 1U);
  EXPECT_EQ(next.trimmed, 1U);
  EXPECT_EQ(Entries(store).all_by_order(url)->front().get("title"), "new");
  EXPECT_EQ(poll(document("") + "<!-- and again -->").created, 0U);
}

TEST_F(Polling, SurvivesAFloodOfUndatedPosts) {
  std::vector<Item> items = site(60);
  for (Item& item : items) item.day = 0;
  EXPECT_EQ(poll(rss(items)).created, 60U);
  std::reverse(items.begin(), items.end());  // in reverse order from now on
  EXPECT_EQ(poll(rss(items)).events, 0U);
  EXPECT_EQ(Entries(store).all_by_order(url)->front().get("title"), "Post 60");
}

TEST_F(Polling, RekeysAfterAChangeOfSchemeInGuidsAndLinksAtTheCap) {
  retention.entries = 20;
  retention.strict = true;
  const auto permalinks = [](const std::string& base, int newest) {
    std::vector<Item> items = site(newest, base);
    for (Item& item : items) item.guid = item.link;
    return items;
  };
  poll(rss(permalinks("http://example.org/", 28)));
  EXPECT_EQ(count("post_created"), 20U);
  const Committed done = poll(rss(permalinks("https://example.org/", 28)));
  EXPECT_EQ(done.rekeyed, 20U);
  EXPECT_EQ(done.created, 0U) << "what was trimmed stays away";
  EXPECT_EQ(poll(rss(permalinks("http://example.org/", 28))).created, 0U) << "and back";
  EXPECT_EQ(count("post_created"), 20U);
}

}  // namespace
}  // namespace feedmill::test::polling_test
