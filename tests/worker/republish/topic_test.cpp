// Feeds and channels published as documents: they read back as they were stored (WEBSUB U1, U15–U17).
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "parsers/feed/document_json.hpp"
#include "parsers/feed/read_feed.hpp"
#include "parsers/markup/well_formed.hpp"
#include "storage/queues/topics.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/timelines/channels.hpp"
#include "tests/worker/ingest/polling_fixture.hpp"
#include "worker/republish/topic_document.hpp"

namespace feedmill::test::topic_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const TopicLinks links{"https://mill.example/t/abc/atom", "https://mill.example/hub", "https://mill.example/t/abc/atom",
                       "https://mill.example/t/abc/atom?before=1:Entry:1", ""};

const Topic feed_topic{TopicKind::feed, url};

/// A post with every published field, and texts that are markup or nearly so.
const std::string rich =
    "<feed xmlns='http://www.w3.org/2005/Atom' xml:lang='de'><title type='html'>A &amp;lt; B &lt;i&gt;quoted&lt;/i&gt;"
    "</title><subtitle>About ]]&gt; things</subtitle><link href='https://example.org/'/><author><name>Site</name>"
    "</author><updated>2026-03-01T10:00:00Z</updated>"
    "<entry xml:lang='en'><id>tag:example.org,2026:1</id><title>1 &lt; 2 &amp;amp; ]]&gt; \"x\" 'y' "
    "\xF0\x9F\x90\xA6</title>"
    "<link href='https://example.org/p?a=1&amp;b=2'/><link rel='replies' type='text/html' "
    "href='https://example.org/c'/>"
    "<author><name>Ada &lt;L&gt;</name><uri>https://example.org/ada</uri><email>ada@example.org</email></author>"
    "<author><name>Bob</name></author><contributor><name>Cy</name><uri>https://example.org/cy</uri></contributor>"
    "<rights>All &lt;rights&gt; &amp; more</rights><link rel='license' href='https://example.org/by'/>"
    "<link rel='related' href='https://example.org/r' hreflang='fr' title='Else &lt;where&gt;'/>"
    "<link rel='replies' href='https://example.org/c.xml'/>"
    "<category term='a&quot;b' scheme='https://example.org/s' label='L&lt;'/><category term='c'/>"
    "<published>2026-03-01T09:00:00Z</published><updated>2026-03-01T10:00:00Z</updated>"
    "<link rel='enclosure' href='https://example.org/a.mp3' type='audio/mpeg' length='123' title='Tape &amp; more'/>"
    "<summary type='html'>&lt;p&gt;Short &amp;amp; sweet&lt;/p&gt;</summary>"
    "<content type='html'>&lt;p&gt;Long ]]&amp;gt; &lt;a "
    "href=\"https://example.org/x?a=1&amp;amp;b=2\"&gt;x&lt;/a&gt;\n"
    "&lt;script&gt;alert(1)&lt;/script&gt;&lt;/p&gt;</content></entry>"
    "<entry><id>tag:example.org,2026:2</id><title>No author, no page</title><updated>2026-02-01T10:00:00Z</updated>"
    "<content>plain &lt;b&gt; text</content></entry></feed>";

class Topics : public Polling {
 protected:
  Topics() { redis({"HSET", "state:feed:" + url, "exposure", "public"}); }

  TopicPage page(const Topic& topic = feed_topic, std::size_t limit = 50,
                 const std::optional<EntryCursor>& before = {}) {
    auto read = read_topic_page(store, topic, before, limit);
    EXPECT_TRUE(read) << read.error().detail;
    if (!read || !*read) return {};
    return std::move(**read);
  }
  bool is_there(const Topic& topic = feed_topic) {
    const auto read = read_topic_page(store, topic, {}, 10);
    return read && read->has_value();
  }
  static Feed read_back(const TopicDocument& document) {
    DocumentHints hints;
    hints.url = links.self;
    hints.content_type = document.content_type;
    auto feed = read_feed(document.body, hints);
    EXPECT_TRUE(feed) << document.body;
    if (!feed) return {};
    EXPECT_EQ(feed->bozo, Bozo::none) << feed->bozo_detail;
    EXPECT_TRUE(feed->flaws.empty()) << document.body;
    return std::move(*feed);
  }
  /// Entries as a receiving store would take them.
  static std::vector<EntryRecord> records(const TopicDocument& document) {
    Feed feed = read_back(document);
    return entry_records(feed, IdentifiedBy::guid, IdentifiedBy::guid);
  }
  static std::string value(const Fields& fields, std::string_view name) {
    const auto found = std::ranges::find(fields, name, [](const auto& field) { return std::string_view(field.first); });
    return found == fields.end() ? "" : found->second;
  }
  static std::vector<std::string> ids(const TopicPage& page) {
    std::vector<std::string> all;
    for (const RepublishedEntry& entry : page.entries) all.push_back(entry.id);
    return all;
  }
  void add_feed(const std::string& other, const std::string& title) {
    ASSERT_TRUE(Feeds(store).add(std::vector{NewFeed{.feed_url = other, .title = title}}));
    redis({"HSET", "state:feed:" + other, "exposure", "public"});
  }
  void save(const std::string& feed, const std::string& guid, const std::string& when) {
    GivenEntry entry;
    entry.feed_url = feed;
    entry.guid = guid;
    entry.fields = {{"title", "Post " + guid}, {"date_updated", when}};
    const auto saved = Entries(store).save(entry);
    ASSERT_TRUE(saved) << saved.error().detail;
    ASSERT_NE(saved->id, "") << saved->detail;
  }
};

// WEBSUB U1
TEST_F(Topics, AsAtomComeBackAsTheyAreStored) {
  poll(rich);
  const TopicPage shown = page();
  ASSERT_EQ(shown.entries.size(), 2U);
  const TopicDocument document = render_topic(shown, TopicFormat::atom, links);
  EXPECT_TRUE(check_well_formed(document.body).ok()) << check_well_formed(document.body).detail;
  EXPECT_EQ(document.content_type, "application/atom+xml; charset=utf-8");
  const std::vector<EntryRecord> back = records(document);
  ASSERT_EQ(back.size(), 2U);
  for (std::size_t i = 0; i < back.size(); ++i) {
    const Fields& stored = shown.entries[i].fields;
    EXPECT_EQ(back[i].guid, shown.entries[i].urn);
    for (const char* name : {"title", "title_type", "link", "comments", "language", "summary", "summary_type",
                             "content", "content_type", "date_published", "categories", "enclosures", "summary_text",
                             "comments_feed", "contributors", "license", "rights"}) {
      EXPECT_EQ(value(back[i].fields, name), value(stored, name)) << name << " of " << i;
    }
  }
  EXPECT_THAT(value(back[0].fields, "links"), HasSubstr(R"({"href":"https://example.org/r","rel":"related",)"
                                                        R"("hreflang":"fr","title":"Else <where>"})"));
  EXPECT_EQ(value(back[0].fields, "authors"), value(shown.entries[0].fields, "authors"));
  EXPECT_EQ(back[0].fields == shown.entries[0].fields, false) << "ids and dates are ours";

  const Feed feed = read_back(document);
  EXPECT_EQ(feed.id, shown.id);
  EXPECT_EQ(feed.title.value, "A &lt; B <i>quoted</i>");
  EXPECT_EQ(feed.title.type, "text/html");
  EXPECT_EQ(feed.subtitle.value, "About ]]> things");
  EXPECT_EQ(feed.self, links.self);
  EXPECT_EQ(feed.hubs, std::vector<std::string>{links.hub});
  EXPECT_EQ(feed.first, links.first);
  EXPECT_EQ(feed.next, links.next);
  EXPECT_EQ(feed.link, "https://example.org/");
  EXPECT_THAT(document.body, Not(HasSubstr("<script")));
  EXPECT_THAT(document.body, Not(HasSubstr("alert(1)")));
}

// WEBSUB U1
TEST_F(Topics, AsJsonComeBackAsTheFormatCanSayThem) {
  poll(rich);
  const TopicPage shown = page();
  const TopicDocument document = render_topic(shown, TopicFormat::json, links);
  EXPECT_EQ(document.content_type, "application/feed+json");
  const Feed feed = read_back(document);
  EXPECT_EQ(feed.format, Format::json11);
  EXPECT_EQ(feed.title.value, "A < B quoted");
  EXPECT_EQ(feed.self, links.self);
  EXPECT_EQ(feed.hubs, std::vector<std::string>{links.hub});
  EXPECT_EQ(feed.next, links.next);
  const std::vector<EntryRecord> back = records(document);
  ASSERT_EQ(back.size(), 2U);
  for (std::size_t i = 0; i < back.size(); ++i) {
    const Fields& stored = shown.entries[i].fields;
    EXPECT_EQ(back[i].guid, shown.entries[i].urn);
    for (const char* name : {"title", "link", "language", "content", "content_type", "date_published", "enclosures"}) {
      EXPECT_EQ(value(back[i].fields, name), value(stored, name)) << name << " of " << i;
    }
  }
  EXPECT_EQ(value(back[0].fields, "summary"), "Short & sweet");
  EXPECT_EQ(value(back[0].fields, "categories"), R"([{"term":"a\"b"},{"term":"c"}])");
  EXPECT_EQ(value(back[0].fields, "authors"), R"([{"name":"Ada <L>","uri":"https://example.org/ada"},{"name":"Bob"}])");
  ASSERT_EQ(feed.entries[0].source.size(), 1U);
  EXPECT_EQ(feed.entries[0].source[0].title.value, "A < B quoted");
  EXPECT_EQ(feed.entries[0].source[0].url, url);
}

// WEBSUB U1
TEST_F(Topics, AsJsonHavePicturesAndTheOtherAddress) {
  poll(R"({"version":"https://jsonfeed.org/version/1.1","title":"T","items":[{"id":"1","url":"https://example.org/1",)"
       R"("content_text":"x","image":"https://example.org/i","banner_image":"https://example.org/b",)"
       R"("external_url":"https://else.example/"}]})");
  const TopicPage shown = page();
  ASSERT_EQ(shown.entries.size(), 1U);
  const std::vector<EntryRecord> back = records(render_topic(shown, TopicFormat::json, links));
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(value(back[0].fields, "image"), "https://example.org/i");
  EXPECT_EQ(value(back[0].fields, "banner_image"), "https://example.org/b");
  EXPECT_EQ(value(back[0].fields, "external_url"), "https://else.example/");
}

// WEBSUB U1
TEST_F(Topics, AreWellFormedWhateverIsStored) {
  poll(rss(site(1)));
  redis({"HSET",
         "Entry:1",
         "title",
         "]]> \x01\xEF\xBF\xBE\xEF\xBF\xBF\xED\xA0\x80\xFF & < \r\n\t'\"",
         "link",
         "https://example.org/\"'<>&\n",
         "authors",
         R"([{"name":"\u0000\u0001<&"},7,{"uri":[]}])",
         "categories",
         R"({"term":"no list"})",
         "enclosures",
         "no JSON",
         "language",
         "<&\"",
         "via",
         "  x  y ",
         "content",
         "\xC3",
         "date_published",
         "2026 & <"});
  const TopicPage shown = page();
  const TopicDocument atom = render_topic(shown, TopicFormat::atom, links);
  const WellFormedness checked = check_well_formed(atom.body);
  EXPECT_TRUE(checked.ok()) << checked.detail << "\n" << atom.body;
  DocumentHints hints;
  hints.content_type = atom.content_type;
  const auto feed = read_feed(atom.body, hints);
  ASSERT_TRUE(feed);
  EXPECT_EQ(feed->bozo, Bozo::none) << feed->bozo_detail;
  ASSERT_EQ(feed->entries.size(), 1U);
  EXPECT_EQ(feed->entries[0].authors->size(), 1U) << "the one that has a name";
  const TopicDocument json = render_topic(shown, TopicFormat::json, links);
  boost::system::error_code error;
  (void)boost::json::parse(json.body, error);
  EXPECT_FALSE(error) << error.message() << "\n" << json.body;
}

TEST_F(Topics, OfUnsanitisedMarkupAreSanitised) {
  poll(rss(site(1)));
  redis({"HSET", "Entry:1", "content", "<p onclick='x()'>a<script>alert(1)</script></p>", "content_type", "text/html",
         "san_ver", "0"});
  const TopicPage shown = page();
  EXPECT_EQ(value(shown.entries[0].fields, "content"), "<p>a</p>");
}

TEST_F(Topics, HaveATagThatChangesWithThem) {
  poll(rss(site(3)));
  const TopicDocument first = render_topic(page(), TopicFormat::atom, links);
  EXPECT_EQ(render_topic(page(), TopicFormat::atom, links).etag, first.etag);
  EXPECT_NE(render_topic(page(), TopicFormat::json, links).etag, first.etag);
  EXPECT_EQ(first.etag.size(), 34U);
  ASSERT_TRUE(first.last_modified);
  EXPECT_EQ(std::to_string(first.last_modified->time_since_epoch().count()),
            redis({"HGET", "Entry:1", "last_changed"}));
  poll(rss(site(4)));
  EXPECT_NE(render_topic(page(), TopicFormat::atom, links).etag, first.etag);
}

// WEBSUB U1
TEST_F(Topics, EndBeforeTheyAreTooLargeAndReachEveryPostOnce) {
  std::string posts;
  for (int i = 0; i < 12; ++i)
    posts += "<item><guid isPermaLink='false'>" + std::to_string(i) + "</guid><title>Post</title><description>" +
             std::string(i % 4 == 0 ? 300'000 : 20'000, i % 2 == 0 ? '"' : 'x') + "</description></item>";
  poll("<rss version='2.0'><channel><title>Feed</title>" + posts + "</channel></rss>");
  for (const TopicFormat format : {TopicFormat::atom, TopicFormat::json}) {
    std::vector<std::string> seen;
    std::optional<EntryCursor> at;
    for (int pages = 0; pages < 20; ++pages) {
      const auto read = read_topic_page(store, feed_topic, at, 50, DocumentBound{format, 200'000});
      ASSERT_TRUE(read && *read);
      EXPECT_LE(render_topic(**read, format, links).body.size(), 200'000U);
      for (const std::string& id : ids(**read)) seen.push_back(id);
      at = (*read)->next;
      if (!at) break;
    }
    EXPECT_EQ(seen, ids(page())) << static_cast<int>(format);
  }
}

// WEBSUB U1
TEST_F(Topics, BeginAfterTheSamePostForEveryFormOfCursor) {
  poll(rss(site(5)));
  const TopicPage all = page();
  ASSERT_EQ(all.entries.size(), 5U);
  const EntryCursor third = *page(feed_topic, 3).next;
  EXPECT_EQ(third.id, "Entry:3");
  EXPECT_FALSE(*resolve_place(store, feed_topic, {9'999'999'999, "x1"})) << "all posts are behind it";
  EXPECT_EQ((*resolve_place(store, feed_topic, third))->id, "Entry:3");
  ASSERT_TRUE(*Entries(store).remove("Entry:3"));
  const auto place = resolve_place(store, feed_topic, third);
  ASSERT_TRUE(place && *place);
  EXPECT_EQ((*place)->id, "Entry:4");
  EXPECT_THAT(ids(page(feed_topic, 50, third)), ElementsAre("Entry:2", "Entry:1"));
  EXPECT_EQ(ids(page(feed_topic, 50, **place)), ids(page(feed_topic, 50, third)));
  EXPECT_EQ((*resolve_place(store, feed_topic, {-5, "x"}))->id, "Entry:1") << "nothing is behind it";
}

// WEBSUB U9
TEST_F(Topics, OfSomeEntriesHoldAsManyAsFit) {
  std::string posts;
  for (int i = 0; i < 8; ++i)
    posts += "<item><guid isPermaLink='false'>" + std::to_string(i) + "</guid><description>" +
             std::string(30'000, '"') + "</description></item>";
  poll("<rss version='2.0'><channel><title>Feed</title>" + posts + "</channel></rss>");
  std::vector<std::string> wanted = ids(page());
  ASSERT_EQ(wanted.size(), 8U);
  wanted.insert(wanted.begin() + 1, "Entry:999");
  std::size_t looked_at = 0;
  const auto some =
      read_topic_entries(store, feed_topic, wanted, DocumentBound{TopicFormat::atom, 600'000}, &looked_at);
  ASSERT_TRUE(some && *some);
  EXPECT_GT((*some)->entries.size(), 1U);
  EXPECT_LT((*some)->entries.size(), 8U);
  EXPECT_EQ(looked_at, (*some)->entries.size() + 1) << "one is gone";
  EXPECT_LE(render_topic(**some, TopicFormat::atom, links).body.size(), 600'000U);
  const auto one = read_topic_entries(store, feed_topic, wanted, DocumentBound{TopicFormat::atom, 100'000}, &looked_at);
  ASSERT_TRUE(one && *one);
  ASSERT_GE((*one)->entries.size(), 1U);
  EXPECT_EQ(value((*one)->entries[0].fields, "summary"), "") << "too large for a document of its own";
}

// WEBSUB U1
TEST_F(Topics, AreReadAPageAtATime) {
  poll(rss(site(5)));
  const TopicPage first = page(feed_topic, 2);
  EXPECT_THAT(ids(first), ElementsAre("Entry:5", "Entry:4"));
  ASSERT_TRUE(first.next);
  const TopicPage second = page(feed_topic, 2, first.next);
  EXPECT_THAT(ids(second), ElementsAre("Entry:3", "Entry:2"));
  const TopicPage last = page(feed_topic, 2, second.next);
  EXPECT_THAT(ids(last), ElementsAre("Entry:1"));
  EXPECT_FALSE(last.next);
}

// WEBSUB U16
TEST_F(Topics, NamePostsByStoreAndNumberForEver) {
  poll(rss(site(3)));
  const std::vector<RepublishedEntry> before = page().entries;
  EXPECT_EQ(before[0].urn, urn_of(*store.id(), "post:3"));
  std::vector<Item> moved = site(3, "https://example.org/", "other");
  poll(rss(moved));
  const std::vector<RepublishedEntry> after = page().entries;
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i].urn, before[i].urn) << "whatever its guid is now";
  // RFC 9562, appendix A.4
  EXPECT_EQ(urn_of("6ba7b8109dad11d180b400c04fd430c8", "www.example.com"),
            "urn:uuid:2ed6657d-e927-568b-95e1-2665a8aea6a2");
}

// WEBSUB U16
TEST_F(Topics, NameWherePostsComeFrom) {
  poll(rich);
  const Feed feed = read_back(render_topic(page(), TopicFormat::atom, links));
  ASSERT_EQ(feed.entries[1].source.size(), 1U);
  const Source& source = feed.entries[1].source[0];
  EXPECT_EQ(source.id, page().id) << "a feed is called the same as a topic and as a source";
  EXPECT_EQ(source.title.value, "A &lt; B <i>quoted</i>");
  EXPECT_EQ(source.link, "https://example.org/");
  EXPECT_EQ(source.author, "Site");
  const auto via = std::ranges::find(feed.entries[1].links, "via", &Link::rel);
  ASSERT_NE(via, feed.entries[1].links.end());
  EXPECT_EQ(via->href, url);
}

// WEBSUB U15
TEST_F(Topics, OfPrivateFeedsDoNotExist) {
  poll(rss(site(1)));
  EXPECT_TRUE(is_there());
  redis({"HSET", "state:feed:" + url, "exposure", "allowed"});
  EXPECT_FALSE(is_there());
  const std::vector<std::string> one{"Entry:1"};
  EXPECT_FALSE(read_topic_entries(store, feed_topic, one)->has_value());
  redis({"HSET", "state:feed:" + url, "settings", R"({"republish":"yes"})"});
  EXPECT_TRUE(is_there());
  EXPECT_FALSE(is_there({TopicKind::feed, "https://example.org/none"}));
  EXPECT_FALSE(is_there({TopicKind::channel, "none"}));
}

// WEBSUB U15
TEST_F(Topics, OfChannelsLeavePrivateFeedsOut) {
  poll(rss(site(2)));
  const std::string open = "https://example.org/open", closed = "https://example.org/closed";
  add_feed(open, "Open");
  add_feed(closed, "Closed");
  redis({"HSET", "state:feed:" + closed, "settings", R"({"republish":"no"})"});
  const std::vector<std::string> uids{"news"};
  ASSERT_TRUE(Channels(store).add(uids));
  const std::vector<Membership> members{{"news", url}, {"news", open}, {"news", closed}};
  ASSERT_TRUE(Channels(store).follow(members));
  for (int day = 10; day < 30; ++day)
    save(closed, std::to_string(day), "2026-03-" + std::to_string(day) + "T00:00:00Z");
  save(open, "late", "2026-04-01T00:00:00Z");
  ASSERT_TRUE(Channels(store).rebuild("news", [] { return true; }));
  const Topic news{TopicKind::channel, "news"};
  const TopicPage all = page(news);
  EXPECT_THAT(ids(all), ElementsAre("Entry:23", "Entry:2", "Entry:1"));
  EXPECT_EQ(all.sources.size(), 2U);
  EXPECT_EQ(all.title.value, "news");
  EXPECT_THAT(render_topic(all, TopicFormat::atom, links).body, Not(HasSubstr("Closed")));
  ASSERT_TRUE(feedmill::Topics(store).share(news, "Harbour <news>"));
  const std::string named = render_topic(page(news), TopicFormat::atom, links).body;
  EXPECT_THAT(named, HasSubstr(R"(<title type="text">Harbour &lt;news&gt;</title>)"));

  // Pages continue after omitted posts.
  std::vector<std::string> met;
  std::optional<EntryCursor> at;
  int pages = 0;
  do {
    const TopicPage next = page(news, 2, at);
    for (const std::string& id : ids(next)) met.push_back(id);
    at = next.next;
  } while (at && ++pages < 20);
  EXPECT_THAT(met, ElementsAre("Entry:23", "Entry:2", "Entry:1"));

  const std::vector<std::string> wanted{"Entry:1", "Entry:5", "Entry:23", "Entry:99"};
  EXPECT_THAT(ids(**read_topic_entries(store, news, wanted)), ElementsAre("Entry:1", "Entry:23"));
  ASSERT_TRUE(Channels(store).unfollow({"news", open}));
  EXPECT_THAT(ids(**read_topic_entries(store, news, wanted)), ElementsAre("Entry:1"));
  EXPECT_THAT(ids(**read_topic_entries(store, feed_topic, wanted)), ElementsAre("Entry:1"));
}

// WEBSUB U15
TEST_F(Topics, TellNoAddressThatHoldsASecret) {
  const std::string secret = "https://example.org/feed?token=s3cret";
  add_feed(secret, "");
  save(secret, "1", "2026-03-01T00:00:00Z");
  redis({"HSET", "state:feed:" + secret, "settings", R"({"republish":"yes"})"});
  const TopicPage shown = page({TopicKind::feed, secret});
  ASSERT_EQ(shown.entries.size(), 1U);
  for (const TopicFormat format : {TopicFormat::atom, TopicFormat::json}) {
    const std::string body = render_topic(shown, format, links).body;
    EXPECT_THAT(body, Not(HasSubstr("s3cret")));
    EXPECT_THAT(body, HasSubstr("Post 1"));
  }
}

// RELIABILITY L34: readers that have a post would lose its texts, too.
TEST_F(Topics, LeaveOutPostsThatHaveLostTheirTexts) {
  retention.texts = 2;
  poll(rss(site(3)));
  EXPECT_THAT(ids(page()), ElementsAre("Entry:3", "Entry:2"));
  const std::vector<std::string> told{"Entry:1", "Entry:3"};
  EXPECT_THAT(ids(**read_topic_entries(store, feed_topic, told)), ElementsAre("Entry:3"));
  retention.texts = 0;
  poll(rss(site(3), "again"));
  const TopicPage shown = page();
  EXPECT_THAT(ids(shown), ElementsAre("Entry:3", "Entry:2", "Entry:1")) << "it keeps none";
  EXPECT_EQ(value(records(render_topic(shown, TopicFormat::atom, links))[0].fields, "summary"), "What post 3 says");
}

// WEBSUB U17
TEST_F(Topics, CarryTheStoresThatTheirPostsCameThrough) {
  const std::string a(32, 'a'), b(32, 'b');
  poll(
      "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:f='urn:feedmill:feed:1'><title>F</title><entry><id>1</id>"
      "<title>T</title><f:via>" +
      a + "</f:via><f:via>" + b + "</f:via></entry></feed>");
  EXPECT_EQ(redis({"HGET", "Entry:1", "via"}), a + " " + b);
  for (const TopicFormat format : {TopicFormat::atom, TopicFormat::json}) {
    EXPECT_THAT(read_back(render_topic(page(), format, links)).entries[0].via, ElementsAre(a, b, *store.id()));
  }
}

// WEBSUB U17: A → B → A
TEST_F(Topics, OfOurOwnAreNotReadAgain) {
  poll(rss(site(3)));
  const TopicDocument own = render_topic(page(), TopicFormat::atom, links);
  RedisServer second_server;
  Store second(StoreOptions{.url = second_server.url()});
  ASSERT_TRUE(second.open());
  const std::string back = "https://b.example/t/1";
  ReadingOptions here, there;
  here.store_id = *store.id();
  there.store_id = *second.id();
  ASSERT_NE(here.store_id, there.store_id);
  FetchResponse response;
  response.url = back;
  response.headers = {{"content-type", own.content_type}};
  const auto in_b = read_document(own.body, response, FeedState(), there);
  ASSERT_TRUE(in_b);
  EXPECT_EQ(in_b->entries.size(), 3U);
  const auto in_a = read_document(own.body, response, FeedState(), here);
  ASSERT_TRUE(in_a);
  EXPECT_TRUE(in_a->entries.empty());
  EXPECT_THAT(in_a->flaws, ElementsAre(std::pair(Flaw::loop, 3U)));
}

}  // namespace
}  // namespace feedmill::test::topic_test
