#include "storage/records/post_identity.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <xxhash.h>

#include "parsers/feed/formats.hpp"
#include "parsers/text/holders.hpp"
#include "parsers/text/limits.hpp"
#include "parsers/text/url.hpp"
#include "storage/records/feed_fields.hpp"

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

/// Gives posts with one guid but different links a substitute each, except a post without a link or with the guid as
/// its link: the stored posts or a later document decide which post owns the guid.
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

std::string page_key(const Fields& fields) {
  std::string key = link_key(value_of(fields, "link"));
  return key.find_first_of("/?#") == std::string::npos ? std::string() : key;
}

namespace {

constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

/// Confirms a match by link, because the content of one page may change.
bool agree(const Fields& a, const Fields& b) {
  const std::string_view first = value_of(a, "date_published"), second = value_of(b, "date_published");
  if (!first.empty() && !second.empty()) return first == second;
  return value_of(a, "title") == value_of(b, "title") && !value_of(a, "title").empty();
}

/// Index of a key; nowhere if different posts share it.
class Places {
 public:
  /// `same(place)`: whether the post there is a stored duplicate of this one.
  template <class Same>
  void add(const std::string& key, std::size_t place, Same same) {
    if (key.empty()) return;
    const auto [known, is_new] = places_.emplace(key, place);
    if (!is_new && known->second != nowhere && !same(known->second)) known->second = nowhere;
  }
  std::size_t of(const std::string& key) const {
    const auto known = places_.find(key);
    return known == places_.end() ? nowhere : known->second;
  }

 private:
  std::unordered_map<std::string, std::size_t> places_;
};

class Matcher {
 public:
  Matcher(const std::vector<EntryRecord>& read, const std::vector<StoredPost>& stored)
      : read_(read), stored_(stored), taken_(stored.size()) {
    for (std::size_t i = 0; i < stored.size(); ++i) by_guid_.emplace(stored[i].guid, i);
    const auto never = [](std::size_t) { return false; };
    for (std::size_t i = 0; i < read.size(); ++i) {
      const std::size_t own = own_place(i);
      if (own != nowhere && read[i].former_guid.empty()) taken_[own] = true;  // listed under its own guid
      links_.add(link_keys_.emplace_back(page_key(read[i].fields)), i, never);
      texts_.add(text_keys_.emplace_back(text_key(read[i].fields)), i, never);
    }
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const auto same = [&](std::size_t place) { return agree(stored[place].fields, stored[i].fields); };
      if (taken_[i]) continue;
      stored_links_.add(page_key(stored[i].fields), i, same);
      stored_texts_.add(text_key(stored[i].fields), i, same);
    }
  }

  /// Matches by guid if the links do not contradict, or else by link.
  bool match_surely(std::size_t place) {
    const std::size_t own = own_place(place);
    if (own != nowhere) {
      const std::string key = page_key(stored_[own].fields);
      const bool contradicts = !key.empty() && !link_keys_[place].empty() && key != link_keys_[place];
      if (!contradicts && take(place, own, Match::By::guid, true)) return true;
    }
    if (links_.of(link_keys_[place]) != place) return false;
    const std::size_t found = stored_links_.of(link_keys_[place]);
    return found != nowhere && take(place, found, Match::By::link, agree(read_[place].fields, stored_[found].fields));
  }

  void match_otherwise(std::size_t place) {
    const std::size_t own = own_place(place);
    if (own != nowhere && agree(read_[place].fields, stored_[own].fields) && take(place, own, Match::By::guid, true)) {
      return;
    }
    if (texts_.of(text_keys_[place]) != place) return;
    const std::size_t found = stored_texts_.of(text_keys_[place]);
    if (found != nowhere) take(place, found, Match::By::text, true);
  }

  std::vector<Match> result() {
    std::sort(matches_.begin(), matches_.end(), [](const Match& a, const Match& b) { return a.read < b.read; });
    return std::move(matches_);
  }

 private:
  std::size_t own_place(std::size_t place) const {
    const EntryRecord& record = read_[place];
    const auto own = by_guid_.find(record.former_guid.empty() ? record.guid : record.former_guid);
    return own == by_guid_.end() ? nowhere : own->second;
  }

  bool take(std::size_t place, std::size_t found, Match::By by, bool sure) {
    if (taken_[found]) return false;
    taken_[found] = true;
    matches_.push_back({place, found, by, sure});
    return true;
  }

  const std::vector<EntryRecord>& read_;
  const std::vector<StoredPost>& stored_;
  std::unordered_map<std::string_view, std::size_t> by_guid_;
  std::vector<bool> taken_;
  std::vector<std::string> link_keys_, text_keys_;
  Places links_, texts_, stored_links_, stored_texts_;
  std::vector<Match> matches_;
};

}  // namespace

std::vector<Match> match_posts(const std::vector<EntryRecord>& read, const std::vector<bool>& wanted,
                               const std::vector<StoredPost>& stored) {
  Matcher matcher(read, stored);
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (wanted[i] && !matcher.match_surely(i)) left.push_back(i);
  }
  for (const std::size_t i : left) matcher.match_otherwise(i);
  return matcher.result();
}

}  // namespace feedmill
