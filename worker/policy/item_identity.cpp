#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <xxhash.h>

#include "parsers/text/date.hpp"
#include "parsers/text/url.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/records/post_identity.hpp"
#include "worker/policy/feed_identity.hpp"

namespace feedmill {
namespace {

using Is = StoredSnapshot::Is;

constexpr std::size_t max_suspicious = 50;  // posts per document
constexpr std::size_t max_alike = 8;        // stored posts with one title, date and text; more are ambiguous
constexpr std::size_t telling_text = 200;   // bytes that two posts with one title and date rarely share by chance
constexpr std::size_t nowhere = static_cast<std::size_t>(-1), several = nowhere - 1;

bool is_by_guid(const PostIdentity& identity, const Document& document) {
  return identity.by == IdentifiedBy::guid && document.identified_by == IdentifiedBy::guid;
}

/// Whether the post is unknown and identified by its own guid, or by a substitute in a feed that has only those.
bool is_unknown(const PostIdentity& identity, const EntryRecord& record, const StoredSnapshot::Guid& guid) {
  const bool its_own = is_named(record) || identity.naming == Naming::substitutes;
  return guid.is == Is::unknown && guid.id.empty() && record.shared_guid.empty() && its_own;
}

/// The dates its publisher gives it, in Unix seconds.
std::vector<std::int64_t> seconds_of(const EntryRecord& record) {
  std::vector<std::int64_t> seconds;
  for (const char* name : {"date_published", "date_updated"}) {
    const auto date = parse_moment(value_of(record.fields, name));
    if (date) seconds.push_back(unix_seconds(*date));
  }
  return seconds;
}

/// Whether a post with these dates may already be stored: no stored post is newer than `newest`, unless its date was
/// clamped.
bool may_be_stored(const std::vector<std::int64_t>& seconds, std::int64_t newest, std::int64_t now) {
  return std::ranges::any_of(seconds, [&](std::int64_t second) { return second <= newest || second > now; });
}

/// The publication date, else the update date; "" if the publisher gives neither.
std::string_view date_of(const Fields& fields) {
  const std::string_view published = value_of(fields, "date_published");
  return published.empty() ? value_of(fields, "date_updated") : published;
}

bool have_one_date(const Fields& a, const Fields& b) {
  return !date_of(a).empty() && value_of(a, "date_published") == value_of(b, "date_published") &&
         date_of(a) == date_of(b);
}

/// Key shared by posts with the same title, date and text.
std::string text_print(const Fields& fields, const std::string& text) {
  std::string basis;
  for (const std::string_view part : {value_of(fields, "title"), value_of(fields, "date_published"), date_of(fields)}) {
    basis.append(part).push_back('\0');
  }
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  basis.append(reinterpret_cast<const char*>(&hash), sizeof hash);
  return basis;
}

/// Whether the post has the texts that were dropped from the stored one: with these texts, that has its digest.
bool has_dropped_texts(const Fields& read, const Fields& stored) {
  return entry_digest(with_texts(stored, read)) == value_of(stored, "digest");
}

/// A post and its comparison keys, computed lazily and once.
class Side {
 public:
  explicit Side(const Fields& fields) : fields_(&fields) {}
  const Fields& fields() const { return *fields_; }
  const std::string& print() {
    if (print_.empty()) {
      const std::string text = content_text(*fields_);
      text_bytes_ = text.size();
      print_ = lacks_texts(*fields_) ? textless_print() : text_print(*fields_, text);
    }
    return print_;
  }
  /// print() of an equal post after drop_texts().
  std::string textless_print() const {
    return text_print(*fields_, std::string(value_of(*fields_, "summary_text"))) + '.';
  }
  std::size_t text_bytes() {
    print();
    return text_bytes_;
  }
  const std::string& page() {
    if (!page_) page_ = page_key(*fields_);
    return *page_;
  }
  const std::string& media() {
    if (!media_) media_ = media_key(*fields_);
    return *media_;
  }

 private:
  const Fields* fields_;
  std::string print_;
  std::size_t text_bytes_ = 0;
  std::optional<std::string> page_, media_;
};

bool have_other_media(Side& a, Side& b) {
  return !a.media().empty() && !b.media().empty() && a.media() != b.media();
}

class Recognition {
 public:
  Recognition(const PostIdentity& identity, const Document& document, StoredSnapshot& known, StoredSnapshot& found)
      : document_(document), known_(known), match_(known.guids.size(), nowhere) {
    take_candidates(found.guids);
    take_candidates(found.same_second);
    claimed_.assign(candidates_.size(), nowhere);
    for (std::size_t i = 0; i < match_.size(); ++i) {
      if (is_unknown(identity, document.entries[i], known.guids[i])) unknown_.push_back(i);
    }
  }

  void match_aliases() {
    std::unordered_map<std::string_view, std::size_t> by_guid;
    for (std::size_t i = 0; i < candidates_.size(); ++i) by_guid.emplace(guid_of(i), i);
    for (const std::size_t place : unknown_) {
      const StoredSnapshot::Guid& guid = known_.guids[place];
      const auto stored = guid.alias_trimmed ? by_guid.end() : by_guid.find(guid.alias);
      if (stored == by_guid.end()) continue;
      Side read(document_.entries[place].fields);
      Side& side = sides_[stored->second];
      const std::string_view title = value_of(read.fields(), "title");
      const bool agree =
          (!title.empty() && title == value_of(side.fields(), "title")) || have_one_date(read.fields(), side.fields());
      if (agree && !have_other_media(read, side)) claim(place, stored->second);
    }
  }

  /// Among posts with the same title, date and text, only those with the same page match, if they have a page.
  void match_texts() {
    std::unordered_set<std::string_view> dates;
    for (const std::size_t place : unknown_) dates.insert(date_of(document_.entries[place].fields));
    dates.erase("");
    std::unordered_map<std::string_view, std::vector<std::size_t>> by_print;
    std::unordered_set<std::string_view> stored_dates;
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      const std::string_view date = date_of(sides_[i].fields());
      if (!dates.contains(date)) continue;
      stored_dates.insert(date);
      by_print[sides_[i].print()].push_back(i);
    }
    for (const std::size_t place : unknown_) {
      Side read(document_.entries[place].fields);
      if (!stored_dates.contains(date_of(read.fields())) || value_of(read.fields(), "title").empty()) continue;
      std::vector<std::size_t> stored;
      for (const std::string& print : {read.print(), read.textless_print()}) {
        const auto alike = by_print.find(print);
        if (alike != by_print.end()) stored.insert(stored.end(), alike->second.begin(), alike->second.end());
      }
      if (stored.size() > max_alike) continue;
      std::erase_if(stored, [&](std::size_t i) {
        const Fields& fields = sides_[i].fields();
        return have_other_media(read, sides_[i]) || (lacks_texts(fields) && !has_dropped_texts(read.fields(), fields));
      });
      const auto is_elsewhere = [&](std::size_t i) { return read.page().empty() || read.page() != sides_[i].page(); };
      if (read.text_bytes() < telling_text || !std::ranges::all_of(stored, is_elsewhere)) {
        std::erase_if(stored, is_elsewhere);
      }
      for (const std::size_t i : stored) claim(place, i);
    }
  }

  /// Marks posts that match one to one. Returns their number.
  std::size_t take() {
    std::size_t taken = 0;
    for (const std::size_t place : unknown_) {
      const std::size_t stored = match_[place];
      if (stored >= several || claimed_[stored] != place) continue;
      StoredSnapshot::Guid& guid = known_.guids[place];
      StoredSnapshot::Guid& found = *candidates_[stored];
      guid.stored_guid = guid_of(stored);
      guid.id = found.id;
      const bool is_same = value_of(found.fields, "digest") == document_.entries[place].digest;
      guid.is = is_same ? Is::same : Is::different;
      guid.mended = std::move(found.mended);
      if (!is_same || !guid.mended.empty()) guid.fields = std::move(found.fields);
      ++taken;
    }
    return taken;
  }

 private:
  std::string_view guid_of(std::size_t candidate) const { return value_of(candidates_[candidate]->fields, "guid"); }

  /// Takes stored posts that the document does not list.
  void take_candidates(std::vector<StoredSnapshot::Guid>& found) {
    if (listed_.empty()) {
      for (const EntryRecord& record : document_.entries) listed_.insert(record.guid);
      for (const StoredSnapshot::Guid& guid : known_.guids) {
        if (!guid.stored_guid.empty()) listed_.insert(guid.stored_guid);
      }
    }
    for (StoredSnapshot::Guid& post : found) {
      const std::string_view guid = value_of(post.fields, "guid");
      if (guid.empty() || post.id.empty() || !listed_.insert(guid).second) continue;
      candidates_.push_back(&post);
      sides_.emplace_back(post.fields);
    }
  }

  void claim(std::size_t place, std::size_t stored) {
    const auto note = [](std::size_t& one, std::size_t other) {
      one = one == nowhere || one == other ? other : several;
    };
    note(match_[place], stored);
    note(claimed_[stored], place);
  }

  const Document& document_;
  StoredSnapshot& known_;
  std::unordered_set<std::string_view> listed_;  // guids of the document, of its recognised posts, and of candidates
  std::vector<StoredSnapshot::Guid*> candidates_;
  std::vector<Side> sides_;  // of candidates_
  std::vector<std::size_t> unknown_, match_, claimed_;
};

/// If a comparison recognised a document's only post by its link or text, but its file differs, it is another post.
/// With several posts, all files may have moved.
void leave_other_file(const Document& document, StoredSnapshot& known) {
  if (document.entries.size() != 1 || known.guids.size() != 1 || known.guids[0].stored_guid.empty()) return;
  Side read(document.entries[0].fields), stored(known.guids[0].fields);
  if (!is_named(document.entries[0]) || !have_other_media(read, stored)) return;
  known.guids[0] = {};
  known.recognised = 0;
  known.replaced = false;
}

/// Keeps trimmed posts from returning under other spellings of their guids.
void bury_aliases(const PostIdentity& identity, const Document& document, StoredSnapshot& known) {
  for (std::size_t i = 0; i < known.guids.size(); ++i) {
    StoredSnapshot::Guid& guid = known.guids[i];
    if (!guid.alias_trimmed || !is_unknown(identity, document.entries[i], guid)) continue;
    guid.is = Is::tombstoned;
    known.tombs_new.push_back(document.entries[i].guid);
  }
}

}  // namespace

std::string media_key(const Fields& fields) {
  const std::string_view text = value_of(fields, "enclosures");
  boost::system::error_code failed;
  const boost::json::value list = text.empty() ? boost::json::value() : boost::json::parse(text, failed);
  if (failed || !list.is_array()) return {};
  std::vector<std::string> files;
  for (const boost::json::value& enclosure : list.get_array()) {
    const auto* const object = enclosure.if_object();
    const auto* const url = object == nullptr ? nullptr : object->if_contains("url");
    if (url == nullptr || !url->is_string()) continue;
    const std::string_view address = url->get_string();
    std::string& file = files.emplace_back();
    append_url_alias(file, address.substr(0, address.find_first_of("?#")));
    if (file.empty()) file = address;
  }
  std::ranges::sort(files);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  std::string key;
  for (const std::string& file : files) key.append(file).push_back('\n');
  return key;
}

Suspects suspects(const PostIdentity& identity, const Document& document, const StoredSnapshot& known,
                  Milliseconds now) {
  Suspects found;
  if (!is_by_guid(identity, document) || known.stored == 0) return found;
  std::unordered_set<std::string_view> guids;
  const auto add = [&](const std::string& guid) {
    if (guids.insert(guid).second) found.look_up.push_back({guid, {}, {}, {}, {}});
  };
  std::vector<std::int64_t> seconds;
  std::size_t suspicious = 0;
  for (std::size_t i = 0; i < known.guids.size(); ++i) {
    if (!is_unknown(identity, document.entries[i], known.guids[i])) continue;
    const StoredSnapshot::Guid& guid = known.guids[i];
    if (!guid.alias.empty() && !guid.alias_trimmed) add(guid.alias);
    const std::vector<std::int64_t> its = seconds_of(document.entries[i]);
    if (!may_be_stored(its, known.newest, now.count() / 1000) || ++suspicious > max_suspicious) continue;
    std::ranges::copy_if(its, std::back_inserter(seconds), [&](std::int64_t second) { return second <= known.newest; });
  }
  if (suspicious == 0 || suspicious > max_suspicious) return found;
  if (known.departed.size() <= StoredSnapshot::max_departed) std::ranges::for_each(known.departed, add);
  std::ranges::sort(seconds);
  seconds.erase(std::unique(seconds.begin(), seconds.end()), seconds.end());
  found.seconds = std::move(seconds);
  return found;
}

bool are_too_many(const PostIdentity& identity, const Document& document, const StoredSnapshot& known) {
  if (!is_by_guid(identity, document) || known.departed.size() <= StoredSnapshot::max_departed) return false;
  std::size_t suspicious = 0;
  for (std::size_t i = 0; i < known.guids.size() && suspicious <= max_suspicious; ++i) {
    if (!is_unknown(identity, document.entries[i], known.guids[i])) continue;
    const std::vector<std::int64_t> its = seconds_of(document.entries[i]);
    if (std::ranges::any_of(its, [&](std::int64_t second) { return second <= known.newest; })) ++suspicious;
  }
  return suspicious > max_suspicious;
}

void recognise_items(const PostIdentity& identity, const Document& document, StoredSnapshot& known,
                     StoredSnapshot&& found) {
  if (!is_by_guid(identity, document)) return;
  leave_other_file(document, known);
  if (!found.guids.empty() || !found.same_second.empty()) {
    Recognition recognition(identity, document, known, found);
    recognition.match_aliases();
    recognition.match_texts();
    if (are_many(recognition.take(), document.entries.size())) known.replaced = true;
  }
  bury_aliases(identity, document, known);
}

}  // namespace feedmill
