#include "worker/republish/topic_document.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <xxhash.h>

#include "parsers/markup/namespaces.hpp"
#include "parsers/markup/text.hpp"
#include "parsers/text/date.hpp"
#include "parsers/text/json_writer.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"
#include "storage/records/json_members.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;
using Pairs = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// --- stored fields of a post, for both formats ---

TopicText text_of(const Fields& fields, std::string_view name) {
  return {std::string(field_of(fields, name)), is_markup(field_of(fields, std::string(name) + "_type"))};
}

/// The objects in a field with a JSON list; skips other elements.
std::vector<json::object> objects_in(const Fields& fields, std::string_view name) {
  std::vector<json::object> objects;
  const std::string_view text = field_of(fields, name);
  if (text.empty()) return objects;
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  if (error || !value.is_array()) return objects;
  for (json::value& one : value.as_array()) {
    if (one.is_object()) objects.push_back(std::move(one.as_object()));
  }
  return objects;
}

// Converters of untrusted values. They return "" if the formats cannot express the value.

std::string moment(std::int64_t seconds) {
  constexpr std::int64_t last = 253'402'300'799;  // RFC 3339 years have four digits
  return rfc3339(std::chrono::seconds(std::clamp(seconds, std::int64_t{0}, last)));
}

std::string date(std::string_view text) {
  const bool has_year = text.size() > 4 && text[4] == '-' && std::ranges::all_of(text.substr(0, 4), is_digit);
  return has_year ? iso8601(parse_date(text)) : std::string();
}

/// An absolute URI.
std::string address(std::string_view url) {
  return url_scheme(url).empty() ? std::string() : uri_of(std::string(url));
}

std::string language(std::string_view tag) {
  return language_tag(std::string(tag));
}

std::string_view mail_address(std::string_view text) {
  const std::size_t at = text.find('@');
  const bool is_one = at != npos && at > 0 && at + 1 < text.size() && std::ranges::none_of(text, is_space);
  return is_one ? text : std::string_view();
}

/// The name of a link relation, or its URI.
std::string relation(std::string_view rel) {
  return has_only_alnum_and(rel, "-._~!$&'()*+,;=@") ? std::string(rel) : address(rel);
}

std::string last_changed(const RepublishedEntry& entry) {
  std::int64_t seconds = 0;
  read_number(field_of(entry.fields, "last_changed"), seconds);
  return moment(seconds);
}

/// The ids of the stores that a post passed through, ending with this one.
std::vector<std::string_view> trail_of(const RepublishedEntry& entry, const TopicPage& page) {
  std::vector<std::string_view> trail;
  std::string_view rest = field_of(entry.fields, "via");
  while (!rest.empty()) {
    if (const std::string_view id = take_until(rest, ' '); !id.empty()) trail.push_back(id);
  }
  trail.push_back(page.store_id);
  return trail;
}

// --- Atom ---

/// The escape for a byte that must not appear as is in XML text or attributes (XML 1.0 §2.2, §2.11, §3.3.3).
std::string_view xml_reference(char c) {
  switch (c) {
    case '\n':
      return "&#10;";
    case '\t':
      return "&#9;";
    case '\r':
      return "&#13;";
    default:
      return html_reference(c);
  }
}

bool is_blank(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t forbidden = forbidden_in_xml(text, i);
    if (forbidden == 0 && !is_space(text[i])) return false;
    i += std::max<std::size_t>(1, forbidden);
  }
  return true;
}

class AtomWriter {
 public:
  explicit AtomWriter(std::string& out) : out_(out) {}

  void open(std::string_view name, Pairs attributes = {}) {
    tag(name, attributes);
    out_ += '>';
  }
  void close(std::string_view name) { out_.append("</").append(name).append(">\n"); }
  void empty(std::string_view name, Pairs attributes) {
    tag(name, attributes);
    out_ += "/>\n";
  }
  void element(std::string_view name, std::string_view text) {
    open(name);
    escaped(text, false);
    close(name);
  }
  void element(std::string_view name, const TopicText& text) {
    open(name, {{"type", text.is_html ? "html" : "text"}});
    escaped(text.value, false);
    close(name);
  }
  /// Writes a link, unless the relation or the URI is invalid.
  void link(std::string_view rel, std::string_view href, std::string_view type = {}, std::string_view hreflang = {},
            std::string_view title = {}, std::string_view length = {}) {
    const std::string relates = relation(rel), uri = address(href), media = media_type(type), lang = language(hreflang);
    if (relates.empty() || uri.empty()) return;
    empty("link",
          {{"rel", relates}, {"href", uri}, {"type", media}, {"hreflang", lang}, {"title", title}, {"length", length}});
  }
  /// Writes a person; returns false without writing if name, URL and e-mail address are all missing.
  bool person(std::string_view role, std::string_view name, std::string_view url = {}, std::string_view email = {}) {
    const std::string uri = address(url);
    email = mail_address(email);
    if (is_blank(name)) name = email.empty() ? std::string_view(uri) : email;
    if (is_blank(name)) return false;
    open(role);
    element("name", name);
    if (!uri.empty()) element("uri", uri);
    if (!email.empty()) element("email", email);
    close(role);
    return true;
  }

 private:
  void tag(std::string_view name, Pairs attributes) {
    out_.append("<").append(name);
    for (const auto& [key, value] : attributes) {
      if (value.empty()) continue;
      out_.append(" ").append(key).append("=\"");
      escaped(value, true);
      out_ += '"';
    }
  }

  /// Keeps line ends and tabs in text; in attributes they must be escaped, or they would become spaces.
  void escaped(std::string_view text, bool in_attribute) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (const std::size_t forbidden = forbidden_in_xml(text, i); forbidden > 0) {
        i += forbidden - 1;
        continue;
      }
      const bool as_it_is = !in_attribute && (text[i] == '\n' || text[i] == '\t');
      const std::string_view reference = as_it_is ? std::string_view() : xml_reference(text[i]);
      if (reference.empty())
        out_ += text[i];
      else
        out_ += reference;
    }
  }

  std::string& out_;
};

void write_source(AtomWriter& xml, const TopicSource& source) {
  xml.open("source");
  xml.element("id", source.id);
  xml.element("title", source.title);
  // RFC 4287 §4.1.2: a post without an author inherits its source's.
  if (!xml.person("author", source.author)) xml.person("author", source.title.plain());
  xml.link("self", source.feed_url);
  xml.link("alternate", source.link);
  xml.close("source");
}

void write_enclosure(AtomWriter& xml, const json::object& enclosure) {
  const auto length = whole_member(enclosure, "length");
  const std::string bytes = length ? std::to_string(*length) : "";
  xml.link("enclosure", string_member(enclosure, "url"), string_member(enclosure, "type"), {},
           string_member(enclosure, "title"), bytes);
}

void write_entry(AtomWriter& xml, const RepublishedEntry& entry, const TopicPage& page) {
  const Fields& fields = entry.fields;
  const TopicSource& source = page.sources[entry.source];
  const std::string link = address(field_of(fields, "link")), tag = language(field_of(fields, "language"));
  xml.open("entry", {{"xml:lang", tag}});
  xml.element("id", entry.urn);
  xml.element("title", text_of(fields, "title"));
  xml.element("updated", last_changed(entry));
  if (const auto published = date(field_of(fields, "date_published")); !published.empty())
    xml.element("published", published);
  const auto write_people = [&](std::string_view role, std::string_view field) {
    bool any = false;
    for (const json::object& one : objects_in(fields, field))
      any |= xml.person(role, string_member(one, "name"), string_member(one, "uri"), string_member(one, "email"));
    return any;
  };
  if (!write_people("author", "authors")) xml.person("author", field_of(fields, "author"));
  write_people("contributor", "contributors");
  for (const json::object& category : objects_in(fields, "categories")) {
    const std::string scheme = address(string_member(category, "scheme"));
    const std::string_view term = string_member(category, "term"), label = string_member(category, "label");
    if (!is_blank(term)) xml.empty("category", {{"term", term}, {"scheme", scheme}, {"label", label}});
  }
  xml.link("alternate", link);
  xml.link("via", source.feed_url.empty() ? link : std::string_view(source.feed_url));
  xml.link("replies", field_of(fields, "comments"), "text/html");
  xml.link("replies", field_of(fields, "comments_feed"));
  xml.link("license", field_of(fields, "license"));
  std::set<std::string> pages{" "};  // RFC 4287 §4.1.2: one per type and language; the post's own link has neither
  for (const json::object& one : objects_in(fields, "links")) {
    const std::string_view named = string_member(one, "rel"), rel = named.empty() ? "alternate" : named;
    const std::string_view type = string_member(one, "type"), hreflang = string_member(one, "hreflang");
    if (iequals(rel, "alternate") && !pages.insert(media_type(type) + ' ' + language(hreflang)).second) continue;
    xml.link(rel, string_member(one, "href"), type, hreflang, string_member(one, "title"));
  }
  if (const auto rights = field_of(fields, "rights"); !rights.empty()) xml.element("rights", rights);
  for (const json::object& enclosure : objects_in(fields, "enclosures")) write_enclosure(xml, enclosure);
  if (const TopicText summary = text_of(fields, "summary"); !summary.value.empty()) xml.element("summary", summary);
  // RFC 4287 §4.1.2: a post without a link needs content, even if it is empty.
  const TopicText content = text_of(fields, "content");
  if (!content.value.empty() || link.empty()) xml.element("content", content);
  write_source(xml, source);
  for (const std::string_view store : trail_of(entry, page)) xml.element("feedmill:via", store);
  xml.close("entry");
}

std::string atom(const TopicPage& page, const TopicLinks& links) {
  std::string body = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n";
  AtomWriter xml(body);
  const std::string tag = language(page.language), logo = address(page.image);
  xml.open("feed",
           {{"xmlns", "http://www.w3.org/2005/Atom"}, {"xmlns:feedmill", feedmill_namespace}, {"xml:lang", tag}});
  body += '\n';
  xml.element("id", page.id);
  xml.element("title", page.title);
  if (!page.description.value.empty()) xml.element("subtitle", page.description);
  xml.element("updated", moment(page.updated ? page.updated->time_since_epoch().count() : 0));
  if (!xml.person("author", page.author)) xml.person("author", page.title.plain());
  xml.element("generator", "feedmill");
  if (!logo.empty()) xml.element("logo", logo);
  xml.link("self", links.self, "application/atom+xml");
  xml.link("hub", links.hub);
  xml.link("first", links.first);
  xml.link("next", links.next);
  xml.link("previous", links.previous);
  xml.link("alternate", page.link);
  for (const RepublishedEntry& entry : page.entries) write_entry(xml, entry, page);
  xml.close("feed");
  return body;
}

// --- JSON Feed ---

void put(JsonWriter& out, std::string_view key, std::string_view value) {
  if (!value.empty()) out.string(key, value);
}

void put_address(JsonWriter& out, std::string_view key, std::string_view url) {
  put(out, key, address(url));
}

/// JSON Feed has no e-mail field, but readers accept "mailto:" URLs.
void put_authors(JsonWriter& out, const Fields& fields) {
  bool any = false;
  const auto add = [&](std::string_view name, std::string_view url, std::string_view email, std::string_view avatar) {
    std::string uri = address(url);
    if (uri.empty() && !mail_address(email).empty()) uri = address("mailto:" + std::string(email));
    if (is_blank(name) && uri.empty()) return;
    if (!any) out.begin_array("authors");
    any = true;
    out.begin_object();
    if (!is_blank(name)) out.string("name", name);
    put(out, "url", uri);
    put_address(out, "avatar", avatar);
    out.end_object();
  };
  for (const json::object& one : objects_in(fields, "authors"))
    add(string_member(one, "name"), string_member(one, "uri"), string_member(one, "email"),
        string_member(one, "avatar"));
  if (!any) add(field_of(fields, "author"), {}, {}, {});
  if (any) out.end_array();
}

void put_tags(JsonWriter& out, const Fields& fields) {
  const std::vector<json::object> categories = objects_in(fields, "categories");
  if (categories.empty()) return;
  out.begin_array("tags");
  for (const json::object& category : categories) {
    const std::string_view term = string_member(category, "term"), label = string_member(category, "label");
    if (const std::string_view tag = is_blank(term) ? label : term; !is_blank(tag)) out.string(tag);
  }
  out.end_array();
}

void put_attachments(JsonWriter& out, const Fields& fields) {
  const std::vector<json::object> enclosures = objects_in(fields, "enclosures");
  if (enclosures.empty()) return;
  out.begin_array("attachments");
  for (const json::object& enclosure : enclosures) {
    const std::string url = address(string_member(enclosure, "url")),
                      type = media_type(string_member(enclosure, "type"));
    if (url.empty()) continue;
    out.begin_object();
    out.string("url", url);
    out.string("mime_type", type.empty() ? "application/octet-stream" : type);  // required by the format
    if (const std::string_view title = string_member(enclosure, "title"); !is_blank(title)) out.string("title", title);
    if (const auto length = whole_member(enclosure, "length")) out.number("size_in_bytes", *length);
    const json::value* const duration = enclosure.if_contains("duration");
    if (duration != nullptr && duration->is_number() && duration->to_number<double>() >= 0)
      out.number("duration_in_seconds", duration->to_number<double>());
    out.end_object();
  }
  out.end_array();
}

void put_entry(JsonWriter& out, const RepublishedEntry& entry, const TopicPage& page) {
  const Fields& fields = entry.fields;
  const TopicSource& source = page.sources[entry.source];
  out.begin_object();
  out.string("id", entry.urn);
  put_address(out, "url", field_of(fields, "link"));
  for (const std::string_view name : {"external_url", "image", "banner_image"})
    put_address(out, name, field_of(fields, name));
  put(out, "title", text_of(fields, "title").plain());
  // In JSON Feed, summaries are plain text, and every item needs content.
  const TopicText summary = text_of(fields, "summary");
  TopicText content = text_of(fields, "content");
  if (content.value.empty()) {
    content = summary;
  } else {
    put(out, "summary", summary.plain());
  }
  out.string(content.is_html ? "content_html" : "content_text", content.value);
  put(out, "date_published", date(field_of(fields, "date_published")));
  out.string("date_modified", last_changed(entry));
  put(out, "language", language(field_of(fields, "language")));
  put_authors(out, fields);
  put_tags(out, fields);
  put_attachments(out, fields);
  out.begin_object("_feedmill");
  out.begin_object("source");
  out.string("id", source.id);
  put(out, "title", source.title.plain());
  put_address(out, "home_page_url", source.link);
  put_address(out, "feed_url", source.feed_url);
  out.end_object();
  out.begin_array("via");
  for (const std::string_view store : trail_of(entry, page)) out.string(store);
  out.end_array();
  out.end_object();
  out.end_object();
}

std::string json_feed(const TopicPage& page, const TopicLinks& links) {
  JsonWriter out;
  out.begin_object();
  out.string("version", "https://jsonfeed.org/version/1.1");
  out.string("title", page.title.plain());
  put(out, "description", page.description.plain());
  put_address(out, "home_page_url", page.link);
  put(out, "feed_url", links.self);
  put(out, "next_url", links.next);
  put_address(out, "icon", page.image);
  put(out, "language", language(page.language));
  if (!links.hub.empty()) {
    out.begin_array("hubs");
    out.begin_object();
    out.string("type", "WebSub");
    out.string("url", links.hub);
    out.end_object();
    out.end_array();
  }
  out.begin_object("_feedmill");
  out.string("about", feedmill_namespace);
  out.string("id", page.id);
  out.end_object();
  out.begin_array("items");
  for (const RepublishedEntry& entry : page.entries) put_entry(out, entry, page);
  out.end_array();
  out.end_object();
  return out.take();
}

std::size_t post_bytes(const RepublishedEntry& entry, const TopicPage& page, TopicFormat format) {
  if (format == TopicFormat::json) {
    JsonWriter out;
    put_entry(out, entry, page);
    return out.take().size() + 1;
  }
  std::string text;
  AtomWriter xml(text);
  write_entry(xml, entry, page);
  return text.size();
}

std::string etag_of(std::string_view body) {
  const XXH128_hash_t hash = XXH3_128bits(body.data(), body.size());
  return fmt::format("\"{:016x}{:016x}\"", hash.high64, hash.low64);
}

}  // namespace

std::string_view content_type_of(TopicFormat format) {
  return format == TopicFormat::atom ? "application/atom+xml; charset=utf-8" : "application/feed+json";
}

std::size_t fit_post(RepublishedEntry& entry, const TopicPage& page, TopicFormat format, std::size_t most) {
  const auto keep = [&entry](auto keeps) {
    std::erase_if(entry.fields, [&](const auto& field) { return !keeps(std::string_view(field.first)); });
  };
  std::size_t bytes = post_bytes(entry, page, format);
  if (bytes > most) {
    keep([](std::string_view name) { return !name.starts_with("content"); });
    bytes = post_bytes(entry, page, format);
  }
  if (bytes > most) {
    constexpr std::array<std::string_view, 9> short_ones{"title",    "title_type",     "link",         "author", "via",
                                                         "language", "date_published", "last_changed", "san_ver"};
    keep([&](std::string_view name) { return std::ranges::find(short_ones, name) != short_ones.end(); });
    bytes = post_bytes(entry, page, format);
  }
  return bytes;
}

TopicDocument render_topic(const TopicPage& page, TopicFormat format, const TopicLinks& links) {
  TopicDocument document;
  document.body = format == TopicFormat::atom ? atom(page, links) : json_feed(page, links);
  document.content_type = content_type_of(format);
  document.etag = etag_of(document.body);
  document.last_modified = page.updated;
  return document;
}

}  // namespace feedmill
