#include "storage/records/diff.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "parsers/text/date.hpp"
#include "parsers/text/strings.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/records/post_change.hpp"

namespace feedmill {
namespace {

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

/// Whether the document is older than the stored version, which was written within the last day: a slow cache may have
/// served the document. After a day, or for a post that was never modified, an older date is the publisher's
/// correction.
bool is_stale(const EntryRecord& record, const Fields& stored, std::int64_t now) {
  constexpr std::int64_t slowest_cache = 86'400;
  if (number(stored, "rev", 1) <= 1 || now - number(stored, "last_changed", 0) >= slowest_cache) return false;
  const auto read_date = parse_moment(value_of(record.fields, "date_updated"));
  const auto stored_date = parse_moment(value_of(stored, "date_updated"));
  return read_date && stored_date && *read_date < *stored_date && unix_seconds(*stored_date) <= now;
}

/// Whether the stored version was cut off.
bool is_cut(const Fields& stored) {
  return value_of(stored, "digest").starts_with(cut_mark);
}

/// Adds the fields that the current rules change, unless they are written anyway.
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

/// Unchanged fields of a modified post for its event: all if the post has at most `shown_up_to` bytes.
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

/// The write for a post that changes only because of the current rules.
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

/// A date field in unix seconds, empty if it is not a date.
std::optional<std::int64_t> date_of(const Fields& fields, std::string_view name) {
  const auto date = parse_moment(value_of(fields, name));
  if (!date) return std::nullopt;
  return unix_seconds(*date);
}

/// Compares the posts of one document with the stored ones.
class Differ {
 public:
  Differ(std::vector<EntryRecord>& read, const StoredSnapshot& known, Milliseconds now, std::size_t shown_up_to,
         Milliseconds last_poll)
      : read_(read),
        known_(known),
        now_(now.count() / 1000),
        last_poll_(last_poll.count() / 1000),
        shown_up_to_(shown_up_to),
        changes_(std::min(read.size(), known.guids.size())) {
    diff_.volatile_parts = VolatileParts(known.volatile_parts);
  }

  EntryDiff run() {
    leave_out_texts();
    compare();
    learn();
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      if (!known_.guids[i].stored_guid.empty() && rekey(i)) continue;
      write(i);
    }
    // Within a second the document's order decides: its first post is the newest.
    std::reverse(diff_.writes.begin(), diff_.writes.end());
    std::stable_sort(diff_.writes.begin(), diff_.writes.end(),
                     [](const EntryWrite& a, const EntryWrite& b) { return a.timestamp < b.timestamp; });
    return std::move(diff_);
  }

 private:
  using Is = StoredSnapshot::Is;

  const Fields& stored(std::size_t i) const { return known_.guids[i].fields; }

  /// Whether the post was read and its stored fields were loaded.
  bool is_compared(std::size_t i) const {
    const StoredSnapshot::Guid& guid = known_.guids[i];
    const bool may_differ = known_.compares_all || guid.wants_texts;
    const bool is_read = guid.is == Is::different || (guid.is == Is::same && may_differ && !guid.fields.empty());
    return is_read && !read_[i].passed_over;
  }

  /// Whether the post has no texts because it is not among the newest ones.
  bool is_without_texts(std::size_t i) const {
    if (stored(i).empty() || lacks_texts(stored(i))) return !stored(i).empty();
    const auto is_stored = [&](std::string_view name) { return find_field(stored(i), name) != nullptr; };
    return number(stored(i), "timestamp", now_) < known_.texts_from &&
           std::ranges::none_of(text_field_names, is_stored);
  }

  /// Leaves out the texts of posts that are stored without, unless they are to get them back (RELIABILITY L34).
  void leave_out_texts() {
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      if (!is_without_texts(i) || is_saved_now(i)) continue;
      if (is_saved(i)) published_.emplace(i, reader_digest(read_[i].fields));
      if (!known_.guids[i].wants_texts) drop_texts(read_[i].fields);
    }
  }

  void compare() {
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      if (!is_compared(i)) continue;
      if (!is_saved_now(i) && is_stale(read_[i], stored(i), now_)) {
        diff_.has_stale = true;
        continue;
      }
      changes_[i] = std::make_unique<PostChange>(change_in(i));
      if (!changes_[i]->noticed && (is_rendered(i, "date_published") || is_rendered(i, "date_updated"))) ++rendered_;
    }
  }

  /// A field that only an earlier build stored is not a change.
  PostChange change_in(std::size_t i) const {
    if (known_.guids[i].wants_texts) {  // whether the texts changed is unknown
      Fields rest = read_[i].fields;
      drop_texts(rest);
      return change_from(stored(i), rest);
    }
    return change_from(stored(i), read_[i].fields);
  }

  PostChange change_from(const Fields& before, const Fields& now) const {
    const bool alike = std::ranges::all_of(implied_names, [&](const char* name) {
      return (find_field(before, name) == nullptr) == (find_field(now, name) == nullptr);
    });
    return alike ? change_between(before, now, known_.other_rules)
                 : change_between(with_implied(before), with_implied(now), known_.other_rules);
  }

  /// Counts which URL parts changed, with nothing else, on most stored posts of the document.
  void learn() {
    std::map<std::string, std::size_t> alone;
    std::set<std::string> on_any, on_most;
    std::size_t stored_posts = 0;
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      const Is is = known_.guids[i].is;
      if (is == Is::same || is == Is::different) ++stored_posts;
      if (!changes_[i]) continue;
      for (const std::string& part : changes_[i]->parts) {
        if (on_any.size() < most_counted) on_any.insert(part);
        if (!changes_[i]->noticed && (alone.size() < most_counted || alone.contains(part))) ++alone[part];
      }
    }
    for (const auto& [part, posts] : alone) {
      if (2 * posts > stored_posts) on_most.insert(part);
    }
    diff_.volatile_parts.count(on_most, on_any);
  }

  /// Whether a date is new and falls between the last poll and this one: probably the time of rendering.
  bool is_rendered(std::size_t i, const char* name) const {
    const auto now = date_of(read_[i].fields, name);
    if (!now || now == date_of(stored(i), name)) return false;
    constexpr std::int64_t skew = 60;
    return last_poll_ != 0 && *now >= last_poll_ - skew && *now <= now_ + skew;
  }

  /// Whether a post's dates are the time of rendering.
  bool has_rendered_dates(std::size_t i) const {
    if (!is_rendered(i, "date_published") && !is_rendered(i, "date_updated")) return false;
    if (rendered_ > 1) return true;
    // Second time: the stored date is from the poll that last changed it.
    const std::int64_t changed = number(stored(i), "last_changed", 0);
    const auto before = date_of(stored(i), "date_published");
    return is_rendered(i, "date_published") && before && changed > number(stored(i), "first_seen", 0) &&
           *before > changed - 86'400 && *before <= changed + 60;
  }

  /// Whether the publication date moved by more than a day.
  bool has_another_day(std::size_t i) const {
    const auto now = date_of(read_[i].fields, "date_published");
    if (!now || has_rendered_dates(i)) return false;
    const std::int64_t before = date_of(stored(i), "date_published").value_or(number(stored(i), "timestamp", *now));
    return std::abs(*now - before) > 86'400;
  }

  bool is_saved(std::size_t i) const { return find_field(stored(i), saved_field) != nullptr; }

  /// Whether the record is an operator's save.
  bool is_saved_now(std::size_t i) const { return find_field(read_[i].fields, saved_field) != nullptr; }

  bool is_news(std::size_t i) const {
    if (is_saved_now(i)) return true;
    if (is_cut(stored(i))) return true;
    if (read_[i].read_anew) return false;
    return changes_[i]->noticed || !diff_.volatile_parts.contains_all(changes_[i]->parts) || has_another_day(i);
  }

  /// Whether an operator saved the post and the publisher has not changed its text since.
  bool stays_as_saved(std::size_t i) const {
    if (!is_saved(i) || is_saved_now(i)) return false;
    std::string_view over = value_of(stored(i), saved_over_field);
    if (over.empty()) over = value_of(stored(i), "digest");  // saved by an earlier build
    if (over == reader_digest(read_[i].fields)) return true;
    const auto whole = published_.find(i);
    if (whole == published_.end()) return false;
    Fields rest = read_[i].fields;
    drop_texts(rest);  // it may have been saved after its texts were dropped
    return over == whole->second || over == reader_digest(rest);
  }

  /// Moves a post that is stored under another guid. False if its fields are still to be written.
  bool rekey(std::size_t i) {
    const StoredSnapshot::Guid& guid = known_.guids[i];
    Rekey& rekey = diff_.rekeys.emplace_back(Rekey{guid.id, guid.stored_guid, read_[i].guid, read_[i].digest, {}});
    const bool same = guid.is != Is::different && !changes_[i];
    if (guid.mended.empty() && same) {
      ++diff_.unchanged;
      return true;
    }
    rekey.digest = std::string(value_of(guid.fields, "digest"));
    if (!guid.mended.empty() || !changes_[i] || is_news(i)) return false;
    const Fields stored = with_implied(guid.fields), now = with_implied(read_[i].fields);
    const auto is_removed = [&](const auto& field) {
      return !is_own_field(field.first) && find_field(now, field.first) == nullptr;
    };
    if (std::ranges::any_of(stored, is_removed)) return false;
    for (const auto& [name, value] : now) {
      const bool address = name == "link" || name == "comments" || name == "canonical_url";
      const bool was_implied = find_field(guid.fields, name) == nullptr;
      const bool is_page = name == "canonical_url";  // an implied one changes with the link
      if (is_page && was_implied ? find_field(read_[i].fields, name) == nullptr : value_of(stored, name) == value)
        continue;
      if (!address) {
        rekey.set.clear();
        return false;
      }
      rekey.set.emplace_back(name, value);
    }
    rekey.digest = read_[i].digest;
    ++diff_.unchanged;
    return true;
  }

  void write(std::size_t i) {
    const StoredSnapshot::Guid& guid = known_.guids[i];
    if (guid.is == Is::unknown) {
      const std::int64_t date = read_[i].timestamp.value_or(0), undated = now_ - static_cast<std::int64_t>(i);
      diff_.writes.push_back(creation(read_[i], date > 0 ? std::min(date, now_) : undated, now_));
      return;
    }
    std::optional<EntryWrite> write;
    if (changes_[i]) {
      write = modification(i);
    } else if (!guid.mended.empty()) {
      write = mending(read_[i].guid, std::string(value_of(guid.fields, "digest")), guid, now_, shown_up_to_);
    }
    if (!write || write->quiet) ++diff_.unchanged;
    if (write) diff_.writes.push_back(std::move(*write));
  }

  std::int64_t timestamp_of(std::size_t i, bool is_news) const {
    const std::int64_t dated = number(stored(i), "timestamp", now_);
    const std::int64_t stays =
        dated > 0 ? dated : number(stored(i), "first_seen", now_);  // earlier builds stored 0 for a broken year
    const auto is_past = [this](const std::optional<std::int64_t>& date) { return date && *date > 0 && *date <= now_; };
    if (has_rendered_dates(i)) return stays;
    const auto is_as_stored = [&](const char* name) {
      return date_of(read_[i].fields, name) == date_of(stored(i), name);
    };
    if (is_saved_now(i) && is_as_stored("date_published") && is_as_stored("date_updated")) return stays;
    if (is_news) return is_past(read_[i].timestamp) ? *read_[i].timestamp : stays;
    const auto now = date_of(read_[i].fields, "date_published"), before = date_of(stored(i), "date_published");
    const bool is_corrected = now != before && is_past(now) && (!before || stays <= *before);
    return is_corrected ? *now : stays;
  }

  /// Empty if there is nothing to write, or if this poll has already upgraded most_upgraded posts.
  std::optional<EntryWrite> modification(std::size_t i) {
    const EntryRecord& record = read_[i];
    const StoredSnapshot::Guid& guid = known_.guids[i];
    EntryWrite write;
    write.guid = record.guid;
    write.digest = record.digest;
    write.id = guid.id;
    write.rev = number(guid.fields, "rev", 1) + 1;
    write.quiet = !is_news(i);
    const std::int64_t before = number(guid.fields, "timestamp", now_);
    if (stays_as_saved(i)) {
      if (value_of(guid.fields, "digest") == record.digest) return std::nullopt;
      write.quiet = true;
      write.timestamp = before;
      write.bytes = entry_bytes(guid.fields);
      if (find_field(guid.fields, saved_over_field) == nullptr) {
        write.set = {{saved_over_field, saved_over(guid.fields)}, {"rev", std::to_string(write.rev)}};
      }
      return write;
    }
    write.bytes = entry_bytes(record.fields);
    write.timestamp = timestamp_of(i, !write.quiet);
    for (const auto& field : record.fields) {
      const std::string* stored_value = find_field(guid.fields, field.first);
      if (stored_value != nullptr && *stored_value == field.second) continue;
      write.set.push_back(field);
      if (stored_value != nullptr) write.old.emplace_back(field.first, *stored_value);
    }
    std::vector<std::string> implied;  // as earlier builds stored them
    for (const auto& [name, value] : guid.fields) {
      const bool of_a_save = name == saved_field || name == saved_over_field;
      if (find_field(record.fields, name) != nullptr || (is_own_field(name) && !of_a_save)) continue;
      if (implied_value(record.fields, name) == value) {
        implied.push_back(name);
        continue;
      }
      write.unset.push_back(name);
      if (!is_own_field(name) && !is_implied(guid.fields, name)) write.old.emplace_back(name, value);
    }
    add_mended(write, guid.mended);
    if (write.timestamp != before) {
      write.set.emplace_back("timestamp", std::to_string(write.timestamp));
      write.old.emplace_back("timestamp", std::to_string(before));
    }
    const auto is_of_rules = [](const auto& field) { return field.first == "san_ver"; };  // not worth an event
    if (write.quiet && write.unset.empty() && std::ranges::all_of(write.set, is_of_rules)) {
      if (value_of(guid.fields, "digest") == record.digest) return std::nullopt;
      write.set.clear();
      return write;
    }
    if (write.quiet && record.read_anew && ++upgraded_ > most_upgraded) {
      diff_.has_more = true;
      return std::nullopt;
    }
    if (write.quiet && value_of(guid.fields, "digest") == record.digest) write.digest.clear();
    write.unset.insert(write.unset.end(), implied.begin(), implied.end());
    write.set.emplace_back("rev", std::to_string(write.rev));
    if (!write.quiet) write.set.emplace_back("last_changed", std::to_string(now_));
    write.shown = shown_of(write, guid.fields, record.fields, shown_up_to_);
    return write;
  }

  static constexpr std::size_t most_counted = 64;  // candidates per document

  std::vector<EntryRecord>& read_;
  const StoredSnapshot& known_;
  const std::int64_t now_, last_poll_;  // unix seconds
  const std::size_t shown_up_to_;
  std::vector<std::unique_ptr<PostChange>> changes_;  // null: not compared
  std::map<std::size_t, std::string> published_;      // reader_digest() of saved posts without texts, as published
  std::size_t rendered_ = 0;                          // posts changed only in dates, to the time of this poll
  std::size_t upgraded_ = 0;
  EntryDiff diff_;
};

}  // namespace

std::uint64_t entry_bytes(const Fields& fields) {
  std::uint64_t bytes = 0;
  for (const auto& [name, value] : fields) {
    if (!is_own_field(name)) bytes += name.size() + value.size();
  }
  return bytes;
}

std::string saved_over(const Fields& stored) {
  const std::string_view over = value_of(stored, saved_over_field);
  return std::string(over.empty() ? value_of(stored, "digest")
                                  : over);  // earlier builds kept the publisher's digest there
}

void drop_texts(std::vector<EntryWrite>& writes, std::uint64_t newest) {
  std::int64_t from = std::numeric_limits<std::int64_t>::max();
  std::uint64_t left = newest;
  for (auto write = writes.rbegin(); write != writes.rend(); ++write) {
    if (!write->id.empty()) continue;
    if (left > 0) {
      --left;
      from = write->timestamp;
    } else if (write->timestamp < from) {
      drop_texts(write->set);
      write->bytes = entry_bytes(write->set);
    }
  }
}

EntryDiff diff_entries(std::vector<EntryRecord>&& read, const StoredSnapshot& known, Milliseconds now,
                       std::size_t shown_up_to, Milliseconds last_poll) {
  return Differ(read, known, now, shown_up_to, last_poll).run();
}

}  // namespace feedmill
