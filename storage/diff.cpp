#include "storage/diff.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "storage/fields.hpp"

namespace feedmill {
namespace {

// Fields of Entry:<n> that the document does not decide.
constexpr std::array own_fields{"bytes", "digest",       "feed_url", "first_seen",
                                "guid",  "last_changed", "rev",      "timestamp"};

bool is_own(std::string_view name) {
  return std::find(own_fields.begin(), own_fields.end(), name) != own_fields.end();
}

std::int64_t number(const Fields& fields, std::string_view name, std::int64_t otherwise) {
  const std::string* text = find_field(fields, name);
  if (text == nullptr) return otherwise;
  std::int64_t value = otherwise;
  std::from_chars(text->data(), text->data() + text->size(), value);
  return value;
}

EntryWrite creation(const EntryRecord& record, std::int64_t timestamp, std::int64_t now) {
  EntryWrite write;
  write.guid = record.guid;
  write.digest = record.digest;
  write.timestamp = timestamp;
  write.bytes = entry_bytes(record.fields);
  write.set = record.fields;
  write.set.emplace_back("timestamp", std::to_string(timestamp));
  write.set.emplace_back("rev", "1");
  write.set.emplace_back("first_seen", std::to_string(now));
  write.set.emplace_back("last_changed", std::to_string(now));
  return write;
}

EntryWrite modification(const EntryRecord& record, const Known::Guid& known, std::int64_t now) {
  EntryWrite write;
  write.guid = record.guid;
  write.digest = record.digest;
  write.id = known.id;
  write.bytes = entry_bytes(record.fields);
  write.rev = number(known.fields, "rev", 1) + 1;
  const std::int64_t stored = number(known.fields, "timestamp", now);
  write.timestamp = record.timestamp && *record.timestamp >= 0 && *record.timestamp <= now ? *record.timestamp : stored;

  for (const auto& field : record.fields) {
    const std::string* before = find_field(known.fields, field.first);
    if (before != nullptr && *before == field.second) continue;
    write.set.push_back(field);
    if (before != nullptr) write.old.emplace_back(field.first, *before);
  }
  for (const auto& [name, before] : known.fields) {
    if (find_field(record.fields, name) != nullptr) continue;
    if (is_own(name)) continue;
    write.unset.push_back(name);
    write.old.emplace_back(name, before);
  }
  if (write.timestamp != stored) {
    write.set.emplace_back("timestamp", std::to_string(write.timestamp));
    write.old.emplace_back("timestamp", std::to_string(stored));
  }
  write.set.emplace_back("rev", std::to_string(write.rev));
  write.set.emplace_back("last_changed", std::to_string(now));
  for (const char* name : {"title", "link", "author"}) {
    if (const std::string* value = find_field(record.fields, name)) write.shown.emplace_back(name, *value);
  }
  return write;
}

}  // namespace

std::uint64_t entry_bytes(const Fields& fields) {
  std::uint64_t bytes = 0;
  for (const auto& [name, value] : fields) {
    if (!is_own(name) && name != saved_field) bytes += name.size() + value.size();
  }
  return bytes;
}

EntryDiff diff_entries(const std::vector<EntryRecord>& read, const Known& known, Milliseconds now) {
  EntryDiff diff;
  const std::int64_t seconds = now.count() / 1000;
  for (std::size_t i = 0; i < read.size() && i < known.guids.size(); ++i) {
    switch (known.guids[i].is) {
      case Known::Is::unknown: {
        const std::int64_t undated = seconds - static_cast<std::int64_t>(i);
        diff.writes.push_back(
            creation(read[i], std::clamp<std::int64_t>(read[i].timestamp.value_or(undated), 0, seconds), seconds));
        break;
      }
      case Known::Is::different:
        diff.writes.push_back(modification(read[i], known.guids[i], seconds));
        break;
      case Known::Is::same:
      case Known::Is::tombstoned:
        ++diff.unchanged;
        break;
    }
  }
  // Within one second the document's order decides: its first post is the newest.
  std::reverse(diff.writes.begin(), diff.writes.end());
  std::stable_sort(diff.writes.begin(), diff.writes.end(),
                   [](const EntryWrite& a, const EntryWrite& b) { return a.timestamp < b.timestamp; });
  return diff;
}

}  // namespace feedmill
