// JSON Feed 1.0 and 1.1 (jsonfeed.org).
#include <simdjson.h>

#include "parsers/formats.hpp"
#include "parsers/json_salvage.hpp"
#include "parsers/reading.hpp"
#include "parsers/strings.hpp"
#include "parsers/url.hpp"

namespace feedmill {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::element_type;
using simdjson::dom::object;

constexpr std::size_t max_json_depth = 64;  // SECURITY §3
constexpr std::size_t max_contents = 16;    // of one item: a member that is given again and again

// Trimmed, and without the control characters that escapes may bring in (SECURITY X3).
std::string clean(std::string_view text) {
  std::string out(trim(text));
  std::erase_if(out,
                [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7F; });
  return out;
}

// A scalar as text: identity may be a number. "" for anything else.
std::string scalar(const element& value) {
  switch (value.type()) {
    case element_type::STRING:
      return clean(value.get_string().value_unsafe());
    case element_type::BOOL:
      return value.get_bool().value_unsafe() ? "true" : "false";
    case element_type::INT64:
    case element_type::UINT64:
    case element_type::DOUBLE:
      return simdjson::minify(value);
    default:
      return {};
  }
}

std::optional<double> number(const element& value) {
  double result = 0;
  if (value.get(result) == simdjson::SUCCESS) return result;
  if (value.type() == element_type::STRING) return std::nullopt;
  return std::nullopt;
}

class JsonFeedReader {
 public:
  JsonFeedReader(Feed& feed, std::string_view base) : feed_(feed), base_(base) {}

  void read(const object& root) {
    // Links first: relative URLs resolve against the site's own address.
    for (const auto [key, value] : root) {
      if (key == "home_page_url") feed_.link = url(value);
    }
    if (base_.empty() && is_http_url(feed_.link)) base_ = feed_.link;
    if (!feed_.link.empty()) feed_.links.push_back({feed_.link, "alternate", {}, {}, {}, {}});
    for (const auto [key, value] : root) field(key, value);
    // The format has no date for the feed: the newest of its items' stand in.
    for (const Entry& entry : feed_.entries) {
      if (entry.published.time > feed_.published.time) feed_.published = entry.published;
      if (entry.updated.time > feed_.updated.time) feed_.updated = entry.updated;
    }
    // JSON Feed 1.1, "authors": an item without any has those of the feed.
    for (Entry& entry : feed_.entries) {
      if (entry.authors.empty()) entry.authors = feed_.authors;
    }
  }

 private:
  std::string url(const element& value) const { return resolve_safe_url(base_, scalar(value)); }

  static Text text(const element& value, std::string_view type) {
    Text result;
    result.value = scalar(value);
    result.type = type;
    result.present = true;
    return result;
  }

  void field(std::string_view key, const element& value) {
    if (key == "version" || key == "home_page_url") return;
    if (key == "title") {
      feed_.title = text(value, "text/plain");
    } else if (key == "description") {
      feed_.subtitle = text(value, "text/plain");
    } else if (key == "feed_url") {
      feed_.self = url(value);
      feed_.id = scalar(value);
      feed_.links.push_back({feed_.self, "self", {}, {}, {}, {}});
    } else if (key == "next_url") {
      feed_.next = url(value);
    } else if (key == "icon") {
      feed_.icon = url(value);
      if (!feed_.icon.empty()) feed_.image = Image{feed_.icon, {}, {}, {}, {}, {}};
    } else if (key == "favicon") {
      feed_.favicon = url(value);
    } else if (key == "language") {
      feed_.language = scalar(value);
    } else if (key == "authors" || key == "author") {
      authors(feed_, key, value);
    } else if (key == "hubs") {
      hubs(value);
    } else if (key == "items") {
      items(value);
    } else {
      extension(feed_, key, value);
    }
  }

  void hubs(const element& value) {
    array list;
    if (value.get(list) != simdjson::SUCCESS) return;
    for (const element hub : list) {
      object fields;
      if (hub.get(fields) != simdjson::SUCCESS) continue;
      std::string type, address;
      for (const auto [key, inner] : fields) {
        if (key == "type") type = scalar(inner);
        if (key == "url") address = url(inner);
      }
      // Others (rssCloud, say) are spoken to in another way.
      const bool websub = type.empty() || iequals(type, "websub") || iequals(type, "pubsubhubbub");
      if (websub && !address.empty() && feed_.hubs.size() < 16) feed_.hubs.push_back(std::move(address));
    }
  }

  // `authors` (1.1) and `author` (1.0): the latter counts when it is not among the former.
  void authors(Common& common, std::string_view key, const element& value) {
    array list;
    if (key == "authors" && value.get(list) == simdjson::SUCCESS) {
      std::vector<Person> before = std::move(common.authors);
      common.authors.clear();
      for (const element one : list) author(common, one);
      for (Person& person : before) add(common, std::move(person));
    } else {
      author(common, value);
    }
  }

  void author(Common& common, const element& value) {
    Person person;
    object fields;
    if (value.get(fields) == simdjson::SUCCESS) {
      for (const auto [key, inner] : fields) {
        if (key == "name") person.name = scalar(inner);
        if (key == "url") person.uri = url(inner);
        if (key == "email") person.email = scalar(inner);
        if (key == "avatar") {
          const std::string avatar = url(inner);
          if (!avatar.empty()) extension_text(common, "avatar", avatar);
        }
      }
      if (person.uri.starts_with("mailto:") && person.email.empty()) person.email = person.uri.substr(7);
    } else {
      person = parse_person(scalar(value));
    }
    add(common, std::move(person));
  }

  static void add(Common& common, Person person) {
    if (person == Person{} || common.authors.size() >= 64) return;
    if (std::find(common.authors.begin(), common.authors.end(), person) == common.authors.end()) {
      common.authors.push_back(std::move(person));
    }
  }

  static void extension_text(Common& common, std::string_view name, std::string value) {
    common.extensions.push_back({"", std::string(name), std::move(value), {}, {}});
  }

  // Unknown members: extensions of JSON Feed begin with "_". Kept as text, objects with one level of members.
  static void extension(Common& common, std::string_view key, const element& value) {
    if (common.extensions.size() >= 256) return;
    Element result;
    result.name = key;
    result.value = scalar(value);
    object members;
    if (value.get(members) == simdjson::SUCCESS) {
      for (const auto [name, inner] : members) {
        Element child;
        child.name = name;
        child.value = scalar(inner);
        if (child.value.empty()) child.value = simdjson::minify(inner);
        result.children.push_back(std::move(child));
      }
    } else if (result.value.empty()) {
      result.value = simdjson::minify(value);
    }
    common.extensions.push_back(std::move(result));
  }

  void items(const element& value) {
    array list;
    if (value.get(list) != simdjson::SUCCESS) return;
    reserve_entries(feed_, list.size());
    for (const element item : list) {
      object fields;
      if (item.get(fields) != simdjson::SUCCESS) continue;
      Entry& entry = new_entry(feed_);
      for (const auto [key, inner] : fields) item_field(entry, key, inner);
      finish(entry);
    }
  }

  void item_field(Entry& entry, std::string_view key, const element& value) {
    if (key == "id") {
      entry.id = scalar(value);
    } else if (key == "url") {
      entry.link = url(value);
      if (!entry.link.empty()) entry.links.push_back({entry.link, "alternate", {}, {}, {}, {}});
    } else if (key == "external_url") {
      entry.external_url = url(value);
    } else if (key == "title") {
      entry.title = text(value, "text/plain");
    } else if (key == "summary") {
      entry.summary = text(value, "text/plain");
    } else if (key == "content_html") {
      if (entry.content.size() < max_contents) {
        entry.content.insert(entry.content.begin(), Content{scalar(value), "text/html", {}, {}, {}});
      }
    } else if (key == "content_text") {
      if (entry.content.size() < max_contents) entry.content.push_back({scalar(value), "text/plain", {}, {}, {}});
    } else if (key == "image") {
      const std::string address = url(value);
      if (!address.empty()) entry.image = Image{address, {}, {}, {}, {}, {}};
    } else if (key == "banner_image") {
      entry.banner_image = url(value);
    } else if (key == "date_published") {
      entry.published = read_date(scalar(value));
    } else if (key == "date_modified") {
      entry.updated = read_date(scalar(value));
    } else if (key == "language") {
      entry.language = scalar(value);
    } else if (key == "authors" || key == "author") {
      authors(entry, key, value);
    } else if (key == "tags") {
      array list;
      if (value.get(list) != simdjson::SUCCESS) return;
      for (const element tag : list) add_category(entry.categories, scalar(tag), {}, {});
    } else if (key == "attachments") {
      attachments(entry, value);
    } else {
      extension(entry, key, value);
    }
  }

  void attachments(Entry& entry, const element& value) {
    array list;
    if (value.get(list) != simdjson::SUCCESS) return;
    for (const element one : list) {
      object fields;
      if (one.get(fields) != simdjson::SUCCESS || entry.enclosures.size() >= 256) continue;
      Enclosure enclosure;
      for (const auto [key, inner] : fields) {
        if (key == "url") enclosure.url = url(inner);
        if (key == "mime_type") enclosure.type = scalar(inner);
        if (key == "title") enclosure.title = scalar(inner);
        if (key == "size_in_bytes") {
          const std::optional<double> size = number(inner);
          if (size && *size >= 0 && *size < 9e15) enclosure.length = static_cast<std::uint64_t>(*size);
          if (!size) enclosure.length = parse_length(scalar(inner));
        }
        if (key == "duration_in_seconds") enclosure.duration = number(inner);
      }
      if (!enclosure.url.empty()) entry.enclosures.push_back(std::move(enclosure));
    }
  }

  void finish(Entry& entry) const {
    if (entry.link.empty()) entry.link = entry.external_url;
    if (entry.link.empty() && is_http_url(entry.id)) entry.link = entry.id;
    if (!entry.image && !entry.banner_image.empty()) entry.image = Image{entry.banner_image, {}, {}, {}, {}, {}};
  }

  Feed& feed_;
  std::string base_;
};

}  // namespace

bool parse_json_feed(std::string_view text, std::string_view document_base, Feed& feed) {
  simdjson::dom::parser parser;
  element document;
  object root;
  bool in_item = false, in_name = false;
  if (parser.allocate(text.size(), max_json_depth) != simdjson::SUCCESS) return false;
  if (const auto error = parser.parse(text.data(), text.size()).get(document); error != simdjson::SUCCESS) {
    parser = simdjson::dom::parser();  // not both trees at once
    const SalvagedJson salvaged = salvage_json(text, max_json_depth - 1);
    const std::string& repaired = salvaged.text;
    feed.cut_short = salvaged.cut_short;
    in_item = salvaged.in_item;
    in_name = salvaged.in_name;
    if (parser.allocate(repaired.size(), max_json_depth) != simdjson::SUCCESS) return false;
    if (parser.parse(repaired.data(), repaired.size()).get(document) != simdjson::SUCCESS) return false;
    feed.bozo = Bozo::malformed_json;
    feed.bozo_detail = simdjson::error_message(error);
  }
  if (document.get(root) != simdjson::SUCCESS) return false;
  std::string version;
  bool items = false;
  for (const auto [key, value] : root) {
    if (key == "version") version = scalar(value);
    if (key == "items") items = value.type() == element_type::ARRAY;
  }
  if (version.find("jsonfeed.org/version/") == std::string::npos && !items) return false;
  feed.format = version.ends_with("/1.1") ? Format::json11 : Format::json1;
  JsonFeedReader(feed, document_base).read(root);
  if (in_item && !feed.entries.empty()) {
    feed.entries.back().cut_short = true;
    feed.entries.back().half_named = in_name;
  }
  return true;
}

}  // namespace feedmill
