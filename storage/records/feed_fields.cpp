#include "storage/records/feed_fields.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/feed/document_json.hpp"
#include "parsers/feed/entry_values.hpp"
#include "parsers/markup/sanitise.hpp"
#include "parsers/markup/text.hpp"
#include "parsers/text/limits.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/event_record.hpp"

namespace feedmill {
namespace {

constexpr std::size_t max_json = std::size_t{64} << 10;  // of one field: every look-up reads the whole record
constexpr std::array noticed{"description", "description_type", "image", "language", "link", "title", "title_type"};

/// Fields that change without events: most vary with each document, and `author` never without `authors`.
constexpr std::array silent{"author", "format", "generator", "san_ver", "updated"};

bool is_noticed(const std::string& name) {
  return std::find(noticed.begin(), noticed.end(), name) != noticed.end();
}

bool is_followed(const Fields::value_type& field) {
  return std::find(silent.begin(), silent.end(), field.first) == silent.end();
}

/// Whether a field changed only in idle values.
bool is_idle_change(const std::string& name, const std::string& before, const std::string& now) {
  if (name != "published") return !is_noticed(name) && is_same_but_idle(name, before, now);
  constexpr std::int64_t day = 86'400;
  std::int64_t was = 0;  // of the store, where other programs may write any number
  const auto is = leading_number<std::int64_t>(now);
  return read_number(before, was) && was > is - day && was < is + day;
}

}  // namespace

Fields feed_fields(const Feed& feed) {
  Fields fields;
  const auto add = [&fields](std::string name, std::string_view value, std::size_t cap) {
    if (!value.empty()) fields.emplace_back(std::move(name), utf8_prefix(value, cap));
  };
  const auto add_url = [&add](const char* name, std::string_view url) {
    if (url.size() <= limits::url) add(name, url, limits::url);
  };
  // normalise.hpp has cut the texts; markup must not be cut here.
  const auto add_text = [&fields](const char* name, const char* type_name, const Text& text) {
    if (text.value.empty()) return;
    fields.emplace_back(name, text.value);
    if (text.type != "text/plain") fields.emplace_back(type_name, text.type);
  };
  const auto add_time = [&add](const char* name, const Date& date) {
    if (!date.time) return;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(*date.time).time_since_epoch().count();
    add(name, std::to_string(seconds), 32);
  };
  add_text("title", "title_type", feed.title);
  add_text("description", "description_type", feed.subtitle);
  add_url("link", feed.link);
  add("id", feed.id, limits::guid);
  add("language", *feed.language, 64);
  add("author", *feed.author, limits::author);
  add_time("updated", feed.updated);
  add_time("published", feed.published);
  if (feed.generator) add("generator", feed.generator->name, 256);
  add("format", format_name(feed.format), 16);

  // Feed::hubs keeps the published spelling for requests; stored URLs are URIs.
  const std::string self = uri_of(feed.self), next = uri_of(feed.next);
  std::vector<std::string> hubs;
  for (const std::string& hub : feed.hubs) hubs.push_back(uri_of(hub));
  std::vector<NamedLink> links{{"self", self, {}}, {"next", next, {}}};
  for (const std::string& hub : hubs) links.push_back({"hub", hub, {}});
  for (const Enclosure& file : feed.enclosures) links.push_back({"enclosure", file.url, file.type});
  for (auto& [name, value] : shared_fields(feed, {{}, links})) {
    if (value.size() <= max_json) fields.emplace_back(name, std::move(value));
  }
  const std::string& icon = feed.favicon.empty() ? feed.icon : feed.favicon;
  if (icon != value_of(fields, "image")) add_url("icon", icon);
  bool cut = false;  // feeds have no field `truncated`
  if (std::string extensions = extensions_json(feed, max_json, cut); !extensions.empty()) {
    fields.emplace_back("extensions", std::move(extensions));
  }
  fields.emplace_back("san_ver", std::to_string(sanitiser_version));
  return fields;
}

FeedChange change_of(const Fields& stored, const Fields& read, const EventDetail& detail) {
  FeedChange change;
  Fields old, now;
  for (const auto& field : read) {
    const std::string* before = find_field(stored, field.first);
    if (before != nullptr && *before == field.second) continue;
    change.write.push_back(field);
    if (before != nullptr) old.emplace_back(field.first, *before);
    now.push_back(field);
  }
  for (const auto& [name, before] : stored) {
    if (find_field(read, name) != nullptr) continue;
    change.write.emplace_back(name, "");
    old.emplace_back(name, before);
  }
  change.for_copies = std::ranges::any_of(old, is_followed) || std::ranges::any_of(now, is_followed);
  const auto unnoticed = [](const auto& field) { return !is_noticed(field.first); };
  std::erase_if(old, unnoticed);
  std::erase_if(now, unnoticed);
  if (!old.empty() || !now.empty()) change.changed = changes_json(old, now, detail.changed_max);
  return change;
}

bool keep_idle(const Fields& stored, Fields& read) {
  std::vector<std::pair<std::string*, const std::string*>> idle;
  for (auto& field : read) {
    const std::string* before = find_field(stored, field.first);
    if ((before != nullptr && *before == field.second) || !is_followed(field)) continue;
    if (before == nullptr || !is_idle_change(field.first, *before, field.second)) return false;
    idle.emplace_back(&field.second, before);
  }
  const auto is_removed = [&](const auto& field) {
    return is_followed(field) && find_field(read, field.first) == nullptr;
  };
  if (idle.empty() || std::ranges::any_of(stored, is_removed)) return false;
  for (const auto& [value, before] : idle) *value = *before;
  return true;
}

std::string feed_data_json(const Fields& fields) {
  std::string json = "{";
  for (const char* name : {"title", "link", "format"}) {
    if (const std::string* value = find_field(fields, name)) {
      if (json.size() > 1) json += ',';
      // The event has no title_type, so the title is plain text.
      const bool title = std::string_view(name) == "title";
      json.append("\"").append(name).append("\":");
      json.append(json_string(title ? readable_text(*value, value_of(fields, "title_type")) : *value));
    }
  }
  return json + "}";
}

std::string mended_data_json(const Fields& write) {
  std::string names;
  for (const auto& field : write) {
    if (is_followed(field)) names += (names.empty() ? "" : ",") + json_string(field.first);
  }
  return "{\"fields\":[" + names + "]}";
}

std::string feed_record_json(const Fields& fields, const EventDetail& detail) {
  if (!detail.content) return {};
  std::string json = "{";
  for (const auto& [name, value] : fields) {
    if (json.size() > 1) json += ',';
    json.append(json_string(name)).append(":").append(json_string(value));
    if (json.size() > detail.content_max) return {};
  }
  return json + "}";
}

namespace {

/// Whether the link has that relation and target.
template <class OneLink>
bool says(const OneLink& link, std::string_view rel, std::string_view href) {
  return link.href == href && iequals(link.rel, rel);
}

/// The document's links that no other field contains.
std::vector<Link> further_links(const Common& common, const LinkFields& fields) {
  const std::string_view license = common.licenses.empty() ? std::string_view() : common.licenses.front();
  std::vector<Link> further;
  const auto is_told = [&](std::string_view rel, std::string_view href) {
    const auto is_same = [&](const auto& link) { return says(link, rel, href); };
    const auto is_file = [&](const Enclosure& file) { return file.url == href; };
    return href.empty() || is_same(NamedLink{"alternate", common.link, {}}) ||
           is_same(NamedLink{"license", license, {}}) || std::ranges::any_of(fields.told, is_same) ||
           (fields.enclosures && iequals(rel, "enclosure") && std::ranges::any_of(common.enclosures, is_file));
  };
  for (const Link& link : common.links) {
    if (!is_told(link.rel, link.href)) further.push_back(link);
  }
  const auto add = [&](const NamedLink& link) {
    const auto is_same = [&](const Link& one) { return says(one, link.rel, link.href); };
    if (link.href.size() > limits::url || is_told(link.rel, link.href) || std::ranges::any_of(further, is_same)) return;
    further.push_back({std::string(link.href), std::string(link.rel), std::string(link.type), {}, {}, {}});
  };
  for (const std::string& other : common.licenses) add({"license", other, {}});
  std::ranges::for_each(fields.also, add);
  return further;
}

}  // namespace

Fields shared_fields(const Common& common, const LinkFields& link_fields) {
  Fields fields;
  const auto add = [&](const char* name, std::string value) {
    if (!value.empty()) fields.emplace_back(name, std::move(value));
  };
  if (!common.authors.empty()) add("authors", people_json(*common.authors));
  if (!common.categories.empty()) add("categories", categories_json(common.categories));
  if (!common.contributors.empty()) add("contributors", people_json(common.contributors));
  add("image", picture_address(common));
  if (!common.licenses.empty()) add("license", common.licenses.front());
  const std::vector<Link> links = further_links(common, link_fields);
  if (!links.empty()) add("links", links_json(links));
  if (common.media) add("media", media_json(*common.media));
  if (common.publisher) add("publisher", person_json(*common.publisher));
  if (common.rights) add("rights", readable_text(common.rights->value, common.rights->type));
  return fields;
}

}  // namespace feedmill
