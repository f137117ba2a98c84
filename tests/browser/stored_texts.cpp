#include "tests/browser/stored_texts.hpp"

#include <array>
#include <stdexcept>
#include <string_view>

#include "parsers/feed/read_feed.hpp"
#include "parsers/text/strings.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/feed_fields.hpp"

namespace feedmill::test {
namespace {

constexpr std::string_view live =
    "<p>x</p><script>top.alert(1)</script><img src=\"//[\" onerror=\"top.alert(2)\" /><svg "
    "onload=\"top.alert(3)\"></svg>"
    "<a href=\"javascript:top.alert(4)\">y</a>";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const std::string_view reference = html_reference(c);
    out += reference.empty() ? std::string_view(&c, 1) : reference;
  }
  return out;
}

struct Format {
  std::string_view head, between, end;
  std::vector<std::string_view> of_feed, of_entry;  ///< elements with texts
};

std::vector<Format> formats() {
  constexpr std::string_view namespaces =
      "xmlns:m='http://search.yahoo.com/mrss/' xmlns:c='http://purl.org/rss/1.0/modules/content/' "
      "xmlns:d='http://purl.org/dc/elements/1.1/' xmlns:i='http://www.itunes.com/dtds/podcast-1.0.dtd' "
      "xmlns:z='http://unknown.example/' xmlns:a='http://www.w3.org/2005/Atom'>";
  static const std::string atom = "<feed xmlns='http://www.w3.org/2005/Atom' " + std::string(namespaces) + "<id>f</id>";
  static const std::string rss = "<rss version='2.0' " + std::string(namespaces) + "<channel><link>http://h/</link>";
  return {{atom,
           "<entry><id>e</id>",
           "</entry></feed>",
           {"title", "subtitle", "rights", "generator", "info", "d:description", "i:summary"},
           {"title", "summary", "content", "rights", "category", "m:title", "m:description", "d:description",
            "c:encoded", "i:summary", "i:subtitle", "z:anything", "author"}},
          {rss,
           "<item><guid>e</guid>",
           "</item></channel></rss>",
           {"title", "description", "copyright", "generator", "a:subtitle", "i:summary"},
           {"title", "description", "c:encoded", "a:content", "a:summary", "category", "m:title", "m:description",
            "m:copyright", "d:subject", "i:summary", "comments", "z:anything", "author", "guid"}}};
}

/// Adds the fields of a record as readers see them: fields with a type, and all others, which are text.
void add_fields(std::vector<StoredText>& texts, const Fields& fields, const std::string& source) {
  for (const auto& [name, value] : fields) {
    if (name.ends_with("_type")) continue;
    texts.push_back({name, std::string(value_of(fields, name + "_type")), value, source});
  }
}

void read_into(std::vector<StoredText>& texts, const std::string& document, const std::string& source) {
  for (const HtmlPolicy policy : {HtmlPolicy::strict, HtmlPolicy::classic}) {
    DocumentHints hints;
    hints.url = "http://base.example/feed";
    hints.html = policy;
    auto feed = read_feed(document, hints);
    if (!feed) throw std::runtime_error(source + ": " + feed.error().detail);
    add_fields(texts, feed_fields(feed.value()), source);
    for (Entry& entry : feed.value().entries) add_fields(texts, entry_record(std::move(entry)).fields, source);
  }
}

}  // namespace

std::vector<std::string> declared_types() {
  return {
      "html",
      "HTML",
      " html ",
      "html;",
      "html,",
      "html;charset=utf-8",
      "html5",
      "xhtml",
      "XHTML",
      "xhtml;a",
      "text",
      "text/plain",
      "text/plain;charset=utf-8",
      "text/plain, text/html",
      "text/html",
      "TEXT/HTML",
      "text/html; charset=utf-8",
      "TEXT/HTML; charset=utf-8",
      "text/html;",
      "text/html ;",
      "text/html,x",
      "text/html, text/plain",
      "text/html/",
      "text/html\xC2\xA0",
      "text/html\xE2\x80\x8B",
      "\xC2\xA0text/html",
      "\ttext/html",
      "text / html",
      "text/ html",
      "text\\html",
      "\xEF\xBD\x94\xEF\xBD\x85\xEF\xBD\x98\xEF\xBD\x94\xEF\xBC\x8F\xEF\xBD\x88\xEF\xBD\x94\xEF\xBD\x8D\xEF\xBD\x8C",
      "application/xhtml+xml",
      "application/xhtml+xml; x=y",
      "application/xml",
      "text/xml",
      "image/svg+xml",
      "message/rfc822",
      "multipart/x-mixed-replace",
      "application/octet-stream",
      "text/x-server-parsed-html",
      "invalid",
      "*/*",
      ""};
}

std::vector<StoredText> stored_texts() {
  std::vector<StoredText> texts;
  const std::string too_long = std::string(live) + "<p>" + std::string(70'000, 'z') + "</p><a href=\"http://h/" +
                               std::string(500, 'b') + "\">end</a>";
  const std::array<std::string, 4> contents{escaped(live), "<![CDATA[" + std::string(live) + "]]>", std::string(live),
                                            escaped(too_long)};
  for (const Format& format : formats()) {
    for (const bool in_entry : {false, true}) {
      for (const std::string_view element : in_entry ? format.of_entry : format.of_feed) {
        for (const std::string& type : declared_types()) {
          for (const std::string& content : contents) {
            for (const char* mode : {"", " mode=\"escaped\"", " mode=\"xml\""}) {
              if (*mode != '\0' && &content == &contents.back()) continue;
              const std::string name(element);
              const std::string text =
                  "<" + name + " type=\"" + escaped(type) + "\"" + mode + ">" + content + "</" + name + ">";
              std::string document(format.head);
              if (!in_entry) document += text;
              document += format.between;
              if (in_entry) document += text;
              document += format.end;
              read_into(texts, document, name + " of type \"" + type + "\"" + mode);
            }
          }
        }
      }
    }
  }
  return texts;
}

}  // namespace feedmill::test
