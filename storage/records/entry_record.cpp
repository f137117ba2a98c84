#include "storage/records/entry_record.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

#include <xxhash.h>

#include "parsers/feed/document_json.hpp"
#include "parsers/feed/entry_values.hpp"
#include "parsers/feed/formats.hpp"
#include "parsers/feed/item_hash.hpp"
#include "parsers/markup/sanitise.hpp"
#include "parsers/markup/text.hpp"
#include "parsers/text/limits.hpp"
#include "parsers/text/url.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/records/folded.hpp"
#include "storage/records/json_members.hpp"
#include "storage/records/post_change.hpp"
#include "storage/records/post_identity.hpp"

namespace feedmill {
namespace {

/// Whether a list of words separated by spaces has this one.
bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

/// Collects the fields of one entry within the total cap.
class Collector {
 public:
  explicit Collector(std::string_view truncated) : truncated_(truncated) { fields_.reserve(16); }

  void add(std::string name, std::string value) {
    if (!value.empty()) fields_.emplace_back(std::move(name), std::move(value));
  }
  void add_json(std::string name, std::string text) {
    if (text.size() > limits::json)
      cut(name);
    else
      add(std::move(name), std::move(text));
  }
  void cut(std::string_view name) {
    if (has_word(truncated_, name)) return;
    if (!truncated_.empty()) truncated_ += ' ';
    truncated_ += name;
  }

  Fields take() {
    // The texts alone stay below the cap, so drop lists, starting with those readers miss least.
    std::size_t total = 0;
    for (const auto& [name, value] : fields_) total += name.size() + value.size();
    for (const std::string_view name : {"extensions", "media", "links", "source", "contributors", "categories",
                                        "publisher", "authors", "enclosures"}) {
      if (total <= limits::entry) break;
      const auto found =
          std::find_if(fields_.begin(), fields_.end(), [&](const auto& field) { return field.first == name; });
      if (found == fields_.end()) continue;
      total -= found->second.size();
      fields_.erase(found);
      cut(name);
    }
    add("truncated", truncated_);
    std::sort(fields_.begin(), fields_.end());
    return std::move(fields_);
  }

 private:
  Fields fields_;
  std::string truncated_;
};

/// "" for a date before 1900, which counts as none (DESIGN §3.4).
std::string rfc3339(const Date& date) {
  constexpr std::chrono::sys_days first{std::chrono::year{1900} / 1 / 1};
  if (!date.time || *date.time < first) return {};
  return iso8601(Time(std::chrono::floor<std::chrono::seconds>(*date.time)));
}

/// For the timestamp, where dates before 1970 count as none (DESIGN §3.4).
std::optional<std::int64_t> score_of(const Date& date) {
  const std::int64_t seconds = date.time ? unix_seconds(*date.time) : 0;
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

Fields shared_fields_of(const Entry& entry) {
  const std::array<NamedLink, 2> told{{{"replies", entry.comments, {}}, {"replies", entry.comments_feed, {}}}};
  std::vector<NamedLink> elsewhere;  // RFC 4287 §4.1.3.2
  for (const Content& content : entry.content) {
    if (!content.src.empty()) elsewhere.push_back({"content", content.src, content.src_type});
  }
  return shared_fields(entry, {told, elsewhere, true});
}

/// A field's value without the parts that reader_digest() ignores.
std::string_view settled(std::string_view name, const std::string& value, std::string& buffer) {
  if (name == "content" || name == "summary") {
    return settled_markup(value, buffer, append_canonical_url, append_steady_url);
  }
  if (name == "enclosures") return settled_json(value, buffer, append_steady_url);
  if (name != "link" && name != "comments") return value;
  buffer.clear();
  append_canonical_url(buffer, value);
  return buffer;
}

/// Whether the elements of that name, in JSON, are counters.
bool are_counters(std::string_view prefix, std::string_view name, std::string_view elements) {
  if (!is_counter(prefix, name)) return false;
  if (counts_with_words(prefix, name)) return true;
  constexpr std::string_view member = "\"value\":\"";  // of the elements and those within them
  for (std::size_t at = elements.find(member); at != std::string_view::npos; at = elements.find(member, at)) {
    at += member.size();
    if (has_words(elements.substr(at, end_of_string(elements, at - 1) - at))) return false;
  }
  return true;
}

/// Appends the array without the elements that name a counter in their attribute `name`.
void append_uncounted(std::string& out, std::string_view prefix, std::string_view elements) {
  out.push_back('[');
  const std::size_t begin = out.size();
  for (std::size_t at = 1; at < elements.size();) {
    const std::size_t end = std::min(end_of_value(elements, at), elements.size());
    const std::string_view element = elements.substr(at, end - at);
    std::string_view named;
    for_each_member(element, [&](std::string_view part, std::string_view attributes) {
      if (part != "attrs") return;
      for_each_member(attributes, [&](std::string_view name, std::string_view value) {
        if (name == "name" && value.size() > 2) named = value.substr(1, value.size() - 2);
      });
    });
    if (!is_counter(prefix, named)) out.append(element).push_back(',');
    at = end + 1;
  }
  if (out.size() > begin) out.pop_back();
  out.push_back(']');
}

/// A JSON object without the counters of `prefix`; of all its vocabularies if `prefix` is "".
void append_without_counters(std::string& out, std::string_view prefix, std::string_view object) {
  out.push_back('{');
  const std::size_t begin = out.size();
  for_each_member(object, [&](std::string_view name, std::string_view value) {
    if (!prefix.empty() && are_counters(prefix, name, value)) return;
    out.append(1, '"').append(name).append("\":");
    if (prefix.empty() && value.starts_with('{'))
      append_without_counters(out, name, value);
    else if (is_named_attribute(prefix, name) && value.starts_with('['))
      append_uncounted(out, prefix, value);
    else
      out.append(value);
    out.push_back(',');
  });
  if (out.size() > begin) out.pop_back();
  out.push_back('}');
}

/// A field's value without the parts that entry_digest() ignores.
std::string_view lasting(std::string_view name, const std::string& value, std::string& buffer) {
  if (name == "content" || name == "summary") {
    return settled_markup(value, buffer, append_lasting_url, append_lasting_url);
  }
  if (name == "enclosures" || name == "media") {
    const std::string_view steady = settled_json(value, buffer, append_lasting_url);
    if (name == "enclosures") return steady;
    std::string counted(steady);
    buffer.clear();
    append_without_counters(buffer, name, counted);
    return buffer;
  }
  buffer.clear();
  if (name == "extensions")
    append_without_counters(buffer, "", value);
  else if (name == "link" || name == "comments" || name == "image" || name == "banner_image")
    append_lasting_url(buffer, value);
  else
    return value;
  return buffer;
}

/// The fields of a post sorted by name. Valid until the next call.
const std::vector<const Fields::value_type*>& sorted_by_name(const Fields& fields) {
  static thread_local std::vector<const Fields::value_type*> sorted;  // reused: this runs for every post
  sorted.clear();
  for (const auto& field : fields) sorted.push_back(&field);
  const auto name_of = [](const auto* field) { return std::string_view(field->first); };
  if (!std::ranges::is_sorted(sorted, {}, name_of)) std::ranges::sort(sorted, {}, name_of);
  return sorted;
}

/// The guid from the document in the form of Entry::guid, which may itself be a substitute; "" if there is none.
std::string given_guid(const Entry& entry) {
  if (entry.id.empty() || entry.id == entry.guid) return entry.id;
  if (entry.guid.starts_with("sha256:")) {
    std::string hashed = hashed_guid(entry.id);
    if (hashed == entry.guid) return hashed;
  }
  return storable_guid(entry.id);
}

/// Clears the guids of unnamed posts that repeat a named one.
void drop_copies(std::vector<EntryRecord>& records) {
  if (std::ranges::none_of(records, &is_named) || std::ranges::all_of(records, &is_named)) return;
  std::unordered_set<std::string_view> named;
  for (const EntryRecord& record : records) {
    if (is_named(record) && find_field(record.fields, "link") != nullptr) named.insert(record.digest);
  }
  for (EntryRecord& record : records) {
    if (record.given_guid.empty() && named.contains(record.digest)) record.guid.clear();
  }
}

}  // namespace

bool is_own_field(std::string_view name) {
  return std::ranges::find(store_field_names, name) != store_field_names.end();
}

namespace {

/// Appends the JSON of `authors` for one author with only a name.
void append_sole_author(std::string& out, std::string_view name) {
  const bool plain = std::ranges::none_of(name, [](unsigned char c) { return c < 0x20 || c == '"' || c == '\\'; });
  if (plain)
    out.append(R"([{"name":")").append(name).append(R"("}])");
  else
    out += people_json({Person{std::string(name), "", "", ""}});
}

/// Whether `author` says all that `authors` would: unless the authors were cut off.
bool has_sole_author(const Fields& fields) {
  return find_field(fields, "author") != nullptr && !has_word(value_of(fields, "truncated"), "authors");
}

}  // namespace

std::string implied_value(const Fields& fields, std::string_view name) {
  if (find_field(fields, name) != nullptr) return {};
  std::string value;
  if (name == "canonical_url" && is_http_url(value_of(fields, "link"))) value = value_of(fields, "link");
  if (name == "authors" && has_sole_author(fields)) append_sole_author(value, value_of(fields, "author"));
  return value;
}

Fields with_implied(Fields fields) {
  for (const char* name : implied_names) {
    if (std::string value = implied_value(fields, name); !value.empty()) fields.emplace_back(name, std::move(value));
  }
  std::ranges::sort(fields);
  return fields;
}

bool is_implied(const Fields& fields, std::string_view name) {
  static thread_local std::string sole;  // reused: this runs for every post
  if (name == "canonical_url") {
    const std::string_view link = value_of(fields, "link");
    return is_http_url(link) && value_of(fields, name) == link;
  }
  if (name != "authors" || !has_sole_author(fields)) return false;
  sole.clear();
  append_sole_author(sole, value_of(fields, "author"));
  return value_of(fields, name) == sole;
}

void drop_implied(Fields& fields) {
  const bool sole_author = is_implied(fields, "authors"), sole_page = is_implied(fields, "canonical_url");
  std::erase_if(fields, [&](const auto& field) {
    return (field.first == "authors" && sole_author) || (field.first == "canonical_url" && sole_page);
  });
}

std::string entry_digest(const Fields& fields, bool* has_idle) {
  using namespace std::string_view_literals;
  static constexpr std::array left_out{"canonical_url"sv, "san_ver"sv, "summary_text"sv};  // derived
  static constexpr std::string_view digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
  static thread_local std::string text, buffer;  // reused: this runs for every post
  text.clear();
  for (const auto* field : sorted_by_name(fields)) {
    const auto& [name, value] = *field;
    if (is_own_field(name) || std::ranges::find(left_out, name) != left_out.end()) continue;
    text.append(name).push_back('\0');
    const std::string_view kept = lasting(name, value, buffer);
    if (has_idle != nullptr && kept.size() != value.size()) *has_idle = true;
    text.append(kept).push_back('\0');
    if (name != "author" || find_field(fields, "authors") != nullptr || !has_sole_author(fields)) continue;
    text.append("authors").push_back('\0');  // which follows, stored or not
    append_sole_author(text, value);
    text.push_back('\0');
  }
  std::string digest = "1";  // version of the digest
  std::uint64_t hash = XXH3_64bits(text.data(), text.size());
  for (int i = 0; i < 11; ++i, hash >>= 6U) digest += digits[hash & 63U];
  return digest;
}

bool is_same_but_idle(std::string_view name, const std::string& one, const std::string& other) {
  std::string buffer, other_buffer;
  return lasting(name, one, buffer) == lasting(name, other, other_buffer);
}

bool is_reader_digest(std::string_view digest) {
  if (digest.starts_with(cut_mark)) digest.remove_prefix(cut_mark.size());
  return digest.size() == 16;
}

std::string reader_digest(const Fields& fields) {
  using namespace std::string_view_literals;
  static constexpr std::array noticed{"author"sv,     "categories"sv, "comments"sv, "content"sv,
                                      "enclosures"sv, "link"sv,       "summary"sv,  "title"sv};
  std::string text, buffer;
  for (const auto* field : sorted_by_name(fields)) {
    if (std::ranges::find(noticed, field->first) == noticed.end()) continue;
    text.append(field->first).push_back('\0');
    append_folded(text, settled(field->first, field->second, buffer));
    text.push_back('\0');
  }
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(XXH3_64bits(text.data(), text.size())));
  return hex;
}

EntryRecord entry_record(Entry&& entry) {
  EntryRecord record;
  record.given_guid = given_guid(entry);
  record.guid = std::move(entry.guid);
  Fields shared = shared_fields_of(entry);
  Collector fields(entry.truncated);
  fields.add("canonical_url", canonical_address(entry));
  std::vector<Link>().swap(entry.links);  // frees them before the other entries are converted
  fields.add("summary_text", summary_text(entry));
  if (!entry.title.value.empty() && entry.title.type != "text/plain")
    fields.add("title_type", std::string(entry.title.type));
  fields.add("title", std::move(entry.title.value));
  fields.add("link", std::move(entry.link));
  fields.add("author", *entry.author);
  if (!entry.summary.value.empty() && entry.summary.type != "text/plain")
    fields.add("summary_type", std::string(entry.summary.type));
  fields.add("summary", std::move(entry.summary.value));
  if (const Content* const best = best_content(entry)) {
    Content& content = entry.content[static_cast<std::size_t>(best - entry.content.data())];
    fields.add("content", std::move(content.value));
    fields.add("content_type", std::string(content.type));
  }
  fields.add("date_published", rfc3339(entry.published));
  fields.add("date_updated", rfc3339(entry.updated));
  if (entry.created) fields.add("date_created", rfc3339(*entry.created));
  if (entry.expired) fields.add("date_expired", rfc3339(*entry.expired));
  fields.add("language", *entry.language);
  fields.add("san_ver", std::to_string(sanitiser_version));
  for (auto& [name, value] : shared) fields.add_json(std::move(name), std::move(value));
  for (const EntryPage& page : entry_pages) fields.add(std::string(page.name), std::move(entry.*page.url));
  fields.add("banner_image", std::move(entry.banner_image));
  if (!entry.enclosures.empty()) fields.add_json("enclosures", enclosures_json(entry.enclosures));
  if (!entry.source.empty()) fields.add_json("source", source_json(entry.source.front()));
  fields.add("via", joined(entry.via));
  bool cut = false;
  fields.add_json("extensions", extensions_json(entry, limits::json, cut));
  if (cut) fields.cut("extensions");

  record.timestamp = score_of(entry.updated);
  if (!record.timestamp) record.timestamp = score_of(entry.published);
  record.fields = fields.take();
  drop_implied(record.fields);
  record.digest = entry_digest(record.fields, &record.has_idle);
  if (entry.cut_short)
    record.digest.insert(0, cut_mark);
  else
    record.item_hash = entry.item_hash;
  return record;
}

std::vector<EntryRecord> entry_records(Feed& feed, IdentifiedBy by, IdentifiedBy was, const StoredItems& known) {
  std::vector<EntryRecord> records;
  records.reserve(feed.entries.size() + feed.known.size());
  std::size_t place = 0;
  auto next = feed.known.begin();
  const auto take_known = [&] {
    for (; next != feed.known.end() && next->place == place; ++next, ++place) {
      records.push_back(known.record(next->hash));
    }
  };
  for (Entry& entry : feed.entries) {
    take_known();
    ++place;
    if (!entry.guid.empty()) records.push_back(entry_record(std::move(entry)));
  }
  take_known();
  identify(records, was);
  if (by == was) {
    for (EntryRecord& record : records) record.former_guid.clear();
    drop_copies(records);
  } else {
    std::unordered_set<std::string> seen;
    for (EntryRecord& record : records) {
      if (!seen.insert(record.guid).second) record.guid.clear();
    }
    identify(records, by);
  }
  std::erase_if(records, [](const EntryRecord& record) { return record.guid.empty(); });
  return records;
}

bool lacks_texts(const Fields& fields) {
  return has_word(value_of(fields, "truncated"), texts_word);
}

void drop_texts(Fields& fields) {
  const auto is_text = [](const auto& field) {
    return std::ranges::find(text_field_names, field.first) != text_field_names.end();
  };
  if (std::erase_if(fields, is_text) == 0 || lacks_texts(fields)) return;
  const auto truncated = std::ranges::find(fields, "truncated", &Fields::value_type::first);
  if (truncated == fields.end())
    fields.emplace_back("truncated", texts_word);
  else
    truncated->second.append(" ").append(texts_word);
  std::ranges::sort(fields);
}

Fields with_texts(Fields fields, const Fields& other) {
  const auto truncated = std::ranges::find(fields, "truncated", &Fields::value_type::first);
  if (truncated != fields.end() && truncated->second.ends_with(texts_word)) {  // where drop_texts() puts it
    truncated->second.resize(truncated->second.size() - texts_word.size());
    if (truncated->second.empty())
      fields.erase(truncated);
    else
      truncated->second.pop_back();
  }
  for (const std::string_view name : text_field_names) {
    if (const std::string* const text = find_field(other, name)) fields.emplace_back(name, *text);
  }
  return fields;
}

std::string content_text(const Fields& fields) {
  const std::string name = find_field(fields, "content") != nullptr ? "content" : "summary";
  return readable_text(value_of(fields, name), value_of(fields, name + "_type"));
}

}  // namespace feedmill
