// Whatever type a document declares, a text is kept as one of three (SECURITY §4), and what is kept as HTML has been
// sanitised.
#include <gtest/gtest.h>

#include "parsers/feed/read_feed.hpp"
#include "parsers/markup/text.hpp"
#include "parsers/text/escape.hpp"
#include "parsers/text/media_type.hpp"

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
  for (const TypeCase& test : cases) EXPECT_EQ(text_type(test.declared), test.kept) << test.declared;
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
  EXPECT_EQ(media_type("a/" + std::string(127, 'x')).size(), 129U);
  EXPECT_EQ(media_type("a/" + std::string(128, 'x')), "");
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const std::string_view reference = html_reference(c);
    out += reference.empty() ? std::string_view(&c, 1) : reference;
  }
  return out;
}

void expect_safe(const std::string& value, const std::string& type, std::string_view declared) {
  const bool known = type == html || type == xhtml || type == plain;
  EXPECT_TRUE(known) << type << " of " << declared;
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

TEST(TextType, StandsBesideNoTextOfMediaElements) {
  const std::string type = " type='text/html'", live = "&lt;script&gt;1&lt;/script&gt;";
  std::string item;
  for (const char* name : {"credit", "rating", "license", "restriction", "player"}) {
    item += std::string("<m:") + name + type + ">" + live + "</m:" + name + ">";
  }
  for (const char* kept : {"", "<m:restriction type='country'>de</m:restriction>"}) {
    const auto feed = read_feed("<rss version='2.0' xmlns:m='http://search.yahoo.com/mrss/'><channel><item>" +
                                    std::string(kept) + item + "</item></channel></rss>",
                                {});
    ASSERT_TRUE(feed);
    const Media& media = *feed->entries.at(0).media;
    ASSERT_EQ(media.credits.size(), 1U);
    for (const auto* attributes :
         {&media.credits[0], &media.rating, &media.license, &media.restriction, &media.player}) {
      for (const auto& [name, value] : *attributes) EXPECT_TRUE(name != "type" || value == "country") << value;
    }
    EXPECT_EQ(media.restriction.size(), *kept == 0 ? 1U : 2U);
  }
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
