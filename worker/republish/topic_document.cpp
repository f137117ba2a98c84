#include "worker/republish/topic_document.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <xxhash.h>

#include "parsers/markup/namespaces.hpp"
#include "parsers/markup/text.hpp"
#include "parsers/text/escape.hpp"
#include "parsers/text/json_writer.hpp"
#include "parsers/text/numbers.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;
using Pairs = std::span<const std::pair<std::string_view, std::string_view>>;

// --- what is stored of a post, as both formats need it ---

TopicText text_of(const Fields& fields, std::string_view name) {
  return {std::string(field_of(fields, name)), is_markup(field_of(fields, std::string(name) + "_type"))};
}

std::string plain(const TopicText& text) {
  return text.is_html ? plain_text(text.value) : text.value;
}

/// The objects of a field that holds a JSON list of them; others are left out.
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

std::string_view member(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string_view(value->as_string()) : std::string_view();
}

std::optional<std::uint64_t> whole_member(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  if (value == nullptr || !value->is_number()) return {};
  boost::system::error_code not_whole;
  const auto number = value->to_number<std::uint64_t>(not_whole);
  return not_whole ? std::optional<std::uint64_t>() : number;
}

std::string last_changed(const RepublishedEntry& entry) {
  std::int64_t seconds = 0;
  read_number(field_of(entry.fields, "last_changed"), seconds);
  return rfc3339(std::chrono::seconds(seconds));
}

/// The stores that a post came through, this one last.
std::vector<std::string_view> trail_of(const RepublishedEntry& entry, const TopicPage& page) {
  std::vector<std::string_view> trail;
  std::string_view rest = field_of(entry.fields, "via");
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (end > 0) trail.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  trail.push_back(page.store_id);
  return trail;
}

// --- Atom ---

/// A byte that may not stand in XML as it is, in text or attributes (XML 1.0 §2.2, §2.11, §3.3.3).
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

/// Neither of the two characters below U+10000 that UTF-8 can say and XML cannot, U+FFFE and U+FFFF, nor a control.
bool is_no_xml(std::string_view text, std::size_t at, std::size_t& length) {
  length = 1;
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x20) return byte != '\n' && byte != '\t' && byte != '\r';
  const std::string_view three = text.substr(at, 3);
  if (three != "\xEF\xBF\xBE" && three != "\xEF\xBF\xBF") return false;
  length = 3;
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
    const std::array<std::pair<std::string_view, std::string_view>, 1> type{{{"type", text.is_html ? "html" : "text"}}};
    open(name, type);
    escaped(text.value, false);
    close(name);
  }
  void link(std::string_view rel, std::string_view href, std::string_view type = {}, std::string_view hreflang = {},
            std::string_view title = {}) {
    if (href.empty()) return;
    const std::array<std::pair<std::string_view, std::string_view>, 5> all{
        {{"rel", rel}, {"href", href}, {"type", type}, {"hreflang", hreflang}, {"title", title}}};
    empty("link", all);
  }
  void person(std::string_view role, std::string_view name, std::string_view uri = {}, std::string_view email = {}) {
    open(role);
    element("name", name);
    if (!uri.empty()) element("uri", uri);
    if (!email.empty()) element("email", email);
    close(role);
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

  /// Line ends and tabs stay as they are in text, and would become spaces in attributes.
  void escaped(std::string_view text, bool in_attribute) {
    for (std::size_t i = 0, length = 1; i < text.size(); i += length) {
      if (is_no_xml(text, i, length)) continue;
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
  // RFC 4287 §4.1.2: where a post has no author, its source's holds.
  xml.person("author", source.author.empty() ? plain(source.title) : source.author);
  xml.link("self", source.feed_url);
  xml.link("alternate", source.link);
  xml.close("source");
}

void write_enclosure(AtomWriter& xml, const json::object& enclosure) {
  const auto length = whole_member(enclosure, "length");
  const std::string bytes = length ? std::to_string(*length) : "";
  const std::array<std::pair<std::string_view, std::string_view>, 5> all{{{"rel", "enclosure"},
                                                                          {"href", member(enclosure, "url")},
                                                                          {"type", member(enclosure, "type")},
                                                                          {"length", bytes},
                                                                          {"title", member(enclosure, "title")}}};
  if (!all[1].second.empty()) xml.empty("link", all);
}

void write_entry(AtomWriter& xml, const RepublishedEntry& entry, const TopicPage& page) {
  const Fields& fields = entry.fields;
  const TopicSource& source = page.sources[entry.source];
  const std::string_view link = field_of(fields, "link");
  const std::array<std::pair<std::string_view, std::string_view>, 1> language{
      {{"xml:lang", field_of(fields, "language")}}};
  xml.open("entry", language);
  xml.element("id", entry.urn);
  xml.element("title", text_of(fields, "title"));
  xml.element("updated", last_changed(entry));
  if (const auto published = field_of(fields, "date_published"); !published.empty())
    xml.element("published", published);
  const auto write_people = [&](std::string_view role, const std::vector<json::object>& people) {
    for (const json::object& one : people)
      xml.person(role, member(one, "name"), member(one, "uri"), member(one, "email"));
  };
  const std::vector<json::object> authors = objects_in(fields, "authors");
  write_people("author", authors);
  if (const auto author = field_of(fields, "author"); authors.empty() && !author.empty()) xml.person("author", author);
  write_people("contributor", objects_in(fields, "contributors"));
  for (const json::object& category : objects_in(fields, "categories")) {
    const std::array<std::pair<std::string_view, std::string_view>, 3> all{{{"term", member(category, "term")},
                                                                            {"scheme", member(category, "scheme")},
                                                                            {"label", member(category, "label")}}};
    if (!all[0].second.empty()) xml.empty("category", all);
  }
  xml.link("alternate", link);
  xml.link("via", source.feed_url.empty() ? link : std::string_view(source.feed_url));
  xml.link("replies", field_of(fields, "comments"), "text/html");
  xml.link("replies", field_of(fields, "comments_feed"));
  xml.link("license", field_of(fields, "license"));
  for (const json::object& one : objects_in(fields, "links")) {
    xml.link(member(one, "rel"), member(one, "href"), member(one, "type"), member(one, "hreflang"),
             member(one, "title"));
  }
  if (const auto rights = field_of(fields, "rights"); !rights.empty()) xml.element("rights", rights);
  for (const json::object& enclosure : objects_in(fields, "enclosures")) write_enclosure(xml, enclosure);
  if (const TopicText summary = text_of(fields, "summary"); !summary.value.empty()) xml.element("summary", summary);
  // RFC 4287 §4.1.2: what has no page of its own has content, be it empty.
  const TopicText content = text_of(fields, "content");
  if (!content.value.empty() || link.empty()) xml.element("content", content);
  write_source(xml, source);
  for (const std::string_view store : trail_of(entry, page)) xml.element("feedmill:via", store);
  xml.close("entry");
}

std::string atom(const TopicPage& page, const TopicLinks& links) {
  std::string body = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n";
  AtomWriter xml(body);
  const std::array<std::pair<std::string_view, std::string_view>, 3> declared{
      {{"xmlns", "http://www.w3.org/2005/Atom"}, {"xmlns:feedmill", feedmill_namespace}, {"xml:lang", page.language}}};
  xml.open("feed", declared);
  body += '\n';
  xml.element("id", page.id);
  xml.element("title", page.title);
  if (!page.description.value.empty()) xml.element("subtitle", page.description);
  xml.element("updated", rfc3339(page.updated ? page.updated->time_since_epoch() : std::chrono::seconds(0)));
  xml.person("author", page.author);
  xml.element("generator", "feedmill");
  if (!page.image.empty()) xml.element("logo", page.image);
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

void put_author(JsonWriter& out, std::string_view name, std::string_view url) {
  out.begin_object();
  put(out, "name", name);
  put(out, "url", url);
  out.end_object();
}

/// The format has no address of mail for people; readers take one from "mailto:".
void put_authors(JsonWriter& out, const Fields& fields) {
  const std::vector<json::object> authors = objects_in(fields, "authors");
  const std::string_view author = field_of(fields, "author");
  if (authors.empty() && author.empty()) return;
  out.begin_array("authors");
  for (const json::object& one : authors) {
    const std::string_view uri = member(one, "uri"), email = member(one, "email");
    put_author(out, member(one, "name"),
               uri.empty() && !email.empty() ? "mailto:" + std::string(email) : std::string(uri));
  }
  if (authors.empty()) put_author(out, author, "");
  out.end_array();
}

void put_tags(JsonWriter& out, const Fields& fields) {
  const std::vector<json::object> categories = objects_in(fields, "categories");
  if (categories.empty()) return;
  out.begin_array("tags");
  for (const json::object& category : categories) {
    const std::string_view term = member(category, "term"), label = member(category, "label");
    if (const std::string_view tag = term.empty() ? label : term; !tag.empty()) out.string(tag);
  }
  out.end_array();
}

void put_attachments(JsonWriter& out, const Fields& fields) {
  const std::vector<json::object> enclosures = objects_in(fields, "enclosures");
  if (enclosures.empty()) return;
  out.begin_array("attachments");
  for (const json::object& enclosure : enclosures) {
    const std::string_view url = member(enclosure, "url"), type = member(enclosure, "type");
    if (url.empty()) continue;
    out.begin_object();
    out.string("url", url);
    out.string("mime_type", type.empty() ? "application/octet-stream" : type);  // the format wants one
    put(out, "title", member(enclosure, "title"));
    if (const auto length = whole_member(enclosure, "length")) out.number("size_in_bytes", *length);
    const json::value* const duration = enclosure.if_contains("duration");
    if (duration != nullptr && duration->is_number()) out.number("duration_in_seconds", duration->to_number<double>());
    out.end_object();
  }
  out.end_array();
}

void put_entry(JsonWriter& out, const RepublishedEntry& entry, const TopicPage& page) {
  const Fields& fields = entry.fields;
  const TopicSource& source = page.sources[entry.source];
  out.begin_object();
  out.string("id", entry.urn);
  put(out, "url", field_of(fields, "link"));
  for (const std::string_view name : {"external_url", "image", "banner_image"}) put(out, name, field_of(fields, name));
  put(out, "title", plain(text_of(fields, "title")));
  // Its summary is plain text, and no item is without content.
  const TopicText summary = text_of(fields, "summary");
  TopicText content = text_of(fields, "content");
  if (content.value.empty()) {
    content = summary;
  } else {
    put(out, "summary", plain(summary));
  }
  out.string(content.is_html ? "content_html" : "content_text", content.value);
  put(out, "date_published", field_of(fields, "date_published"));
  out.string("date_modified", last_changed(entry));
  put(out, "language", field_of(fields, "language"));
  put_authors(out, fields);
  put_tags(out, fields);
  put_attachments(out, fields);
  out.begin_object("_feedmill");
  out.begin_object("source");
  out.string("id", source.id);
  put(out, "title", plain(source.title));
  put(out, "home_page_url", source.link);
  put(out, "feed_url", source.feed_url);
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
  out.string("title", plain(page.title));
  put(out, "description", plain(page.description));
  put(out, "home_page_url", page.link);
  put(out, "feed_url", links.self);
  put(out, "next_url", links.next);
  put(out, "icon", page.image);
  put(out, "language", page.language);
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
  char text[35];
  std::snprintf(text, sizeof text, "\"%016llx%016llx\"", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
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
