#include "storage/records/post_identity.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <xxhash.h>

#include "parsers/feed/normalise.hpp"
#include "parsers/text/limits.hpp"
#include "parsers/text/small_arena.hpp"
#include "parsers/text/url.hpp"
#include "storage/records/find_field.hpp"

namespace feedmill {
namespace {

constexpr std::size_t telling_text = 40;  // bytes of text that two posts rarely share by chance

std::string hex_digest(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  char hex[33];
  std::snprintf(hex, sizeof hex, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return hex;
}

/// Posts that share a key. Exact duplicates do not count: dropping them loses nothing.
struct Repeated {
  std::size_t beside_the_first = 0, all = 0;
};

template <class Key>
Repeated repeated(const Feed& feed, Key key) {
  std::unordered_map<decltype(key(feed.entries.front())), std::pair<const Entry*, bool>> seen;
  Repeated count;
  for (const Entry& entry : feed.entries) {
    auto name = key(entry);
    if (name.empty()) continue;
    const auto [found, is_new] = seen.emplace(std::move(name), std::pair(&entry, false));
    auto& [other, counted] = found->second;
    if (is_new || (entry.link == other->link && entry.title == other->title && entry.published == other->published)) {
      continue;
    }
    ++count.beside_the_first;
    count.all += std::exchange(counted, true) ? 1 : 2;
  }
  return count;
}

/// Whether both values are present and differ.
bool differ(std::string_view a, std::string_view b) {
  return !a.empty() && !b.empty() && a != b;
}

bool many_equal_links(const Feed& feed) {
  const Repeated links = repeated(feed, [](const Entry& entry) { return link_key(entry.link); });
  return are_many(links.beside_the_first, feed.entries.size());
}

/// Gives posts with one guid but different links a substitute each, except a post without a link or whose link is the
/// guid: the stored posts or a later document decide which of them owns the guid.
void part_by_links(std::vector<EntryRecord>& records) {
  SmallArena arena;
  std::pmr::unordered_map<std::string_view, std::string_view> links(&arena);  // of the first post with each guid
  std::unordered_set<std::string_view> shared;
  for (const EntryRecord& record : records) {
    if (record.given_guid.empty()) continue;
    const std::string_view link = value_of(record.fields, "link");
    const auto first = links.emplace(record.given_guid, link).first;
    if (link != first->second && !link.empty() && !first->second.empty()) shared.insert(record.given_guid);
  }
  if (shared.empty()) return;
  for (EntryRecord& record : records) {
    if (record.given_guid.empty() || !shared.contains(record.given_guid)) continue;
    record.shared_guid = record.given_guid;
    const std::string_view link = value_of(record.fields, "link");
    const bool holds = link.empty() || link == record.given_guid;
    record.guid = holds ? record.given_guid : guid_beside(record.given_guid, std::string(link));
  }
}

}  // namespace

bool counts_places(const std::string& guid, std::size_t place, std::size_t places) {
  const auto is = [&](std::size_t number) { return guid == std::to_string(number); };
  return is(place) || is(place + 1) || is(places - place) || is(places - place - 1);
}

std::string text_key(const Fields& fields, bool is_telling) {
  const std::string_view date = value_of(fields, "date_published"), text = value_of(fields, "summary_text");
  if (!is_telling && date.empty() && text.size() < telling_text) return {};
  std::string basis(value_of(fields, "title"));
  basis.append("\n").append(date).append("\n").append(text);
  return hex_digest(basis);
}

std::string guid_by(IdentifiedBy by, const Fields& fields, const std::string& guid) {
  if (by == IdentifiedBy::guid) return guid;
  if (by == IdentifiedBy::link) {
    const std::string key = link_key(value_of(fields, "link"));
    if (!key.empty()) return "link:" + (key.size() < limits::guid / 2 ? key : hex_digest(key));
  }
  const std::string key = text_key(fields);
  return key.empty() ? guid : "digest:" + key;
}

bool is_named(const EntryRecord& record) {
  return !record.given_guid.empty() && record.guid == record.given_guid;
}

bool is_substitute(std::string_view guid, std::string_view link, bool permalinks) {
  if (guid.starts_with("link:") || guid.starts_with("digest:")) return true;
  if (link.empty()) return false;
  if (guid == link) return !permalinks;
  const bool beside = guid.ends_with(link) && guid[guid.size() - link.size() - 1] == ' ';
  return beside || (guid.starts_with(link) && guid[link.size()] == ' ');
}

void identify(std::vector<EntryRecord>& records, IdentifiedBy by) {
  for (EntryRecord& record : records) {
    record.former_guid = std::exchange(record.guid, guid_by(by, record.fields, record.guid));
    record.shared_guid.clear();
  }
  if (by == IdentifiedBy::guid) part_by_links(records);
  SmallArena arena;
  std::pmr::unordered_map<std::pmr::string, std::size_t> places(&arena);  // index of the first post with each guid
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].guid.empty()) continue;
    const auto [first, is_new] = places.emplace(records[i].guid, i);
    if (is_new) continue;
    EntryRecord *told = &records[i], *other = &records[first->second];
    const std::string shared = told->guid;
    const bool again = !told->digest.empty() && told->digest == other->digest;
    if (by == IdentifiedBy::guid && !told->given_guid.empty() && !again && told->given_guid == other->given_guid) {
      for (EntryRecord* record : {told, other}) {
        if (record->shared_guid.empty()) record->shared_guid = shared;
      }
      continue;
    }
    if (by == IdentifiedBy::guid && is_named(*told) && !is_named(*other)) {
      std::swap(told, other);
      first->second = i;
    }
    const std::string_view title = value_of(told->fields, "title");
    const bool shares_link = told->given_guid.empty() && find_field(told->fields, "link") != nullptr;
    const bool has_own_title = shares_link && !title.empty() && title != value_of(other->fields, "title");
    const bool is_by_text = by == IdentifiedBy::digest && !text_key(told->fields).empty();
    const std::string text = again || is_by_text ? std::string() : text_key(told->fields, has_own_title);
    told->guid.clear();
    if (text.empty()) continue;
    told->guid.append(shared).append(1, ' ').append(text);
    if (places.emplace(told->guid, static_cast<std::size_t>(told - records.data())).second)
      told->shared_guid = other->shared_guid = shared;
    else
      told->guid.clear();
  }
}

bool names_places(const std::vector<EntryRecord>& records, const std::vector<StoredSnapshot::Guid>& known) {
  constexpr std::size_t least = 3;                      // posts: with fewer, all may well be replaced or edited
  std::unordered_map<std::string, std::size_t> stored;  // index by link of the stored post
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < records.size() && i < known.size(); ++i) {
    if (known[i].is != StoredSnapshot::Is::different) continue;
    const Fields &now = records[i].fields, &before = known[i].fields;
    std::string link = link_key(value_of(before, "link"));
    const std::string_view date = value_of(now, "date_published"), old_date = value_of(before, "date_published");
    const bool other = differ(link, link_key(value_of(now, "link"))) &&
                       differ(value_of(now, "title"), value_of(before, "title")) &&
                       (date.empty() || old_date.empty() || date != old_date);
    if (other) others.push_back(i);
    if (!link.empty()) stored.emplace(std::move(link), i);
  }
  const auto buried =
      static_cast<std::size_t>(std::ranges::count(known, StoredSnapshot::Is::tombstoned, &StoredSnapshot::Guid::is));
  if (others.size() < least || 2 * others.size() + buried <= records.size()) return false;
  std::size_t moved = 0, counted = 0;
  for (const std::size_t i : others) {
    const auto found = stored.find(link_key(value_of(records[i].fields, "link")));
    if (found != stored.end() && found->second != i) ++moved;
    if (counts_places(records[i].guid, i, records.size())) ++counted;
  }
  return 2 * moved > others.size() || counted == others.size();
}

IdentifiedBy fitting_identity(const Feed& feed, IdentifiedBy by) {
  if (by == IdentifiedBy::digest) return by;
  if (by == IdentifiedBy::link) return many_equal_links(feed) ? IdentifiedBy::digest : by;
  const std::size_t all = feed.entries.size();
  const auto count = [&](auto is) {
    return static_cast<std::size_t>(std::count_if(feed.entries.begin(), feed.entries.end(), is));
  };
  const std::size_t unnamed = count([](const Entry& entry) { return entry.id.empty(); });
  if (unnamed == all) return many_equal_links(feed) ? IdentifiedBy::digest : by;  // go by links
  const Repeated equal = repeated(feed, [](const Entry& entry) { return std::string_view(entry.id); });
  if (2 * (unnamed + equal.all) <= all) return by;
  const std::size_t unlinked = count([](const Entry& entry) { return !is_http_url(entry.link); });
  if (!are_many(unlinked, all) && !many_equal_links(feed)) return IdentifiedBy::link;
  return are_many(equal.beside_the_first, all) ? IdentifiedBy::digest : by;
}

}  // namespace feedmill
