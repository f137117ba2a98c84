#include "storage/records/event_json.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "parsers/text/json_writer.hpp"
#include "storage/records/find_field.hpp"

namespace feedmill {
namespace {

constexpr std::size_t long_value = 512;  // longer ones go into an event as their sizes

/// The object without its opening brace.
std::string tail_of(JsonWriter& json) {
  json.end_object();
  std::string text = json.take();
  text.erase(0, 1);
  return text;
}

}  // namespace

std::string json_string(std::string_view text) {
  JsonWriter json;
  json.reserve(text.size() + 2);
  json.string(text);
  return json.take();
}

std::string changes_json(const Fields& old, const Fields& now) {
  JsonWriter json;
  json.begin_object();
  const auto add = [&json](const std::string& name, const std::string& before, const std::string& after) {
    if (before.size() > long_value || after.size() > long_value) {
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

std::string post_event(const Commit& commit, const EntryWrite& write, std::int64_t now_seconds) {
  const bool created = write.id.empty();
  JsonWriter json;
  json.reserve(512);
  json.begin_object();
  json.string("action", created ? "created" : "updated");
  json.number("timestamp", now_seconds);
  json.string("feed_url", commit.feed_url);
  json.string("guid", write.guid);
  json.number("rev", write.rev);
  if (created && commit.initial) json.boolean("initial", true);
  json.begin_object("data");
  for (const char* name : {"title", "link", "author"}) {
    const std::string* value = find_field(write.set, name);
    if (value == nullptr) value = find_field(write.shown, name);
    if (value != nullptr && !value->empty()) json.string(name, *value);
  }
  json.number("timestamp", write.timestamp);
  json.end_object();
  if (!created) {
    // Not told: the worker's own fields, and what follows from others.
    static constexpr std::array internal{"canonical_url", "last_changed", "rev",      "san_ver",
                                         "saved",         "summary_text", "truncated"};
    const auto is_internal = [](const auto& field) {
      return std::find(internal.begin(), internal.end(), field.first) != internal.end();
    };
    Fields old = write.old, now = write.set;
    std::erase_if(old, is_internal);
    std::erase_if(now, is_internal);
    json.raw("changed", changes_json(old, now));
  }
  return tail_of(json);
}

std::string feed_event(const Commit& commit, const FeedEvent& event, std::int64_t now_seconds) {
  JsonWriter json;
  json.begin_object();
  json.string("action", event.action);
  json.number("timestamp", now_seconds);
  json.string("feed_url", commit.feed_url);
  json.raw("data", event.data);
  if (!event.changed.empty()) json.raw("changed", event.changed);
  return tail_of(json);
}

}  // namespace feedmill
