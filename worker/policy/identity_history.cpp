#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

#include "parsers/text/date.hpp"
#include "parsers/text/url.hpp"
#include "storage/records/post_identity.hpp"
#include "worker/policy/feed_identity.hpp"

namespace feedmill {
namespace {

constexpr std::size_t mark_digits = 6, most_marks = 32;

/// Identifies a post together with the guid its document gives it.
std::string pair_mark(const EntryRecord& record) {
  return mark_of(record.guid + '\n' + record.given_guid).substr(0, mark_digits);
}

/// The lowest marks of a document, sorted.
std::string sample_of(const Document& document) {
  std::set<std::string> marks;
  for (const EntryRecord& record : document.entries) {
    marks.insert(pair_mark(record));
    if (marks.size() > most_marks) marks.erase(std::prev(marks.end()));
  }
  std::string sample;
  for (const std::string& mark : marks) sample += mark;
  return sample;
}

/// Whether known posts within the sample's range kept their guids; empty if no sampled post is listed.
std::optional<bool> stayed(const std::string& sample, const Document& document, const StoredSnapshot& known) {
  std::set<std::string_view> marks;
  for (std::string_view rest = sample; rest.size() >= mark_digits; rest.remove_prefix(mark_digits)) {
    marks.insert(rest.substr(0, mark_digits));
  }
  bool some = false;
  for (std::size_t i = 0; i < document.entries.size() && i < known.guids.size(); ++i) {
    if (known.guids[i].is != StoredSnapshot::Is::same && known.guids[i].is != StoredSnapshot::Is::different) continue;
    const std::string mark = pair_mark(document.entries[i]);
    if (marks.contains(mark))
      some = true;
    else if (marks.size() < most_marks || mark < *marks.rbegin())
      return false;
  }
  return some ? std::optional(true) : std::nullopt;
}

/// Whether the document's own guids distinguish its posts.
bool gives_guids(const Document& document) {
  const std::size_t all = document.entries.size();
  std::unordered_set<std::string_view> guids;
  std::size_t bad = 0, places = 0;
  for (std::size_t i = 0; i < all; ++i) {
    const std::string& guid = document.entries[i].given_guid;
    if (guid.empty() || !guids.insert(guid).second) ++bad;
    if (counts_places(guid, i, all)) ++places;
  }
  return all > 0 && places < all && !are_many(bad, all);
}

/// PostIdentity::sound_documents after this document, for a feed not identified by its guids.
std::uint32_t count_sound(const PostIdentity& identity, const Document& document, const StoredSnapshot& known) {
  if (!gives_guids(document)) return 0;
  if (identity.sound_documents == 0) return 1;
  return stayed(identity.guid_sample, document, known).value_or(false) ? identity.sound_documents + 1 : 1;
}

}  // namespace

std::string mark_of(std::string_view text) {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

bool may_return(const PostIdentity& identity, const Document& document, const StoredSnapshot& known) {
  if (identity.by == IdentifiedBy::guid || document.identified_by != identity.by) return false;
  constexpr std::uint32_t most_doublings = 8;
  const std::uint32_t wanted = documents_to_switch << std::min(identity.returns, most_doublings);
  return !document.cut_short && identity.sound_documents + 1 >= wanted &&
         count_sound(identity, document, known) >= wanted;
}

void count_document(FeedState& state, const Document& document, const StoredSnapshot& known, Milliseconds now) {
  PostIdentity& identity = state.identity;
  const std::size_t listed = document.entries.size();
  state.document.listed_none = listed == 0;
  if (document.identified_by == IdentifiedBy::guid && (known.compared || known.stored == 0)) {
    identity.naming = known.compared ? known.naming : naming_of(document.entries);
  }
  if (document.identified_by != identity.by) {
    if (document.identified_by == IdentifiedBy::guid) ++identity.returns;
    identity.by = document.identified_by;
    identity.since = now;
    identity.fresh_documents = identity.replaced_documents = identity.unfit_documents = identity.sound_documents = 0;
    identity.guid_sample.clear();
    if (identity.by != IdentifiedBy::guid) identity.naming = Naming::given;
    return;
  }
  if (!document.cut_short && listed > 0) {
    identity.unfit_documents = document.unfit ? identity.unfit_documents + 1 : 0;
    if (identity.by != IdentifiedBy::guid) {
      identity.sound_documents = count_sound(identity, document, known);
      identity.guid_sample = identity.sound_documents == 0 ? "" : sample_of(document);
    }
  }
  const auto fresh =
      static_cast<std::size_t>(std::count_if(known.guids.begin(), known.guids.end(), [](const auto& guid) {
        return guid.is == StoredSnapshot::Is::unknown || !guid.stored_guid.empty();
      }));
  const bool many = state.rhythm.imported.count() != 0 && are_many(fresh, listed);
  identity.fresh_documents = many ? identity.fresh_documents + 1 : 0;
  if (!many)
    identity.replaced_documents = 0;
  else if (known.compared || known.replaced)
    identity.replaced_documents = known.replaced ? identity.replaced_documents + 1 : 0;
}

namespace {

constexpr std::size_t most_remembered = 100;

}  // namespace

std::vector<Deletion> deletions(const Feed& feed, IdentifiedBy by) {
  std::vector<Deletion> all;
  if (by == IdentifiedBy::digest) return all;
  for (const DeletedEntry& deleted : feed.deleted) {
    if (!deleted.when.time) continue;
    if (by == IdentifiedBy::link && !is_http_url(deleted.guid)) continue;
    all.push_back({guid_by(by, {{"link", deleted.guid}}, deleted.guid), unix_seconds(*deleted.when.time)});
  }
  return all;
}

std::vector<std::string> withdrawn(const std::vector<Deletion>& deletions, const std::vector<std::string>& dates,
                                   const std::vector<EntryRecord>& listed) {
  std::vector<std::string> guids;
  if (deletions.empty()) return guids;
  std::unordered_map<std::string_view, const EntryRecord*> posts;
  for (const EntryRecord& record : listed) posts.emplace(record.guid, &record);
  for (std::size_t i = 0; i < deletions.size(); ++i) {
    const Deletion& deletion = deletions[i];
    const auto post = posts.find(deletion.guid);
    const bool is_listed = post != posts.end();
    if (is_listed && post->second->timestamp.value_or(0) > deletion.when) continue;
    const std::string_view date = i < dates.size() ? std::string_view(dates[i]) : std::string_view();
    if (date.empty() && !is_listed) continue;
    const auto stored = parse_moment(date);
    if (date.size() > 1 && stored && unix_seconds(*stored) > deletion.when) continue;
    guids.push_back(deletion.guid);
  }
  return guids;
}

void remember_withdrawn(std::vector<std::string>& marks, const std::vector<std::string>& deleted,
                        const std::vector<EntryWrite>& writes) {
  if (marks.empty() && deleted.empty()) return;
  std::unordered_set<std::string> settled;
  for (const EntryWrite& write : writes) {
    if (!marks.empty() && write.id.empty()) settled.insert(mark_of(write.guid));
  }
  std::vector<std::string> added;
  for (const std::string& guid : deleted) {
    std::string mark = mark_of(guid);
    if (settled.insert(mark).second) added.push_back(std::move(mark));
  }
  std::erase_if(marks, [&](const std::string& mark) { return settled.contains(mark); });
  marks.insert(marks.end(), added.begin(), added.end());
  if (marks.size() > most_remembered) {
    marks.erase(marks.begin(), marks.end() - static_cast<std::ptrdiff_t>(most_remembered));
  }
}

bool was_withdrawn(const std::vector<std::string>& marks, std::string_view guid) {
  return !marks.empty() && std::ranges::find(marks, mark_of(guid)) != marks.end();
}

}  // namespace feedmill
