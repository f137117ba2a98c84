#include "storage/records/diff.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "parsers/text/date.hpp"
#include "parsers/text/numbers.hpp"
#include "parsers/text/url.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/find_field.hpp"

namespace feedmill {
namespace {

// Fields of Entry:<n> that the document does not decide.
using namespace std::string_view_literals;
constexpr std::array own_fields{"bytes"sv, "digest"sv,       "feed_url"sv, "first_seen"sv,
                                "guid"sv,  "last_changed"sv, "rev"sv,      "timestamp"sv};

bool is_own(std::string_view name) {
  return std::find(own_fields.begin(), own_fields.end(), name) != own_fields.end();
}

std::int64_t number(const Fields& fields, std::string_view name, std::int64_t otherwise) {
  const std::string* text = find_field(fields, name);
  return text == nullptr ? otherwise : leading_number(*text, otherwise);
}

EntryWrite creation(EntryRecord& record, std::int64_t timestamp, std::int64_t now) {
  EntryWrite write;
  write.guid = record.guid;
  write.digest = record.digest;
  write.timestamp = timestamp;
  write.bytes = entry_bytes(record.fields);
  record.fields.reserve(record.fields.size() + 4);
  write.set = std::exchange(record.fields, {});
  write.set.emplace_back("timestamp", std::to_string(timestamp));
  write.set.emplace_back("rev", "1");
  write.set.emplace_back("first_seen", std::to_string(now));
  write.set.emplace_back("last_changed", std::to_string(now));
  return write;
}

/// It was written before what is stored.
bool is_stale(const EntryRecord& record, const Fields& stored, std::int64_t now) {
  const auto read_date = parse_date(value_of(record.fields, "date_updated"));
  const auto stored_date = parse_date(value_of(stored, "date_updated"));
  return read_date && stored_date && *read_date < *stored_date && unix_seconds(*stored_date) <= now;
}

/// The record with its addresses as they are stored, where they name the same pages.
Fields with_stored_links(Fields fields, const Fields& stored) {
  for (auto& [name, value] : fields) {
    if (name != "link" && name != "comments") continue;
    const std::string_view before = value_of(stored, name);
    if (!before.empty() && link_key(before) == link_key(value)) value = before;
  }
  return fields;
}

/// Only part of it was there when it was stored.
bool is_cut(const Fields& stored) {
  return value_of(stored, "digest").starts_with(cut_mark);
}

/// Today's rules made something else of the stored post: that is written beside what changed, if anything did.
void add_mended(EntryWrite& write, const Fields& mended) {
  for (const auto& [name, value] : mended) {
    const bool is_written = find_field(write.set, name) != nullptr ||
                            std::find(write.unset.begin(), write.unset.end(), name) != write.unset.end();
    if (is_written) continue;
    if (value.empty())
      write.unset.push_back(name);
    else
      write.set.emplace_back(name, value);
  }
}

/// What of a modified post stays and its event shows: all of it of up to `shown_up_to` bytes.
Fields shown_of(const EntryWrite& write, const Fields& stored, const Fields& read, std::size_t shown_up_to) {
  Fields shown;
  if (shown_up_to > 0 && write.bytes <= shown_up_to) {
    for (const auto& field : stored) {
      const bool goes = std::find(write.unset.begin(), write.unset.end(), field.first) != write.unset.end();
      if (!goes && find_field(write.set, field.first) == nullptr) shown.push_back(field);
    }
    return shown;
  }
  for (const char* name : {"title", "title_type", "link", "author"}) {
    if (const std::string* value = find_field(read, name)) shown.emplace_back(name, *value);
  }
  return shown;
}

/// A post that has not changed, but for what today's rules make of it.
EntryWrite mending(const std::string& guid, const std::string& digest, const StoredSnapshot::Guid& known,
                   std::int64_t now, std::size_t shown_up_to) {
  EntryWrite write;
  write.guid = guid;
  write.digest = digest;
  write.id = known.id;
  write.timestamp = number(known.fields, "timestamp", now);
  write.bytes = entry_bytes(known.fields);
  write.rev = number(known.fields, "rev", 1) + 1;
  write.quiet = true;
  if (known.mended.empty()) return write;
  add_mended(write, known.mended);
  write.set.emplace_back("rev", std::to_string(write.rev));
  write.shown = shown_of(write, known.fields, known.fields, shown_up_to);
  return write;
}

/// A re-keying, with the addresses that are written another way since. True when a reader would notice no more.
bool rekeys_alone(const EntryRecord& record, const StoredSnapshot::Guid& known, Rekey& rekey) {
  if (!known.mended.empty()) return false;
  if (known.is != StoredSnapshot::Is::different) return true;
  if (is_cut(known.fields) ||
      reader_digest(with_stored_links(record.fields, known.fields)) != reader_digest(known.fields)) {
    rekey.digest = std::string(value_of(known.fields, "digest"));
    return false;
  }
  for (const auto& [name, value] : record.fields) {
    const bool address = name == "link" || name == "comments" || name == "canonical_url";
    if (address && value_of(known.fields, name) != value) rekey.set.emplace_back(name, value);
  }
  return true;
}

EntryWrite modification(const EntryRecord& record, const StoredSnapshot::Guid& known, std::int64_t now,
                        std::size_t shown_up_to) {
  EntryWrite write;
  write.guid = record.guid;
  write.digest = record.digest;
  write.id = known.id;
  write.bytes = entry_bytes(record.fields);
  write.rev = number(known.fields, "rev", 1) + 1;
  const std::int64_t stored = number(known.fields, "timestamp", now);
  // A document that has stopped to say when a post was updated takes nothing back.
  const bool keeps_date =
      find_field(known.fields, "date_updated") != nullptr && find_field(record.fields, "date_updated") == nullptr;
  if (keeps_date) write.bytes += entry_bytes({{"date_updated", std::string(value_of(known.fields, "date_updated"))}});
  const bool moves = record.timestamp && *record.timestamp >= 0 && *record.timestamp <= now && !keeps_date;
  write.timestamp = moves ? *record.timestamp : stored;
  const bool made_another_way = value_of(known.fields, "digest") != record.digest && !is_cut(known.fields) &&
                                find_field(known.fields, saved_field) == nullptr &&
                                reader_digest(known.fields) == record.digest;
  if (made_another_way) return mending(record.guid, record.digest, known, now, shown_up_to);

  for (const auto& field : record.fields) {
    const std::string* before = find_field(known.fields, field.first);
    if (before != nullptr && *before == field.second) continue;
    write.set.push_back(field);
    if (before != nullptr) write.old.emplace_back(field.first, *before);
  }
  for (const auto& [name, before] : known.fields) {
    if (find_field(record.fields, name) != nullptr) continue;
    if (is_own(name)) continue;
    if (keeps_date && name == "date_updated") continue;
    write.unset.push_back(name);
    write.old.emplace_back(name, before);
  }
  add_mended(write, known.mended);
  if (write.timestamp != stored) {
    write.set.emplace_back("timestamp", std::to_string(write.timestamp));
    write.old.emplace_back("timestamp", std::to_string(stored));
  }
  write.set.emplace_back("rev", std::to_string(write.rev));
  write.set.emplace_back("last_changed", std::to_string(now));
  write.shown = shown_of(write, known.fields, record.fields, shown_up_to);
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

EntryDiff diff_entries(std::vector<EntryRecord>&& read, const StoredSnapshot& known, Milliseconds now,
                       std::size_t shown_up_to) {
  EntryDiff diff;
  const std::int64_t seconds = now.count() / 1000;
  for (std::size_t i = 0; i < read.size() && i < known.guids.size(); ++i) {
    if (!known.guids[i].stored_guid.empty()) {
      Rekey& rekey = diff.rekeys.emplace_back(
          Rekey{known.guids[i].id, known.guids[i].stored_guid, read[i].guid, read[i].digest, {}});
      if (rekeys_alone(read[i], known.guids[i], rekey)) {
        ++diff.unchanged;
        continue;
      }
    }
    switch (known.guids[i].is) {
      case StoredSnapshot::Is::unknown: {
        const std::int64_t undated = seconds - static_cast<std::int64_t>(i);
        diff.writes.push_back(
            creation(read[i], std::clamp<std::int64_t>(read[i].timestamp.value_or(undated), 0, seconds), seconds));
        break;
      }
      case StoredSnapshot::Is::different:
        if (!is_stale(read[i], known.guids[i].fields, seconds)) {
          diff.writes.push_back(modification(read[i], known.guids[i], seconds, shown_up_to));
          break;
        }
        [[fallthrough]];
      case StoredSnapshot::Is::same:
      case StoredSnapshot::Is::tombstoned:
        ++diff.unchanged;
        if (known.guids[i].mended.empty()) break;
        diff.writes.push_back(mending(read[i].guid, std::string(value_of(known.guids[i].fields, "digest")),
                                      known.guids[i], seconds, shown_up_to));
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
