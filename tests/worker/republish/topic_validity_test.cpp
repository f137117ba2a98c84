// Topics are valid Atom (RFC 4287) and JSON Feed 1.1, whatever publishers write and whatever is stored (WEBSUB U1).
// xmllint checks the grammar of RFC 4287; the rules that it leaves to prose, and JSON Feed, are checked here.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <pugixml.hpp>
#include <unistd.h>

#include "parsers/text/json_writer.hpp"
#include "parsers/text/strings.hpp"
#include "storage/redis/utf8.hpp"
#include "tests/worker/ingest/polling_fixture.hpp"
#include "worker/republish/topic_document.hpp"

namespace feedmill::test::topic_validity_test {
namespace {

namespace json = boost::json;
using testing::IsEmpty;

const Topic feed_topic{TopicKind::feed, url};
const TopicLinks links{"https://mill.example/t/abc.atom", "https://mill.example/hub", "https://mill.example/t/abc.atom",
                       "https://mill.example/t/abc.atom?before=1:Entry:1", ""};

// --- what hostile publishers write ---

/// A hostile text as it appears in XML (in text and in attributes) and in a JSON string.
struct Hostile {
  std::string xml, json;
};

Hostile written(std::string_view text) {
  Hostile value;
  for (const char c : text) {
    const std::string_view reference = html_reference(c);
    value.xml += reference.empty() ? std::string_view(&c, 1) : reference;
  }
  JsonWriter out;
  out.string(text);
  value.json = out.take();
  value.json = value.json.substr(1, value.json.size() - 2);
  return value;
}

const std::vector<Hostile>& hostile_values() {
  static const std::vector<Hostile> all = [] {
    std::vector<Hostile> values{{"&#0;&#1;&#x1F;", "\\u0000\\u0001\\u001f"},
                                {"a&#xD800;b", "a\\ud800b"},
                                {"a&#xDC00;&#xD83D;b", "a\\udc00\\ud83db"},
                                {"a&#xFFFE;&#xFFFF;b", "a\\ufffe\\uffffb"},
                                {"https://example.org/&#xFFFE;&#0;", "https://example.org/\\ufffe\\u0000"},
                                {"<![CDATA[]]>]]&gt;<b>x</b>", "]]>\\/<b>"},
                                {"a&#x85;&#x2028;&#13;&#10;&#9;b", "a\\u0085\\u2028\\r\\n\\tb"},
                                {"&nosuch;&amp;amp;&amp;#0;", "&nosuch;&amp;&#0;"}};
    for (const std::string& text : std::vector<std::string>{
             // texts
             "", " ", "\"quoted\" 'x'", "< > & </title><script>alert(1)</script>", "]]>", "<img src=x>",
             "<!-- --> <?x ?>", "\xE2\x80\xAEtxt.exe", "\xEF\xBB\xBF\xE2\x80\x8B", "\xED\xA0\x80\xFF\xC3",
             "\x7F\xC2\x9F", "\xF4\x8F\xBF\xBF", std::string(5000, 'a'), "0", "-",
             // URLs
             "javascript:alert(1)", "JaVa\tScRiPt:alert(1)", "data:text/html,<script>",
             "https://example.org/a b\"<>`{}|\\^", "https://example.org/\xE2\x80\xAE",
             "https://\xD0\xBF\xD1\x80.example/\xC3\xBC?\xC3\xBC#\xC3\xBC", "https://ex ample.org/",
             "https://a<b>.org/", "https://[::1", "https://[zz]/", "https://a]b/", "https://a[b/", "https://[::1]x/",
             "https://host:port/", "https://a@b@c:80:90/", "https://u:p@[::1]:80/%", "https://a%zz/", "https:///",
             "https://", "//example.org/x", "../x?y#z", "https://example.org/%zz%4", "https://example.org/#a#b[]",
             "feed:https://example.org/", "mailto:a b@example.org", "mailto:", "tag:\xC3\xBC", "1https://x/",
             "https://example.org/" + std::string(3000, 'x'),
             // dates
             "10000-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "0099-02-03T04:05:06Z",
             "9999-12-31T23:59:59-12:00", "2026-02-30T25:61:61Z", "Sat, 01 Jan 0987 00:00 GMT", "99999999999999999999",
             // languages, media types, lengths, people
             "en_US", "en--us", "e1", "muchtoolonglanguage", "de\"lang", "en-", "text/html; charset=\"utf-8\"",
             "TEXT/HTML", "text/", "/html", "a/b/c", "text /html", "text/<b>", "*/*", "text/h\xC3\xBC", "-1", "1.5",
             "18446744073709551616", "a@", "@b", "a b@c", "a@b\nc@d", "<a@b>", "alternate", "ALTERNATE", "self hub"}) {
      values.push_back(written(text));
    }
    return values;
  }();
  return all;
}

/// Number of values in a template. They are valid and enclosed in back-quotes.
std::size_t places_in(std::string_view form) {
  return static_cast<std::size_t>(std::ranges::count(form, '`')) / 2;
}

constexpr std::size_t everywhere = 1000;

/// `form` with `value` at `place`, or at every place; `$` becomes a unique number.
std::string filled(std::string_view form, const std::string& value, std::size_t place) {
  static int number = 0;
  ++number;
  std::string out;
  for (std::size_t i = 0; !form.empty(); ++i) {
    const std::string_view part = take_until(form, '`');
    const bool hostile = i % 2 == 1 && (place == everywhere || i / 2 == place);
    for (const char c : hostile ? std::string_view() : part)
      out += c == '$' ? std::to_string(number) : std::string(1, c);
    if (hostile) out += value;
  }
  return out;
}

/// Appends the template with the value at each place alone, then at every place.
void add_filled(std::string& out, std::string_view form, const std::string& value, std::string_view separator = "") {
  for (std::size_t place = 0; place <= places_in(form); ++place) {
    if (!out.empty()) out += separator;
    out += filled(form, value, place == places_in(form) ? everywhere : place);
  }
}

constexpr std::string_view atom_head =
    "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:f='urn:feedmill:feed:1' xml:lang='`de`'><id>`urn:x:f`</id>"
    "<title type='`html`'>`Feed`</title><subtitle type='`html`'>`About`</subtitle><logo>`https://example.org/l`</logo>"
    "<icon>`https://example.org/i`</icon><link rel='`alternate`' href='`https://example.org/`'/><author><name>`Site`"
    "</name><uri>`https://example.org/`</uri><email>`a@example.org`</email></author>";
constexpr std::string_view atom_entry =
    "<entry xml:lang='`en`'><id>`urn:x:$`</id><title type='`html`'>`Title`</title><author><name>`Ada`</name><uri>"
    "`https://example.org/ada`</uri><email>`ada@example.org`</email></author><contributor><name>`Cy`</name><uri>"
    "`https://example.org/cy`</uri><email>`cy@example.org`</email></contributor><category term='`c`' "
    "scheme='`https://example.org/s`' label='`C`'/><published>`2026-03-01T09:00:00Z`</published><updated>"
    "`2026-03-01T10:00:00Z`</updated><link rel='`alternate`' href='`https://example.org/$`' type='`text/html`' "
    "hreflang='`en`' title='`Page`'/><link href='`https://example.org/$b`' type='`text/html`' hreflang='`en`'/>"
    "<link rel='`related`' href='`https://example.org/r`' type='`text/html`' hreflang='`en`'/><link rel='replies' "
    "href='`https://example.org/c`' type='`text/html`'/><link rel='license' href='`https://example.org/by`'/>"
    "<link rel='enclosure' href='`https://example.org/a`' type='`audio/ogg`' length='`123`' title='`Tape`'/>"
    "<rights type='`html`'>`Rights`</rights><summary type='`html`'>`Short`</summary><content type='`html`'>`Long`"
    "</content><source><id>`urn:x:s`</id><title>`S`</title><link href='`https://example.org/`'/></source>"
    "<f:via>`00000000000000000000000000000001`</f:via></entry>";
constexpr std::string_view atom_bare_entry =
    "<entry><id>urn:x:$</id><link href='`https://example.org/$`'/></entry><entry><id>urn:x:$s</id>"
    "<content src='`https://example.org/s`' type='`image/png`'/></entry>";

constexpr std::string_view rss_head =
    "<rss version='2.0' xmlns:m='http://search.yahoo.com/mrss/' xmlns:c='http://purl.org/rss/1.0/modules/content/' "
    "xmlns:i='http://www.itunes.com/dtds/podcast-1.0.dtd' xmlns:d='http://purl.org/dc/elements/1.1/'><channel>"
    "<title>`Feed`</title><link>`https://example.org/`</link><description>`About`</description><language>`de`"
    "</language><managingEditor>`a@example.org (A)`</managingEditor><image><url>`https://example.org/i`</url></image>";
constexpr std::string_view rss_item =
    "<item><guid isPermaLink='`false`'>`r$`</guid><title>`Title`</title><link>`https://example.org/$r`</link>"
    "<description>`Short`</description><c:encoded>`Long`</c:encoded><author>`ada@example.org (Ada)`</author>"
    "<d:creator>`Bob`</d:creator><d:language>`en`</d:language><category domain='`d`'>`c`</category><comments>"
    "`https://example.org/c`</comments><pubDate>`Sat, 07 Mar 2026 09:00:00 GMT`</pubDate><enclosure "
    "url='`https://example.org/a`' type='`audio/ogg`' length='`1`'/><m:content url='`https://example.org/m`' "
    "type='`image/png`' fileSize='`1`'/><m:thumbnail url='`https://example.org/t`'/><i:image "
    "href='`https://example.org/i`'/><i:duration>`1:00`</i:duration><source url='`https://example.org/s`'>`S`</source>"
    "</item>";

constexpr std::string_view json_head =
    R"({"version":"https://jsonfeed.org/version/1.1","title":"`Feed`","description":"`About`","home_page_url":)"
    R"("`https://example.org/`","language":"`de`","icon":"`https://example.org/i`","favicon":"`https://example.org/f`",)"
    R"("authors":[{"name":"`Site`","url":"`https://example.org/`","avatar":"`https://example.org/a`"}],"items":[)";
constexpr std::string_view json_item =
    R"({"id":"`j$`","url":"`https://example.org/$j`","external_url":"`https://example.org/e`","title":"`Title`",)"
    R"("content_html":"`Long`","content_text":"`Long`","summary":"`Short`","image":"`https://example.org/i`",)"
    R"("banner_image":"`https://example.org/b`","date_published":"`2026-03-01T09:00:00Z`","date_modified":)"
    R"("`2026-03-01T10:00:00Z`","language":"`en`","tags":["`a`","`b`"],"authors":[{"name":"`Ada`","url":)"
    R"("`https://example.org/ada`"},{"name":"`Bob`"}],"attachments":[{"url":"`https://example.org/a`","mime_type":)"
    R"("`audio/ogg`","title":"`Tape`","size_in_bytes":"`1`","duration_in_seconds":"`1`"}]})";
constexpr std::string_view json_numbers =
    R"({"id":"j$n","attachments":[{"url":"https://example.org/1","mime_type":"a/b","size_in_bytes":-1,)"
    R"("duration_in_seconds":-1},{"url":"https://example.org/2","mime_type":7,"size_in_bytes":1.5,)"
    R"("duration_in_seconds":1e308},{"url":"https://example.org/3","size_in_bytes":18446744073709551615}],"tags":[],)"
    R"("authors":[{},{"name":7}]})";

// --- rules of the formats, implemented independently of the product ---

bool all_in(std::string_view text, std::string_view others) {
  return std::ranges::all_of(text, [&](char c) { return is_alnum(c) || others.find(c) != npos; });
}

/// Whether the text has only percent-encodings, letters, digits and characters of `others`.
bool is_of(std::string_view text, std::string_view others) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      if (!all_in(text.substr(i, 1), others)) return false;
    } else if (i + 2 >= text.size() || hex_value(text[i + 1]) < 0 || hex_value(text[i + 2]) < 0) {
      return false;
    }
  }
  return true;
}

constexpr std::string_view unreserved = "-._~!$&'()*+,;=";

/// RFC 3986, appendix A: URI. For IPv6 addresses, only the characters are checked.
bool is_uri(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == npos || colon == 0 || !is_alpha(text[0]) || !all_in(text.substr(0, colon), "+-.")) return false;
  std::string_view rest = text.substr(colon + 1);
  if (const std::size_t hash = rest.find('#'); hash != npos) {
    if (!is_of(rest.substr(hash + 1), std::string(unreserved) + ":@/?")) return false;
    rest = rest.substr(0, hash);
  }
  const std::size_t path = rest.starts_with("//") ? std::min(rest.find_first_of("/?", 2), rest.size()) : 0;
  if (!is_of(rest.substr(path), std::string(unreserved) + ":@/?")) return false;
  if (path == 0) return true;
  std::string_view host = rest.substr(2, path - 2);
  if (const std::size_t at = host.find('@'); at != npos) {
    if (!is_of(host.substr(0, at), std::string(unreserved) + ":")) return false;
    host = host.substr(at + 1);
  }
  const std::size_t bracket = host.starts_with('[') ? host.find(']') : 0;
  if (bracket == npos) return false;
  const std::size_t port = host.find(':', bracket);
  if (port != npos && !std::ranges::all_of(host.substr(port + 1), is_digit)) return false;
  host = host.substr(0, port);
  if (bracket == 0) return is_of(host, unreserved);
  return bracket == host.size() - 1 && std::ranges::all_of(host.substr(1, bracket - 1), [](char c) {
           return hex_value(c) >= 0 || c == ':' || c == '.';
         });
}

/// RFC 3339 §5.6: date-time.
bool is_date(std::string_view text) {
  constexpr std::string_view shape = "0000-00-00T00:00:00Z";
  if (text.size() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == '0' ? !is_digit(text[i]) : text[i] != shape[i]) return false;
  }
  const auto number = [&](std::size_t at) { return (text[at] - '0') * 10 + text[at + 1] - '0'; };
  return number(5) >= 1 && number(5) <= 12 && number(8) >= 1 && number(8) <= 31 && number(11) <= 23 &&
         number(14) <= 59 && number(17) <= 60;
}

/// RFC 6838 §4.2.
bool is_media_type(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == npos) return false;
  for (const std::string_view part : {text.substr(0, slash), text.substr(slash + 1)}) {
    if (part.empty() || part.size() > 127 || !is_alnum(part[0]) || !all_in(part, "!#$&-^_.+")) return false;
  }
  return true;
}

/// RFC 5646 §2.1, as RFC 4287 uses it.
bool is_language(std::string_view text) {
  for (bool first = true;; first = false) {
    const std::size_t end = std::min(text.find('-'), text.size());
    const std::string_view subtag = text.substr(0, end);
    if (subtag.empty() || subtag.size() > 8 || !std::ranges::all_of(subtag, is_alnum)) return false;
    if (first && !std::ranges::all_of(subtag, is_alpha)) return false;
    if (end == text.size()) return true;
    text.remove_prefix(end + 1);
  }
}

bool is_mail_address(std::string_view text) {
  const std::size_t at = text.find('@');
  return at != npos && at > 0 && at + 1 < text.size() && std::ranges::none_of(text, is_space);
}

bool is_blank(std::string_view text) {
  return trim(text).empty();
}

/// Collects the faults of a document, each once with its first position.
class Faults {
 public:
  void expect(bool holds, std::string_view what, std::string_view value) {
    if (!holds)
      all_.emplace(std::string(what) + ": \"" + std::string(value.substr(0, 80)) + '"', place_.substr(0, 400));
  }
  void enter(std::string place) { place_ = std::move(place); }
  std::map<std::string, std::string> take() { return std::move(all_); }

 private:
  std::map<std::string, std::string> all_;
  std::string place_;
};

/// The rules of RFC 4287 that its grammar leaves to prose.
class AtomRules {
 public:
  std::map<std::string, std::string> broken_by(const std::string& document) {
    pugi::xml_document xml;
    const auto read = xml.load_buffer(document.data(), document.size(), pugi::parse_full | pugi::parse_ws_pcdata);
    faults_.expect(read, "well-formed", read.description());
    const pugi::xml_node feed = xml.child("feed");
    faults_.enter("the feed");
    check(feed);
    faults_.expect(feed.child("author"), "an author of the feed", "");
    std::set<std::string> ids;
    for (const pugi::xml_node entry : feed.children("entry")) {
      faults_.enter(entry.child_value("id"));
      check(entry);
      faults_.expect(ids.insert(entry.child_value("id")).second, "an id of its own", entry.child_value("id"));
      faults_.expect(entry.child("author") || entry.child("source").child("author"), "an author", "");
      faults_.expect(entry.child("content") || entry.find_child_by_attribute("link", "rel", "alternate"),
                     "content or a page", "");
      faults_.expect(!entry.child("content").attribute("src") || entry.child("summary"),
                     "a summary of content elsewhere", "");
      check(entry.child("source"));
    }
    return faults_.take();
  }

 private:
  /// Checks a feed, an entry or a source.
  void check(pugi::xml_node node) {
    const bool whole = std::string_view(node.name()) != "source";
    for (const char* name : {"id", "title", "updated"}) {
      const auto count = std::distance(node.children(name).begin(), node.children(name).end());
      faults_.expect(count == 1 || (!whole && count == 0), "one of each", name);
    }
    if (const auto lang = node.attribute("xml:lang"))
      faults_.expect(is_language(lang.value()), "language", lang.value());
    for (const char* name : {"id", "icon", "logo"}) {
      for (const pugi::xml_node one : node.children(name)) address(one.child_value());
    }
    for (const char* name : {"updated", "published"}) {
      for (const pugi::xml_node one : node.children(name))
        faults_.expect(is_date(one.child_value()), name, one.child_value());
    }
    for (const char* name : {"author", "contributor"}) {
      for (const pugi::xml_node one : node.children(name)) {
        faults_.expect(!is_blank(one.child_value("name")), "name", "");
        if (const auto uri = one.child("uri")) address(uri.child_value());
        if (const auto email = one.child("email")) {
          faults_.expect(is_mail_address(email.child_value()), "email", email.child_value());
        }
      }
    }
    for (const pugi::xml_node one : node.children("category")) {
      faults_.expect(!is_blank(one.attribute("term").value()), "term", "");
      if (const auto scheme = one.attribute("scheme")) address(scheme.value());
    }
    std::set<std::tuple<std::string, std::string>> pages;
    for (const pugi::xml_node link : node.children("link")) {
      address(link.attribute("href").value());
      const std::string_view rel = link.attribute("rel").value();
      const bool one_word = !rel.empty() && is_of(rel, std::string(unreserved) + "@");
      faults_.expect(one_word || is_uri(rel), "rel", rel);
      if (const auto type = link.attribute("type")) faults_.expect(is_media_type(type.value()), "type", type.value());
      if (const auto lang = link.attribute("hreflang"))
        faults_.expect(is_language(lang.value()), "hreflang", lang.value());
      const std::string_view length = link.attribute("length").value();
      faults_.expect(length.size() <= 20 && std::ranges::all_of(length, is_digit), "length", length);
      if (rel != "alternate") continue;
      const bool is_new = pages.emplace(link.attribute("type").value(), link.attribute("hreflang").value()).second;
      faults_.expect(is_new, "one page of a type and language", link.attribute("href").value());
    }
  }
  void address(std::string_view text) { faults_.expect(is_uri(text), "absolute address", text); }

  Faults faults_;
};

/// https://www.jsonfeed.org/version/1.1/; known members must have their documented types.
class JsonFeedRules {
 public:
  std::map<std::string, std::string> broken_by(const std::string& document) {
    faults_.enter("the feed");
    try {
      check(json::parse(document).as_object());
    } catch (const std::exception& error) {  // a member is missing or has another type
      faults_.expect(false, error.what(), "");
    }
    return faults_.take();
  }

 private:
  void check(const json::object& feed) {
    faults_.expect(feed.at("version").as_string() == "https://jsonfeed.org/version/1.1", "version", "");
    faults_.expect(!is_blank(feed.at("title").as_string()), "title", "");
    common(feed);
    for (const char* name : {"home_page_url", "feed_url", "next_url", "icon", "favicon"}) address(feed, name);
    if (const json::value* held = feed.if_contains("description")) faults_.expect(held->is_string(), "description", "");
    if (const json::value* hubs = feed.if_contains("hubs")) {
      for (const json::value& hub : hubs->as_array()) {
        text(hub.as_object(), "type");
        address(hub.as_object(), "url", true);
      }
    }
    std::set<std::string> ids;
    for (const json::value& one : feed.at("items").as_array()) {
      faults_.enter(json::serialize(one));
      const json::object& item = one.as_object();
      text(item, "id");
      faults_.expect(ids.insert(std::string(item.at("id").as_string())).second, "an id of its own", "");
      common(item);
      for (const char* name : {"url", "external_url", "image", "banner_image"}) address(item, name);
      faults_.expect(item.contains("content_html") || item.contains("content_text"), "content", "");
      for (const char* name : {"title", "content_html", "content_text", "summary"}) {
        if (const json::value* held = item.if_contains(name)) faults_.expect(held->is_string(), name, "");
      }
      for (const char* name : {"date_published", "date_modified"}) {
        if (const json::value* date = item.if_contains(name)) {
          faults_.expect(is_date(date->as_string()), name, date->as_string());
        }
      }
      if (const json::value* tags = item.if_contains("tags")) {
        for (const json::value& tag : tags->as_array()) faults_.expect(!is_blank(tag.as_string()), "tag", "");
      }
      if (const json::value* attachments = item.if_contains("attachments")) {
        for (const json::value& attachment : attachments->as_array()) check_attachment(attachment.as_object());
      }
      const json::object& source = item.at("_feedmill").at("source").as_object();
      address(source, "home_page_url");
      address(source, "feed_url");
    }
  }
  void common(const json::object& object) {
    if (const json::value* language = object.if_contains("language")) {
      faults_.expect(is_language(language->as_string()), "language", language->as_string());
    }
    const json::value* authors = object.if_contains("authors");
    if (authors == nullptr) return;
    for (const json::value& one : authors->as_array()) {
      const json::object& author = one.as_object();
      faults_.expect(author.contains("name") || author.contains("url") || author.contains("avatar"), "author", "");
      if (author.contains("name")) text(author, "name");
      address(author, "url");
      address(author, "avatar");
    }
  }
  void check_attachment(const json::object& attachment) {
    address(attachment, "url", true);
    const json::string& type = attachment.at("mime_type").as_string();
    faults_.expect(is_media_type(type), "mime_type", type);
    if (attachment.contains("title")) text(attachment, "title");
    for (const char* name : {"size_in_bytes", "duration_in_seconds"}) {
      if (const json::value* number = attachment.if_contains(name)) {
        faults_.expect(number->is_number() && number->to_number<double>() >= 0, name, json::serialize(*number));
      }
    }
  }
  void text(const json::object& object, std::string_view name) {
    const json::value* held = object.if_contains(name);
    const bool has_text = held != nullptr && held->is_string() && !is_blank(held->as_string());
    faults_.expect(has_text, name, held == nullptr ? "absent" : json::serialize(*held));
  }
  void address(const json::object& object, std::string_view name, bool required = false) {
    const json::value* held = object.if_contains(name);
    if (held == nullptr) return faults_.expect(!required, name, "absent");
    faults_.expect(held->is_string() && is_uri(held->as_string()), name, json::serialize(*held));
  }

  Faults faults_;
};

/// Output of xmllint for the documents, without "validates".
std::string refused_by_grammar(const std::vector<std::string>& documents) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("feedmill_topic_validity_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  for (std::size_t i = 0; i < documents.size(); ++i)
    std::ofstream(folder / (std::to_string(i) + ".atom")) << documents[i];
  const std::string schema = FEEDMILL_SOURCE_DIR "/tests/data/schemas/atom.rng", said = (folder / "said").string();
  const std::string asked =
      "xmllint --noout --huge --nonet --relaxng '" + schema + "' '" + folder.string() + "'/*.atom";
  const int status = std::system((asked + " 2>&1 | grep -v ' validates$' >'" + said + "'").c_str());
  std::ostringstream text;
  text << std::ifstream(said).rdbuf();
  std::filesystem::remove_all(folder);
  EXPECT_EQ(WEXITSTATUS(status), 1) << "grep has found nothing";
  return text.str().substr(0, 4000);
}

class TopicValidity : public Polling {
 protected:
  TopicValidity() {
    redis({"HSET", "state:feed:" + url, "exposure", "public"});
    looks_whole = false;
  }

  TopicPage page() {
    auto read = read_topic_page(store, feed_topic, {}, 1000);
    EXPECT_TRUE(read && *read);
    return read && *read ? std::move(**read) : TopicPage();
  }

  /// Both documents of a page must follow all rules; TearDown() checks the grammar.
  void expect_valid(const TopicPage& shown, const std::string& what, std::size_t at_least) {
    EXPECT_GE(shown.entries.size(), at_least) << what;
    const std::string atom = render_topic(shown, TopicFormat::atom, links).body;
    EXPECT_THAT(AtomRules().broken_by(atom), IsEmpty()) << what;
    EXPECT_THAT(JsonFeedRules().broken_by(render_topic(shown, TopicFormat::json, links).body), IsEmpty()) << what;
    atoms.push_back(atom);
  }

  void TearDown() override {
    if (std::system("xmllint --version >/dev/null 2>&1") != 0) {
      GTEST_SKIP() << "no xmllint here, the grammar of RFC 4287 is not checked: scripts/install-packages installs it";
    }
    EXPECT_EQ(refused_by_grammar(atoms), "");
  }

  std::vector<std::string> atoms;
};

// WEBSUB U1
TEST_F(TopicValidity, HoldsWhateverPublishersWrite) {
  ASSERT_GE(hostile_values().size(), 30U);
  for (const Hostile& value : hostile_values()) {
    std::string entries, items, posts;
    add_filled(entries, atom_entry, value.xml);
    add_filled(entries, atom_bare_entry, value.xml);
    poll(filled(atom_head, value.xml, everywhere) + entries + "</feed>");
    expect_valid(page(), value.xml + " in Atom", places_in(atom_entry));
    add_filled(items, rss_item, value.xml);
    poll(filled(rss_head, value.xml, everywhere) + items + "</channel></rss>");
    expect_valid(page(), value.xml + " in RSS", places_in(rss_item));
    add_filled(posts, json_item, value.json, ",");
    poll(filled(json_head, value.json, everywhere) + posts + "," + filled(json_numbers, "", everywhere) + "]}");
    expect_valid(page(), value.xml + " in JSON Feed", places_in(json_item));
  }
}

/// Earlier builds and other programs have stored values that today's readers would reject.
TEST_F(TopicValidity, HoldsWhateverIsStored) {
  poll(rss(site(1)));
  const TopicPage stored = page();
  ASSERT_EQ(stored.entries.size(), 1U);
  for (const Hostile& value : hostile_values()) {
    boost::system::error_code error;
    const json::value parsed = json::parse('"' + value.json + '"', error);
    if (error) continue;  // not valid in JSON
    const std::string text = cleaned_text(parsed.as_string());
    TopicPage shown = stored;
    RepublishedEntry every = stored.entries[0];
    every.urn = urn_of(stored.store_id, "every");
    every.fields.clear();
    const auto add = [&](const std::string& name, const std::string& is) {
      RepublishedEntry one = stored.entries[0];
      std::erase_if(one.fields, [&](const auto& field) { return field.first == name; });
      one.fields.emplace_back(name, is);
      one.urn = urn_of(stored.store_id, std::to_string(shown.entries.size()));
      shown.entries.push_back(std::move(one));
      every.fields.emplace_back(name, is);
    };
    for (const char* name :
         {"title",        "title_type", "summary",      "summary_type", "content",       "content_type",
          "link",         "author",     "language",     "comments",     "comments_feed", "license",
          "rights",       "via",        "external_url", "image",        "banner_image",  "date_published",
          "last_changed", "authors",    "links",        "enclosures",   "categories",    "contributors"}) {
      add(name, text);
    }
    const std::string held = '"' + value.json + '"';
    const auto list = [&](std::initializer_list<const char*> members) {
      std::string objects = "[7,null,[]";
      for (const char* name : members) objects += ",{\"" + std::string(name) + "\":" + held + "}";
      objects += ",{\"" + std::string(*members.begin()) + "\":\"https://example.org/\"";
      for (const char* name : members) {
        if (name != *members.begin()) objects.append(",\"").append(name).append("\":").append(held);
      }
      return objects + "}]";
    };
    for (const char* name : {"authors", "contributors"}) {
      add(name, list({"name", "uri", "email"}));
      add(name, list({"uri", "name", "email"}));
    }
    add("categories", list({"term", "scheme", "label"}));
    add("enclosures", list({"url", "type", "title", "length", "duration"}));
    add("links", list({"href", "rel", "type", "hreflang", "title"}));
    add("links", "[{\"href\":\"https://example.org/\",\"rel\":\"alternate\",\"type\":" + held +
                     "},{\"href\":\"https://example.org/2\",\"rel\":\"alternate\",\"type\":" + held + "}]");
    shown.entries.push_back(std::move(every));
    shown.author = shown.link = shown.language = shown.image = shown.description.value = text;
    shown.sources[0].link = shown.sources[0].author = text;
    expect_valid(shown, value.xml + " as stored", 30);
  }
}

TEST_F(TopicValidity, HoldsForAFeedWithAnInvisibleTitle) {
  poll(
      "<feed xmlns='http://www.w3.org/2005/Atom'><title type='html'>&lt;b&gt; "
      "&lt;/b&gt;</title><entry><id>1</id></entry>"
      "</feed>");
  const TopicPage shown = page();
  EXPECT_EQ(shown.title.value, url);
  expect_valid(shown, "an empty element for a title", 1);
}

TEST(TopicRules, FindFaults) {
  const std::string whole =
      "<feed xmlns='http://www.w3.org/2005/Atom' "
      "xml:lang='en'><id>urn:a:a</id><title>T</title><updated>2026-01-01T00:00:00Z"
      "</updated><author><name>A</name><uri>urn:a:b</uri><email>a@b</email></author><entry><id>urn:a:c</id><title>E"
      "</title><updated>2026-01-01T00:00:00Z</updated><link rel='alternate' href='urn:a:d' type='a/b' hreflang='en' "
      "length='1'/><category term='t' "
      "scheme='urn:a:e'/><source><author><name>S</name></author></source></entry></feed>";
  EXPECT_THAT(AtomRules().broken_by(whole), IsEmpty());
  const std::string link = "<link rel='alternate' href='urn:a:d' type='a/b' hreflang='en' length='1'/>";
  const std::pair<std::string, std::string> spoiled[] = {
      {"'en'><id>", "'e n'><id>"},
      {"urn:a:a", "a"},
      {"<title>E</title>", ""},
      {"<id>urn:a:c</id>", ""},
      {"2026-01-01T00:00:00Z</updated><author>", "2026-13-01T00:00:00Z</updated><author>"},
      {"<name>A", "<name> "},
      {"urn:a:b", "http://a:b/"},
      {"a@b", "a b@c"},
      {"<author><name>S</name></author>", ""},
      {link, ""},
      {link, link + link},
      {"'alternate'", "'al ternate'"},
      {"urn:a:d", "urn:a:\xC3\xBC"},
      {"a/b", "a"},
      {"hreflang='en'", "hreflang='e_n'"},
      {"length='1'", "length='-1'"},
      {"term='t'", "term=''"},
      {"urn:a:e", "e"},
      {"<entry>", "<entry"}};
  for (const auto& [from, to] : spoiled) {
    std::string document = whole;
    document.replace(document.find(from), from.size(), to);
    EXPECT_THAT(AtomRules().broken_by(document), testing::Not(IsEmpty())) << from << " as " << to;
  }
  const std::string item =
      R"({"id":"1","url":"urn:a:a","content_text":"","date_modified":"2026-01-01T00:00:00Z","language":"en","tags":["t"],)"
      R"("authors":[{"name":"A"}],"attachments":[{"url":"urn:a:b","mime_type":"a/b","size_in_bytes":1}],)"
      R"("_feedmill":{"source":{}}})";
  const std::string feed = R"({"version":"https://jsonfeed.org/version/1.1","title":"T","items":[)" + item + "]}";
  EXPECT_THAT(JsonFeedRules().broken_by(feed), IsEmpty());
  const std::pair<std::string, std::string> wrong[] = {{"1.1", "1.2"},
                                                       {"\"T\"", "\" \""},
                                                       {"\"1\",", "1,"},
                                                       {"urn:a:a", "a"},
                                                       {"content_text", "content"},
                                                       {"01-01T", "00-01T"},
                                                       {"\"en\"", "\"e_n\""},
                                                       {"[\"t\"]", "[\"\"]"},
                                                       {"\"name\"", "\"nom\""},
                                                       {"urn:a:b", "b"},
                                                       {"a/b", "b"},
                                                       {":1}", ":-1}"},
                                                       {item, item + "," + item},
                                                       {"]}", "]"}};
  for (const auto& [from, to] : wrong) {
    std::string document = feed;
    document.replace(document.find(from), from.size(), to);
    EXPECT_THAT(JsonFeedRules().broken_by(document), testing::Not(IsEmpty())) << from << " as " << to;
  }
}

}  // namespace
}  // namespace feedmill::test::topic_validity_test
