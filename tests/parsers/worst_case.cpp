// The cost of one adversarial document. worst_case.py runs it and counts the instructions (SECURITY T18).
//   feedmill_worst_case --list               prints the names of the shapes
//   feedmill_worst_case SHAPE BYTES          reads a document of that shape and about that size with every reader
//   feedmill_worst_case SHAPE BYTES memory   reads it only as the worker does; prints the document's size and the
//                                            growth of peak resident memory, in bytes
//   feedmill_worst_case --pairs              prints the names of shapes that grow in two directions; the first one is
//                                            a usual feed
//   feedmill_worst_case PAIR A B             reads a document with A bytes of its first part and B bytes of its
//                                            second, and prints its size
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "parsers/feed/document_json.hpp"
#include "parsers/feed/read_feed.hpp"
#include "parsers/feed/reading_report.hpp"
#include "parsers/lists/discovery.hpp"
#include "parsers/lists/opml.hpp"
#include "parsers/markup/sanitise.hpp"
#include "parsers/markup/text.hpp"
#include "parsers/text/charset.hpp"
#include "parsers/text/date.hpp"
#include "parsers/text/url.hpp"

namespace {

using namespace feedmill;

// A document: `head`, then `part` until it has the requested size, then `tail`. "#" in a part is the part's number.
struct Shape {
  std::string_view name, head, part, tail = {};
};

#define RSS "<rss version='2.0'><channel><title>t</title><link>http://example.org/</link>"
#define ITEM RSS "<item><guid>1</guid>"
#define SLASH                                                                \
  "<rss version='2.0' xmlns:slash='http://purl.org/rss/1.0/modules/slash/' " \
  "xmlns:thr='http://purl.org/syndication/thread/1.0'>"                      \
  "<channel><title>t</title><item><guid>1</guid>"
#define HTML ITEM "<description>"
#define END "</item></channel></rss>"
#define CDATA HTML "<![CDATA["
#define CDATA_END "]]></description>" END

constexpr Shape shapes[] = {
    // Unclosed markup in a document that is not well-formed.
    {"open-tags", HTML, "<b>"},
    {"close-tags", HTML, "</b>"},
    {"crossed-tags", HTML, "<b><i></b></i>"},
    {"open-comments", HTML, "<!--"},
    {"open-cdata", HTML, "<![CDATA["},
    {"open-instructions", HTML, "<?x "},
    {"open-declarations", HTML, "<!x "},
    {"open-quotes", HTML, "<a b='"},
    {"open-items", RSS, "<item>"},
    {"open-roots", "", "<rss>"},
    {"less-than", HTML, "<"},
    {"ampersands", HTML, "&"},
    {"brackets", HTML, "]]"},
    {"end-tag-names", HTML, "</b", ">"},
    {"doctypes", "", "<!DOCTYPE "},
    {"html-around", "<html><body>", "<p>a<feed ", "</p>"},
    {"unclosed-entries", RSS, "<item><title>#<link>http://example.org/#"},
    // Well-formed documents.
    {"entries", RSS, "<item><guid>#</guid><title>t</title></item>", "</channel></rss>"},
    {"dated-entries", RSS, "<item><guid>#</guid><pubDate>Mon, 01 Jan 2024 00:00:00 GMT</pubDate></item>",
     "</channel></rss>"},
    {"same-guids", RSS, "<item><guid>a</guid><link>http://a/</link></item>", "</channel></rss>"},
    {"no-guids", RSS, "<item><title>#</title></item>", "</channel></rss>"},
    {"atom-entries", "<feed xmlns='http://www.w3.org/2005/Atom'>",
     "<entry xml:base='#/'><id>#</id><link href='a'/></entry>", "</feed>"},
    {"inherited-authors",
     "<feed xmlns='http://www.w3.org/2005/Atom' "
     "xml:lang='en'><author><name>a</name><uri>http://\xC3\xA9/</uri></author>",
     "<entry><id>#</id></entry>", "</feed>"},
    {"feed-authors", "<feed xmlns='http://www.w3.org/2005/Atom'>", "<author><name>#</name></author><entry/>",
     "</feed>"},
    {"rdf-entries",
     "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>",
     "<item rdf:about='#'><title>a</title></item>", "</rdf:RDF>"},
    {"stray-items", RSS, "<x><item><guid>#</guid></item></x>", "</channel></rss>"},
    {"siblings", RSS, "<a/>", "</channel></rss>"},
    {"spelt-namespaces", RSS, "<item xmlns:media='http://h#/mrss/'><guid>#</guid><media:title>a</media:title></item>",
     "</channel></rss>"},
    {"long-namespaces", RSS "<item xmlns:dc='http://h/", "elements/1.1/",
     "'><dc:title>a</dc:title></item></channel></rss>"},
    {"comments", RSS, "<!-- - -->", "</channel></rss>"},
    {"cdata-sections", HTML, "<![CDATA[]]>", "</description>" END},
    {"categories", ITEM, "<category>#</category>", END},
    {"same-categories", ITEM, "<category>a</category>", END},
    {"links", ITEM, "<link>http://a/#</link>", END},
    {"enclosures", ITEM, "<enclosure url='/#' length='1'/>", END},
    {"authors", ITEM, "<author>a#@b.example (A)</author>", END},
    {"descriptions", ITEM, "<description>#</description>", END},
    {"media-groups", ITEM "<m:group xmlns:m='http://search.yahoo.com/mrss/'>", "<m:content url='#'/>",
     "</m:group>" END},
    {"media-credits", ITEM "<m:group xmlns:m='http://search.yahoo.com/mrss/'>", "<m:credit role='#'>a</m:credit>",
     "</m:group>" END},
    {"nested-groups", ITEM, "<m:group xmlns:m='http://search.yahoo.com/mrss/'><m:title>#</m:title></m:group>", END},
    {"chapters", ITEM "<p:chapters xmlns:p='http://podlove.org/simple-chapters'>", "<p:chapter start='#' title='a'/>",
     "</p:chapters>" END},
    {"contributors", ITEM, "<d:contributor xmlns:d='http://purl.org/dc/elements/1.1/'>a#</d:contributor>", END},
    {"licenses", ITEM, "<c:license xmlns:c='http://backend.userland.com/creativeCommonsRssModule'>#</c:license>", END},
    {"sources", ITEM, "<source url='/#'>a</source>", END},
    {"points", ITEM, "<g:point xmlns:g='http://www.georss.org/georss'># 2</g:point>", END},
    {"hubs", RSS, "<a:link xmlns:a='http://www.w3.org/2005/Atom' rel='hub' href='/#'/>", "</channel></rss>"},
    {"podcast-categories", RSS, "<i:category xmlns:i='http://www.itunes.com/dtds/podcast-1.0.dtd' text='#'/>",
     "</channel></rss>"},
    {"foreign-attributes", "<rss xmlns:y='urn:y'><channel><item>", "<link y:b='#'>a</link>", END},
    {"cdf-items", "<CHANNEL HREF='http://a/'>", "<ITEM HREF='/#'><TITLE>a</TITLE></ITEM>", "</CHANNEL>"},
    {"extensions", RSS, "<z:a xmlns:z='urn:#' b='c'>d</z:a>", "</channel></rss>"},
    {"undeclared-prefixes", RSS, "<x#:y/>", "</channel></rss>"},
    {"declared-namespaces", RSS, "<a xmlns:x#='u'/>", "</channel></rss>"},
    {"xml-bases", RSS, "<a xml:base='http://a/#/'><b xml:base='../c'><link>d</link></b></a>", "</channel></rss>"},
    {"inline-markup", "<feed xmlns='http://www.w3.org/2005/Atom'><entry><content type='xhtml'>",
     "<div><a href='#'>b</a></div>", "</content></entry></feed>"},
    {"declared-entities", "<!DOCTYPE rss [", "<!ENTITY e# 'x'>", "]>" RSS "<item><title>&e1;</title>" END},
    {"entity-references", "<!DOCTYPE rss [<!ENTITY e 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'>]>" HTML, "&e;",
     "</description>" END},
    // Attributes.
    {"counters", SLASH, "<slash:comments>#</slash:comments>", END},
    {"open-counters", SLASH, "<slash:comments>"},
    {"counters-in-a-tag", SLASH "<link", " thr:count='#'", "/>" END},
    {"attributes", HTML "<a ", "b#='c' ", "/></description>" END},
    {"bare-attributes", HTML "<a ", "b ", "/></description>" END},
    {"long-attribute", HTML "<a b='", "c&amp;", "'/></description>" END},
    {"equals-signs", CDATA "<a ", "=", CDATA_END},
    // Characters.
    {"named-references", HTML, "&unknown;", "</description>" END},
    {"legacy-references", CDATA, "&copyx", CDATA_END},
    {"numeric-references", HTML, "&#169;&#x10FFFF;", "</description>" END},
    {"long-reference", CDATA "&", "a", CDATA_END},
    {"carriage-returns", HTML, "x\r\n\r", "</description>" END},
    {"controls", HTML, "x\x01", "</description>" END},
    {"noncharacters", HTML, "\xEF\xBF\xBF", "</description>" END},
    {"broken-utf8", HTML, "\xC3\xA9\xFF", "</description>" END},
    {"mojibake", HTML, "\xC3\x83\xC2\xA9", "</description>" END},
    {"detected-charset", HTML, "\x93\xFA\x96\x7B", "</description>" END},
    {"shift-jis", "<?xml version='1.0' encoding='Shift_JIS'?>" HTML, "\x93\xFA\x80", "</description>" END},
    {"spaces", ITEM "<title>", " ", "x</title>" END},
    // HTML in well-formed XML.
    {"paragraphs", HTML, "&lt;p&gt;", "</description>" END},
    {"cells", HTML, "&lt;td&gt;", "</description>" END},
    {"tables", CDATA, "<table><tr><td>", CDATA_END},
    {"lists", CDATA, "<ul><li>", CDATA_END},
    {"formatting", CDATA, "<b><p>", CDATA_END},
    {"crossed-html", CDATA, "<b><div></b></div>", CDATA_END},
    {"scripts", CDATA, "<script>", CDATA_END},
    {"almost-script-ends", CDATA "<script>", "</scrip", CDATA_END},
    {"textareas", CDATA, "<textarea>a</textare", CDATA_END},
    {"svg", CDATA, "<svg>", CDATA_END},
    {"html-comments", CDATA, "<!--", CDATA_END},
    {"html-dashes", CDATA "<!--", "--!-", CDATA_END},
    {"frames", CDATA, "<iframe src='http://a/#'>", CDATA_END},
    {"anchors", CDATA, "<a href='a/#'>", CDATA_END},
    {"srcset", CDATA "<img srcset='", "a 1x,", "'>" CDATA_END},
    {"srcset-commas", CDATA "<img srcset='", ",", "'>" CDATA_END},
    {"srcset-many", CDATA, "<img srcset='a 1x, b 2x'>", CDATA_END},
    {"style", CDATA "<p style='", "color:red;", "'>" CDATA_END},
    {"style-urls", CDATA "<p style='", "url(", "'>" CDATA_END},
    {"style-spaces", CDATA "<p style='a:", "( ", "'>" CDATA_END},
    {"style-many", CDATA, "<p style='color: red'>a</p>", CDATA_END},
    // Values.
    {"dotted-path", ITEM "<link>http://a/", "a/../", "</link>" END},
    {"dot-dot-path", ITEM "<link>", "../", "</link>" END},
    {"url-colons", ITEM "<link>", "a:", "</link>" END},
    {"url-spaces", ITEM "<link>http://a/", "b c", "</link>" END},
    {"at-signs", ITEM "<author>", "a@", "</author>" END},
    {"many-authors", ITEM, "<author>()()()()()()()()</author>", END},
    {"addresses", ITEM "<author>", "()<>[]", "</author>" END},
    {"date-words", ITEM "<pubDate>", "Mon, ", "</pubDate>" END},
    {"date-digits", ITEM "<pubDate>", "1:", "</pubDate>" END},
    {"many-dates", ITEM, "<pubDate>#</pubDate>", END},
    {"date-cyrillic", ITEM "<pubDate>", "понедельник ", "</pubDate>" END},
    {"date-greek", ITEM "<pubDate>", "Ιουλίου ", "</pubDate>" END},
    {"date-arabic", ITEM "<pubDate>", "يوليو ٢٠٢٥ ", "</pubDate>" END},
    {"date-hebrew", ITEM "<pubDate>", "ביולי ", "</pubDate>" END},
    {"date-devanagari", ITEM "<pubDate>", "जुलाई १४ ", "</pubDate>" END},
    {"date-thai", ITEM "<pubDate>", "กรกฎาคม", "</pubDate>" END},
    {"date-han", ITEM "<pubDate>", "十一月", "</pubDate>" END},
    {"dates-latin", ITEM, "<pubDate>1:2 mar mar mar mar mar mar mar mar mar mar mar mar mar mar mar</pubDate>", END},
    {"dates-letters", ITEM, "<pubDate>1:2 s u s u s u s u s u s u s u s u s u s u s u s u s u s u s u</pubDate>", END},
    {"dates-cyrillic", ITEM, "<pubDate>1:2 понедельни понедельни понедельни понедельни понедельни</pubDate>", END},
    {"dates-thai", ITEM, "<pubDate>1:2 กรกฎากรกฎากรกฎากรกฎา กรกฎา กรกฎา กรกฎา กรกฎา กรกฎา</pubDate>", END},
    {"dates-han", ITEM, "<pubDate>1:2 十二一月十二一月十二一月十二一月 年 年 年 年 年 年 年</pubDate>", END},
    {"dates-places", ITEM, "<pubDate>1:2 Africa/A# Africa/A# Africa/A# Africa/A# Africa/A#</pubDate>", END},
    {"base64", "<feed xmlns='http://www.w3.org/2005/Atom' version='0.3'><entry><content mode='base64'>", "PGI+",
     "</content></entry></feed>"},
    {"keywords", ITEM "<i:keywords xmlns:i='http://www.itunes.com/dtds/podcast-1.0.dtd'>", "a#,", "</i:keywords>" END},
    {"positions", ITEM "<g:posList xmlns:g='http://www.opengis.net/gml'>", "1 2 ", "</g:posList>" END},
    // JSON.
    {"json-items", "{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":[{\"id\":\"0\"}", ",{\"id\":\"#\"}",
     "]}"},
    {"json-tags", "{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":[{\"id\":\"0\",\"tags\":[\"a\"",
     ",\"#\"", "]}]}"},
    {"json-contents", "{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":[{\"id\":\"0\"",
     ",\"content_html\":\"#\"", "}]}"},
    {"json-brackets", "{\"items\":[", "["},
    {"json-braces", "{\"items\":[", "{\"a\":"},
    {"json-keys", "{\"items\":[{", "\"a\":1,"},
    {"json-quotes", "{\"items\":[{", "'\""},
    {"json-backslashes", "{\"items\":[\"", "\\"},
    {"json-surrogates", "{\"items\":[{\"id\":\"", "\\uD800"},
    {"json-comments", "{\"items\":[", "/*"},
    {"json-numbers", "{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":[{\"id\":", "1", "}]}"},
    {"json-authors", "{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":[{\"id\":\"0\",\"authors\":[{}",
     ",{\"name\":\"#\"}", "]}]}"},
    {"json-attachments",
     "{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":[{\"id\":\"0\",\"attachments\":[{}",
     ",{\"url\":\"http://a/#\"}", "]}]}"},
    {"json-extensions", "{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":[{\"id\":\"0\"",
     ",\"_#\":{\"a\":[1]}", "}]}"},
    // Pages and Link headers.
    {"page-links", "<html><head>", "<link rel='alternate' type='application/rss+xml' href='/#' title='a'>"},
    {"page-anchors", "<html><body>", "<a href='/feed#'>a</a>"},
    {"page-bases", "<html><head>", "<base href='/#/'><title>a"},
    {"header-links", "", "</#>; rel=alternate; type=\"application/rss+xml\", "},
    {"header-parameters", "</a>", "; a#=\"b\\\"\""},
    {"header-rels", "</a>; rel=\"", "r# "},
    {"header-open", "", "<a>; b=\""},
    {"header-commas", "", ",;=<"},
    // Lists of subscriptions.
    {"outlines", "<opml><body>", "<outline text='a' xmlUrl='http://a/#'/>", "</body></opml>"},
    {"nested-outlines", "<opml><body>", "<outline text='a'>"},
};

// A document that grows in two directions: `head`, `first` until it has A bytes, `middle`, `second` until it has B
// bytes, then `close` as often as `first`, then `tail`. "%" in `second` stands for all of `first`, which then appears
// only there. "#" counts; "$" counts to 50 repeatedly.
struct Pair {
  std::string_view name, head, first, middle, second, tail = {}, close = {};
};

#define ATOM "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:z='urn:z'"
#define ATOM_END "</feed>"
#define LONG_BASE \
  " xml:base='http://h/dddddddd/dddddddd/dddddddd/dddddddd/dddddddd/dddddddd/dddddddd/dddddddd/dddddddd/'"
#define JSON "{\"version\":\"https://jsonfeed.org/version/1.1\""

constexpr Pair pairs[] = {
    {"usual", RSS, "", "",
     "<item><title>The title of a post # as they are</title><link>http://example.org/posts/#</link>"
     "<guid isPermaLink='false'>tag:example.org,2024:#</guid><pubDate>Mon, 01 Jan 2024 00:00:00 GMT</pubDate>"
     "<category>News</category><description>&lt;p&gt;What it says, with a &lt;a href=\"/a/#\"&gt;link&lt;/a&gt; and "
     "&lt;b&gt;bold&lt;/b&gt; words, &amp;amp; so on for a line or two.&lt;/p&gt;&lt;img src=\"/i/#.png\" "
     "alt=\"\"&gt;</description></item>",
     "</channel></rss>"},
    {"base x links", ATOM " xml:base='http://h/", "d/", "'>", "<entry><link href='a'/></entry>", ATOM_END},
    {"base x links of one", ATOM " xml:base='http://h/", "d/", "'><entry>", "<link href='a'/>", "</entry>" ATOM_END},
    {"base x steps back", ATOM " xml:base='http://h/", "d/", "'>", "<entry><link href='../../a'/></entry>", ATOM_END},
    {"segment x steps back", ATOM " xml:base='http://h/", "d", "/e/'>", "<entry><link href='../../a'/></entry>",
     ATOM_END},
    {"base x html", ATOM " xml:base='http://h/", "d/", "'>",
     "<entry><summary type='html'>&lt;a href=a></summary></entry>", ATOM_END},
    {"base x texts", ATOM " xml:base='http://h/", "d/", "'>", "<entry><title>a</title></entry>", ATOM_END},
    {"base x bases", ATOM " xml:base='http://h/", "d/", "'>", "<entry><title xml:base='b/'>a</title></entry>",
     ATOM_END},
    {"language x texts", ATOM " xml:lang='", "d", "'>", "<entry><title>a</title></entry>", ATOM_END},
    {"page x items", "<rss><channel><link>http://h/", "d", "</link>", "<item><description>&lt;b></description></item>",
     "</channel></rss>"},
    {"attributes x elements", ATOM ">", "b#='' ", "<entry>", "<z:a %/>", "</entry>" ATOM_END},
    {"attributes x links", ATOM ">", "b#='' ", "", "<entry><link href='a' %/></entry>", ATOM_END},
    {"attributes x broken", ATOM ">&<entry>", "b# ", "", "<z:a %/>", "</entry>" ATOM_END},
    {"attributes x html", ATOM ">", "title#='' ", "", "<entry><summary type='html'>&lt;a %></summary></entry>",
     ATOM_END},
    {"namespaces x elements", ATOM, " xmlns:n#='u'", "><entry>", "<n$:a/>", "</entry>" ATOM_END},
    {"nested namespaces x elements", ATOM ">", "<z:a xmlns:n#='u'>", "<z:b>", "<n$:a/>", "</z:b>" ATOM_END, "</z:a>"},
    {"namespaces x attributes", ATOM, " xmlns:n#='u'", "><entry>", "<title n$:a='b'/>", "</entry>" ATOM_END},
    {"name x undeclared", ATOM ">", "n", "<entry>", "<%:a/>", "</entry>" ATOM_END},
    {"entities x references", "<!DOCTYPE feed [", "<!ENTITY e# 'x'>", "]>" ATOM "><entry><title>", "&e$;",
     "</title></entry>" ATOM_END},
    {"depth x siblings", ATOM "><entry>", "<z:a>", "", "<z:b/>", "</entry>" ATOM_END, "</z:a>"},
    {"depth x items", "<rss><channel>", "<z>", "", "<item><guid>#</guid></item>", "</channel></rss>", "</z>"},
    {"title x entries", ATOM ">", "t", "", "<entry><title>%</title></entry>", ATOM_END},
    {"id x entries", ATOM ">", "t", "", "<entry><id>%#</id></entry>", ATOM_END},
    {"category x categories", ATOM "><entry>", "t", "", "<category term='%#'/>", "</entry>" ATOM_END},
    {"categories x entries", ATOM ">", "<category term='#'/>", "", "<entry>%</entry>", ATOM_END},
    {"enclosure x enclosures", "<rss><channel><item>", "t", "", "<enclosure url='/%#'/>", "</item></channel></rss>"},
    {"enclosures x items", "<rss><channel>", "<enclosure url='/#'/>", "", "<item>%</item>", "</channel></rss>"},
    {"authors x entries", ATOM ">", "<author><name>#</name></author>", "", "<entry>%</entry>", ATOM_END},
    {"brackets x authors", "<rss><channel><item>", "()", "", "<author>%</author>", "</item></channel></rss>"},
    {"keywords x items", "<rss><channel>", "#,", "",
     "<item><i:keywords xmlns:i='http://www.itunes.com/dtds/podcast-1.0.dtd'>%</i:keywords></item>",
     "</channel></rss>"},
    {"candidates x images", ATOM LONG_BASE ">", "a#,", "",
     "<entry><summary type='html'>&lt;img srcset='%'></summary></entry>", ATOM_END},
    {"declarations x elements", ATOM ">", "color:red;", "",
     "<entry><summary type='html'>&lt;p style='%'></summary></entry>", ATOM_END},
    {"open x blocks", ATOM "><entry><summary type='html'>", "&lt;b>", "", "&lt;li>", "</summary></entry>" ATOM_END},
    {"open x ends", ATOM "><entry><summary type='html'>", "&lt;b>", "", "&lt;/p>", "</summary></entry>" ATOM_END},
    {"open x cells", ATOM "><entry><summary type='html'>&lt;table>", "&lt;i>", "", "&lt;td>",
     "</summary></entry>" ATOM_END},
    {"page x json items", JSON ",\"home_page_url\":\"http://h/", "d/", "\",\"items\":[{}", ",{\"url\":\"a\"}", "]}"},
    {"authors x json items", JSON ",\"authors\":[{}", ",{\"name\":\"#\"}", "],\"items\":[{}", ",{\"id\":\"#\"}", "]}"},
    {"authors x lists of authors", JSON ",\"items\":[{\"authors\":[{}", ",{\"name\":\"#\"}", "]",
     ",\"authors\":[\"a\"]", "}]}"},
    {"members x json items", JSON ",\"items\":[{}", ",\"_#\":1", "", ",{\"id\":1%}", "]}"},
    {"folders x rows", "<opml><body>", "<outline text='a#'>", "", "<outline xmlUrl='a'/>", "</body></opml>",
     "</outline>"},
    {"folder x rows", "<opml><body><outline text='", "a", "'>", "<outline xmlUrl='a'/>", "</outline></body></opml>"},
    {"attributes x rows", "<opml><body>", "b#='' ", "", "<outline xmlUrl='a' %/>", "</body></opml>"},
    {"namespaces x rows", "<opml", " xmlns:n#='u'", "><body>", "<outline xmlUrl='a' n$:a=''/>", "</body></opml>"},
};

void append(std::string& out, std::string_view part, std::size_t count, std::string_view first = {}) {
  for (const char c : part) {
    if (c == '#') {
      out += std::to_string(count);
    } else if (c == '$') {
      out += std::to_string(count % 50);
    } else if (c == '%') {
      out += first;
    } else {
      out += c;
    }
  }
}

std::string document(const Pair& pair, std::size_t first_bytes, std::size_t second_bytes) {
  std::string first, second;
  std::size_t times = 0;
  while (!pair.first.empty() && first.size() < first_bytes) append(first, pair.first, times++);
  for (std::size_t count = 0; second.size() < second_bytes;) append(second, pair.second, count++, first);
  std::string text(pair.head);
  if (pair.second.find('%') == std::string_view::npos) text += first;
  text += pair.middle;
  text += second;
  for (; times > 0; --times) text += pair.close;
  text += pair.tail;
  return text;
}

std::string document(const Shape& shape, std::size_t bytes) {
  std::string text(shape.head);
  text.reserve(bytes + 4096);
  for (std::size_t count = 1; text.size() < bytes; ++count) {
    for (const char c : shape.part) {
      if (c == '#') {
        text += std::to_string(count);
      } else {
        text += c;
      }
    }
  }
  text += shape.tail;
  return text;
}

// Peak resident memory in bytes; 0 if the system does not report it.
std::size_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
  }
  return 0;
}

boost::system::result<Feed, ParseError> read(std::string_view bytes, HtmlPolicy policy) {
  DocumentHints hints;
  hints.url = "http://example.org/feed";
  hints.html = policy;
  hints.hash_items = true;
  hints.whole_values = policy == HtmlPolicy::classic;
  return read_feed(bytes, hints);
}

std::size_t write(const boost::system::result<Feed, ParseError>& feed) {
  return feed.has_value() ? document_json(feed.value()).size() + explain(feed.value()).size() : 0;
}

// Reads each part on its own, so that a limit hit in one part does not affect the next.
std::size_t read_with_parts(const std::string& bytes) {
  std::string text = decode_document(bytes, "").text;
  std::size_t made = 0;
  for (const HtmlPolicy policy : {HtmlPolicy::strict, HtmlPolicy::classic}) {
    SanitiseOptions options;
    options.policy = policy;
    options.base = "http://example.org/feed";
    made += sanitise(text, options).html.size();
  }
  made += canonical_url(resolve_safe_url("http://example.org/feed", text)).size();
  made += sanitise_style(text).size();
  made += plain_text(text).size();
  made += looks_like_html(text) ? 1 : 0;
  made += parse_date(text).has_value() ? 1 : 0;
  made += parse_duration(text).has_value() ? 1 : 0;
  made += read_opml(bytes).rows.size();
  made += read_page(bytes, {"http://example.org/", "text/html", text}).feeds.size();
  repair_mojibake(text);
  return made + text.size();
}

template <std::size_t count, class Value>
int list(const Value (&values)[count]) {
  for (const Value& value : values) std::puts(std::string(value.name).c_str());
  return 0;
}

int read_pair(const Pair& pair, std::size_t first_bytes, std::size_t second_bytes) {
  const std::string text = document(pair, first_bytes, second_bytes);
  std::size_t made = 0;
  if (text.starts_with("<opml")) {
    made += read_opml(text).rows.size();
  } else {
    made += read(text, HtmlPolicy::strict).has_value() + read(text, HtmlPolicy::classic).has_value();
  }
  std::printf("%zu %zu\n", text.size(), made);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--list") return list(shapes);
  if (argc == 2 && std::string_view(argv[1]) == "--pairs") return list(pairs);
  for (const Pair& pair : pairs) {
    if (argc == 4 && pair.name == argv[1]) {
      return read_pair(pair, std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[3], nullptr, 10));
    }
  }
  const bool memory = argc == 4 && std::string_view(argv[3]) == "memory";
  for (const Shape& shape : shapes) {
    if ((argc != 3 && !memory) || shape.name != argv[1]) continue;
    std::size_t made = write(read(document(shape, 0), HtmlPolicy::strict));  // builds the tables
    const std::string text = document(shape, std::strtoull(argv[2], nullptr, 10));
    const std::size_t before = peak_memory();
    const auto feed = read(text, HtmlPolicy::strict);
    if (memory) {
      std::printf("%zu %zu\n", text.size(), peak_memory() - before);
      return 0;
    }
    made += write(feed) + write(read(text, HtmlPolicy::classic)) + read_with_parts(text);
    std::printf("%zu\n", made);
    return 0;
  }
  std::fputs("usage: feedmill_worst_case --list | SHAPE BYTES [memory] | --pairs | PAIR A B\n", stderr);
  return 64;
}
