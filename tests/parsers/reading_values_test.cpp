// Single values of documents: one document, and one place in the output of `parse`.
#include <fstream>
#include <iterator>
#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "parsers/feed/document_json.hpp"
#include "parsers/feed/read_feed.hpp"

namespace feedmill::reading_values_test {
namespace {

struct ValueCase {
  std::string name, document;
  std::string pointer;   ///< RFC 6901
  std::string expected;  ///< JSON; "" if absent
};

std::string publisher(const std::string& name) {
  std::ifstream in(std::string(FEEDMILL_TEST_DATA "/publishers/") + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string value_of(const ValueCase& test, const DocumentHints& hints = {}) {
  const auto feed = read_feed(test.document, hints);
  if (!feed) return feed.error().detail;
  boost::system::error_code error;
  const boost::json::value json = boost::json::parse(document_json(*feed));
  const boost::json::value* const found = json.find_pointer(test.pointer, error);
  return found == nullptr ? std::string() : boost::json::serialize(*found);
}

class Values : public testing::TestWithParam<ValueCase> {};

TEST_P(Values, AreReadAsTheFormatSays) {
  EXPECT_EQ(value_of(GetParam()), GetParam().expected) << GetParam().document;
}

std::string name_of(const testing::TestParamInfo<ValueCase>& test) {
  return test.param.name;
}

std::string atom(const std::string& head, const std::string& entry, const std::string& root = "") {
  return "<feed xmlns='http://www.w3.org/2005/Atom'" + root + "><id>f</id>" + head + "<entry><id>1</id>" + entry +
         "</entry></feed>";
}

std::string rss(const std::string& item, const std::string& channel = "", const std::string& root = "") {
  return "<rss version='2.0' xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:media='http://search.yahoo.com/mrss/'"
         " xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd' xmlns:atom='http://www.w3.org/2005/Atom'" +
         root + "><channel><title>T</title>" + channel + "<item>" + item + "</item></channel></rss>";
}

std::string json_feed(const std::string& head, const std::string& item) {
  return R"({"version":"https://jsonfeed.org/version/1.1",)" + head + R"("items":[{"id":"1","content_text":"x")" +
         item + "}]}";
}

const std::string ann = "<author><name>Ann</name></author>", bob = "<author><name>Bob</name></author>";

INSTANTIATE_TEST_SUITE_P(
    Authors, Values,
    testing::Values(
        ValueCase{"OfTheFeed", publisher("atom-feed-author/1.xml"), "/entries/0/authors",
                  R"([{"name":"Ada","uri":"https://ada.example/me"}])"},
        ValueCase{"OfTheFeedShown", publisher("atom-feed-author/1.xml"), "/entries/0/author", "\"Ada\""},
        ValueCase{"OfTheSourceFirst", publisher("atom-feed-author/1.xml"), "/entries/1/author", "\"Bob\""},
        ValueCase{"OwnComeFirst", atom(ann, bob), "/entries/0/authors", R"([{"name":"Bob"}])"},
        ValueCase{"SeveralOfTheFeed", atom(ann + bob, ""), "/entries/0/authors", R"([{"name":"Ann"},{"name":"Bob"}])"},
        ValueCase{"AfterTheEntries",
                  "<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>1</id></entry>" + ann + "</feed>",
                  "/entries/0/author", "\"Ann\""},
        ValueCase{"OfASourceWithoutAny", atom(ann, "<source><id>s</id></source>"), "/entries/0/author", "\"Ann\""},
        ValueCase{"OfAtom03",
                  "<feed version='0.3' xmlns='http://purl.org/atom/ns#'>" + ann + "<entry><id>1</id></entry></feed>",
                  "/entries/0/author", "\"Ann\""},
        ValueCase{"ACreatorIsOne", atom(ann, "<d:creator xmlns:d='http://purl.org/dc/elements/1.1/'>Eve</d:creator>"),
                  "/entries/0/authors", R"([{"name":"Eve"}])"},
        ValueCase{"ContributorsAreNone", atom("<contributor><name>C</name></contributor>", ""), "/entries/0/author",
                  ""},
        ValueCase{"OfAnEditorAreNotTheItems", rss("<guid>1</guid>", "<managingEditor>e@e.example</managingEditor>"),
                  "/entries/0/authors", ""},
        ValueCase{"OfAJsonFeed", json_feed(R"("authors":[{"name":"Ann"}],)", ""), "/entries/0/authors",
                  R"([{"name":"Ann"}])"},
        ValueCase{"AuthorAndTwoCreators",
                  rss("<author>ann@a.example (Ann)</author><dc:creator>Bob</dc:creator><dc:creator>Eve</dc:creator>"),
                  "/entries/0/authors", R"([{"name":"Ann","email":"ann@a.example"},{"name":"Bob"},{"name":"Eve"}])"},
        ValueCase{"CreatorsBeforeAnAuthorOfThem",
                  rss("<dc:creator>Bob</dc:creator><dc:creator>Ann</dc:creator><author>ann@a.example (Ann)</author>"),
                  "/entries/0/authors", R"([{"name":"Bob"},{"name":"Ann","email":"ann@a.example"}])"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Pictures, Values,
    testing::Values(
        ValueCase{"OfABlogger", publisher("blogger-author-image/1.xml"), "/entries/0/authors/0/avatar",
                  "\"//img.b.example/ada.jpg\""},
        ValueCase{"WithItsSize", publisher("blogger-author-image/1.xml"),
                  "/entries/0/extensions/gd/image/0/attrs/width", "\"32\""},
        ValueCase{
            "OfTwoAuthorsOfAnItem",
            json_feed("",
                      R"(,"authors":[{"name":"A","avatar":"https://a.example/a"},{"avatar":"https://a.example/b"}])"),
            "/entries/0/authors", R"([{"name":"A","avatar":"https://a.example/a"},{"avatar":"https://a.example/b"}])"},
        ValueCase{"OfAnAuthorOfVersion1", json_feed("", R"(,"author":{"name":"A","avatar":"https://a.example/a"})"),
                  "/entries/0/authors/0/avatar", "\"https://a.example/a\""},
        ValueCase{"ByALink",
                  atom("",
                       "<author><name>A</name><link rel='avatar' href='https://a.example/1'/>"
                       "<link rel='avatar' href='https://a.example/2'/></author>"),
                  "/entries/0/authors/0/avatar", "\"https://a.example/1\""},
        ValueCase{"OfAnotherSize",
                  atom("",
                       "<author><name>A</name><link rel='avatar' href='https://a.example/1'/>"
                       "<link rel='avatar' href='https://a.example/2'/></author>"),
                  "/entries/0/extensions//link/0/attrs/href", "\"https://a.example/2\""},
        ValueCase{"AsAThumbnail",
                  atom("",
                       "<author><name>A</name><m:thumbnail xmlns:m='http://search.yahoo.com/mrss/' "
                       "url='https://a.example/1'/></author>"),
                  "/entries/0/authors/0/avatar", "\"https://a.example/1\""},
        ValueCase{"OfAContributor",
                  atom("", "<contributor><name>A</name><avatar>https://a.example/1</avatar></contributor>"),
                  "/entries/0/contributors/0/avatar", "\"https://a.example/1\""},
        ValueCase{"OfTheFeedsAuthor",
                  atom("<author><name>A</name><g:image xmlns:g='http://schemas.google.com/g/2005' "
                       "src='https://a.example/1'/></author>",
                       ""),
                  "/entries/0/authors/0/avatar", "\"https://a.example/1\""},
        ValueCase{"ThatIsAScriptIsNone", json_feed("", R"(,"author":{"name":"A","avatar":"javascript:x"})"),
                  "/entries/0/authors", R"([{"name":"A"}])"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Languages, Values,
    testing::Values(
        ValueCase{"OfAnAtomFeed", publisher("language-inherited/1.xml"), "/entries/0/language", "\"de\""},
        ValueCase{"OfAnRssChannel", rss("<guid>1</guid>", "<language>pt_BR</language>"), "/entries/0/language",
                  "\"pt-BR\""},
        ValueCase{"ByDublinCore", rss("<guid>1</guid>", "<dc:language>fr</dc:language>"), "/entries/0/language",
                  "\"fr\""},
        ValueCase{"OfTheRoot", rss("<guid>1</guid>", "", " xml:lang='nl'"), "/entries/0/language", "\"nl\""},
        ValueCase{"OfAJsonFeed", json_feed(R"("language":"ja",)", ""), "/entries/0/language", "\"ja\""},
        ValueCase{"OwnOfAJsonItem", json_feed(R"("language":"ja",)", R"(,"language":"en")"), "/entries/0/language",
                  "\"en\""},
        ValueCase{"OwnOfAnItem", rss("<dc:language>fr</dc:language>", "<language>de</language>"), "/entries/0/language",
                  "\"fr\""},
        ValueCase{"OwnOfAnEntry", atom("", "</entry><entry xml:lang='fr'><id>2</id>", " xml:lang='de'"),
                  "/entries/1/language", "\"fr\""},
        ValueCase{"AfterTheItems",
                  "<rss version='2.0'><channel><item><guid>1</guid></item><language>de</language></channel></rss>",
                  "/entries/0/language", "\"de\""}),
    name_of);

TEST(Values, HaveTheLanguageOfTheAnswer) {
  DocumentHints hints;
  hints.content_language = "de_AT, en";
  const ValueCase test{"", rss("<guid>1</guid>"), "/entries/0/language", {}};
  EXPECT_EQ(value_of(test, hints), "\"de-AT\"");
}

INSTANTIATE_TEST_SUITE_P(
    Permalinks, Values,
    testing::Values(
        ValueCase{"UnderABase", publisher("permalink-relative/1.xml"), "/entries/0/link",
                  "\"https://p.example/podcast/episode/1/\""},
        ValueCase{"KeepTheGuid", publisher("permalink-relative/1.xml"), "/entries/0/id", "\"episode/1/\""},
        ValueCase{"UnderTheBaseOfTheItem",
                  "<rss version='2.0'><channel><item xml:base='https://a.example/b/'><guid "
                  "isPermaLink='TRUE'>c?d=1</guid></item></channel></rss>",
                  "/entries/0/link", "\"https://a.example/b/c?d=1\""},
        ValueCase{"AreWorseThanALink",
                  rss("<guid isPermaLink='true'>a</guid><link>b</link>", "", " xml:base='https://a.example/'"),
                  "/entries/0/link", "\"https://a.example/b\""},
        ValueCase{"AreNoneWithoutABase", rss("<guid isPermaLink='true'>a</guid>", "<link>https://a.example/</link>"),
                  "/entries/0/link", ""},
        ValueCase{"AreNoneUnlessSaid", rss("<guid>a</guid>", "", " xml:base='https://a.example/'"), "/entries/0/link",
                  ""},
        ValueCase{"AreNoWords", rss("<guid isPermaLink='true'>a b</guid>", "", " xml:base='https://a.example/'"),
                  "/entries/0/link", ""},
        ValueCase{"AreNoNames", rss("<guid isPermaLink='true'>tag:a,1:b</guid>", "", " xml:base='https://a.example/'"),
                  "/entries/0/link", ""}),
    name_of);

std::string group(const std::string& inside, const std::string& beside = "") {
  return rss("<media:group>" + inside + "</media:group>" + beside);
}

INSTANTIATE_TEST_SUITE_P(
    OfMedia, Values,
    testing::Values(
        ValueCase{"TitleOfAGroup", publisher("media-shadowed/1.xml"), "/entries/0/extensions/media/title/0/value",
                  "\"Group title\""},
        ValueCase{"TitleOfARendition", publisher("media-shadowed/1.xml"), "/entries/0/media/content/0/title",
                  "\"Rendition\""},
        ValueCase{"TitleOfTheItem", publisher("media-shadowed/1.xml"), "/entries/0/media/title", "\"Item title\""},
        ValueCase{"RatingOfARendition", publisher("media-shadowed/1.xml"), "/entries/0/extensions/media/rating/0/value",
                  "\"PG\""},
        ValueCase{"RestrictionOfARendition", publisher("media-shadowed/1.xml"),
                  "/entries/0/extensions/media/restriction/0",
                  R"({"value":"us ca gb","attrs":{"relationship":"allow","type":"country"}})"},
        ValueCase{"AddressOfTheCopyright", publisher("media-shadowed/1.xml"),
                  "/entries/0/extensions/media/copyright/0/attrs/url", "\"https://v.example/licence\""},
        ValueCase{"RightsOfTheCopyright", publisher("media-shadowed/1.xml"), "/entries/0/rights", "\"ACME\""},
        ValueCase{"RatingOfASecondRendition",
                  group("<media:content url='a'><media:rating>g</media:rating></media:content>"
                        "<media:content url='b'><media:rating>pg</media:rating></media:content>"),
                  "/entries/0/extensions/media/rating/0/value", "\"pg\""},
        ValueCase{"DescriptionOfAGroup",
                  group("<media:description>G</media:description>", "<media:description>I</media:description>"),
                  "/entries/0/extensions/media/description/0/value", "\"G\""},
        ValueCase{"PlayerOfAGroup", group("<media:player url='a'/>", "<media:player url='b'/>"),
                  "/entries/0/extensions/media/player/0/attrs/url", "\"a\""},
        ValueCase{"LicenseOfAGroupAfterTheItems",
                  rss("<media:license href='a'/><media:group><media:license href='b'/></media:group>"),
                  "/entries/0/extensions/media/license/0/attrs/href", "\"b\""},
        ValueCase{"OneTitleAloneIsNotDoubled", group("<media:title>G</media:title>"), "/entries/0/extensions", ""},
        ValueCase{"CopyrightBesideRights", rss("<media:copyright>M</media:copyright><dc:rights>D</dc:rights>"),
                  "/entries/0/extensions/media/copyright/0/value", "\"M\""}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Shadowed, Values,
    testing::Values(
        ValueCase{"APlaceThatCannotBeRead", rss("<g:point xmlns:g='http://www.georss.org/georss'>45,5 -71,2</g:point>"),
                  "/entries/0/extensions/georss/point/0/value", "\"45,5 -71,2\""},
        ValueCase{"RightsWithAnAddressOnce",
                  rss("<media:copyright url='https://a.example'>A</media:copyright><copyright>B</copyright>"),
                  "/entries/0/extensions/media/copyright/1", ""},
        ValueCase{"KeywordsOfMediaInAttributes", rss("<media:keywords text='p, q'/>"), "/entries/0/categories",
                  R"([{"term":"p"},{"term":"q"}])"},
        ValueCase{"AnImageWithoutAddressIsNone",
                  rss("", "<image><title>t</title></image><itunes:image href='https://a.example/i'/>"),
                  "/feed/image/url", "\"https://a.example/i\""},
        ValueCase{"ALengthOfWordsIsNone", rss("<enclosure url='https://a.example/1' length='15.3 MB'/>"),
                  "/entries/0/enclosures/0/length", ""},
        ValueCase{"OneAuthorInTwoVersions",
                  json_feed("", R"(,"author":{"name":"A"},"authors":[{"name":"A","url":"https://a.example/"}])"),
                  "/entries/0/authors", R"([{"name":"A","uri":"https://a.example/"}])"},
        ValueCase{"SummaryBeforeADescription", publisher("rss-summary-first/1.xml"),
                  "/entries/0/extensions//summary/0/value", "\"The short text\""},
        ValueCase{"DescriptionAfterASummary", publisher("rss-summary-first/1.xml"), "/entries/0/summary",
                  "\"The long text\""},
        ValueCase{"SummaryAfterADescription", rss("<description>D</description><summary>S</summary>"),
                  "/entries/0/extensions//summary/0/value", "\"S\""},
        ValueCase{"SubtitleOfAChannel", rss("", "<subtitle>S</subtitle><description>D</description>"),
                  "/feed/extensions//subtitle/0/value", "\"S\""},
        ValueCase{"DescriptionOfDublinCore", rss("<dc:description>D</dc:description><description>R</description>"),
                  "/entries/0/extensions/dc/description/0/value", "\"D\""},
        ValueCase{"TitleOfDublinCore", rss("<dc:title>D</dc:title><title>R</title>"),
                  "/entries/0/extensions/dc/title/0/value", "\"D\""},
        ValueCase{"IdentifierOfDublinCore", rss("<dc:identifier>D</dc:identifier><guid>R</guid>"),
                  "/entries/0/extensions/dc/identifier/0/value", "\"D\""},
        ValueCase{"LanguageOfDublinCore", rss("<dc:language>de</dc:language><language>fr</language>"),
                  "/entries/0/extensions/dc/language/0/value", "\"de\""},
        ValueCase{
            "SecondDate",
            rss("<pubDate>Thu, 01 Jan 2026 00:00:00 GMT</pubDate><pubDate>Fri, 02 Jan 2026 00:00:00 GMT</pubDate>"),
            "/entries/0/extensions//pubDate/0/value", "\"Thu, 01 Jan 2026 00:00:00 GMT\""},
        ValueCase{"UnreadableDate", rss("<pubDate>soon</pubDate><atom:published>2026-01-01T00:00:00Z</atom:published>"),
                  "/entries/0/extensions//pubDate/0/value", "\"soon\""},
        ValueCase{"SecondGuid", rss("<guid>a</guid><guid>b</guid>"), "/entries/0/extensions//guid/0/value", "\"b\""},
        ValueCase{"ThirdDescription",
                  rss("<description>a</description><description>b</description><description>c</description>"),
                  "/entries/0/extensions//description/0/value", "\"c\""},
        ValueCase{"SecondComments", rss("<comments>http://a/1</comments><comments>http://a/2</comments>"),
                  "/entries/0/extensions//comments/0/value", "\"http://a/2\""},
        ValueCase{"PlaceOfAnotherVocabulary",
                  rss("<g:lat xmlns:g='http://www.w3.org/2003/01/geo/wgs84_pos#'>1</g:lat>"
                      "<g:long xmlns:g='http://www.w3.org/2003/01/geo/wgs84_pos#'>2</g:long>"
                      "<s:point xmlns:s='http://www.georss.org/georss'>3 4</s:point>"),
                  "/entries/0/geo",
                  R"({"type":"Point","coordinates":[4,3],"more":[{"type":"Point","coordinates":[2,1]}]})"},
        ValueCase{"EmptyOnesSayNothing", rss("<dc:title/><title>R</title>"), "/entries/0/extensions", ""},
        ValueCase{"OfANamespaceOfItsOwn",
                  rss("<d:title xmlns:d='http://purl.org/dc/elements/1.1/'>D</d:title><title>R</title>"),
                  "/entries/0/extensions/dc/title/0/value", "\"D\""}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Podcasts, Values,
    testing::Values(
        ValueCase{"KeywordsInAttributes", publisher("itunes-lost/1.xml"), "/feed/itunes/keywords",
                  R"(["Gesundheit","Wissen"])"},
        ValueCase{"ThirdCategory", publisher("itunes-lost/1.xml"),
                  "/feed/itunes/categories/0/categories/0/categories/0/text", "\"Ecommerce\""},
        ValueCase{"ThirdCategoryAmongAll", publisher("itunes-lost/1.xml"), "/feed/categories/4/term", "\"Ecommerce\""},
        ValueCase{"KeywordsInBoth", rss("", "<itunes:keywords text='a'>b</itunes:keywords>"), "/feed/itunes/keywords",
                  R"(["b","a"])"},
        ValueCase{"FifthCategory",
                  rss("",
                      "<itunes:category text='1'><itunes:category text='2'><itunes:category text='3'>"
                      "<itunes:category text='4'><itunes:category text='5'/></itunes:category></itunes:category>"
                      "</itunes:category></itunes:category>"),
                  "/feed/extensions/itunes/category/0/children/category/0/children/category/0/children/category/0/"
                  "children/category/0/attrs/text",
                  "\"5\""},
        ValueCase{"SecondAuthor", rss("<itunes:author>a</itunes:author><itunes:author>b</itunes:author>"),
                  "/entries/0/extensions/itunes/author/0/value", "\"b\""},
        ValueCase{"SecondEpisode", rss("<itunes:episode>1</itunes:episode><itunes:episode>2</itunes:episode>"),
                  "/entries/0/extensions/itunes/episode/0/value", "\"2\""},
        ValueCase{"SecondImage", rss("<itunes:image href='http://a/1'/><itunes:image href='http://a/2'/>"),
                  "/entries/0/extensions/itunes/image/0/attrs/href", "\"http://a/2\""},
        ValueCase{"SecondOwner",
                  rss("",
                      "<itunes:owner><itunes:name>a</itunes:name></itunes:owner><itunes:owner><itunes:name>b"
                      "</itunes:name></itunes:owner>"),
                  "/feed/extensions/itunes/owner/0/children/name/0/value", "\"b\""},
        ValueCase{"WordThatIsNoBoolean", rss("<itunes:explicit>perhaps</itunes:explicit>"),
                  "/entries/0/extensions/itunes/explicit/0/value", "\"perhaps\""},
        ValueCase{"TitleBeforeTheItemsIsNotDoubled", rss("<itunes:title>i</itunes:title><title>t</title>"),
                  "/entries/0/extensions", ""}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Texts, Values,
    testing::Values(
        ValueCase{"HtmlInADiv", publisher("atom-html-child-div/1.xml"), "/entries/0/content/0/value",
                  "\"Example <b>Atom</b>\""},
        ValueCase{"HtmlInADivIsHtml", publisher("atom-html-child-div/1.xml"), "/entries/0/content/0/type",
                  "\"text/html\""},
        ValueCase{"HtmlInParagraphs", atom("", "<summary type='html'><p>a &lt;i>b&lt;/i></p><p>c</p></summary>"),
                  "/entries/0/summary", "\"<p>a <i>b</i></p><p>c</p>\""},
        ValueCase{"HtmlInADivOfAtom03",
                  "<feed version='0.3' xmlns='http://purl.org/atom/ns#'><entry><id>1</id><content mode='escaped' "
                  "type='text/html'><div>&lt;b>a&lt;/b></div></content></entry></feed>",
                  "/entries/0/content/0/value", "\"<b>a</b>\""},
        ValueCase{"TitleOfHtmlInADiv", atom("", "<title type='html'><div>&lt;em>a&lt;/em> &amp;amp; b</div></title>"),
                  "/entries/0/title", "\"<em>a</em> &amp; b\""},
        ValueCase{"ScriptInADivIsNone", atom("", "<summary type='html'><div>a&lt;script>b&lt;/script></div></summary>"),
                  "/entries/0/summary", "\"a\""},
        ValueCase{"MarkupAloneStays", atom("", "<summary type='html'><p>1 &lt; 2</p></summary>"), "/entries/0/summary",
                  "\"<p>1 &lt; 2</p>\""},
        ValueCase{"XhtmlMeansItsEscapes", atom("", "<summary type='xhtml'><div>a &lt;b>c&lt;/b></div></summary>"),
                  "/entries/0/summary", "\"a &lt;b&gt;c&lt;/b&gt;\""},
        ValueCase{"EncodedTwiceByReferences", publisher("double-encoded/1.xml"), "/entries/0/summary", "\"wait…\""},
        ValueCase{"EncodedTwiceByHexadecimalReferences", rss("<title>it&#xE2;&#x80;&#x99;s</title>"),
                  "/entries/0/title", "\"it’s\""},
        ValueCase{"EncodedTwiceInAnAttribute", rss("<category domain='&#195;&#169;'>c</category>"),
                  "/entries/0/categories/0/scheme", "\"é\""},
        ValueCase{"EncodedTwiceInHalf", rss("<title>Caf&#195;© x&#195;&#169;</title>"), "/entries/0/title",
                  "\"Café xé\""},
        ValueCase{"EncodedTwiceWithAnEmoji", rss("<title>&#240;&#159;&#152;&#128;</title>"), "/entries/0/title",
                  "\"😀\""},
        ValueCase{"WindowsReferencesStayWhatTheyAre", rss("<title>CAF&#201;&#133; &#147;a&#148;</title>"),
                  "/entries/0/title", "\"CAFÉ… “a”\""},
        ValueCase{"OneLetterBeforeAQuoteStays", rss("<title>CAF&#201;&#148;</title>"), "/entries/0/title", "\"CAFÉ”\""},
        ValueCase{"LatinReferencesStay", rss("<title>&#233;t&#233;</title>"), "/entries/0/title", "\"été\""},
        ValueCase{"EmptySourceHasNoTitle", publisher("source-phantom-title/1.xml"), "/entries/0/source",
                  R"({"url":"https://s.example/f"})"},
        ValueCase{"EmptyTitleIsNone", publisher("source-phantom-title/1.xml"), "/entries/1/title", ""},
        ValueCase{"EmptyTitleOfTheFeedIsNone", atom("<title type='html'> </title>", ""), "/feed/title_detail", ""},
        ValueCase{"EmptyTitleOfASource", atom("", "<source><id>s</id><title/></source>"), "/entries/0/source",
                  R"({"id":"s"})"},
        ValueCase{"EmptySourceOfAtom", atom("", "<source/>"), "/entries/0/source", "{}"}),
    name_of);

std::string rdf(const std::string& channel, const std::string& beside = "") {
  return "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>"
         "<channel rdf:about='http://d.example/'><link>http://d.example/</link>" +
         channel + "</channel>" + beside + "</rdf:RDF>";
}

INSTANTIATE_TEST_SUITE_P(
    Images, Values,
    testing::Values(
        ValueCase{"OfAReference", publisher("rdf-image-resource/1.xml"), "/feed/image/url",
                  "\"https://d.example/dw.png\""},
        ValueCase{"OfARelativeReference", rdf("<image rdf:resource='/i.png'/>"), "/feed/image/url",
                  "\"http://d.example/i.png\""},
        ValueCase{"BesideTheChannelSayMore",
                  rdf("<image rdf:resource='/about'/>", "<image rdf:about='/about'><url>/i.png</url></image>"),
                  "/feed/image/url", "\"http://d.example/i.png\""},
        ValueCase{"BeforeTheChannelSayMore",
                  "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>"
                  "<image><url>http://d.example/i.png</url></image><channel><image rdf:resource='http://d.example/r'/>"
                  "</channel></rdf:RDF>",
                  "/feed/image/url", "\"http://d.example/i.png\""},
        ValueCase{"OfAScriptAreNone", rdf("<image rdf:resource='javascript:x'/>"), "/feed/image", ""},
        ValueCase{"OfAnItemsReference",
                  rdf("", "<item rdf:about='http://d.example/1'><image rdf:resource='http://d.example/1.png'/></item>"),
                  "/entries/0/image/url", "\"http://d.example/1.png\""}),
    name_of);

TEST(Values, AreUtf8WhereTheLabelIsWrong) {
  DocumentHints hints;
  hints.content_type = "text/xml; charset=windows-1251";
  const ValueCase test{"", publisher("charset-label-wrong/2.xml"), "/entries/0/title", {}};
  EXPECT_EQ(value_of(test, hints), "\"Привет мир\"");
  hints.content_type = "text/xml";
  const ValueCase declared{"", publisher("charset-label-wrong/1.xml"), "/entries/0/title", {}};
  EXPECT_EQ(value_of(declared, hints), "\"Привет мир\"");
}

}  // namespace
}  // namespace feedmill::reading_values_test
