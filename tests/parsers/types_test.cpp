// Whatever type a document declares, a text is stored with one of three types (SECURITY §4), and HTML is always
// sanitised.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "parsers/feed/document_json.hpp"
#include "parsers/feed/read_feed.hpp"
#include "parsers/markup/text.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill::types_test {
namespace {

constexpr std::string_view html = "text/html", xhtml = "application/xhtml+xml", plain = "text/plain";

struct TypeCase {
  std::string_view declared, kept;
};
constexpr TypeCase cases[] = {
    {"html", html},
    {"HTML", html},
    {"text/html", html},
    {"Text/HTML", html},
    {" text/html ", html},
    {"\ttext/html\n", html},
    {"text/html; charset=utf-8", html},
    {"TEXT/HTML;charset=utf-8", html},
    {"text/html;level=1", html},
    {"text/html ;x", html},
    {"text/html,x", html},
    {"text/html, text/plain", html},
    {"text/html/", html},
    {"text/html/5", html},
    {"text/html\xC2\xA0", html},
    {"text/html\xE2\x80\x8B", html},
    {"\xC2\xA0text/html", html},
    {"\"text/html\"", html},
    {"text/html&nbsp;", html},
    {"html;", html},
    {"html,", html},
    {"html 5", html},
    {"xhtml", xhtml},
    {"xhtml;a", xhtml},
    {"XHTML", xhtml},
    {"application/xhtml+xml", xhtml},
    {"application/xhtml+xml; x=y", xhtml},
    {"Application/XHTML+XML;profile=z", xhtml},
    {"text", plain},
    {"plain", plain},
    {"text/plain", plain},
    {"text/plain, text/html", plain},
    {"text / html", plain},
    {"text/ html", plain},
    {"", plain},
    {";", plain},
    {"\xEF\xBD\x88\xEF\xBD\x94\xEF\xBD\x8D\xEF\xBD\x8C", plain},  // full-width "html"
    {"htm", plain},
    {"text/htm", plain},
    {"text/x-html", plain},
    {"text/markdown", plain},
    {"text/xml", plain},
    {"application/xml", plain},
    {"image/svg+xml", plain},
    {"image/png", plain},
    {"message/rfc822", plain},
    {"multipart/mixed", plain},
    {"invalid", plain},
    {"x\ny", plain},
};

TEST(TextType, IsOneOfThree) {
  for (const TypeCase& test : cases) EXPECT_EQ(TextType(test.declared).name(), test.kept) << test.declared;
}

TEST(MediaType, IsOfRfc6838OrNone) {
  EXPECT_EQ(media_type("Application/RSS+XML; charset=utf-8"), "application/rss+xml");
  EXPECT_EQ(media_type(" text/xml\n"), "text/xml");
  EXPECT_EQ(media_type("text/xml, text/html"), "text/xml");
  EXPECT_EQ(media_type("audio/x-m4a;codecs=\"a/b\""), "audio/x-m4a");
  for (const char* none : {"", "xml", "/xml", "text/", "te xt/xml", "text/xml\x01", "text/\xc3\xa9", "*/*", "a/b/c",
                           "text/<b>", "\"text/html\"", "text/html\xC2\xA0", ";text/html"}) {
    EXPECT_EQ(media_type(none), "") << none;
  }
  EXPECT_EQ(media_type("a/" + std::string(126, 'x')).size(), 128U);
  EXPECT_EQ(media_type("a/" + std::string(127, 'x')), "");
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const std::string_view reference = html_reference(c);
    out += reference.empty() ? std::string_view(&c, 1) : reference;
  }
  return out;
}

void expect_safe(const std::string& value, TextType type, std::string_view declared) {
  const bool known = type == html || type == xhtml || type == plain;
  EXPECT_TRUE(known) << type.name() << " of " << declared;
  if (type == plain) return;  // readers escape it
  EXPECT_EQ(value.find("<script"), std::string::npos) << declared << ": " << value;
  EXPECT_EQ(value.find("<img src=a onerror"), std::string::npos) << declared << ": " << value;
}

TEST(TextType, IsWhatEveryTextComesOutUnder) {
  const std::string live = "&lt;p&gt;x&lt;/p&gt;&lt;script&gt;1&lt;/script&gt;&lt;img src=a onerror=b&gt;";
  for (const TypeCase& test : cases) {
    const std::string type = " type=\"" + escaped(test.declared) + "\"";
    const auto element = [&](const std::string& name) { return "<" + name + type + ">" + live + "</" + name + ">"; };
    const std::string media = element("m:title") + element("m:description");
    const std::string atom = "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:m='http://search.yahoo.com/mrss/'>" +
                             element("title") + element("subtitle") + element("rights") + element("info") +
                             "<entry><id>1</id>" + element("title") + element("summary") + element("content") +
                             element("rights") + "<source>" + element("title") + element("subtitle") +
                             "</source></entry><entry><id>2</id>" + media + "</entry></feed>";
    const std::string rss =
        "<rss version='2.0' xmlns:m='http://search.yahoo.com/mrss/' xmlns:c='http://purl.org/rss/1.0/modules/content/' "
        "xmlns:a='http://www.w3.org/2005/Atom'><channel>" +
        element("title") + element("description") + element("copyright") + "<item><guid>1</guid>" + element("title") +
        element("description") + element("c:encoded") + element("a:content") + "</item><item><guid>2</guid>" + media +
        "</item></channel></rss>";
    for (const std::string& document : {atom, rss}) {
      auto read = read_feed(document, {});
      ASSERT_TRUE(read.has_value()) << test.declared;
      Feed& feed = read.value();
      ASSERT_EQ(feed.entries.size(), 2U);
      for (const Text* text :
           {&feed.title, &feed.subtitle, feed.rights ? &*feed.rights : nullptr, feed.info ? &*feed.info : nullptr}) {
        if (text != nullptr && text->present) expect_safe(text->value, text->type, test.declared);
      }
      for (const Entry& entry : feed.entries) {
        for (const Text* text : {&entry.title, &entry.summary, entry.rights ? &*entry.rights : nullptr}) {
          if (text != nullptr && text->present) expect_safe(text->value, text->type, test.declared);
        }
        for (const Content& content : entry.content) expect_safe(content.value, content.type, test.declared);
        for (const Source& source : entry.source) {
          expect_safe(source.title.value, source.title.type, test.declared);
          expect_safe(source.subtitle.value, source.subtitle.type, test.declared);
        }
      }
    }
  }
}

// --- Every `type` in the JSON of a document ---

namespace json = boost::json;

bool is_one_of(std::string_view type, std::initializer_list<std::string_view> types) {
  return std::ranges::find(types, type) != types.end();
}

/// Checks that each member named `type` in `value` is one that its object allows, except for the raw copies in
/// `extensions`; returns their number. `as_published`: any type is allowed, as for files.
std::size_t check_types(const json::value& value, std::string_view name, bool as_published = false) {
  std::size_t seen = 0;
  if (const json::array* const list = value.if_array()) {
    for (const json::value& one : *list) seen += check_types(one, name, as_published);
  }
  const json::object* const object = value.if_object();
  if (object == nullptr) return seen;
  for (const auto& [key, member] : *object) {
    if (key != "extensions" && key != "namespaces") seen += check_types(member, key, as_published);
  }
  const json::value* const found = object->if_contains("type");
  if (found == nullptr) return seen;
  EXPECT_TRUE(found->is_string()) << name;
  const std::string_view type = found->as_string();
  const json::value* const text = object->if_contains("value");
  const bool is_text = is_one_of(type, {plain, html, xhtml});
  const bool is_media_type = !type.empty() && media_type(type) == type;
  bool fits = is_media_type || as_published;
  if (name.ends_with("_detail"))
    fits = is_text;
  else if (name == "restriction")
    fits = is_one_of(type, {"country", "uri", "sharing"}) || (text == nullptr && is_media_type);
  else if (name == "itunes")
    fits = is_one_of(type, {"episodic", "serial"});
  else if (name == "geo" || name == "more")
    fits = is_one_of(type, {"Point", "LineString", "Polygon", "Box", "Circle"});
  else if (text != nullptr && !text->as_string().empty())
    fits = is_text && name == "content";
  EXPECT_TRUE(fits) << name << ": " << json::serialize(value);
  return seen + 1;
}

std::string file(const std::string& name) {
  std::ifstream in(std::filesystem::path(FEEDMILL_TEST_DATA) / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Declares `type` for every element of an XML document: as an attribute, and as the text of elements named `type`.
std::string typed_xml(const std::string& document, const std::string& type) {
  static const std::regex own(R"( type=(["'])[^"']*\1)"), named(R"((<\w+:type>)[^<]*)"),
      start(R"(<([A-Za-z][\w:.-]*))");
  const std::string bare = std::regex_replace(std::regex_replace(document, own, ""), named, "$1" + type);
  return std::regex_replace(bare, start, "<$1 type=\"" + type + "\"");
}

void type_all(json::value& value, const std::string& type) {
  if (json::array* const list = value.if_array()) {
    for (json::value& one : *list) type_all(one, type);
  }
  json::object* const object = value.if_object();
  if (object == nullptr) return;
  for (auto& member : *object) type_all(member.value(), type);
  (*object)["type"] = type;
  (*object)["mime_type"] = type;
}

TEST(Types, OfAllThatIsReadAreOfTheirClosedSets) {
  const std::string media =
      "<media:community><media:type>text/html</media:type><media:value>&lt;script&gt;</media:value></media:community>"
      "<media:restriction>de</media:restriction><media:player>x</media:player><media:content url='http://a.example/v'>"
      "<media:title>&lt;script&gt;</media:title></media:content></item>";
  std::string rss = file("stored/rss.xml");
  rss.replace(rss.find("</item>"), 7, media);
  const std::string atom = file("stored/atom.xml"), feed_json = file("stored/json.in");
  std::size_t seen = 0;
  std::vector<std::string> types{
      "country", "<script>alert(1)</script>",      "\"><b>", "serial", "Episodic", "Point", "text/html\" onload=\"x",
      "a/b/c",   "application/x-bittorrent; x=<y>"};
  for (const TypeCase& test : cases) types.emplace_back(test.declared);
  for (const std::string& type : types) {
    json::value posts = json::parse(feed_json);
    type_all(posts, type);
    for (const std::string& document :
         {typed_xml(rss, escaped(type)), typed_xml(atom, escaped(type)), json::serialize(posts)}) {
      DocumentHints hints;
      hints.url = "https://site.example/feed";
      const auto feed = read_feed(document, hints);
      ASSERT_TRUE(feed) << type;
      ASSERT_FALSE(feed->entries.empty()) << type;
      seen += check_types(json::parse(document_json(*feed)), "");
      hints.whole_values = true;
      const auto published = read_feed(document, hints);
      ASSERT_TRUE(published) << type;
      check_types(json::parse(document_json(*published)), "", true);
    }
  }
  EXPECT_GT(seen, 20 * types.size()) << "members that were looked at";
}

TEST(TextType, OfAnotherXmlIsTextAsItIsWritten) {
  const auto feed = read_feed(
      "<feed xmlns='http://www.w3.org/2005/Atom'><entry><content type='image/svg+xml'>"
      "<svg xmlns='http://www.w3.org/2000/svg' onload='1'/></content></entry></feed>",
      {});
  const Content& content = feed.value().entries.at(0).content.at(0);
  EXPECT_EQ(content.type, plain);
  EXPECT_TRUE(content.value.starts_with("<svg ")) << content.value;
}

}  // namespace
}  // namespace feedmill::types_test
