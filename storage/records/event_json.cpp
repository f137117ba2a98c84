#include "storage/records/event_json.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <boost/json.hpp>

#include "storage/records/find_field.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::size_t long_value = 512;  // longer ones go into an event as their sizes

void append_member(std::string& out, std::string_view name, std::string_view json_text) {
  out.append("\"").append(name).append("\":").append(json_text).append(",");
}

void close_object(std::string& out) {
  if (out.back() == ',') out.pop_back();
  out += '}';
}

}  // namespace

std::string json_string(std::string_view text) {
  return json::serialize(json::value(json::string(text)));
}

std::string changes_json(const Fields& old, const Fields& now) {
  std::string out = "{";
  const auto add = [&out](const std::string& name, const std::string& before, const std::string& after) {
    if (before.size() > long_value || after.size() > long_value) {
      append_member(
          out, name,
          "{\"old_bytes\":" + std::to_string(before.size()) + ",\"new_bytes\":" + std::to_string(after.size()) + "}");
    } else {
      append_member(out, name, "[" + json_string(before) + "," + json_string(after) + "]");
    }
  };
  for (const auto& [name, after] : now) {
    const std::string* before = find_field(old, name);
    add(name, before == nullptr ? "" : *before, after);
  }
  for (const auto& [name, before] : old) {
    if (find_field(now, name) == nullptr) add(name, before, "");
  }
  close_object(out);
  return out;
}

std::string post_event(const Commit& commit, const EntryWrite& write, std::int64_t now_seconds) {
  const bool created = write.id.empty();
  std::string out;
  append_member(out, "action", created ? "\"created\"" : "\"updated\"");
  append_member(out, "timestamp", std::to_string(now_seconds));
  append_member(out, "feed_url", json_string(commit.feed_url));
  append_member(out, "guid", json_string(write.guid));
  append_member(out, "rev", std::to_string(write.rev));
  if (created && commit.initial) append_member(out, "initial", "true");
  std::string data = "{";
  for (const char* name : {"title", "link", "author"}) {
    const std::string* value = find_field(write.set, name);
    if (value == nullptr) value = find_field(write.shown, name);
    if (value != nullptr && !value->empty()) append_member(data, name, json_string(*value));
  }
  append_member(data, "timestamp", std::to_string(write.timestamp));
  close_object(data);
  append_member(out, "data", data);
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
    append_member(out, "changed", changes_json(old, now));
  }
  close_object(out);
  return out;
}

std::string feed_event(const Commit& commit, const FeedEvent& event, std::int64_t now_seconds) {
  std::string out;
  append_member(out, "action", json_string(event.action));
  append_member(out, "timestamp", std::to_string(now_seconds));
  append_member(out, "feed_url", json_string(commit.feed_url));
  append_member(out, "data", event.data);
  if (!event.changed.empty()) append_member(out, "changed", event.changed);
  close_object(out);
  return out;
}

}  // namespace feedmill
