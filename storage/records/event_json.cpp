#include "storage/records/event_json.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "parsers/markup/text.hpp"
#include "parsers/text/json_writer.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/find_field.hpp"
#include "storage/redis/utf8.hpp"

namespace feedmill {
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
  return tail_of(json);
}

}  // namespace feedmill
