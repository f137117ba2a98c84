#include "storage/records/event_json.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "storage/records/find_field.hpp"

namespace feedmill {
namespace {

constexpr std::size_t long_value = 512;  // longer ones go into an event as their sizes

/// RFC 8259 §7, as short as it goes.
void append_text(std::string& out, std::string_view text) {
  static constexpr std::string_view shortened("\b\f\n\r\t\"\\"), letters("bfnrt\"\\");
  static constexpr char hex[] = "0123456789abcdef";
  out += '"';
  std::size_t copied = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    out.append(text, copied, i - copied);
    copied = i + 1;
    if (const std::size_t at = shortened.find(text[i]); at != std::string_view::npos)
      out.append("\\").push_back(letters[at]);
    else
      out.append("\\u00").append({hex[byte >> 4U], hex[byte & 0xFU]});
  }
  out.append(text, copied).push_back('"');
}

void append_name(std::string& out, std::string_view name) {
  out.append("\"").append(name).append("\":");
}

void append_member(std::string& out, std::string_view name, std::string_view json_text) {
  append_name(out, name);
  out.append(json_text).push_back(',');
}

void append_text_member(std::string& out, std::string_view name, std::string_view text) {
  append_name(out, name);
  append_text(out, text);
  out += ',';
}

void close_object(std::string& out) {
  if (out.back() == ',') out.pop_back();
  out += '}';
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  append_text(out, text);
  return out;
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
  out.reserve(512);
  append_member(out, "action", created ? "\"created\"" : "\"updated\"");
  append_member(out, "timestamp", std::to_string(now_seconds));
  append_text_member(out, "feed_url", commit.feed_url);
  append_text_member(out, "guid", write.guid);
  append_member(out, "rev", std::to_string(write.rev));
  if (created && commit.initial) append_member(out, "initial", "true");
  append_name(out, "data");
  out += '{';
  for (const char* name : {"title", "link", "author"}) {
    const std::string* value = find_field(write.set, name);
    if (value == nullptr) value = find_field(write.shown, name);
    if (value != nullptr && !value->empty()) append_text_member(out, name, *value);
  }
  append_member(out, "timestamp", std::to_string(write.timestamp));
  close_object(out);
  out += ',';
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
