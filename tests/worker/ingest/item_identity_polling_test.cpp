// Posts that get new guids one by one, document after document, on a real store (DESIGN §5).
#include <fstream>
#include <iterator>

#include "tests/worker/ingest/polling_fixture.hpp"

namespace feedmill::test::item_identity_polling_test {
namespace {

const std::string long_text =
    "A text that goes on for so long that no two posts have it in common by chance: it tells what happened, when it "
    "happened and to whom, who was there and saw it, what they said about it afterwards, and why it matters to anybody "
    "who reads of it today.";

class ItemIdentities : public Polling {
 protected:
  /// Document `number` of a case.
  std::string publisher(const std::string& name, int number) {
    const std::string path = FEEDMILL_SOURCE_DIR "/tests/data/polls/" + name + "/" + std::to_string(number);
    std::ifstream file(path + ".xml");
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string entries() { return redis({"ZCARD", url + ":sort"}); }
  std::string id_of(const std::string& guid) { return redis({"HGET", url + ":guidmap", guid}); }
};

/// 25 posts with permalinks as guids.
std::vector<Item> pages(const std::string& scheme = "http") {
  std::vector<Item> items;
  for (int n = 25; n > 0; --n) {
    const std::string page = scheme + "://example.org/post/a%2fb-" + std::to_string(n) + "/?id=" + std::to_string(n);
    items.push_back({page, page, "Post " + std::to_string(n), n, long_text + std::to_string(n)});
  }
  return items;
}

TEST_F(ItemIdentities, OneChangedGuidDoesNotCreateAPost) {
  poll(publisher("one-guid-changed", 1));
  const std::string id = id_of("id-9");
  const Committed done = poll(publisher("one-guid-changed", 2));
  EXPECT_EQ(done.created, 0U);
  EXPECT_EQ(done.modified, 0U);
  EXPECT_EQ(done.rekeyed, 1U);
  EXPECT_EQ(entries(), "10");
  EXPECT_EQ(id_of("uuid-9999"), id);
  EXPECT_EQ(count("post_created"), 10U);
  ASSERT_EQ(count("feed_rekeyed"), 1U);
  EXPECT_EQ(signals("feed_rekeyed")[0].at("data").at("count").as_int64(), 1);
  EXPECT_EQ(count("feed_gap"), 0U);
}

TEST_F(ItemIdentities, AnotherFileIsAnotherPost) {
  const auto episode = [](const std::string& n) {
    return "<item><guid isPermaLink='false'>x" + n + "</guid><link>http://example.org/" + n +
           "</link><title>Bonus episode</title><description>Bonus episode</description>"
           "<pubDate>Sun, 01 Mar 2026 10:00:00 GMT</pubDate><enclosure url='http://example.org/" +
           n + ".mp3' length='1' type='audio/mpeg'/></item>";
  };
  const auto channel = [](const std::string& items) {
    return "<rss version='2.0'><channel><title>t</title>" + items + "</channel></rss>";
  };
  std::string others;
  for (int n = 10; n < 13; ++n) {
    others += "<item><guid isPermaLink='false'>o" + std::to_string(n) + "</guid><title>Other " + std::to_string(n) +
              "</title></item>";
  }
  poll(channel(others));
  poll(channel(episode("1") + others));
  const Committed done = poll(channel(episode("3") + others));
  EXPECT_EQ(done.created, 1U);
  EXPECT_EQ(done.rekeyed, 0U);
  EXPECT_EQ(entries(), "5");
}

TEST_F(ItemIdentities, SchemesThatComeAndGoMakeNoNewPost) {
  for (int number = 1; number <= 6; ++number) poll(publisher("scheme-flip", number));
  EXPECT_EQ(entries(), "3");
  EXPECT_EQ(count("post_created"), 3U);
  EXPECT_LE(count("feed_rekeyed"), 3U) << "then the links tell the posts apart";
}

TEST_F(ItemIdentities, AnotherSpellingDoesNotCreateAPost) {
  const std::string page = "http://example.org/post/a%2fb-7/?id=7";
  std::string from = page;
  poll(rss(pages()));
  const std::string id = id_of(page);
  std::uint32_t times = 0;
  for (const char* const to : {"https://example.org/post/a%2fb-7/?id=7", "https://www.example.org/post/a%2fb-7/?id=7",
                               "https://www.example.org/post/a%2Fb-7?id=7",
                               "https://EXAMPLE.org/post/a%2Fb-7?utm_source=rss&amp;id=7&amp;utm_medium=feed",
                               "http://example.org/post/a%2fb-7/?id=7"}) {
    std::vector<Item> items = pages();
    items[18].guid = to;
    items[18].text = "Rewritten " + std::to_string(++times);
    const Committed done = poll(rss(items));
    EXPECT_EQ(done.created, 0U) << to;
    EXPECT_EQ(done.rekeyed, 1U) << to;
    EXPECT_EQ(done.modified, 1U) << to;
    std::string guid = to;
    while (guid.find("&amp;") != std::string::npos) guid.erase(guid.find("&amp;") + 1, 4);
    EXPECT_EQ(id_of(guid), id);
  }
  EXPECT_EQ(entries(), "25");
  EXPECT_EQ(count("feed_rekeyed"), times);
}

TEST_F(ItemIdentities, SomeSchemesAreOneEvent) {
  poll(rss(pages()));
  std::vector<Item> items = pages();
  const std::vector<Item> secure = pages("https");
  for (const std::size_t place : {2U, 3U, 11U}) items[place] = secure[place];
  const Committed done = poll(rss(items));
  EXPECT_EQ(done.created + done.modified, 0U);
  EXPECT_EQ(done.rekeyed, 3U);
  EXPECT_EQ(count("feed_rekeyed"), 1U);
  EXPECT_EQ(redis({"HGET", id_of(secure[11].guid), "link"}), secure[11].link);
  EXPECT_EQ(poll(rss(items, "again")).rekeyed, 0U);
}

TEST_F(ItemIdentities, ALinkThatStandsForAGuidMayBeSpelledAnotherWay) {
  std::vector<Item> items = pages(), secure = pages("https");
  for (std::vector<Item>* each : {&items, &secure}) {
    for (Item& item : *each) item.guid.clear();
  }
  poll(rss(items));
  const std::string id = id_of(items[8].link);
  items[8] = secure[8];
  EXPECT_EQ(poll(rss(items)).rekeyed, 1U);
  EXPECT_EQ(id_of(secure[8].link), id);
  EXPECT_EQ(entries(), "25");
}

TEST_F(ItemIdentities, AnEditedSlugDoesNotCreateAPost) {
  poll(rss(pages()));
  const std::string id = id_of(pages()[4].guid);
  std::vector<Item> items = pages();
  items[4].guid = items[4].link = "http://example.org/post/what-it-should-have-been-called";
  const Committed done = poll(rss(items));
  EXPECT_EQ(done.created, 0U);
  EXPECT_EQ(done.rekeyed, 1U);
  EXPECT_EQ(id_of(items[4].guid), id);
  EXPECT_EQ(redis({"HGET", id, "link"}), items[4].link);
  EXPECT_EQ(count("post_modified"), 1U);
}

TEST_F(ItemIdentities, AnotherTextUnderOneTitleIsANewPost) {
  poll(rss(pages()));
  std::vector<Item> items = pages();
  items[4].guid = items[4].link = "http://example.org/post/another";
  items[4].text[100] = '!';
  EXPECT_EQ(poll(rss(items)).created, 1U);
  EXPECT_EQ(entries(), "26");
}

TEST_F(ItemIdentities, APostWithoutItsTextsIsKnownByItsDigest) {
  retention.texts = 1;
  std::vector<Item> items = pages();
  poll(rss(items));
  const std::string id = id_of(items[4].guid);
  ASSERT_EQ(redis({"HGET", id, "truncated"}), "texts");
  items[4].guid = "another";
  Committed done = poll(rss(items));
  EXPECT_EQ(done.created, 0U);
  EXPECT_EQ(done.rekeyed, 1U);
  items[4].guid = items[4].link = "http://example.org/post/what-it-should-have-been-called";
  done = poll(rss(items));
  EXPECT_EQ(done.created, 0U);
  EXPECT_EQ(done.rekeyed, 1U);
  EXPECT_EQ(id_of(items[4].guid), id);
  EXPECT_EQ(redis({"HGET", id, "link"}), items[4].link);
  items[4].guid = "a third";
  items[4].text.back() = '!';
  EXPECT_EQ(poll(rss(items)).created, 1U) << "another text";
  EXPECT_EQ(entries(), "26");
}

TEST_F(ItemIdentities, ATextThatIsRemovedUnderANewGuidIsGone) {
  retention.texts = 1;
  std::vector<Item> items = pages();
  poll(rss(items));
  items[4].guid = pages("https")[4].guid;  // one guid
  items[4].text.clear();
  EXPECT_EQ(poll(rss(items)).rekeyed, 1U);
  for (Item& item : items) item.guid = "new " + item.guid;  // all guids
  items[6].text.clear();
  EXPECT_EQ(poll(rss(items)).rekeyed, 25U);
  for (const Item& item : {items[4], items[6]}) {
    const std::string id = id_of(item.guid);
    EXPECT_EQ(redis({"HEXISTS", id, "summary_text"}), "0") << item.guid;
    EXPECT_EQ(redis({"HEXISTS", id, "truncated"}), "0") << item.guid;
  }
  EXPECT_EQ(entries(), "25");
  EXPECT_EQ(count("post_created"), 25U);
  EXPECT_EQ(count("post_modified"), 0U);
}

TEST_F(ItemIdentities, TwoEqualPostsStayTwo) {
  std::vector<Item> items = site(20);
  items[5].text = items[6].text = long_text;
  items[5].title = items[6].title = "Twice";
  items[5].day = items[6].day = 12;
  items[5].link = items[6].link = "https://example.org/twice";
  poll(rss(items));
  const std::string first = id_of(items[5].guid), second = id_of(items[6].guid);
  items[5].guid = "new";  // the other one is still listed, so it is not this post
  EXPECT_EQ(poll(rss(items)).created, 0U);
  EXPECT_EQ(id_of("new"), first);
  EXPECT_EQ(id_of(items[6].guid), second);
  items[5].guid = "newer";
  items[6].guid = "newest";  // now each could be either
  EXPECT_EQ(poll(rss(items)).rekeyed, 0U);
  EXPECT_EQ(entries(), "22");
}

TEST_F(ItemIdentities, HourlyNewsAreAPostEach) {
  std::vector<Item> items;
  for (int hour = 1; hour <= 12; ++hour) {
    const std::string number = std::to_string(hour);
    items.insert(items.begin(), {"news-" + number, "https://example.org/news", "The news", 3, long_text,
                                 "https://cdn.example.org/" + number + ".mp3?t=" + number});
    if (items.size() > 3) items.pop_back();
    EXPECT_EQ(poll(rss(items)).created, 1U) << hour;
  }
  EXPECT_EQ(entries(), "12");
}

TEST_F(ItemIdentities, HourlyNewsListedOneAtATimeAreAPostEach) {
  for (const int day : {0, 3}) {
    for (int hour = 1; hour <= 4; ++hour) {
      const std::string number = std::to_string(10 * day + hour);
      const std::string file = "https://cdn.example.org/" + number + ".mp3";
      poll(rss({{"news-" + number, "https://example.org/news", "The news", day, long_text, file}}));
    }
  }
  EXPECT_EQ(entries(), "8");
  EXPECT_EQ(count("feed_rekeyed"), 0U);
}

TEST_F(ItemIdentities, ATrimmedPostDoesNotReturnUnderAnotherSpelling) {
  retention.entries = 10;
  retention.strict = true;
  poll(rss(pages()));
  ASSERT_EQ(entries(), "10");
  std::vector<Item> items = pages();
  const std::vector<Item> secure = pages("https");
  for (const std::size_t place : {12U, 20U}) {
    items[place].guid = secure[place].guid;
    items[place].day = 28;  // otherwise it would be trimmed at once
  }
  EXPECT_EQ(poll(rss(items)).created, 0U);
  EXPECT_EQ(redis({"ZSCORE", url + ":tombs", secure[12].guid}), "inf");
  EXPECT_EQ(poll(rss(items, "again")).created, 0U);
  items[20].guid = pages()[20].guid;
  EXPECT_EQ(poll(rss(items)).created, 0U) << "and back";
  EXPECT_EQ(count("feed_rekeyed"), 0U);
  EXPECT_EQ(count("post_created"), 10U);
}

TEST_F(ItemIdentities, NoPostIsLostWhenItsGuidGoesToANewOne) {
  std::vector<Item> items = pages();
  poll(rss(items));
  items.insert(items.begin(), {"https://example.org/new", "https://example.org/new", "New", 27, long_text + "new"});
  std::swap(items[0].guid, items[5].guid);  // the new post takes a stored guid and the stored post the new one
  poll(rss(items));
  poll(rss(items, "again"));
  EXPECT_EQ(entries(), "26") << "it is listed: no other post is the one that was stored under it";
  EXPECT_EQ(count("post_created"), 26U);
  EXPECT_EQ(title_of(id_of(items[0].guid)), "New");
  EXPECT_EQ(title_of(id_of(items[5].guid)), "Post 21");
}

TEST_F(ItemIdentities, APostReturnsUnderAnotherGuid) {
  std::vector<Item> items = pages();
  poll(rss(items));
  const Item gone = items[4];
  items.erase(items.begin() + 4);
  poll(rss(items));
  poll(rss(items, "again"));
  items.insert(items.begin() + 4, gone);
  items[4].guid = "other";
  EXPECT_EQ(poll(rss(items)).rekeyed, 1U) << "the last document did not list it";
  EXPECT_EQ(id_of(gone.guid), "(nil)");
  EXPECT_EQ(entries(), "25");
}

TEST_F(ItemIdentities, AFewRenamedPostsAreFoundDuringAComparison) {
  std::vector<Item> items = site(60);
  for (Item& item : items) item.day = 1 + item.day % 28;
  poll(rss(items));
  const std::string id = id_of("g30");
  items[30].guid = "other";
  std::swap(items[2].guid, items[3].guid);  // makes it compare all posts
  const Committed done = poll(rss(items));
  EXPECT_GE(reads, 3);
  EXPECT_EQ(done.created, 0U);
  EXPECT_EQ(id_of("other"), id);
}

TEST_F(ItemIdentities, NothingIsDecidedByACutDocument) {
  poll(rss(pages()));
  std::vector<Item> items = pages();
  items[1].guid = pages("https")[1].guid;
  const std::string body = rss(items);
  EXPECT_EQ(poll_cut(body, body.size() / 2).created, 0U);
  EXPECT_EQ(count("feed_rekeyed"), 0U);
  EXPECT_EQ(poll(body).rekeyed, 1U);
  EXPECT_EQ(entries(), "25");
}

TEST_F(ItemIdentities, AUsualNewPostCostsNoReadMore) {
  poll(rss(site(20)));
  std::vector<Item> items = site(21);
  items.pop_back();  // as on a site, the oldest drops out
  EXPECT_EQ(poll(rss(items)).created, 1U);
  EXPECT_EQ(reads, 1);
  items.insert(items.begin(), {"undated", "https://example.org/undated", "Undated"});
  EXPECT_EQ(poll(rss(items)).created, 1U);
  EXPECT_EQ(reads, 1);
  items.insert(items.begin() + 10, {"late", "https://example.org/late", "Late", 9});
  EXPECT_EQ(poll(rss(items)).created, 1U);
  EXPECT_EQ(reads, 2) << "what is not the newest may be a stored post";
}

}  // namespace
}  // namespace feedmill::test::item_identity_polling_test
