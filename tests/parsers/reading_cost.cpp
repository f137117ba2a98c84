// Memory that documents take while they are read, compared with limits::reading_cost (SECURITY M2). Combines every
// string that many values inherit, default to or resolve against, at lengths from below to far above each cap, with
// every container that repeats. Counts the bytes allocated at once, including the document.
//   feedmill_reading_cost BYTES      documents of about that size; prints the worst cell of each table;
//                                    exits with 1 if a cell is over the limit
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/feed/document_json.hpp"
#include "parsers/feed/read_feed.hpp"
#include "parsers/lists/opml.hpp"
#include "parsers/text/limits.hpp"
#include "tests/support/live_memory.hpp"

namespace {

using namespace feedmill;

struct Piece {
  std::string name, text;  // placeholders: "@" the long string, "~" the same as a URL, "#" a count
};

// A document: open + attributes + ">" + inherited elements + units + close.
struct Family {
  std::string name, open;
  std::vector<Piece> attributes, elements, units;
  std::string close;
};

std::string repeat(std::string_view part, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += part;
  return out;
}

// Repeats `part` with a new number in place of each "$", because equal strings are stored only once.
std::string each(std::string_view part, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) {
    for (const char c : part) c == '$' ? out += std::to_string(i) : out += c;
  }
  return out;
}

void append(std::string& out, std::string_view text, std::size_t length, std::size_t count) {
  for (const char c : text) {
    if (c == '@') {
      out.append(length, 'x');
    } else if (c == '~') {
      out += "http://h/";
      for (std::size_t i = 0; i + 1 < length; i += 2) out += "d/";
    } else if (c == '#') {
      out += std::to_string(count);
    } else {
      out += c;
    }
  }
}

// The possible content of an entry in any XML format, in RSS terms and those of the modules.
std::vector<Piece> units(const std::string& item, const std::string& text, const std::string& html) {
  const std::string open = "<" + item + ">", close = "</" + item + ">";
  const auto in_text = [&](std::string_view value) {
    return "<" + text + ">" + std::string(value) + "</" + text + ">";
  };
  const auto in_html = [&](std::string_view value) {
    return html + std::string(value) + "</" + html.substr(1, html.find_first_of(" >") - 1) + ">";
  };
  std::vector<Piece> all = {
      {"nothing", "<" + item + "/>"},
      {"text", open + in_text("&lt;b>") + close},
      {"html link", open + in_html("&lt;a href=a>") + close},
      {"html links", open + in_html(repeat("&lt;a href=a>", 200)) + close},
      {"html srcset", open + in_html("&lt;img srcset='" + repeat("a,", 500) + "'>") + close},
      {"html quotes", open + in_html("&lt;b title='" + repeat("\"", 500) + "'>") + close},
      {"html less-than", open + in_html(repeat("&lt; ", 500)) + close},
      {"html ends", open + in_html(repeat("&lt;p>&lt;b>", 60)) + close},
      {"html base", open + in_html("&lt;base href='~'>&lt;a href=a>") + close},
      {"title", open + "<title>#</title>" + close},
      {"link", open + "<link>a</link><link href='a'/>" + close},
      {"links", open + each("<link href='$'/>", 250) + close},
      {"dotted links", open + repeat("<link href='../../a'/>", 100) + close},
      {"guid", open + "<guid>./a</guid><id>./a</id>" + close},
      {"enclosures", open + each("<enclosure url='$'/>", 40) + close},
      {"authors", open + each("<author>$</author>", 64) + close},
      {"author", open + "<author>a</author>" + close},
      {"contributors", open + each("<dc:contributor>$</dc:contributor>", 64) + close},
      {"categories", open + each("<category>$</category>", 64) + close},
      {"keywords", open + "<itunes:keywords>" + repeat("a,", 256) + "</itunes:keywords>" + close},
      {"numbered keywords",
       open + "<media:keywords>a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z</media:keywords>" + close},
      {"itunes", open + "<itunes:block/>" + close},
      {"itunes image", open + "<itunes:image href='a'/>" + close},
      {"media", open + "<media:content url='a' a='b'/>" + close},
      {"many media", open + repeat("<media:content url='a' b='c' d='e'/>", 100) + close},
      {"media community",
       open + "<media:community><media:tags>" + repeat("a,", 200) + "</media:tags></media:community>" + close},
      {"place", open + "<georss:point>1 2</georss:point>" + close},
      {"places", open + repeat("<georss:line>1 2 3 4</georss:line>", 64) + close},
      {"coordinates", open + "<georss:polygon>" + repeat("1 2 ", 200) + "</georss:polygon>" + close},
      {"chapters",
       open + "<psc:chapters>" + repeat("<psc:chapter href='a' image='b'/>", 200) + "</psc:chapters>" + close},
      {"licenses", open + each("<cc:license>$</cc:license>", 16) + close},
      {"source", open + "<source/>" + close},
      {"full source", open + "<source url='a'><title>t</title><link href='a'/></source>" + close},
      {"dates",
       open + "<pubDate>x</pubDate><dcterms:created>x</dcterms:created><dcterms:valid>start=1</dcterms:valid>" + close},
      {"extension", open + "<z:a/>" + close},
      {"extensions", open + repeat("<z:a/>", 500) + close},
      {"extension attributes", open + "<z:a " + repeat("b#='' ", 1) + "c='' d='' e='' f='' g=''/>" + close},
      {"extension text", open + repeat("<z:a>b</z:a>c", 50) + close},
      {"deep extension", open + repeat("<z:a>", 11) + repeat("</z:a>", 11) + close},
      {"foreign attributes", open + repeat("<title z:a='' z:b=''/>", 40) + close},
      {"namespaces", open + "<z:a xmlns:z#='u'/>" + close},
      {"bases", open + "<z:a xml:base='b/'/>" + close},
      {"texts with bases", open + "<title xml:base='b/'>a</title>" + close},
      {"languages", open + "<title xml:lang='b'>a</title>" + close},
      {"stray item", "<z:b>" + open + "</" + item + "></z:b>"},
      {"two stray items", "<z:b>" + open + "<z:c>" + open + "a" + close + "</z:c>" + close + "</z:b>"},
      {"groups", open + "<media:group><media:title>a</media:title></media:group>" + close},
      {"runs of text", open + repeat("<z:a/>x", 100) + close},
      {"bare runs", "<a/>x"},
      {"bare elements", "<a/>"},
      {"bare attributes", "<a b='' c='' d='' e='' f=''/>"},
      {"many attributes", "<a " + repeat("b='' ", 1) + "/>"},
      {"CDATA", "<a><![CDATA[x]]></a>"},
      {"comments", "<a/><!---->x"},
      {"open elements", open + "<b>"},
      {"open runs", open + "<b>x"},
      {"stray less-than", open + "a<b "},
      {"entities", open + "<title>&e;</title>" + close},
      {"broken", open + "<title>a & b</title>" + close},
      {"names", "<n#>x</n#>"},
      {"broken names", "<n#>&</n#>"},
  };
  // A list grows by doubling, so a few elements in each of many entries cost the most.
  for (const auto& [name, part] : std::initializer_list<std::pair<const char*, const char*>>{
           {"authors", "<author>$</author>"},
           {"itunes authors", "<itunes:author>$</itunes:author>"},
           {"contributors", "<dc:contributor>$</dc:contributor>"},
           {"categories", "<category>$</category>"},
           {"links", "<link href='$'/>"},
           {"enclosures", "<enclosure url='$'/>"},
           {"media", "<media:content url='$'/>"},
           {"extensions", "<z:a>$</z:a>"}}) {
    for (const std::size_t count : {3U, 5U, 9U}) {
      all.push_back({std::to_string(count) + " " + name, open + each(part, count) + close});
    }
  }
  return all;
}

constexpr std::string_view modules =
    " xmlns:z='urn:z' xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:dcterms='http://purl.org/dc/terms/'"
    " xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd' xmlns:media='http://search.yahoo.com/mrss/'"
    " xmlns:georss='http://www.georss.org/georss' xmlns:psc='http://podlove.org/simple-chapters'"
    " xmlns:cc='http://backend.userland.com/creativeCommonsRssModule' xmlns:a='http://www.w3.org/2005/Atom' ";
constexpr std::string_view entity = "<!DOCTYPE x [<!ENTITY e 'eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'>]>";

std::vector<Piece> inherited_attributes() {
  return {{"xml:base", "xml:base='~'"},
          {"xml:lang", "xml:lang='@'"},
          {"namespace", "xmlns:q='@'"},
          {"prefix", "xmlns:@='u'"}};
}

std::vector<Family> families() {
  std::vector<Family> all;
  const std::vector<Piece> channel = {
      {"link", "<link>~</link>"},
      {"self", "<a:link rel='self' href='~'/>"},
      {"language", "<language>@</language>"},
      {"title", "<title>@</title>"},
      {"editor", "<managingEditor>@</managingEditor>"},
      {"rights", "<copyright>@</copyright>"},
      {"image", "<image><url>~</url><title>@</title><link>~</link></image>"},
      {"category", "<category domain='@'>@</category>"},
      {"generator", "<generator>@</generator>"},
      {"podcast", "<itunes:author>@</itunes:author><itunes:image href='~'/>"},
      {"description", "<description>@</description>"},
  };
  all.push_back({"RSS",
                 std::string(entity) + "<rss version='2.0'" + std::string(modules),
                 inherited_attributes(),
                 {},
                 units("item", "description", "<description>"),
                 "</channel></rss>"});
  all.back().elements = channel;
  all.back().elements.insert(all.back().elements.begin(), {"", "<channel>"});
  all.push_back({"RDF",
                 std::string(entity) +
                     "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' "
                     "xmlns='http://purl.org/rss/1.0/'" +
                     std::string(modules),
                 inherited_attributes(),
                 {},
                 units("item", "description", "<description>"),
                 "</rdf:RDF>"});
  all.back().elements = {
      {"", "<channel>"}, {"link", "<link>~</link>"}, {"", "</channel>"}, {"image", "<image><url>~</url></image>"}};
  all.push_back({"Atom",
                 std::string(entity) + "<feed xmlns='http://www.w3.org/2005/Atom'" + std::string(modules),
                 inherited_attributes(),
                 {{"alternate", "<link href='~'/>"},
                  {"self", "<link rel='self' href='~'/>"},
                  {"author", "<author><name>@</name><uri>~</uri><email>@</email></author>"},
                  {"authors", each("<author><name>$@</name><uri>~$</uri></author>", 64)},
                  {"rights", "<rights>@</rights>"},
                  {"icon", "<icon>~</icon><logo>~</logo>"},
                  {"category", "<category term='@' scheme='~' label='@'/>"},
                  {"subtitle", "<subtitle>@</subtitle>"}},
                 units("entry", "summary", "<content type='html'>"),
                 "</feed>"});
  const Piece xhtml{"xhtml", "<entry><content type='xhtml'><div><a href='a'>b</a></div></content></entry>"};
  const Piece xhtml_base{
      "xhtml base",
      "<entry><content type='xhtml'><div xml:base='c/'><a href='a' xml:base='b/'>b</a></div></content></entry>"};
  all.back().units.push_back(xhtml);
  all.back().units.push_back(xhtml_base);
  all.push_back({"CDF",
                 "<CHANNEL HREF='http://a/' ",
                 inherited_attributes(),
                 {{"title", "<TITLE>@</TITLE>"}, {"abstract", "<ABSTRACT>@</ABSTRACT>"}, {"anchor", "<A HREF='~'/>"}},
                 {{"items", "<ITEM/>"},
                  {"links", "<ITEM HREF='a'/>"},
                  {"texts", "<ITEM><TITLE>a</TITLE><ABSTRACT>&lt;a href=b></ABSTRACT></ITEM>"},
                  {"logos", "<ITEM><LOGO HREF='a'/></ITEM>"}},
                 "</CHANNEL>"});
  const auto in_items = [](std::string name, std::string member) {
    return Piece{std::move(name), ",{" + std::move(member) + "}"};
  };
  const auto list = [](std::string_view one, std::size_t times) {
    std::string out(one);
    for (std::size_t i = 1; i < times; ++i) out.append(",").append(one);
    return "[" + out + "]";
  };
  all.push_back({"JSON",
                 "{\"version\":\"https://jsonfeed.org/version/1.1\"",
                 {},
                 {{"home page", ",\"home_page_url\":\"~\""},
                  {"address", ",\"feed_url\":\"~\""},
                  {"author", ",\"authors\":[{\"name\":\"@\",\"url\":\"~\",\"avatar\":\"~\"}]"},
                  {"icon", ",\"icon\":\"~\",\"favicon\":\"~\""},
                  {"authors", ",\"author\":{\"name\":\"\u00e9\",\"url\":\"~\u00e9\"}"},
                  {"language", ",\"language\":\"@\""},
                  {"title", ",\"title\":\"@\",\"description\":\"@\""},
                  {"extension", ",\"_@\":\"@\""},
                  {"", ",\"items\":[{}"}},
                 {in_items("nothing", ""),
                  {"numbers", ",1"},
                  {"lists", ",[]"},
                  {"strings", ",\"\""},
                  in_items("id", "\"id\":1"),
                  in_items("url", "\"url\":\"a\""),
                  in_items("image", "\"image\":\"a\""),
                  in_items("html", "\"content_html\":\"<a href=b>\""),
                  in_items("texts", "\"title\":\"\",\"summary\":\"\""),
                  in_items("author", "\"author\":\"a\""),
                  in_items("authors", "\"authors\":" + list("\"a\"", 64)),
                  in_items("tags", "\"tags\":" + list("\"a\"", 64)),
                  in_items("attachments", "\"attachments\":" + list("{\"url\":\"a\"}", 64)),
                  in_items("extension", "\"_a\":1"),
                  in_items("extensions", "\"_a\":{\"a\":1,\"b\":1,\"c\":1,\"d\":1}"),
                  in_items("extension of numbers", "\"_a\":" + list("1", 200)),
                  in_items("nested extension", "\"_a\":{\"a\":" + repeat("[", 40) + repeat("]", 40) + "}"),
                  in_items("escapes", "\"title\":\"" + repeat("\\n", 200) + "\""),
                  {"broken", ",{id:'1',}"},
                  {"backslashes", ",\"\\\\\\q\""},
                  {"open", ",{\"a\":["}},
                 "]}"});
  return all;
}

std::string document(const Family& family, const std::string* only, std::size_t length, const Piece& unit,
                     std::size_t bytes) {
  std::string text = family.open;
  text.reserve(bytes + 16 * length + 4096);
  const auto wanted = [&](const Piece& piece) { return piece.name.empty() || only == nullptr || piece.name == *only; };
  for (const Piece& piece : family.attributes) {
    text += ' ';
    if (wanted(piece)) append(text, piece.text, length, 0);
  }
  if (!family.attributes.empty()) text += '>';
  for (const Piece& piece : family.elements) {
    if (wanted(piece)) append(text, piece.text, length, 0);
  }
  for (std::size_t count = 0; text.size() < bytes; ++count) append(text, unit.text, 100, count);
  return text + family.close;
}

struct Cell {
  std::string name;
  std::size_t bytes = 0, peak = 0;

  double share() const { return static_cast<double>(peak) / static_cast<double>(limits::reading_cost(bytes)); }
};

// Reads a document as the worker and a push do or, if `whole`, as `parse` does, including its output.
void read_as_feed(const std::string& body, bool whole) {
  DocumentHints hints;
  hints.url = "http://example.org/feed";
  hints.whole_values = whole;
  const auto feed = read_feed(body, hints);
  if (!whole || feed.has_error()) return;
  write_document_json(*feed, [](std::string_view) {});
}

Cell measure(std::string name, const std::string& body, const std::function<void(const std::string&)>& read) {
  mark_live_memory();
  read(body);
  return {std::move(name), body.size(), peak_live_memory() + body.size()};
}

class Table {
 public:
  void add(Cell cell) {
    ++cells_;
    if (cell.share() > 1) {
      ++over_;
      print("OVER", cell);
    }
    if (worst_.bytes == 0 || cell.share() > worst_.share()) worst_ = std::move(cell);
  }
  void close(const std::string& name) const {
    std::printf("%s: %zu cells\n", name.c_str(), cells_);
    print("worst", worst_);
    std::fflush(stdout);
  }
  std::size_t over() const { return over_; }

 private:
  static void print(const char* what, const Cell& cell) {
    std::printf("  %-6s %8zu bytes take %9zu, %5.1f a byte, %5.1f %% of what they may: %s\n", what, cell.bytes,
                cell.peak, static_cast<double>(cell.peak) / static_cast<double>(cell.bytes), 100 * cell.share(),
                cell.name.c_str());
  }

  std::size_t cells_ = 0, over_ = 0;
  Cell worst_;
};

std::size_t measure_feeds(std::size_t bytes) {
  std::size_t over = 0;
  for (const Family& family : families()) {
    Table table;
    for (const Piece& unit : family.units) {
      for (const bool whole : {false, true}) {
        const auto read = [&](const std::string& body) { read_as_feed(body, whole); };
        const std::string how = whole ? ", whole" : "";
        // All strings that may be long are: below the caps, at the caps, and far above them.
        const std::vector<std::size_t> lengths =
            whole ? std::vector<std::size_t>{100, 2030, bytes / 60} : std::vector<std::size_t>{1000, 2030};
        for (const std::size_t length : lengths) {
          table.add(measure("all of " + std::to_string(length) + " x " + unit.name + how,
                            document(family, nullptr, length, unit, bytes), read));
        }
      }
    }
    for (const auto* pieces : {&family.attributes, &family.elements}) {  // one string at a time
      for (const Piece& piece : *pieces) {
        if (piece.name.empty()) continue;
        for (std::size_t i = 0; i < std::min<std::size_t>(family.units.size(), 4); ++i) {
          for (const std::size_t length : {std::size_t{2030}, bytes / 3}) {
            table.add(measure(piece.name + " of " + std::to_string(length) + " x " + family.units[i].name,
                              document(family, &piece.name, length, family.units[i], bytes),
                              [](const std::string& body) { read_as_feed(body, true); }));
          }
        }
      }
    }
    table.close(family.name);
    over += table.over();
  }
  return over;
}

std::size_t measure_opml(std::size_t bytes) {
  const auto nested = [](std::size_t times) { return repeat("<outline text='@'>", times); };
  const std::vector<Piece> heads = {{"no folder", "<body>"},
                                    {"a folder", "<body>" + nested(1)},
                                    {"31 folders", "<body>" + nested(31)},
                                    {"namespaces", "<x xmlns:q='@' xmlns:@='u'/><body>"}};
  const std::vector<Piece> rows = {
      {"rows", "<outline xmlUrl='a'/>"},
      {"rows with attributes", "<outline xmlUrl='a' b='' c='' d='' e='' f=''/>"},
      {"folders", "<outline text='a'><outline xmlUrl='a'/></outline>"},
      {"refused", "<outline type='rss'/>"},
      {"broken", "<outline xmlUrl='a>"},
      {"stray ends", "</a>"},
      {"open", "<a>"},
  };
  Table table;
  for (const Piece& head : heads) {
    for (const Piece& row : rows) {
      for (const std::size_t length : {std::size_t{100}, std::size_t{2030}, bytes / 60, bytes / 3}) {
        if (head.name == "31 folders" && length > bytes / 60) continue;
        std::string body = "<opml version='2.0'>";
        append(body, head.text, length, 0);
        for (std::size_t count = 0; body.size() < bytes; ++count) append(body, row.text, 0, count);
        table.add(measure(head.name + " of " + std::to_string(length) + " x " + row.name, body,
                          [](const std::string& file) { read_opml(file); }));
      }
    }
  }
  table.close("OPML");
  return table.over();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: feedmill_reading_cost BYTES\n", stderr);
    return 64;
  }
  const std::size_t bytes = std::strtoull(argv[1], nullptr, 10);
  read_as_feed("<rss><channel><item><title>&lt;b></title></item></channel></rss>", true);  // builds the tables
  read_as_feed("{\"items\":[]}", true);
  const std::size_t over = measure_feeds(bytes) + measure_opml(bytes);
  std::printf("%zu cells over\n", over);
  return over == 0 ? 0 : 1;
}
