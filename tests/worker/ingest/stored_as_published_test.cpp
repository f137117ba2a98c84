// Published content is stored as it is, and changes readers notice become events (DESIGN §5): documents in sequence on
// a real store. The documents of tests/data/polls were observed at publishers.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "parsers/text/date.hpp"
#include "storage/records/diff.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/records/post_change.hpp"
#include "tests/worker/ingest/polling_fixture.hpp"

namespace feedmill::test::stored_as_published_test {
namespace {

std::string file(const std::string& name) {
  std::ifstream in(std::filesystem::path(FEEDMILL_SOURCE_DIR) / "tests/data/polls" / name);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

/// An RSS item with these elements in addition to guid, link, title and date.
std::string item(const std::string& guid, const std::string& more, const std::string& title = "Title") {
  return "<item><guid isPermaLink='false'>" + guid + "</guid><link>https://example.org/" + guid + "</link><title>" +
         title + "</title>" + more + "</item>";
}
std::string dated(const std::string& date) {
  return "<pubDate>" + date + "</pubDate>";
}
const std::string first_day = dated("Sun, 01 Mar 2026 10:00:00 GMT");

std::string channel(const std::string& items) {
  return "<rss version='2.0' xmlns:podcast='https://podcastindex.org/namespace/1.0' "
         "xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd' xmlns:media='http://search.yahoo.com/mrss/' "
         "xmlns:slash='http://purl.org/rss/1.0/modules/slash/' xmlns:thr='http://purl.org/syndication/thread/1.0' "
         "xmlns:cap='urn:oasis:names:tc:emergency:cap:1.2' xmlns:georss='http://www.georss.org/georss' "
         "xmlns:g='http://base.google.com/ns/1.0' xmlns:atom='http://www.w3.org/2005/Atom' "
         "xmlns:psc='http://podlove.org/simple-chapters' xmlns:nyaa='https://nyaa.si/xmlns/nyaa' "
         "xmlns:torznab='http://torznab.com/schemas/2015/feed'>"
         "<channel><title>Feed</title><link>https://example.org/</link>" +
         items + "</channel></rss>";
}

struct PairCase {
  const char* name;
  const char* before;
  const char* after;
  const char* field;  ///< that holds `stored` afterwards
  const char* stored;
};
std::ostream& operator<<(std::ostream& out, const PairCase& test) {
  return out << test.name;
}
std::string name_of(const testing::TestParamInfo<PairCase>& test) {
  return test.param.name;
}

class StoredAsPublished : public Polling {
 protected:
  std::string field(const std::string& name, const std::string& id = "Entry:1") { return redis({"HGET", id, name}); }
  std::string score(const std::string& id = "Entry:1") { return redis({"ZSCORE", url + ":sort", id}); }
  void a_day_later() { redis({"HSET", "state:feed:" + url, "compared_at", "1"}); }
  /// Names in `changed` of the newest post_modified.
  std::set<std::string> changed() {
    std::set<std::string> names;
    const auto all = signals("post_modified");
    if (all.empty()) return names;
    for (const auto& [name, values] : all.back().at("changed").as_object()) names.insert(name);
    return names;
  }
  std::set<std::string> mended() {
    std::set<std::string> names;
    const auto all = signals("post_mended");
    if (all.empty()) return names;
    for (const auto& name : all.back().at("data").at("fields").as_array()) names.insert(name.as_string().c_str());
    return names;
  }
  /// The second document changes the field and causes one event of that type and no other; the third causes none.
  void expect_one_event(const PairCase& test, const std::string& type) {
    poll(channel(item("a", first_day + test.before)));
    poll(channel(item("a", first_day + test.after)));
    EXPECT_NE(field(test.field).find(test.stored), std::string::npos) << field(test.field);
    for (const std::string other : {"post_modified", "post_mended"}) EXPECT_EQ(count(other), other == type ? 1U : 0U);
    EXPECT_EQ(field("rev"), "2");
    EXPECT_EQ(poll(channel(item("a", first_day + test.after)) + "<!-- again -->").events, 0U);
  }
  std::string learned() { return redis({"GET", "state:volatile:" + url}); }
};

class News : public StoredAsPublished, public testing::WithParamInterface<PairCase> {};

TEST_P(News, AreStoredAndTold) {
  expect_one_event(GetParam(), "post_modified");
  EXPECT_TRUE(changed().contains(GetParam().field));
}
INSTANTIATE_TEST_SUITE_P(
    All, News,
    testing::Values(
        PairCase{"Transcript", "", "<podcast:transcript url='https://e.org/1.vtt' type='text/vtt'/>", "extensions",
                 "1.vtt"},
        PairCase{"AnotherTranscript", "<podcast:transcript url='https://e.org/1.vtt' type='text/vtt'/>",
                 "<podcast:transcript url='https://e.org/2.vtt' type='text/vtt'/>", "extensions", "2.vtt"},
        PairCase{"Chapters", "", "<podcast:chapters url='https://e.org/c.json' type='application/json+chapters'/>",
                 "extensions", "c.json"},
        PairCase{"SimpleChapters", "",
                 "<psc:chapters version='1.2'><psc:chapter start='0' title='Begin'/></psc:chapters>", "extensions",
                 "Begin"},
        PairCase{"Season", "<itunes:season>4</itunes:season>", "<itunes:season>5</itunes:season>", "extensions",
                 "\"season\":5"},
        PairCase{"Episode", "", "<podcast:episode>12</podcast:episode>", "extensions", "12"},
        PairCase{"Person", "", "<podcast:person role='host'>Ada</podcast:person>", "extensions", "Ada"},
        PairCase{"Location", "", "<podcast:location geo='geo:1,2'>Kiel</podcast:location>", "extensions", "Kiel"},
        PairCase{"Duration", "<itunes:duration>10:00</itunes:duration>", "<itunes:duration>12:34</itunes:duration>",
                 "extensions", "754"},
        PairCase{"Severity", "<cap:severity>Minor</cap:severity>", "<cap:severity>Extreme</cap:severity>", "extensions",
                 "Extreme"},
        PairCase{"Expiry", "<cap:expires>2026-03-01T12:00:00Z</cap:expires>",
                 "<cap:expires>2026-03-02T12:00:00Z</cap:expires>", "extensions", "2026-03-02"},
        PairCase{"Area", "<cap:areaDesc>Kiel</cap:areaDesc>", "<cap:areaDesc>Kiel, Lübeck</cap:areaDesc>", "extensions",
                 "Lübeck"},
        PairCase{"NestedSeverity", "<cap:info><cap:severity>Minor</cap:severity></cap:info>",
                 "<cap:info><cap:severity>Extreme</cap:severity></cap:info>", "extensions", "Extreme"},
        PairCase{
            "SeverityOfAnAlertWithin",
            "<alert xmlns='urn:oasis:names:tc:emergency:cap:1.2'><info><area/></info></alert>",
            "<alert "
            "xmlns='urn:oasis:names:tc:emergency:cap:1.2'><info><area/><urgency>Immediate</urgency></info></alert>",
            "extensions", "Immediate"},
        PairCase{"PriceWithin", "<g:shipping><g:price>4 EUR</g:price></g:shipping>",
                 "<g:shipping><g:price>5 EUR</g:price></g:shipping>", "extensions", "5 EUR"},
        PairCase{"MediaText", "<media:text>Old</media:text>", "<media:text>New words</media:text>", "extensions",
                 "New words"},
        PairCase{"Place", "<georss:point>45.2 -110.4</georss:point>", "<georss:point>55.2 -110.4</georss:point>",
                 "extensions", "55.2"},
        PairCase{"Price", "<g:price>10 EUR</g:price>", "<g:price>8 EUR</g:price>", "extensions", "8 EUR"},
        PairCase{"Thumbnail", "<media:thumbnail url='https://e.org/a.jpg'/>",
                 "<media:thumbnail url='https://e.org/b.jpg'/>", "media", "b.jpg"},
        PairCase{"Enclosure", "<enclosure url='https://e.org/a.mp3' length='1' type='audio/mpeg'/>",
                 "<enclosure url='https://e.org/b.mp3' length='1' type='audio/mpeg'/>", "enclosures", "b.mp3"},
        PairCase{"Text", "<description>Old text</description>", "<description>New text</description>", "summary",
                 "New text"},
        PairCase{"Category", "<category>a</category>", "<category>b</category>", "categories", "\"b\""}),
    name_of);

class Quiet : public StoredAsPublished, public testing::WithParamInterface<PairCase> {};

TEST_P(Quiet, AreStoredByThePollThatBringsThem) {
  expect_one_event(GetParam(), "post_mended");
  EXPECT_TRUE(mended().contains(GetParam().field));
}
INSTANTIATE_TEST_SUITE_P(
    All, Quiet,
    testing::Values(
        PairCase{"SignatureOfAFile",
                 "<enclosure url='https://s3.example/1.mp3?X-Amz-Date=1&amp;X-Amz-Signature=a' length='5' "
                 "type='audio/mpeg'/>",
                 "<enclosure url='https://s3.example/1.mp3?X-Amz-Date=2&amp;X-Amz-Signature=b' length='5' "
                 "type='audio/mpeg'/>",
                 "enclosures", "X-Amz-Signature=b"},
        PairCase{
            "SignatureInTheText",
            "<description>&lt;img src='https://c.example/1.png?Expires=1&amp;amp;Signature=a'&gt; text</description>",
            "<description>&lt;img src='https://c.example/1.png?Expires=2&amp;amp;Signature=b'&gt; text</description>",
            "summary", "Signature=b"},
        PairCase{
            "SignatureOfATranscript", "<podcast:transcript url='https://e.org/1.vtt?Signature=a' type='text/vtt'/>",
            "<podcast:transcript url='https://e.org/1.vtt?Signature=b' type='text/vtt'/>", "extensions", "Signature=b"},
        PairCase{"VersionOfAPicture", "<media:thumbnail url='https://e.org/a.jpg?v=1'/>",
                 "<media:thumbnail url='https://e.org/a.jpg?v=2'/>", "media", "v=2"},
        PairCase{"SchemeOfAFile", "<enclosure url='http://e.org/a.mp3' length='1' type='audio/mpeg'/>",
                 "<enclosure url='https://www.e.org/a.mp3' length='1' type='audio/mpeg'/>", "enclosures",
                 "https://www."},
        PairCase{"WhiteSpace", "<description>Some  text</description>", "<description>Some text</description>",
                 "summary", "Some text"},
        PairCase{"AnExtensionOfNoContent", "<podcast:guid>1</podcast:guid>", "<podcast:guid>2</podcast:guid>",
                 "extensions", "2"},
        PairCase{"Comment", "<media:comments><media:comment>One</media:comment></media:comments>",
                 "<media:comments><media:comment>Two</media:comment></media:comments>", "extensions", "Two"},
        PairCase{"AttributeOfATorrent", "<torznab:attr name='coverurl' value='https://e.org/1.jpg'/>",
                 "<torznab:attr name='coverurl' value='https://e.org/2.jpg'/>", "extensions", "2.jpg"},
        PairCase{"AFewHours", "", "<atom:updated>2026-03-01T10:00:00Z</atom:updated>", "date_updated", "10:00:00Z"}),
    name_of);

class Counters : public StoredAsPublished, public testing::WithParamInterface<PairCase> {};

TEST_P(Counters, AreWrittenOnceADayOrWithTheNextOtherChange) {
  const PairCase& test = GetParam();
  const auto with = [&](const std::string& counter, const std::string& text) {
    return channel(item("a", first_day + counter + "<description>" + text + "</description>"));
  };
  poll(with(test.before, "one"));
  const std::string stored = field(test.field);
  EXPECT_EQ(poll(with(test.after, "one")).events, 0U);
  EXPECT_EQ(field(test.field), stored);
  a_day_later();
  EXPECT_EQ(poll(with(test.after, "one") + "<!-- later -->").modified, 0U);
  EXPECT_NE(field(test.field).find(test.stored), std::string::npos) << field(test.field);
  EXPECT_EQ(count("post_mended"), 1U);

  EXPECT_EQ(poll(with(test.before, "one")).events, 0U) << "not twice a day";
  poll(with(test.before, "two"));
  EXPECT_EQ(field(test.field), stored) << "with the next other change";
  EXPECT_EQ(count("post_modified"), 1U);
}
INSTANTIATE_TEST_SUITE_P(
    All, Counters,
    testing::Values(PairCase{"Comments", "<slash:comments>3</slash:comments>", "<slash:comments>4</slash:comments>",
                             "extensions", "\"4\""},
                    PairCase{"Replies", "<thr:total>3</thr:total>", "<thr:total>4</thr:total>", "extensions", "\"4\""},
                    PairCase{"Views", "<media:community><media:statistics views='3'/></media:community>",
                             "<media:community><media:statistics views='4'/></media:community>", "media", "4"},
                    PairCase{"SeedersInAnAttribute", "<torznab:attr name='seeders' value='3'/>",
                             "<torznab:attr name='seeders' value='4'/>", "extensions", "\"4\""},
                    PairCase{"Seeders", "<nyaa:seeders>3</nyaa:seeders>", "<nyaa:seeders>4</nyaa:seeders>",
                             "extensions", "\"4\""}),
    name_of);

TEST_F(StoredAsPublished, ItemsWithMovingCountersAreNotReadAgain) {
  const auto with = [](int n) {
    return channel(item("a", first_day + "<slash:comments>" + std::to_string(n) + "</slash:comments>"));
  };
  poll(with(1));
  for (int n = 2; n < 12; ++n) EXPECT_EQ(poll(with(n)).events, 0U);
  EXPECT_EQ(passed_over, 10U);
  EXPECT_EQ(count("post_mended"), 0U);
}

// 24 polls, an hour apart: the commands that Redis executes for the feed, those of scripts included, and the size of
// the stream.
TEST_F(StoredAsPublished, MovingCountersCostRedisLittle) {
  looks_whole = false;
  const auto commands_of_a_day = [&](bool moves) {
    redis({"FLUSHALL"});
    EXPECT_TRUE(store.open());
    EXPECT_TRUE(Feeds(store).add(std::vector{NewFeed{.feed_url = url}}));
    const auto document = [&](int poll) {
      std::string items;
      for (int n = 0; n < 50; ++n) {
        items += item("g" + std::to_string(n), first_day + "<slash:comments>" + std::to_string(moves ? poll : 0) +
                                                   "</slash:comments><description>Text</description>");
      }
      return channel(items) + "<!-- " + std::to_string(poll) + " -->";
    };
    poll(document(0));
    const auto carried_out = [&] {
      const std::string info = redis({"INFO", "stats"});
      return std::stod(info.substr(info.find("total_commands_processed:") + 25));
    };
    const double before = carried_out();
    for (int n = 1; n <= 24; ++n) {
      if (n == 24) a_day_later();
      poll(document(n));
    }
    return carried_out() - before;
  };
  const double still = commands_of_a_day(false), moving = commands_of_a_day(true);
  EXPECT_LE(moving, 1.3 * still + 4 * 50) << "50 posts are read and written once a day";
  EXPECT_EQ(count("post_mended"), 50U);
}

struct FileCase {
  const char* name;
  int documents;
  std::size_t modified;
  const char* field;
  const char* stored;
};
std::ostream& operator<<(std::ostream& out, const FileCase& test) {
  return out << test.name;
}

class PublisherCases : public StoredAsPublished, public testing::WithParamInterface<FileCase> {};

TEST_P(PublisherCases, AreStored) {
  const FileCase& test = GetParam();
  for (int n = 1; n <= test.documents; ++n) poll(file(std::string(test.name) + "/" + std::to_string(n) + ".xml"));
  EXPECT_EQ(count("post_modified"), test.modified);
  EXPECT_NE(field(test.field).find(test.stored), std::string::npos) << field(test.field);
}
INSTANTIATE_TEST_SUITE_P(All, PublisherCases,
                         testing::Values(FileCase{"transcript-later", 2, 1, "extensions", "e1.vtt"},
                                         FileCase{"cap-severity", 2, 1, "extensions", "Extreme"},
                                         FileCase{"date-corrected", 2, 1, "timestamp", "1772359200"},
                                         FileCase{"signed-url-stale", 2, 0, "enclosures", "20260302T1"},
                                         FileCase{"patreon-token", 3, 0, "enclosures", "token-time=1769"},
                                         FileCase{"late-change", 2, 1, "timestamp", "1767340800"},
                                         FileCase{"scheme-flip", 6, 0, "link", "https://"}),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

std::string item_of_day(const std::string& name, int day) {
  return item(name + std::to_string(day), dated(std::to_string(day) + " Mar 2026 10:00:00 GMT"));
}

// HTTP G8
TEST_F(StoredAsPublished, ABacklogIsDistinguishedFromNews) {
  const auto backlog = [this] {
    const auto all = signals("post_created");
    return std::ranges::count_if(all, [](const auto& event) { return event.contains("backlog"); });
  };
  std::string known = item_of_day("known", 28), old;
  poll(channel(known));
  for (int day = 1; day <= 20; ++day) old += item_of_day("a", day);
  poll(channel(known + old));
  EXPECT_EQ(count("post_created"), 21U);
  EXPECT_EQ(backlog(), 0) << "20 are not many";
  known += old;
  old.clear();
  for (int n = 1; n <= 21; ++n)
    old += item("old" + std::to_string(n), dated(std::to_string(n) + " Jan 2026 10:00:00 GMT"));
  poll(channel(item_of_day("news", 29) + known + old));
  EXPECT_EQ(count("post_created"), 43U);
  EXPECT_EQ(backlog(), 21) << "the new one beside them is news";
  EXPECT_EQ(state().last.detail, "21 new posts are older than all stored posts (backlog)");
  poll(channel(item_of_day("news", 30) + known));
  EXPECT_EQ(state().last.detail, "");
  std::string fresh;
  for (int n = 1; n <= 25; ++n)
    fresh += item("fresh" + std::to_string(n), dated(std::to_string(n) + " Apr 2026 10:00:00 GMT"));
  poll(channel(fresh + known));
  EXPECT_EQ(backlog(), 21) << "many at once are news where they are newer";
}

TEST_F(StoredAsPublished, AFirstDocumentWithoutPostsCreatesTheFeedsRecord) {
  poll(channel(""));
  EXPECT_EQ(redis({"HGET", "Feed:" + url, "title"}), "Feed");
  ASSERT_EQ(count("feed_created"), 1U);
  EXPECT_EQ(signals("feed_created").back().at("data").at("title").as_string(), "Feed");
  poll(channel(item("a", first_day)));
  EXPECT_EQ(count("feed_modified"), 0U);
  EXPECT_EQ(count("post_created"), 1U);
}

TEST_F(StoredAsPublished, ACorrectedDateMovesThePost) {
  poll(channel(item("a", dated("Mon, 05 Apr 2027 10:00:00 GMT"))));
  poll(channel(item("a", first_day)));
  EXPECT_EQ(score(), "1772359200");
  EXPECT_EQ(changed(), (std::set<std::string>{"date_published", "timestamp"}));
  poll(channel(item("a", dated("Sun, 01 Mar 2026 12:00:00 GMT"))));
  EXPECT_EQ(count("post_modified"), 1U) << "two hours are no news";
  EXPECT_EQ(score(), "1772366400");
  EXPECT_EQ(mended(), (std::set<std::string>{"date_published", "timestamp"}));
}

TEST_F(StoredAsPublished, AnUpdatedDateAloneMovesNothing) {
  const auto with = [](const std::string& hour, const std::string& text) {
    return channel(item("a", first_day + "<atom:updated>2026-03-05T" + hour + ":00:00Z</atom:updated><description>" +
                                 text + "</description>"));
  };
  poll(with("10", "one"));
  const std::string before = score();
  poll(with("12", "one"));
  EXPECT_EQ(field("date_updated"), "2026-03-05T12:00:00Z");
  EXPECT_EQ(score(), before);
  EXPECT_EQ(count("post_modified"), 0U);
  poll(with("12", "two"));
  EXPECT_EQ(score(), "1772712000") << "with a change that is news";
}

/// A date some seconds ago, as pubDate has it.
std::string now_date(int seconds_ago = 0) {
  const std::time_t now = std::time(nullptr) - seconds_ago;
  char text[64];
  std::tm utc{};
  gmtime_r(&now, &utc);
  return dated({text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc)});
}

TEST_F(StoredAsPublished, DatesOfRenderingAreNoNewsAndMoveNothing) {
  poll(channel(item("a", first_day) + item("b", first_day) + item("c", first_day)));
  for (int n = 0; n < 100; ++n) {
    const std::string now = now_date(n % 3);
    poll(channel(item("a", now) + item("b", now) + item("c", now)));
    ASSERT_EQ(count("post_modified"), 0U) << n;
  }
  EXPECT_EQ(score("Entry:1"), "1772359200");
  EXPECT_NE(field("date_published"), "2026-03-01T10:00:00Z");
}

TEST_F(StoredAsPublished, ADateOfRenderingOfOnePostIsNewsOnce) {
  poll(channel(item("a", first_day) + item("b", first_day)));
  for (int n = 0; n < 20; ++n) {
    redis({"HSET", "Entry:2", "first_seen", "1"});  // known for a long time
    redis({"HSET", "Entry:1", "first_seen", "1"});
    poll(channel(item("a", now_date(n % 3)) + item("b", first_day)));
  }
  EXPECT_EQ(count("post_modified"), 1U);
}

TEST_F(StoredAsPublished, UnknownParametersAreLearned) {
  const auto with = [](int n) {
    std::string items;
    for (const char* guid : {"a", "b", "c"}) {
      items += item(guid, first_day + "<enclosure url='https://e.org/" + guid + ".mp3?pid=" + std::to_string(n) +
                              "' length='1' type='audio/mpeg'/>");
    }
    return channel(items);
  };
  for (int n = 0; n < 100; ++n) {
    poll(with(n));
    if (n == 3) redis({"SET", "modified", std::to_string(count("post_modified"))});
  }
  EXPECT_EQ(std::to_string(count("post_modified")), redis({"GET", "modified"})) << "no news after the third";
  EXPECT_EQ(count("post_modified"), 6U);
  EXPECT_NE(field("enclosures").find("pid=99"), std::string::npos) << "the newest is stored";
  EXPECT_EQ(learned(), "30 ?pid\n");
  poll(channel(item("a", first_day + "<enclosure url='https://e.org/other.mp3?pid=7' length='1' type='audio/mpeg'/>")));
  EXPECT_EQ(count("post_modified"), 7U) << "paths are never learned";
}

TEST_F(StoredAsPublished, LearnedPartsExpire) {
  const auto with = [](int n, const std::string& more) {
    return channel(item("a", first_day + "<description>&lt;img src='https://e.org/" + std::to_string(n) +
                                 "/p.png'&gt;</description>") +
                   more);
  };
  for (int n = 0; n < 4; ++n) poll(with(n, ""));
  EXPECT_EQ(learned(), "30 /e.org/1\n");
  for (int n = 0; n < 10; ++n) poll(with(3, "<!-- " + std::to_string(n) + " -->"));
  EXPECT_EQ(learned(), "(nil)");
  const std::size_t before = count("post_modified");
  poll(with(4, ""));
  EXPECT_EQ(count("post_modified"), before + 1);
}

TEST_F(StoredAsPublished, AlertsThatEscalateAtEveryPollAreNewsEachTime) {
  for (int n = 0; n < 20; ++n) {
    std::string items;
    for (const char* guid : {"a", "b"}) {
      items += item(guid, first_day + "<cap:severity>" + std::to_string(n) + "</cap:severity><cap:expires>2026-03-01T" +
                              std::to_string(10 + n % 10) + ":00:00Z</cap:expires>");
    }
    poll(channel(items));
  }
  EXPECT_EQ(count("post_modified"), 38U);
  EXPECT_EQ(learned(), "(nil)");
}

TEST_F(StoredAsPublished, QuietFeedsHaveNoKeyOfLearnedParts) {
  for (int n = 0; n < 5; ++n) poll(channel(item("a", first_day, "Title " + std::to_string(n))));
  EXPECT_EQ(learned(), "(nil)");
  EXPECT_EQ(count("post_modified"), 4U);
}

// Posts that an earlier build read and stored.
class Upgraded : public StoredAsPublished {
 protected:
  /// `fingerprint`: of documents by that build; builds before 1.0.0 did not include the version of their rules.
  template <class Edit>
  void poll_with_earlier_build(const std::string& document, const Edit& edit,
                               const std::string& fingerprint = std::string(32, 'a')) {
    const bool tells_rules = fingerprint.front() == 'v';
    alter = [&](const FeedState&, Document& read) {
      for (EntryRecord& record : read.entries) {
        edit(record.fields);
        record.timestamp = timestamp_in(record.fields);
        record.digest = tells_rules ? entry_digest(record.fields) : reader_digest(record.fields);
      }
      edit(read.feed);
      read.print.wire_hash = read.print.body_hash = fingerprint;
    };
    poll(document);
    alter = nullptr;
  }
  static void drop(Fields& fields, const std::set<std::string>& names) {
    std::erase_if(fields, [&](const auto& field) { return names.contains(field.first); });
  }

 private:
  static std::optional<std::int64_t> timestamp_in(const Fields& fields) {
    const std::string* text = find_field(fields, "date_published");
    const auto date = text == nullptr ? std::nullopt : parse_date(*text);
    if (!date) return std::nullopt;
    return std::chrono::floor<std::chrono::seconds>(*date).time_since_epoch().count();
  }
};

TEST_F(Upgraded, TellsNoNews) {
  std::string items;
  for (int n = 0; n < 150; ++n) {
    items +=
        item("g" + std::to_string(n), first_day + "<podcast:transcript url='https://e.org/1.vtt' type='text/vtt'/>");
  }
  poll_with_earlier_build(channel(items), [](Fields& fields) {
    drop(fields, {"extensions"});
    for (auto& [name, value] : fields) {
      if (name == "date_published") value = "2026-02-01T10:00:00Z";
    }
  });
  EXPECT_EQ(poll(channel(items)).modified, 0U);
  EXPECT_EQ(count("post_mended"), 100U);
  EXPECT_EQ(poll(channel(items)).modified, 0U) << "the next poll goes on";
  EXPECT_EQ(count("post_mended"), 150U);
  EXPECT_EQ(poll(channel(items) + "<!-- 2 -->").events, 0U);
  EXPECT_EQ(count("post_modified"), 0U);
  EXPECT_NE(field("extensions").find("1.vtt"), std::string::npos);
}

TEST_F(Upgraded, InheritsWithoutNews) {
  const std::string atom =
      "<feed xmlns='http://www.w3.org/2005/Atom' xml:lang='de'><title>T</title><id>f</id><author><name>Ada</name>"
      "</author><entry><id>a</id><title>A</title></entry><entry><id>b</id><title>B</title></entry></feed>";
  poll_with_earlier_build(atom, [](Fields& fields) { drop(fields, {"author", "authors", "language"}); });
  EXPECT_EQ(poll(atom).modified, 0U);
  EXPECT_EQ(count("post_mended"), 2U);
  EXPECT_EQ(count("post_modified"), 0U);
  EXPECT_EQ(field("author"), "Ada");
  EXPECT_EQ(field("language"), "de");
  EXPECT_EQ(poll(atom + "<!-- 2 -->").events, 0U);
}

// Vocabularies under other names, and no date in place of one of year 1.
TEST_F(Upgraded, ReadsTextsAuthorsAndDatesWithoutNews) {
  const std::string document =
      "<rss version='2.0' xmlns:content='https://purl.org/rss/1.0/modules/content/' "
      "xmlns:dc='https://www.purl.org/dc/elements/1.1/'><channel><title>Feed</title><dc:description>News</"
      "dc:description>"
      "<item><guid isPermaLink='false'>a</guid><title>A</title><description>Teaser</description>"
      "<content:encoded>&lt;p&gt;All of it&lt;/p&gt;</content:encoded><dc:creator>Bob</dc:creator>"
      "<category>x</category><pubDate>Mon, 01 Jan 0001 00:00:00 +0000</pubDate></item></channel></rss>";
  poll_with_earlier_build(document, [](Fields& fields) {
    drop(fields, {"author", "authors", "content", "content_type", "categories", "description", "description_type"});
    if (find_field(fields, "san_ver") != nullptr) fields.emplace_back("date_published", "0001-01-01T00:00:00Z");
    std::ranges::sort(fields);
  });
  redis({"HSET", "Entry:1", "timestamp", "0"});
  EXPECT_EQ(poll(document).modified, 0U);
  EXPECT_EQ(count("post_mended"), 1U);
  EXPECT_EQ(count("feed_mended"), 1U);
  EXPECT_EQ(count("post_modified") + count("feed_modified"), 0U);
  EXPECT_EQ(field("author"), "Bob");
  EXPECT_EQ(field("content"), "<p>All of it</p>");
  EXPECT_EQ(field("date_published"), "(nil)");
  EXPECT_EQ(field("timestamp"), field("first_seen"));
  EXPECT_EQ(poll(document + "<!-- 2 -->").events, 0U);
}

// Changes that the publisher made at the same time are news if the items of the last document are known.
TEST_F(Upgraded, ReportsChangesOfThePublisher) {
  const auto alerts = [](const std::string& first, const std::string& second) {
    return channel(item("a", first_day + "<cap:severity>" + first + "</cap:severity>") +
                   item("b", first_day + "<cap:severity>" + second + "</cap:severity>"));
  };
  poll_with_earlier_build(
      alerts("Minor", "Severe"), [](Fields& fields) { drop(fields, {"extensions"}); }, "v0001" + std::string(27, 'a'));
  EXPECT_EQ(poll(alerts("Extreme", "Severe")).modified, 1U);
  EXPECT_EQ(count("post_modified"), 1U);
  EXPECT_EQ(count("post_mended"), 1U);
}

TEST_F(StoredAsPublished, WhatAnOperatorSavedStaysUntilThePublisherChangesItsText) {
  const auto with = [](const std::string& signature, const std::string& text) {
    return channel(item("a", first_day + "<description>" + text +
                                 "</description><enclosure url='https://e.org/a.mp3?Signature=" + signature +
                                 "' length='1' type='audio/mpeg'/>"));
  };
  poll(with("1", "one"));
  GivenEntry given;
  given.feed_url = url;
  given.guid = "a";
  given.fields = {{"title", "Mine"}};
  ASSERT_TRUE(Entries(store).update_or_create(given, {}));
  poll(with("2", "one"));
  EXPECT_EQ(field("title"), "Mine");
  poll(with("3", "two"));
  EXPECT_EQ(field("title"), "Title");
  EXPECT_EQ(field("saved"), "(nil)");
  EXPECT_EQ(field("saved_over"), "(nil)");
}

}  // namespace
}  // namespace feedmill::test::stored_as_published_test
