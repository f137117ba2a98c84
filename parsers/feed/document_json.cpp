#include "parsers/feed/document_json.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "parsers/markup/text.hpp"
#include "parsers/text/date.hpp"
#include "parsers/text/json_writer.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

void put(JsonWriter& json, std::string_view key, const std::string& value) {
  if (!value.empty()) json.string(key, value);
}

template <class Number>
void put(JsonWriter& json, std::string_view key, const std::optional<Number>& value) {
  if (value) json.number(key, *value);
}

void put(JsonWriter& json, std::string_view key, const std::vector<std::string>& values) {
  if (values.empty()) return;
  json.begin_array(key);
  for (const std::string& value : values) json.string(value);
  json.end_array();
}

void put(JsonWriter& json, const char* key, const Text& text) {
  if (!text.present) return;
  json.string(key, text.value);
  json.begin_object(std::string(key) + "_detail");
  json.string("type", text.type);
  json.string("base", *text.base);
  if (text.language.empty()) {
    json.null("language");
  } else {
    json.string("language", *text.language);
  }
  json.end_object();
}

void put(JsonWriter& json, const char* key, const Date& date) {
  if (!date.present()) return;
  if (date.time) {
    json.string(key, iso8601(*date.time));
    const std::int64_t micros = date.time->time_since_epoch().count();
    if (micros % 1'000'000 == 0) {
      json.number(std::string(key) + "_epoch", micros / 1'000'000);
    } else {
      json.number(std::string(key) + "_epoch", static_cast<double>(micros) / 1e6);
    }
  }
  json.string(std::string(key) + "_raw", date.raw);
}

template <class Value>
void put(JsonWriter& json, const char* key, const Rare<Value>& value) {
  if (value) put(json, key, *value);
}

void fields(JsonWriter& json, const Person& person) {
  put(json, "name", person.name);
  put(json, "email", person.email);
  put(json, "uri", person.uri);
  put(json, "avatar", person.avatar);
}

void fields(JsonWriter& json, const Link& link) {
  put(json, "href", link.href);
  put(json, "rel", link.rel);
  put(json, "type", link.type);
  put(json, "hreflang", link.hreflang);
  put(json, "title", link.title);
  put(json, "length", link.length);
}

void fields(JsonWriter& json, const Category& category) {
  put(json, "term", category.term);
  put(json, "scheme", category.scheme);
  put(json, "label", category.label);
}

void fields(JsonWriter& json, const Enclosure& enclosure) {
  put(json, "url", enclosure.url);
  put(json, "type", enclosure.type);
  put(json, "length", enclosure.length);
  put(json, "duration", enclosure.duration);
  put(json, "title", enclosure.title);
}

void fields(JsonWriter& json, const Image& image) {
  put(json, "url", image.url);
  put(json, "title", image.title);
  put(json, "link", image.link);
  put(json, "width", image.width);
  put(json, "height", image.height);
  put(json, "description", image.description);
}

void fields(JsonWriter& json, const Generator& generator) {
  put(json, "name", generator.name);
  put(json, "version", generator.version);
  put(json, "uri", generator.uri);
}

void fields(JsonWriter& json, const Chapter& chapter) {
  put(json, "start", chapter.start);
  put(json, "start_raw", chapter.start_raw);
  put(json, "title", chapter.title);
  put(json, "href", chapter.href);
  put(json, "image", chapter.image);
}

void fields(JsonWriter& json, const Content& content) {
  json.string("value", content.value);
  json.string("type", content.src_type.empty() ? content.type.name() : content.src_type);
  put(json, "base", *content.base);
  put(json, "language", *content.language);
  put(json, "src", content.src);
}

void fields(JsonWriter& json, const Cloud& cloud) {
  put(json, "domain", cloud.domain);
  put(json, "port", cloud.port);
  put(json, "path", cloud.path);
  put(json, "register_procedure", cloud.register_procedure);
  put(json, "protocol", cloud.protocol);
}

void fields(JsonWriter& json, const TextInput& input) {
  put(json, "title", input.title);
  put(json, "description", input.description);
  put(json, "name", input.name);
  put(json, "link", input.link);
}

void fields(JsonWriter& json, const Syndication& syndication) {
  put(json, "update_period", syndication.update_period);
  put(json, "update_frequency", syndication.update_frequency);
  put(json, "update_base", syndication.update_base);
}

void fields(JsonWriter& json, const ItunesCategory& category);
void fields(JsonWriter& json, const Itunes& itunes);
void fields(JsonWriter& json, const Media::Attributes& attributes);
void fields(JsonWriter& json, const Media& media);
void fields(JsonWriter& json, const Geo& geo);

template <class Value>
void put_list(JsonWriter& json, std::string_view key, const std::vector<Value>& values) {
  if (values.empty()) return;
  json.begin_array(key);
  for (const Value& value : values) {
    json.begin_object();
    fields(json, value);
    json.end_object();
  }
  json.end_array();
}

void fields(JsonWriter& json, const ItunesCategory& category) {
  put(json, "text", category.text);
  put_list(json, "categories", category.categories);  // the parser nests at most four levels
}

// `held`: a Rare or std::optional.
template <class Holder>
void put_object(JsonWriter& json, std::string_view key, const Holder& held) {
  if (!held) return;
  json.begin_object(key);
  fields(json, *held);
  json.end_object();
}

void fields(JsonWriter& json, const Itunes& itunes) {
  put(json, "author", itunes.author);
  if (itunes.block) json.boolean("block", *itunes.block);
  if (itunes.explicit_ == Itunes::Explicit::other) {
    json.null("explicit");
  } else if (itunes.explicit_ != Itunes::Explicit::absent) {
    json.boolean("explicit", itunes.explicit_ == Itunes::Explicit::yes);
  }
  put(json, "duration", itunes.duration);
  put(json, "duration_raw", itunes.duration_raw);
  put(json, "image", itunes.image);
  put(json, "keywords", itunes.keywords);
  put(json, "subtitle", itunes.subtitle);
  put(json, "summary", itunes.summary);
  put(json, "title", itunes.title);
  put(json, "episode", itunes.episode);
  put(json, "season", itunes.season);
  put(json, "episode_type", itunes.episode_type);
  put(json, "order", itunes.order);
  put(json, "type", itunes.type);
  if (itunes.complete) json.boolean("complete", *itunes.complete);
  put(json, "new_feed_url", itunes.new_feed_url);
  put_object(json, "owner", itunes.owner);
  put_list(json, "categories", itunes.categories);
}

// Writes values that are canonical integers as numbers. `type` is a media type; it is omitted next to a value, which is
// plain text (SECURITY §4). media:restriction has types of its own.
void fields(JsonWriter& json, const Media::Attributes& attributes, bool is_restriction) {
  const bool has_text =
      std::ranges::find(attributes, "value", &Media::Attributes::value_type::first) != attributes.end();
  for (const auto& [key, value] : attributes) {
    const bool is_word = is_restriction && (value == "country" || value == "uri" || value == "sharing");
    if (key == "type" && !is_word) {
      if (!has_text) put(json, key, media_type(value));
      continue;
    }
    const bool digits = !value.empty() && value.size() < 16 && std::all_of(value.begin(), value.end(), is_digit) &&
                        (value[0] != '0' || value.size() == 1);
    if (digits && key != "value" && key != "title" && key != "description") {
      json.raw(key, value);
    } else {
      json.string(key, value);
    }
  }
}

void fields(JsonWriter& json, const Media::Attributes& attributes) {
  fields(json, attributes, false);
}

void put_attributes(JsonWriter& json, std::string_view key, const Media::Attributes& attributes) {
  if (attributes.empty()) return;
  json.begin_object(key);
  fields(json, attributes, key == "restriction");
  json.end_object();
}

void fields(JsonWriter& json, const Media& media) {
  put_list(json, "content", media.content);
  put_list(json, "thumbnails", media.thumbnails);
  put_list(json, "credits", media.credits);
  put_attributes(json, "rating", media.rating);
  put_attributes(json, "license", media.license);
  put_attributes(json, "restriction", media.restriction);
  put_attributes(json, "player", media.player);
  put(json, "title", media.title);
  put(json, "description", media.description);
  put_list(json, "peer_links", media.peer_links);
  if (media.community.empty() && media.tags.empty()) return;
  json.begin_object("community");
  fields(json, media.community);
  put(json, "tags", media.tags);
  json.end_object();
}

void fields(JsonWriter& json, const Geo& geo) {
  put(json, "type", geo.type);
  if (!geo.coordinates.empty()) json.raw("coordinates", geo.coordinates);
  put(json, "srs_name", geo.srs_name);
  put(json, "srs_dimension", geo.srs_dimension);
  put_list(json, "more", geo.more);  // one level deep: the shapes in the list have no `more`
}

void put_elements(JsonWriter& json, const std::vector<const Element*>& elements);

void fields(JsonWriter& json, const Element& element) {
  json.string("value", element.value);
  if (!element.attributes.empty()) {
    json.begin_object("attrs");
    for (const auto& [key, value] : element.attributes) json.string(key, value);
    json.end_object();
  }
  if (element.children.empty()) return;
  std::vector<const Element*> children;
  for (const Element& child : element.children) children.push_back(&child);
  json.begin_object("children");
  put_elements(json, children);
  json.end_object();
}

// Groups elements by name, in order of first occurrence. The depth is bounded by that of extensions (a dozen levels).
void put_elements(JsonWriter& json, const std::vector<const Element*>& elements) {
  std::map<std::string_view, std::size_t> known;
  std::vector<std::pair<std::string_view, std::vector<const Element*>>> groups;
  for (const Element* element : elements) {
    const auto [at, added] = known.try_emplace(element->name, groups.size());
    if (added) groups.push_back({element->name, {}});
    groups[at->second].second.push_back(element);
  }
  for (const auto& [name, members] : groups) {
    json.begin_array(name);
    for (const Element* member : members) {
      json.begin_object();
      fields(json, *member);
      json.end_object();
    }
    json.end_array();
  }
}

using ElementsByPrefix = std::map<std::string_view, std::vector<const Element*>>;

ElementsByPrefix by_prefix(const std::vector<Element>& extensions) {
  ElementsByPrefix grouped;
  for (const Element& element : extensions) grouped[element.prefix].push_back(&element);
  return grouped;
}

void put_extensions(JsonWriter& json, const std::vector<Element>& extensions) {
  if (extensions.empty()) return;
  json.begin_object("extensions");
  for (const auto& [prefix, elements] : by_prefix(extensions)) {
    json.begin_object(prefix);
    put_elements(json, elements);
    json.end_object();
  }
  json.end_object();
}

void put_common(JsonWriter& json, const Common& common) {
  put(json, "id", common.id);
  put(json, "link", common.link);
  put_list(json, "links", common.links);
  if (!common.title.value.empty()) put(json, "title", common.title);
  put(json, "rights", common.rights);
  put(json, "info", common.info);
  put(json, "author", *common.author);
  put_list(json, "authors", *common.authors);
  put_list(json, "contributors", common.contributors);
  put_object(json, "publisher", common.publisher);
  put(json, "published", common.published);
  put(json, "updated", common.updated);
  put(json, "created", common.created);
  put(json, "expired", common.expired);
  const auto is_there = [](const Rare<Date>& date) { return date && date->present(); };
  if (is_there(common.valid_from) || is_there(common.valid_until)) {
    json.begin_object("validity");
    put(json, "start", common.valid_from);
    put(json, "end", common.valid_until);
    json.end_object();
  }
  put_list(json, "categories", common.categories);
  put(json, "language", *common.language);
  put_object(json, "image", common.image);
  put(json, "icon", common.icon);
  put(json, "logo", common.logo);
  put(json, "favicon", common.favicon);
  put(json, "banner_image", common.banner_image);
  put_object(json, "generator", common.generator);
  put(json, "licenses", common.licenses);
  put_list(json, "enclosures", common.enclosures);
  put_object(json, "itunes", common.itunes);
  put_object(json, "media", common.media);
  put_object(json, "geo", common.geo);
  put_list(json, "chapters", common.chapters);
  put(json, "chapters_version", common.chapters_version);
  put_extensions(json, common.extensions);
}

void put_source(JsonWriter& json, const Source& source) {
  json.begin_object("source");
  put_common(json, source);
  put(json, "subtitle", source.subtitle);
  put(json, "url", source.url);
  json.end_object();
}

void put_entry(JsonWriter& json, const Entry& entry) {
  put_common(json, entry);
  if (entry.guid_is_permalink) json.boolean("guid_is_permalink", *entry.guid_is_permalink);
  put(json, "summary", entry.summary);
  put_list(json, "content", entry.content);
  for (const EntryPage& page : entry_pages) put(json, page.name, entry.*page.url);
  if (!entry.source.empty()) put_source(json, entry.source.front());
  put(json, "via", entry.via);
}

void put_feed(JsonWriter& json, const Feed& feed) {
  put_common(json, feed);
  put(json, "subtitle", feed.subtitle);
  put(json, "docs", feed.docs);
  put(json, "ttl", feed.ttl);
  put_object(json, "cloud", feed.cloud);
  put_object(json, "text_input", feed.text_input);
  if (!feed.skip_hours.empty()) {
    json.begin_array("skip_hours");
    for (const int hour : feed.skip_hours) json.number(hour);
    json.end_array();
  }
  put(json, "skip_days", feed.skip_days);
  put(json, "rating", feed.rating);
  put(json, "self", feed.self);
  put(json, "hubs", feed.hubs);
  put(json, "next", feed.next);
  put(json, "prev", feed.prev);
  put(json, "first", feed.first);
  put(json, "last", feed.last);
  put(json, "error_reports_to", feed.error_reports_to);
  if (feed.new_location) json.string("new_location", *feed.new_location);
  put_object(json, "syndication", feed.syndication);
}

template <class Value>
std::string list_json(const std::vector<Value>& values) {
  JsonWriter json;
  json.begin_array();
  for (const Value& value : values) {
    json.begin_object();
    fields(json, value);
    json.end_object();
  }
  json.end_array();
  return json.take();
}

template <class Value>
std::string object_json(const Value& value) {
  JsonWriter json;
  json.begin_object();
  fields(json, value);
  json.end_object();
  return json.take();
}

// Writes a vocabulary's elements that have no field, after its fields. Elements named like a field become members of
// "other".
template <std::size_t count>
void put_beside(JsonWriter& json, std::vector<const Element*> elements,
                const std::array<std::string_view, count>& taken) {
  const auto others = std::stable_partition(elements.begin(), elements.end(), [&](const Element* element) {
    return std::find(taken.begin(), taken.end(), element->name) == taken.end();
  });
  const std::vector<const Element*> alike(others, elements.end());
  elements.erase(others, elements.end());
  put_elements(json, elements);
  if (alike.empty()) return;
  json.begin_object("other");
  put_elements(json, alike);
  json.end_object();
}

}  // namespace

std::string people_json(const std::vector<Person>& people) {
  return list_json(people);
}
std::string categories_json(const std::vector<Category>& categories) {
  return list_json(categories);
}
std::string enclosures_json(const std::vector<Enclosure>& enclosures) {
  return list_json(enclosures);
}

std::string links_json(const std::vector<Link>& links) {
  return list_json(links);
}
std::string person_json(const Person& person) {
  return object_json(person);
}
std::string media_json(const Media& media) {
  return object_json(media);
}

std::string source_json(const Source& source) {
  const auto self = std::find_if(source.links.begin(), source.links.end(),
                                 [](const Link& link) { return iequals(link.rel, "self"); });
  JsonWriter json;
  json.begin_object();
  put(json, "id", source.id);
  put(json, "title", readable_text(source.title.value, source.title.type));
  put(json, "link", source.link);
  put(json, "url", !source.url.empty() || self == source.links.end() ? source.url : self->href);
  put(json, "subtitle", readable_text(source.subtitle.value, source.subtitle.type));
  if (source.rights) put(json, "rights", readable_text(source.rights->value, source.rights->type));
  if (source.updated.time) json.string("updated", iso8601(*source.updated.time));
  put_list(json, "authors", *source.authors);
  put_list(json, "contributors", source.contributors);
  put_list(json, "categories", source.categories);
  put(json, "language", *source.language);
  put(json, "icon", source.icon);
  put(json, "logo", source.logo);
  json.end_object();
  std::string text = json.take();
  return text == "{}" ? std::string() : text;
}

std::string extensions_json(const Common& common, std::size_t max_bytes, bool& cut) {
  constexpr std::array<std::string_view, 20> itunes_keys = {
      "author",   "block",    "explicit",     "duration", "duration_raw", "image",        "keywords",
      "subtitle", "summary",  "title",        "episode",  "season",       "episode_type", "order",
      "type",     "complete", "new_feed_url", "owner",    "categories",   "other"};
  constexpr std::array<std::string_view, 6> geo_keys = {"type",          "coordinates", "srs_name",
                                                        "srs_dimension", "more",        "other"};
  constexpr std::array<std::string_view, 3> psc_keys = {"version", "chapters", "other"};
  ElementsByPrefix grouped = by_prefix(common.extensions);
  if (common.itunes) grouped["itunes"];
  if (common.geo && !common.geo->type.empty()) grouped["geo"];
  if (!common.chapters.empty()) grouped["psc"];

  std::vector<std::pair<std::string_view, std::string>> objects;
  std::size_t total = 2;
  for (const auto& [prefix, elements] : grouped) {
    JsonWriter json;
    json.begin_object();
    if (prefix == "itunes" && common.itunes) {
      fields(json, *common.itunes);
      put_beside(json, elements, itunes_keys);
    } else if (prefix == "geo" && common.geo && !common.geo->type.empty()) {
      fields(json, *common.geo);
      put_beside(json, elements, geo_keys);
    } else if (prefix == "psc" && !common.chapters.empty()) {
      put(json, "version", common.chapters_version);
      put_list(json, "chapters", common.chapters);
      put_beside(json, elements, psc_keys);
    } else {
      put_elements(json, elements);
    }
    json.end_object();
    objects.emplace_back(prefix, json.take());
    total += objects.back().second.size() + 6 * prefix.size() + 4;  // escaping takes at most six bytes per byte
  }
  while (total > max_bytes && !objects.empty()) {
    const auto longest = std::max_element(
        objects.begin(), objects.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    total -= longest->second.size() + 6 * longest->first.size() + 4;
    objects.erase(longest);
    cut = true;
  }
  if (objects.empty()) return {};
  JsonWriter json;
  json.begin_object();
  for (const auto& [prefix, object] : objects) json.raw(prefix, object);
  json.end_object();
  return json.take();
}

std::string_view format_name(Format format) {
  constexpr std::string_view names[] = {"rss090", "rss091n", "rss091u", "rss092", "rss093", "rss094",
                                        "rss10",  "rss11",   "rss20",   "rss",    "atom01", "atom02",
                                        "atom03", "atom10",  "atom",    "json1",  "json11", "cdf"};
  return names[static_cast<std::size_t>(format)];
}

std::string_view bozo_token(Bozo bozo) {
  constexpr std::string_view tokens[] = {
      "",          "malformed-xml",     "malformed-json",        "undefined-entity",    "undeclared-namespace",
      "truncated", "encoding-override", "encoding-undetermined", "non-xml-content-type"};
  return tokens[static_cast<std::size_t>(bozo)];
}

void write_document_json(const Feed& feed, const std::function<void(std::string_view)>& sink) {
  JsonWriter json(sink);
  json.begin_object();
  json.string("format", format_name(feed.format));
  json.string("encoding", feed.encoding);
  json.boolean("bozo", feed.bozo != Bozo::none);
  if (feed.bozo != Bozo::none) {
    std::string reason(bozo_token(feed.bozo));
    if (!feed.bozo_detail.empty()) reason.append(": ").append(feed.bozo_detail);
    json.string("bozo_reason", reason);
  }
  json.begin_object("namespaces");
  for (const auto& [prefix, uri] : feed.namespaces) json.string(prefix, uri);
  json.end_object();
  json.begin_object("feed");
  put_feed(json, feed);
  json.end_object();
  json.begin_array("entries");
  for (const Entry& entry : feed.entries) {
    json.begin_object();
    put_entry(json, entry);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  sink(json.take());
}

std::string document_json(const Feed& feed) {
  std::string out;
  write_document_json(feed, [&](std::string_view piece) { out += piece; });
  return out;
}

}  // namespace feedmill
