// What is spent on one adversarial document: run by worst_case.py, which counts the instructions (SECURITY T18, L2,
// S9).
//   feedmill_worst_case --list         the shapes' names
//   feedmill_worst_case SHAPE BYTES    reads a document of that shape and about that size with every reader
// Prints the document's size and how much resident memory reading it took at its peak, in bytes.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "parsers/charset.hpp"
#include "parsers/date.hpp"
#include "parsers/document_json.hpp"
#include "parsers/opml.hpp"
#include "parsers/read_feed.hpp"
#include "parsers/sanitise.hpp"
#include "parsers/text.hpp"
#include "parsers/url.hpp"

namespace {

using namespace feedmill;

// A document: `head`, then `part` until it is as large as asked for, then `tail`. "#" in a part counts the parts.
struct Shape {
  std::string_view name, head, part, tail = {};
};

#define RSS "<rss version='2.0'><channel><title>t</title><link>http://example.org/</link>"
#define ITEM RSS "<item><guid>1</guid>"
#define HTML ITEM "<description>"
#define END "</item></channel></rss>"
#define CDATA HTML "<![CDATA["
#define CDATA_END "]]></description>" END

constexpr Shape shapes[] = {
    // Markup that is never closed, in a document that is nested no more.
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
    {"rdf-entries",
     "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>",
     "<item rdf:about='#'><title>a</title></item>", "</rdf:RDF>"},
    {"stray-items", RSS, "<x><item><guid>#</guid></item></x>", "</channel></rss>"},
    {"siblings", RSS, "<a/>", "</channel></rss>"},
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
    // HTML, sound as XML.
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
    {"addresses", ITEM "<author>", "()<>[]", "</author>" END},
    {"date-words", ITEM "<pubDate>", "Mon, ", "</pubDate>" END},
    {"date-digits", ITEM "<pubDate>", "1:", "</pubDate>" END},
    {"many-dates", ITEM, "<pubDate>#</pubDate>", END},
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
    // Lists of subscriptions.
    {"outlines", "<opml><body>", "<outline text='a' xmlUrl='http://a/#'/>", "</body></opml>"},
    {"nested-outlines", "<opml><body>", "<outline text='a'>"},
};

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

// In bytes; 0 where the system does not say.
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
  hints.whole_values = policy == HtmlPolicy::classic;
  return read_feed(bytes, hints);
}

std::size_t write(const boost::system::result<Feed, ParseError>& feed) {
  return feed.has_value() ? document_json(feed.value()).size() : 0;
}

// The parts alone: what one of them cuts short the next one does not see.
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
  repair_mojibake(text);
  return made + text.size();
}

int list() {
  for (const Shape& shape : shapes) std::puts(std::string(shape.name).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--list") return list();
  for (const Shape& shape : shapes) {
    if (argc != 3 || shape.name != argv[1]) continue;
    std::size_t made = write(read(document(shape, 0), HtmlPolicy::strict));  // tables are built at their first use
    const std::string text = document(shape, std::strtoull(argv[2], nullptr, 10));
    const std::size_t before = peak_memory();
    const auto feed = read(text, HtmlPolicy::strict);
    const std::size_t peak = peak_memory() - before;
    made += write(feed) + write(read(text, HtmlPolicy::classic)) + read_with_parts(text);
    std::printf("%zu %zu %zu\n", text.size(), peak, made);
    return 0;
  }
  std::fputs("usage: feedmill_worst_case --list | SHAPE BYTES\n", stderr);
  return 64;
}
