// Values stored from documents, except texts: from documents of publishers (tests/data/publishers) and from our own.
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "parsers/feed/read_feed.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/records/given_entry.hpp"

namespace feedmill::stored_values_test {
namespace {

struct Stored {
  Fields feed, post;  ///< `post` is the first post
  std::string guid;

  std::string of_post(std::string_view name) const { return std::string(value_of(with_implied(post), name)); }
  std::string of_feed(std::string_view name) const { return std::string(value_of(feed, name)); }
};

Stored stored(std::string_view document) {
  DocumentHints hints;
  hints.url = "https://site.example/feed";
  auto feed = read_feed(document, hints);
  if (!feed) throw std::runtime_error(feed.error().detail);
  Stored result{feed_fields(*feed), {}, {}};
  auto records = entry_records(*feed, IdentifiedBy::guid, IdentifiedBy::guid);
  if (records.empty()) return result;
  result.post = std::move(records.front().fields);
  result.guid = records.front().guid;
  return result;
}

std::string publisher(const std::string& name) {
  std::ifstream in(std::string(FEEDMILL_SOURCE "/tests/data/publishers/") + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// An RSS document with `item` inside its only item.
std::string rss(const std::string& item, const std::string& channel = {}) {
  return "<rss version='2.0' xmlns:atom='http://www.w3.org/2005/Atom' xmlns:dc='http://purl.org/dc/elements/1.1/'"
         " xmlns:dcterms='http://purl.org/dc/terms/' xmlns:cc='http://creativecommons.org/ns#'"
         " xmlns:creativeCommons='http://backend.userland.com/creativeCommonsRssModule'"
         " xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd' xmlns:media='http://search.yahoo.com/mrss/'"
         " xmlns:podcast='https://podcastindex.org/namespace/1.0' xmlns:rsl='https://rslstandard.org/rsl'"
         " xmlns:wfw='http://wellformedweb.org/CommentAPI/'><channel><link>https://site.example/</link>" +
         channel + "<item><guid isPermaLink='false'>1</guid><link>https://site.example/1</link>" + item +
         "</item></channel></rss>";
}

std::string atom(const std::string& entry) {
  return "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id><entry><id>1</id>" + entry + "</entry></feed>";
}

// --- documents of publishers ---

TEST(StoredPosts, HoldThePicturesAndTheOtherAddressOfAJsonFeed) {
  const Stored is = stored(publisher("jsonfeed-image/1.in"));
  EXPECT_EQ(is.of_post("image"), "https://example.org/5.jpg");
  EXPECT_EQ(is.of_post("banner_image"), "https://example.org/5b.jpg");
  EXPECT_EQ(is.of_post("external_url"), "https://else.example.org/5");
  EXPECT_EQ(is.of_post("link"), "https://example.org/5");
}

TEST(StoredPosts, HoldWhatAnAtomEntryIsFromAndItsLicence) {
  const Stored is = stored(publisher("atom-source-rights/1.xml"));
  EXPECT_EQ(is.of_post("source"), R"({"id":"u:orig","title":"Orig blog","link":"https://orig.example.org/"})");
  EXPECT_EQ(is.of_post("rights"), "CC BY");
  EXPECT_EQ(is.of_post("license"), "https://creativecommons.org/licenses/by/4.0/");
  EXPECT_EQ(is.of_post("contributors"), R"([{"name":"Bo"}])");
  EXPECT_EQ(is.of_post("links"), R"([{"href":"https://via.example.org/","rel":"via"}])");
}

TEST(StoredPosts, HoldWhatAnRssItemSaysByModules) {
  const Stored is = stored(publisher("store-drops/1.xml"));
  EXPECT_EQ(is.of_post("source"), R"({"title":"The other paper","url":"https://s.example/f"})");
  EXPECT_EQ(is.of_post("comments"), "https://r.example/1#c");
  EXPECT_EQ(is.of_post("comments_feed"), "https://r.example/1/feed");
  EXPECT_EQ(is.of_post("links"), R"([{"href":"https://via.example/","rel":"via"},)"
                                 R"({"href":"https://rel.example/","rel":"related"},)"
                                 R"({"href":"https://pay.example/","rel":"payment"}])");
  EXPECT_EQ(is.of_post("rights"), "R");
  EXPECT_EQ(is.of_post("publisher"), R"({"name":"P"})");
  EXPECT_EQ(is.of_post("image"), "https://r.example/1.png");
}

TEST(StoredPosts, HoldPicturesOfAJsonFeedOfAnotherPublisher) {
  const Stored is = stored(publisher("store-drops-json/1.in"));
  EXPECT_EQ(is.of_post("image"), "https://j.example/img.png");
  EXPECT_EQ(is.of_post("banner_image"), "https://j.example/ban.png");
  EXPECT_EQ(is.of_post("external_url"), "https://elsewhere.example/x");
}

TEST(StoredPosts, HoldThePictureOfABloggersAuthor) {
  const Stored is = stored(publisher("blogger-author-image/1.xml"));
  EXPECT_NE(is.of_post("extensions").find(R"("src":"//img.b.example/ada.jpg")"), std::string::npos);
  EXPECT_EQ(is.of_post("authors"), R"([{"name":"Ada","email":"noreply@b.example","uri":"https://b.example/ada",)"
                                   R"("avatar":"https://img.b.example/ada.jpg"}])");
}

TEST(StoredPosts, HoldBooleansOfPodcastsInAnyCase) {
  for (const auto& [word, stored_as] :
       std::initializer_list<std::pair<const char*, const char*>>{{"YES", "true"},
                                                                  {"True", "true"},
                                                                  {"EXPLICIT", "true"},
                                                                  {" yes ", "true"},
                                                                  {"Clean", "false"},
                                                                  {"FALSE", "false"},
                                                                  {"NO", "false"},
                                                                  {"perhaps", "null"}}) {
    const Stored is = stored(rss("<itunes:explicit>" + std::string(word) + "</itunes:explicit>"));
    EXPECT_EQ(is.of_post("extensions").find(R"({"itunes":{"explicit":)" + std::string(stored_as)), 0U) << word;
  }
  const Stored is = stored(rss("<itunes:block>YES</itunes:block>", "<itunes:complete>TRUE</itunes:complete>"));
  EXPECT_EQ(is.of_post("extensions"), R"({"itunes":{"block":true}})");
  EXPECT_EQ(is.of_feed("extensions"), R"({"itunes":{"complete":true}})");
}

TEST(StoredPosts, HoldTheFirstBooleanAndWhatDiffers) {
  const auto twice = [](const std::string& name, const std::string& first, const std::string& second) {
    const std::string open = "<itunes:" + name + ">", close = "</itunes:" + name + ">";
    return stored(rss(open + first + close + open + second + close)).of_post("extensions");
  };
  EXPECT_EQ(twice("explicit", "yes", "no"), R"({"itunes":{"explicit":true,"other":{"explicit":[{"value":"no"}]}}})");
  EXPECT_EQ(twice("block", "yes", "no"), R"({"itunes":{"block":true,"other":{"block":[{"value":"no"}]}}})");
  EXPECT_EQ(twice("type", "serial", "episodic"),
            R"({"itunes":{"type":"serial","other":{"type":[{"value":"episodic"}]}}})");
  EXPECT_EQ(twice("block", "yes", "yes"), R"({"itunes":{"block":true}})");
}

TEST(StoredPosts, HaveNoCategoryWithoutAName) {
  const Stored is = stored(rss("<category domain='urn:s'/><category domain='urn:s'>a</category>"));
  EXPECT_EQ(is.of_post("categories"), R"([{"term":"a","scheme":"urn:s"}])");
}

TEST(StoredPosts, KeepRepeatedElementsUnderOther) {
  const Stored is = stored(rss("<itunes:author>a</itunes:author><itunes:author>b</itunes:author>"));
  EXPECT_EQ(is.of_post("extensions"), R"({"itunes":{"author":"a","other":{"author":[{"value":"b"}]}}})");
}

// --- our own ---

// The documented order: each step removes the best picture of the step before.
TEST(StoredPosts, HaveTheFirstPictureInTheDocumentedOrder) {
  const std::string image = "<image><url>https://i.example/item</url></image>";
  const std::string itunes = "<itunes:image href='https://i.example/itunes'/>";
  const std::string podcast =
      "<podcast:images srcset='https://i.example/podcast 1500w, https://i.example/small 300w'/>";
  const std::string thumbnail = "<media:thumbnail url='/thumbnail'/>";
  const std::string content = "<media:content url='/film' medium='video'/><media:content url='/still' medium='image'/>";
  const std::string files = "<enclosure url='/a.mp3' type='audio/mpeg'/><enclosure url='/a.jpg' type='image/jpeg'/>";
  std::string item = files + content + thumbnail + podcast + itunes + image;
  for (const auto& [first, url] :
       {std::pair(image, "https://i.example/item"), std::pair(itunes, "https://i.example/itunes"),
        std::pair(podcast, "https://i.example/podcast"), std::pair(thumbnail, "https://site.example/thumbnail"),
        std::pair(content, "https://site.example/still"), std::pair(files, "https://site.example/a.jpg")}) {
    EXPECT_EQ(stored(rss(item)).of_post("image"), url);
    item.erase(item.find(first), first.size());
  }
  EXPECT_EQ(stored(rss(item)).of_post("image"), "");
}

TEST(StoredPosts, HaveNoPictureThatProgramsMustNotLoad) {
  const Stored is =
      stored(rss("<image><url>javascript:1</url></image><itunes:image href='ssh://a/'/>"
                 "<podcast:images srcset='/relative 1w'/><podcast:image href='gopher://a/'/>"
                 "<media:thumbnail url='data:image/png,'/><media:thumbnail url='https://a.example/" +
                 std::string(2048, 'x') + "'/><media:thumbnail url='https://a.example/ok'/>"));
  EXPECT_EQ(is.of_post("image"), "https://a.example/ok");
}

TEST(StoredPosts, HoldEachLicenceOnce) {
  const Stored is =
      stored(rss("<creativeCommons:license>https://c.example/by</creativeCommons:license>"
                 "<cc:license xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'"
                 " rdf:resource='https://c.example/sa'/><dcterms:license>https://c.example/by"
                 "</dcterms:license><dcterms:rights>Ada, 2026</dcterms:rights>"
                 "<atom:link rel='license' href='https://c.example/sa'/>"));
  EXPECT_EQ(is.of_post("license"), "https://c.example/by");
  EXPECT_EQ(is.of_post("links"), R"([{"href":"https://c.example/sa","rel":"license"}])");
  EXPECT_EQ(is.of_post("rights"), "Ada, 2026");
}

TEST(StoredPosts, HaveNoLicenceThatIsOnlyAName) {
  const Stored is = stored(rss("<cc:license>CC BY 4.0</cc:license>"));
  EXPECT_EQ(is.of_post("license"), "");
  EXPECT_EQ(is.of_post("extensions"), R"({"cc":{"license":[{"value":"CC BY 4.0"}]}})");
}

TEST(StoredPosts, HoldLicencesOfRslAsData) {
  const std::string rsl =
      "<rsl:content url='/1'><rsl:license><rsl:permits type='usage'>search</rsl:permits>"
      "</rsl:license></rsl:content>";
  const Stored is = stored(rss(rsl, rsl));
  EXPECT_NE(is.of_post("extensions").find(R"("permits":[{"value":"search","attrs":{"type":"usage"}}])"),
            std::string::npos);
  EXPECT_EQ(is.of_feed("extensions"), is.of_post("extensions"));
}

TEST(StoredPosts, NameTheFeedOfAPlanetsSourceByItsSelfLink) {
  const Stored is =
      stored(atom("<source><title type='html'>A &amp;lt; &lt;b>B&lt;/b></title><updated>2026-01-02T03:04:05Z"
                  "</updated><link rel='self' href='https://o.example/f'/><link href='https://o.example/'/>"
                  "<link rel='related' href='javascript:1'/><author><name>Ada</name></author>"
                  "<logo>ssh://x/</logo><icon>https://o.example/i</icon><rights>R</rights></source>"));
  EXPECT_EQ(is.of_post("source"),
            R"({"title":"A < B","link":"https://o.example/","url":"https://o.example/f","rights":"R",)"
            R"("updated":"2026-01-02T03:04:05Z","authors":[{"name":"Ada"}],"icon":"https://o.example/i"})");
  EXPECT_EQ(stored(rss("<source> </source>")).of_post("source"), "");
}

TEST(StoredPosts, HoldAllAuthorsBestFirst) {
  const Stored is =
      stored(rss("<itunes:author>The Show</itunes:author><dc:creator>Bo</dc:creator>"
                 "<author>ada@a.example (Ada)</author><dc:creator>Cy</dc:creator>"
                 "<dc:creator>Ada</dc:creator>"));
  EXPECT_EQ(is.of_post("author"), "Ada (ada@a.example)");
  EXPECT_EQ(is.of_post("authors"), R"([{"name":"Ada","email":"ada@a.example"},{"name":"Bo"},{"name":"Cy"}])");
  EXPECT_EQ(stored(rss("<itunes:author>The Show</itunes:author>")).of_post("authors"), R"([{"name":"The Show"}])");
  EXPECT_EQ(stored(rss("<dc:creator>Ada</dc:creator><author>ada@a.example (Ada)</author>")).of_post("authors"),
            R"([{"name":"Ada","email":"ada@a.example"}])");
}

TEST(StoredPosts, HoldTheAddressOfContentThatLiesElsewhere) {
  const Stored is =
      stored(atom("<link href='https://a.example/1'/><summary>s</summary>"
                  "<content type='video/mp4' src='https://a.example/1.mp4'/>"));
  EXPECT_EQ(is.of_post("links"), R"([{"href":"https://a.example/1.mp4","rel":"content","type":"video/mp4"}])");
}

TEST(StoredPosts, HoldLinksThatHaveNoFieldOfTheirOwn) {
  const Stored is =
      stored(atom("<link href='https://a.example/1'/>"
                  "<link rel='alternate' hreflang='de' href='https://a.example/1.de' title='Deutsch'/>"
                  "<link rel='enclosure' href='https://a.example/1.mp3'/>"
                  "<link rel='replies' type='text/html' href='https://a.example/1#c'/>"
                  "<link rel='replies' href='https://a.example/1/c'/>"
                  "<link rel='amphtml' href='https://a.example/1.amp'/>"
                  "<link rel='via' href='javascript:1'/>"));
  EXPECT_EQ(is.of_post("links"),
            R"([{"href":"https://a.example/1.de","rel":"alternate","hreflang":"de","title":"Deutsch"},)"
            R"({"href":"https://a.example/1.amp","rel":"amphtml"}])");
  EXPECT_EQ(is.of_post("comments"), "https://a.example/1#c");
  EXPECT_EQ(is.of_post("comments_feed"), "https://a.example/1/c");
}

TEST(StoredPosts, KeepDatesOtherThanThePublicationDate) {
  const Stored is =
      stored(rss("<expirationDate>Fri, 02 Jan 2026 00:00:00 GMT</expirationDate>"
                 "<dcterms:created>2025-12-31T00:00:00Z</dcterms:created>"));
  EXPECT_EQ(is.of_post("date_expired"), "2026-01-02T00:00:00Z");
  EXPECT_EQ(is.of_post("date_created"), "2025-12-31T00:00:00Z");
  EXPECT_EQ(is.of_post("date_published"), "");
}

TEST(StoredPosts, ArePlainTextWherePeersAre) {
  const Stored is = stored(atom("<rights type='html'>&lt;b onclick='x()'>R &amp;amp; Co&lt;/b></rights>"));
  EXPECT_EQ(is.of_post("rights"), "R & Co");
}

TEST(StoredPosts, NameTheNewFieldsThatAreCut) {
  std::string item = "<dc:rights>" + std::string(9000, 'r') + "</dc:rights><wfw:commentRss>https://a.example/" +
                     std::string(2048, 'c') + "</wfw:commentRss>";
  for (int i = 0; i < 40; ++i) item += "<atom:link rel='via' href='https://a.example/" + std::to_string(i) + "'/>";
  for (int i = 0; i < 70; ++i) item += "<dc:contributor>" + std::to_string(i) + "</dc:contributor>";
  const Stored is = stored(rss(item));
  EXPECT_EQ(is.of_post("rights").size(), 8192U);
  EXPECT_EQ(is.of_post("truncated"), "rights links comments_feed");
  EXPECT_NE(is.of_post("links").find("a.example/30\""), std::string::npos);
  EXPECT_EQ(is.of_post("links").find("a.example/31\""), std::string::npos) << "the post's own is the first";
  EXPECT_NE(is.of_post("contributors").find("\"63\""), std::string::npos);
}

TEST(StoredFeeds, HoldWhatAPodcastSaysOfItself) {
  const Stored is = stored(publisher("store-drops/1.xml"));
  EXPECT_EQ(is.of_feed("rights"), "C");
  EXPECT_EQ(is.of_feed("categories"), R"([{"term":"cat"},{"term":"News","scheme":"http://www.itunes.com/"}])");
  EXPECT_EQ(is.of_feed("publisher"), R"({"name":"Ada","email":"ada@r.example"})");
  EXPECT_EQ(is.of_feed("extensions"), R"({"itunes":{"explicit":true,"owner":{"name":"Ada","email":"ada@r.example"},)"
                                      R"("categories":[{"text":"News"}]},)"
                                      R"("podcast":{"guid":[{"value":"917393e3"}],)"
                                      R"("funding":[{"value":"Pay","attrs":{"url":"https://r.example/pay"}}]}})");
}

TEST(StoredFeeds, HoldKeywordsAndCategoriesOfEveryLevel) {
  const Stored is = stored(publisher("itunes-lost/1.xml"));
  EXPECT_EQ(is.of_feed("extensions"),
            R"({"itunes":{"keywords":["Gesundheit","Wissen"],"categories":[{"text":"Business",)"
            R"("categories":[{"text":"Entrepreneurship","categories":[{"text":"Ecommerce"}]}]}]}})");
}

TEST(StoredFeeds, HoldLinksPicturesAndPeopleOfAJsonFeed) {
  const Stored is =
      stored(R"({"version":"https://jsonfeed.org/version/1.1","title":"T","home_page_url":"https://j.example/",)"
             R"("feed_url":"https://j.example/f","next_url":"https://j.example/f?2","icon":"https://j.example/large",)"
             R"("favicon":"https://j.example/small","authors":[{"name":"A"},{"name":"B"}],)"
             R"("hubs":[{"type":"WebSub","url":"https://hub.example/"}],"items":[]})");
  EXPECT_EQ(is.of_feed("links"), R"([{"href":"https://j.example/f","rel":"self"},)"
                                 R"({"href":"https://j.example/f?2","rel":"next"},)"
                                 R"({"href":"https://hub.example/","rel":"hub"}])");
  EXPECT_EQ(is.of_feed("image"), "https://j.example/large");
  EXPECT_EQ(is.of_feed("icon"), "https://j.example/small");
  EXPECT_EQ(is.of_feed("id"), "https://j.example/f");
  EXPECT_EQ(is.of_feed("author"), "A");
  EXPECT_EQ(is.of_feed("authors"), R"([{"name":"A"},{"name":"B"}])");
}

TEST(StoredFeeds, HaveAPictureFromTheirModules) {
  const Stored is = stored(rss("", "<podcast:images srcset='https://i.example/1 1500w,https://i.example/2 300w'/>"));
  EXPECT_EQ(is.of_feed("image"), "https://i.example/1");
}

TEST(StoredFeeds, HaveTheLogoOfAtomElseItsIcon) {
  const std::string icon = "<icon>https://i.example/icon</icon>", logo = "<logo>https://i.example/logo</logo>";
  const std::string head = "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id>";
  EXPECT_EQ(stored(head + icon + logo + "</feed>").of_feed("image"), "https://i.example/logo");
  EXPECT_EQ(stored(head + icon + "</feed>").of_feed("image"), "https://i.example/icon");
}

TEST(StoredFeeds, LoseTheLongestVocabularyAndLongListsFirst) {
  std::string channel = "<podcast:guid>g</podcast:guid><rsl:content>" + std::string(70'000, 'x') + "</rsl:content>";
  for (int i = 0; i < 64; ++i) {
    channel += "<dc:contributor>" + std::to_string(i) + std::string(1100, 'c') + "</dc:contributor>";
  }
  const Stored is = stored(rss("", channel));
  EXPECT_EQ(is.of_feed("extensions"), R"({"podcast":{"guid":[{"value":"g"}]}})");
  EXPECT_EQ(find_field(is.feed, "contributors"), nullptr);
}

// Readers get no event for such a change, copies of the store do.
TEST(StoredFeeds, ReportOtherFieldsToCopiesOfTheStore) {
  const Stored is = stored(rss("", "<title>T</title><copyright>C</copyright><podcast:guid>g</podcast:guid>"));
  const FeedChange change = change_of({{"title", "T"}, {"link", "https://site.example/"}}, is.feed);
  EXPECT_EQ(change.changed, "");
  EXPECT_NE(find_field(change.write, "rights"), nullptr);
  EXPECT_NE(find_field(change.write, "extensions"), nullptr);
  EXPECT_TRUE(change.for_copies);
  Fields stored = is.feed;
  for (auto& [name, value] : stored) {
    if (name == "format" || name == "san_ver") value = "0";
  }
  EXPECT_FALSE(change_of(stored, is.feed).for_copies);
}

TEST(StoredPosts, KeepWhatOnlyDocumentsSayWhenAProgramChangesThem) {
  const std::string trail(32, 'a');
  const Fields of_document = {{"image", "https://a.example/i"},
                              {"links", R"([{"href":"https://v.example/","rel":"via"}])"},
                              {"rights", "R"},
                              {"title", "T"},
                              {"via", trail}};
  const GivenEntry given{"https://a.example/f", "1", {{"title", "U"}}};
  const auto changed = given_record(given, of_document, false, {});
  ASSERT_TRUE(changed.has_value());
  for (const auto& [name, value] : of_document)
    EXPECT_EQ(value_of(changed->fields, name), name == "title" ? "U" : value);
  const auto replaced = given_record(given, of_document, true, {});
  ASSERT_TRUE(replaced.has_value());
  EXPECT_EQ(find_field(replaced->fields, "links"), nullptr);
}

TEST(StoredPosts, MayBeGivenAsTheyArePrinted) {
  const boost::json::value printed = boost::json::parse(
      R"({"schema":1,"id":"Entry:1","guid":"1","title":"T","image":"https://a.example/i","source":{"title":"S"},)"
      R"("links":[{"href":"https://v.example/","rel":"via"}],"publisher":{"name":"P"},"via":"x"})");
  const auto given = read_given_entry(printed, "https://a.example/f", "");
  ASSERT_TRUE(given.has_value()) << given.error();
  EXPECT_EQ(given->fields, (Fields{{"title", "T"}}));
}

}  // namespace
}  // namespace feedmill::stored_values_test
