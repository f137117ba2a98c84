#include "storage/records/event_record.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "parsers/markup/text.hpp"
#include "parsers/text/json_writer.hpp"
#include "parsers/text/strings.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/redis/utf8.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

/// Parser handler that keeps only the members of Event and builds no tree. Uses the same parser as the code that builds
/// trees elsewhere, so both accept the same JSON. Of a duplicate member the last counts.
class EventReader {
 public:
  static constexpr std::size_t max_object_size = SIZE_MAX, max_array_size = SIZE_MAX, max_key_size = SIZE_MAX,
                               max_string_size = SIZE_MAX;
  using Error = boost::system::error_code;

  Event event{};
  bool is_object = false;

  bool on_document_begin(Error& /*error*/) { return true; }
  bool on_document_end(Error& /*error*/) { return true; }
  bool on_object_begin(Error& /*error*/) {
    is_object = is_object || depth_ == 0;
    in_data_ = in_data_ || (depth_ == 1 && member_ == "data");
    ++depth_;
    return true;
  }
  bool on_object_end(std::size_t /*size*/, Error& /*error*/) {
    if (--depth_ == 1) in_data_ = false;
    return true;
  }
  bool on_array_begin(Error& /*error*/) {
    ++depth_;
    return true;
  }
  bool on_array_end(std::size_t /*size*/, Error& /*error*/) {
    --depth_;
    return true;
  }
  bool on_key_part(json::string_view text, std::size_t /*size*/, Error& /*error*/) {
    text_.append(text.data(), text.size());
    return true;
  }
  bool on_key(json::string_view text, std::size_t /*size*/, Error& /*error*/) {
    text_.append(text.data(), text.size());
    if (is_told()) {
      (depth_ == 1 ? member_ : data_member_) = text_;
      forget_member();
    } else if (depth_ == 2 && member_ == "changed") {
      event.renamed = event.renamed || text_ == "link" || text_ == "title";
    }
    text_.clear();
    return true;
  }
  bool on_string_part(json::string_view text, std::size_t /*size*/, Error& /*error*/) {
    if (is_told()) text_.append(text.data(), text.size());
    return true;
  }
  bool on_string(json::string_view text, std::size_t /*size*/, Error& /*error*/) {
    if (!is_told()) return true;
    text_.append(text.data(), text.size());
    if (depth_ == 2) {
      event.data.emplace_back(data_member_, text_);
    } else if (std::string* const kept = string_member()) {
      *kept = text_;
    }
    text_.clear();
    return true;
  }
  bool on_number_part(json::string_view /*text*/, Error& /*error*/) { return true; }
  bool on_int64(std::int64_t value, json::string_view /*text*/, Error& /*error*/) {
    if (depth_ == 1 && member_ == "timestamp") event.timestamp = value;
    if (is_in_data() && data_member_ == "timestamp") event.score = value;
    if (is_in_data() && data_member_ == "part") event.continued = value > 1;
    return true;
  }
  bool on_uint64(std::uint64_t /*value*/, json::string_view /*text*/, Error& /*error*/) { return true; }
  bool on_double(double /*value*/, json::string_view /*text*/, Error& /*error*/) { return true; }
  bool on_bool(bool value, Error& /*error*/) {
    if (depth_ == 1 && member_ == "initial") event.initial = value;
    return true;
  }
  bool on_null(Error& /*error*/) { return true; }
  bool on_comment_part(json::string_view /*text*/, Error& /*error*/) { return true; }
  bool on_comment(json::string_view /*text*/, Error& /*error*/) { return true; }

 private:
  bool is_in_data() const { return in_data_ && depth_ == 2; }
  /// Whether the parser is at a member of the event or of its `data`, not deeper.
  bool is_told() const { return depth_ == 1 || is_in_data(); }

  std::string* string_member() {
    if (member_ == "prev") return &event.prev;
    if (member_ == "type") return &event.type;
    if (member_ == "entity_id") return &event.entity_id;
    if (member_ == "feed_url") return &event.feed_url;
    if (member_ == "guid") return &event.guid;
    return nullptr;
  }
  void forget_member() {
    if (is_in_data()) {
      if (data_member_ == "timestamp") event.score.reset();
      return;
    }
    if (std::string* const kept = string_member()) kept->clear();
    if (member_ == "timestamp") event.timestamp = 0;
    if (member_ == "initial") event.initial = false;
    if (member_ == "changed") event.renamed = false;
    if (member_ == "data") {
      event.data.clear();
      event.score.reset();
    }
  }

  int depth_ = 0;
  bool in_data_ = false;
  std::string member_, data_member_, text_;
};

}  // namespace

EventPlace event_place(std::string_view id) {
  const std::size_t dash = std::min(id.find('-'), id.size());
  return {leading_number<std::uint64_t>(id), leading_number<std::uint64_t>(id.substr(std::min(dash + 1, id.size())))};
}

std::string to_string(const EventPlace& place) {
  return std::to_string(place.milliseconds) + "-" + std::to_string(place.number);
}

std::optional<Event> read_event(const EventRecord& record) {
  json::basic_parser<EventReader> parser{json::parse_options{}};
  boost::system::error_code error;
  const std::size_t read = parser.write_some(false, record.json.data(), record.json.size(), error);
  EventReader& reader = parser.handler();
  if (error || read < record.json.size() || !reader.is_object) return {};
  Event& event = reader.event;
  const bool of_a_feed = !event.type.starts_with("request_");  // a request may be about a channel
  if (event.type.empty() || event.entity_id.empty() || (of_a_feed && event.feed_url.empty())) return {};
  event.id = record.id;
  return std::move(event);
}

namespace {

/// The finished object without its opening brace.
std::string tail_of(JsonWriter& json) {
  json.end_object();
  std::string text = json.take();
  text.erase(0, 1);
  return text;
}

/// Adds `post`: the stored fields of the entry, except those that the event has elsewhere or that the script counts.
void add_post(JsonWriter& json, const EntryWrite& write, bool with_text) {
  static constexpr std::array<std::string_view, 5> elsewhere{"bytes", "digest", "feed_url", "guid", "rev"};
  const auto add = [&json](const auto& field) {
    if (std::find(elsewhere.begin(), elsewhere.end(), field.first) == elsewhere.end()) {
      json.string(field.first, field.second);
    }
  };
  json.begin_object("post");
  for (const auto& field : write.set) add(field);
  for (const auto& field : write.shown) {
    if (find_field(write.set, field.first) == nullptr) add(field);
  }
  if (with_text) {
    Fields texts;
    for (const char* name : {"content", "content_type", "summary", "summary_type"}) {
      const std::string* value = find_field(write.set, name);
      if (value == nullptr) value = find_field(write.shown, name);
      if (value != nullptr) texts.emplace_back(name, *value);
    }
    if (const std::string text = content_text(texts); !text.empty()) json.string("content_text", text);
  }
  json.end_object();
}

}  // namespace

std::string json_string(std::string_view text) {
  JsonWriter json;
  json.reserve(text.size() + 2);
  json.string(text);
  return json.take();
}

std::string changes_json(const Fields& old, const Fields& now, std::size_t longest) {
  JsonWriter json;
  json.begin_object();
  const auto add = [&json, longest](const std::string& name, const std::string& before, const std::string& after) {
    if (before.size() > longest || after.size() > longest) {
      json.begin_object(name);
      json.number("old_bytes", before.size());
      json.number("new_bytes", after.size());
      json.end_object();
    } else {
      json.begin_array(name);
      json.string(before);
      json.string(after);
      json.end_array();
    }
  };
  for (const auto& [name, after] : now) {
    const std::string* before = find_field(old, name);
    add(name, before == nullptr ? "" : *before, after);
  }
  for (const auto& [name, before] : old) {
    if (find_field(now, name) == nullptr) add(name, before, "");
  }
  json.end_object();
  return json.take();
}

std::string post_event(const Commit& commit, const EntryWrite& write, std::int64_t now_seconds,
                       const EventDetail& detail) {
  const bool created = write.id.empty();
  const bool whole = detail.content && write.bytes <= detail.content_max;
  JsonWriter json;
  json.reserve(whole ? 512 + write.bytes + write.bytes / 8 : 512);
  json.begin_object();
  json.string("action", created ? "created" : "updated");
  json.number("timestamp", now_seconds);
  json.string("feed_url", commit.feed_url);
  json.string("guid", write.guid);
  json.number("rev", write.rev);
  if (created && commit.initial) json.boolean("initial", true);
  if (created && commit.healed) json.boolean("healed", true);
  if (created && write.timestamp < commit.backlog_before) json.boolean("backlog", true);
  json.begin_object("data");
  const auto value_now = [&write](const char* name) {
    const std::string* value = find_field(write.set, name);
    return value != nullptr ? std::string_view(*value) : value_of(write.shown, name);
  };
  // The event has no title_type, so the title is plain text.
  const std::string title = readable_text(value_now("title"), value_now("title_type"));
  if (!title.empty()) json.string("title", title);
  for (const char* name : {"link", "author"}) {
    if (const std::string_view value = value_now(name); !value.empty()) json.string(name, value);
  }
  json.number("timestamp", write.timestamp);
  if (write.quiet) {
    json.begin_array("fields");
    for (const auto& [name, value] : write.set) {
      if (name != "rev") json.string(name);
    }
    for (const std::string& name : write.unset) json.string(name);
    json.end_array();
  }
  json.end_object();
  if (!created && !write.quiet) {
    // Not reported: the worker's own and derived fields. `post` is not a field of posts, but commit.lua would mistake
    // it for the event's member.
    static constexpr std::array internal{"canonical_url", "last_changed", "post",         "rev",      "san_ver",
                                         "saved",         "saved_over",   "summary_text", "truncated"};
    const auto is_internal = [](const auto& field) {
      return std::find(internal.begin(), internal.end(), field.first) != internal.end();
    };
    Fields old = write.old, now = write.set;
    std::erase_if(old, is_internal);
    std::erase_if(now, is_internal);
    json.raw("changed", changes_json(old, now, detail.changed_max));
  }
  if (whole)
    add_post(json, write, detail.content_text);
  else if (detail.content)
    json.number("post_bytes", write.bytes);
  std::string tail = tail_of(json);
  // Stored texts may come from other programs; every consumer must be able to parse the event.
  return created || is_utf8(tail) ? tail : cleaned_text(tail);
}

std::string feed_event(const Commit& commit, const FeedEvent& event, std::int64_t now_seconds) {
  JsonWriter json;
  json.begin_object();
  json.string("action", event.action);
  json.number("timestamp", now_seconds);
  json.string("feed_url", commit.feed_url);
  json.raw("data", event.data);
  if (!event.changed.empty()) json.raw("changed", event.changed);
  if (!event.feed.empty()) json.raw("feed", event.feed);
  std::string tail = tail_of(json);
  return is_utf8(tail) ? tail : cleaned_text(tail);  // stored values may come from other programs
}

namespace {

namespace json = boost::json;

constexpr std::size_t most_names = 1'000, longest_name = 4'096;

bool holds(std::span<const std::string> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

json::array array_of(const std::vector<std::string>& names) {
  json::array all;
  for (const std::string& name : names) all.emplace_back(json::string(name));
  return all;
}

std::vector<std::string> names_in(const json::object& object, std::string_view member) {
  std::vector<std::string> names;
  const json::value* const value = object.if_contains(member);
  if (value == nullptr || !value->is_array()) return names;
  for (const json::value& name : value->get_array()) {
    if (name.is_string()) names.emplace_back(name.get_string());
  }
  return names;
}

}  // namespace

bool is_outside_type(std::string_view type) {
  return std::ranges::find(outside_event_types, type) != outside_event_types.end();
}

bool EventFilter::wants_kind(const Event& event) const {
  if (!is_outside_type(event.type) || (event.initial && !initial)) return false;
  return types.empty() || holds(types, event.type);
}

bool EventFilter::wants(const Event& event, std::span<const std::string> holding) const {
  if (!wants_kind(event)) return false;
  if (of_all_feeds() || holds(feeds, event.feed_url)) return true;
  return std::ranges::any_of(channels, [&](const std::string& channel) { return holds(holding, channel); });
}

std::string to_json(const EventFilter& filter) {
  json::object object;
  if (!filter.feeds.empty()) object["feeds"] = array_of(filter.feeds);
  if (!filter.channels.empty()) object["channels"] = array_of(filter.channels);
  if (!filter.types.empty()) object["types"] = array_of(filter.types);
  if (filter.initial) object["initial"] = true;
  return json::serialize(object);
}

EventFilter read_filter(std::string_view text) {
  EventFilter filter;
  boost::system::error_code error;
  const json::value value = json::parse({text.data(), text.size()}, error);
  if (error || !value.is_object()) return filter;
  const json::object& object = value.get_object();
  filter.feeds = names_in(object, "feeds");
  filter.channels = names_in(object, "channels");
  filter.types = names_in(object, "types");
  const json::value* const initial = object.if_contains("initial");
  filter.initial = initial != nullptr && initial->is_bool() && initial->get_bool();
  return filter;
}

std::string objection_to(const EventFilter& filter) {
  for (const std::string& type : filter.types) {
    if (is_outside_type(type)) continue;
    std::string text = "unknown event type \"" + type + "\"; one of:";
    for (const std::string_view known : outside_event_types) text.append(" ").append(known);
    return text;
  }
  if (filter.feeds.size() + filter.channels.size() > most_names)
    return "more than " + std::to_string(most_names) + " feeds and channels";
  for (const auto* names : {&filter.feeds, &filter.channels}) {
    for (const std::string& name : *names) {
      if (name.empty() || name.size() > longest_name)
        return "the name of a feed or channel is empty, or longer than 4096 bytes";
    }
  }
  return {};
}

}  // namespace feedmill
