#include "storage/entry_record.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <string_view>
#include <unordered_set>

#include <boost/json.hpp>
#include <xxhash.h>

#include "storage/fields.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

// SECURITY §3.
constexpr std::size_t max_title = 8U << 10U, max_author = 1U << 10U, max_summary = 64U << 10U, max_content = 1U << 20U;
constexpr std::size_t max_url = 2048, max_extensions = 256U << 10U;

/// The longest start of `text` that ends with a whole character within `cap`, and outside a tag if it is markup.
std::string_view cut(std::string_view text, std::size_t cap, bool markup) {
  if (text.size() <= cap) return text;
  std::size_t end = cut_text(text, cap).size();
  if (markup) {
    const std::string_view head = text.substr(0, end);
    const auto open = head.rfind('<'), close = head.rfind('>');
    if (open != std::string_view::npos && (close == std::string_view::npos || close < open)) end = open;
    const auto reference = text.substr(0, end).rfind('&');
    if (reference != std::string_view::npos &&
        text.substr(reference, end - reference).find(';') == std::string_view::npos && end - reference < 32) {
      end = reference;
    }
  }
  return text.substr(0, end);
}

/// Collects the fields of one entry.
class Collector {
 public:
  void add(const char* name, std::string_view value, std::size_t cap, bool markup = false) {
    if (value.empty()) return;
    const std::string_view kept = cut(value, cap, markup);
    if (kept.size() < value.size()) {
      if (!truncated_.empty()) truncated_ += ' ';
      truncated_ += name;
    }
    if (!kept.empty()) fields_.emplace_back(name, kept);
  }
  void add_url(const char* name, std::string_view url) {
    if (!url.empty() && url.size() <= max_url) fields_.emplace_back(name, url);
  }
  void add_json(const char* name, const json::value& value) {
    std::string text = json::serialize(value);
    if (text.size() <= max_extensions)
      fields_.emplace_back(name, std::move(text));
    else
      add("truncated_json", name, max_url);
  }
  Fields take() {
    if (!truncated_.empty()) fields_.emplace_back("truncated", truncated_);
    std::sort(fields_.begin(), fields_.end());
    return std::move(fields_);
  }

 private:
  Fields fields_;
  std::string truncated_;
};

bool is_markup(std::string_view type) {
  return type == "text/html" || type == "application/xhtml+xml";
}

void put(json::object& object, const char* name, const std::string& value) {
  if (!value.empty()) object[name] = value;
}

json::object attributes(const Media::Attributes& list) {
  json::object object;
  for (const auto& [name, value] : list) object[name] = value;
  return object;
}

json::array attribute_lists(const std::vector<Media::Attributes>& lists) {
  json::array array;
  for (const auto& list : lists) array.push_back(attributes(list));
  return array;
}

json::value media_json(const Media& media) {
  json::object object;
  if (!media.content.empty()) object["content"] = attribute_lists(media.content);
  if (!media.thumbnails.empty()) object["thumbnails"] = attribute_lists(media.thumbnails);
  if (!media.credits.empty()) object["credits"] = attribute_lists(media.credits);
  if (!media.peer_links.empty()) object["peer_links"] = attribute_lists(media.peer_links);
  for (const auto& [name, list] : {std::pair{"rating", &media.rating}, std::pair{"license", &media.license},
                                   std::pair{"restriction", &media.restriction}, std::pair{"player", &media.player},
                                   std::pair{"community", &media.community}}) {
    if (!list->empty()) object[name] = attributes(*list);
  }
  put(object, "title", media.title);
  put(object, "description", media.description);
  return object;
}

json::value itunes_json(const Itunes& itunes) {
  json::object object;
  put(object, "author", itunes.author);
  put(object, "title", itunes.title);
  put(object, "subtitle", itunes.subtitle);
  put(object, "summary", itunes.summary);
  put(object, "image", itunes.image);
  put(object, "episode_type", itunes.episode_type);
  if (itunes.duration) object["duration"] = *itunes.duration;
  if (itunes.episode) object["episode"] = *itunes.episode;
  if (itunes.season) object["season"] = *itunes.season;
  if (itunes.explicit_ != Itunes::Explicit::absent) object["explicit"] = itunes.explicit_ == Itunes::Explicit::yes;
  return object;
}

json::value element_json(const Element& element, int depth = 0);

/// {name: [{value, attrs, children}]}, as the parse contract has it. Elements nest a few levels: parsers/ caps them.
json::object elements_json(const std::vector<Element>& elements, int depth) {
  json::object names;
  for (const Element& element : elements) {
    json::value& list = names[element.name];
    if (!list.is_array()) list.emplace_array();
    list.get_array().push_back(element_json(element, depth));
  }
  return names;
}

json::value element_json(const Element& element, int depth) {
  json::object object;
  put(object, "value", element.value);
  if (!element.attributes.empty()) object["attrs"] = attributes(element.attributes);
  if (!element.children.empty() && depth < 8) object["children"] = elements_json(element.children, depth + 1);
  return object;
}

json::value extensions_json(const Entry& entry) {
  json::object prefixes;
  for (const Element& element : entry.extensions) {
    json::value& names = prefixes[element.prefix];
    if (!names.is_object()) names.emplace_object();
    json::value& list = names.get_object()[element.name];
    if (!list.is_array()) list.emplace_array();
    list.get_array().push_back(element_json(element));
  }
  if (entry.itunes) prefixes["itunes"] = itunes_json(*entry.itunes);
  if (entry.geo) {
    json::object geo;
    put(geo, "type", entry.geo->type);
    boost::system::error_code bad;
    json::value coordinates = json::parse(entry.geo->coordinates, bad);
    if (!bad) geo["coordinates"] = std::move(coordinates);
    if (!geo.empty()) prefixes["geo"] = std::move(geo);
  }
  return prefixes;
}

json::value authors_json(const std::vector<Person>& authors) {
  json::array array;
  for (const Person& person : authors) {
    json::object object;
    put(object, "name", person.name);
    put(object, "email", person.email);
    put(object, "uri", person.uri);
    array.push_back(std::move(object));
  }
  return array;
}

json::value categories_json(const std::vector<Category>& categories) {
  json::array array;
  for (const Category& category : categories) {
    if (array.size() == 64) break;
    json::object object;
    put(object, "term", category.term);
    put(object, "scheme", category.scheme);
    put(object, "label", category.label);
    array.push_back(std::move(object));
  }
  return array;
}

json::value enclosures_json(const std::vector<Enclosure>& enclosures) {
  json::array array;
  for (const Enclosure& enclosure : enclosures) {
    if (array.size() == 32) break;
    if (enclosure.url.empty() || enclosure.url.size() > max_url) continue;
    json::object object;
    put(object, "url", enclosure.url);
    put(object, "type", enclosure.type);
    put(object, "title", enclosure.title);
    if (enclosure.length) object["length"] = *enclosure.length;
    if (enclosure.duration) object["duration"] = *enclosure.duration;
    array.push_back(std::move(object));
  }
  return array;
}

/// The content a reader shows: the first with markup, else the first with text.
const Content* best_content(const Entry& entry) {
  const Content* best = nullptr;
  for (const Content& content : entry.content) {
    if (content.value.empty()) continue;
    if (is_markup(content.type)) return &content;
    if (best == nullptr) best = &content;
  }
  return best;
}

std::string rfc3339(const Date& date) {
  if (!date.time) return {};
  const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(*date.time).time_since_epoch().count();
  std::tm utc{};
  char text[32];
  if (gmtime_r(&seconds, &utc) == nullptr) return {};
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

std::optional<std::int64_t> seconds_of(const Date& date) {
  if (!date.time) return std::nullopt;
  return std::chrono::floor<std::chrono::seconds>(*date.time).time_since_epoch().count();
}

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}

}  // namespace

std::string reader_digest(const Fields& fields) {
  static constexpr std::array noticed{"author",     "categories", "comments", "content",
                                      "enclosures", "link",       "summary",  "title"};
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  std::string folded;
  for (const auto& [name, value] : fields) {
    if (std::find(noticed.begin(), noticed.end(), name) == noticed.end()) continue;
    folded.resize(value.size());
    char* out = folded.data();
    bool gap = true;              // drops what stands before the first character
    for (const char c : value) {  // without a branch: this reads every byte of every post
      const bool space = is_space(c);
      *out = space ? ' ' : c;
      out += static_cast<std::ptrdiff_t>(!(space && gap));
      gap = space;
    }
    if (gap && out != folded.data()) --out;
    XXH3_64bits_update(state.get(), name.data(), name.size() + 1);
    XXH3_64bits_update(state.get(), folded.data(), static_cast<std::size_t>(out - folded.data()));
    XXH3_64bits_update(state.get(), "", 1);
  }
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(XXH3_64bits_digest(state.get())));
  return hex;
}

EntryRecord entry_record(const Entry& entry) {
  Collector fields;
  fields.add("title", entry.title.value, max_title, is_markup(entry.title.type));
  if (!entry.title.value.empty() && entry.title.type != "text/plain") fields.add("title_type", entry.title.type, 128);
  fields.add_url("link", entry.link);
  fields.add("author", entry.author, max_author);
  fields.add("summary", entry.summary.value, max_summary, is_markup(entry.summary.type));
  if (const Content* content = best_content(entry)) {
    fields.add("content", content->value, max_content, is_markup(content->type));
    fields.add("content_type", content->type, 128);
  }
  fields.add("date_published", rfc3339(entry.published), 64);
  fields.add("date_updated", rfc3339(entry.updated), 64);
  fields.add("language", entry.language, 64);
  fields.add_url("comments", entry.comments);
  if (!entry.authors.empty()) fields.add_json("authors", authors_json(entry.authors));
  if (!entry.categories.empty()) fields.add_json("categories", categories_json(entry.categories));
  if (!entry.enclosures.empty()) fields.add_json("enclosures", enclosures_json(entry.enclosures));
  if (entry.media) fields.add_json("media", media_json(*entry.media));
  if (!entry.extensions.empty() || entry.itunes || entry.geo) fields.add_json("extensions", extensions_json(entry));

  EntryRecord record;
  record.guid = entry.guid;
  record.timestamp = seconds_of(entry.updated);
  if (!record.timestamp) record.timestamp = seconds_of(entry.published);
  record.fields = fields.take();
  record.digest = reader_digest(record.fields);
  return record;
}

std::vector<EntryRecord> entry_records(const Feed& feed) {
  std::vector<EntryRecord> records;
  records.reserve(feed.entries.size());
  std::unordered_set<std::string_view> seen;
  for (const Entry& entry : feed.entries) {
    if (entry.guid.empty() || !seen.insert(entry.guid).second) continue;
    records.push_back(entry_record(entry));
  }
  return records;
}

}  // namespace feedmill
