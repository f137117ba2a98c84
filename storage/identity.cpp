#include "storage/identity.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <xxhash.h>

#include "parsers/limits.hpp"
#include "parsers/url.hpp"
#include "storage/fields.hpp"

namespace feedmill {
namespace {

constexpr std::size_t telling_text = 40;  // bytes of text that two posts hardly share by chance

std::string hex_digest(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  char hex[33];
  std::snprintf(hex, sizeof hex, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return hex;
}

/// Whether more than 5 % of the posts have a key that another has. Exact repetitions do not count: nothing is lost by
/// them.
template <class Key>
bool many_repeated(const Feed& feed, Key key) {
  std::unordered_map<decltype(key(feed.entries.front())), const Entry*> seen;
  std::size_t count = 0;
  for (const Entry& entry : feed.entries) {
    auto name = key(entry);
    if (name.empty()) continue;
    const auto [first, is_new] = seen.emplace(std::move(name), &entry);
    const Entry& other = *first->second;
    if (!is_new && (entry.link != other.link || entry.title != other.title || entry.published != other.published)) {
      ++count;
    }
  }
  return are_many(count, feed.entries.size());
}

/// Whether two values are there and differ.
bool differ(std::string_view a, std::string_view b) {
  return !a.empty() && !b.empty() && a != b;
}

/// Whether the guid is the number of the place or of the one before it, from either end.
bool counts_places(const std::string& guid, std::size_t place, std::size_t places) {
  const auto is = [&](std::size_t number) { return guid == std::to_string(number); };
  return is(place) || is(place + 1) || is(places - place) || is(places - place - 1);
}

bool many_equal_links(const Feed& feed) {
  return many_repeated(feed, [](const Entry& entry) { return link_key(entry.link); });
}

}  // namespace

std::string text_key(const Fields& fields) {
  const std::string_view date = value_of(fields, "date_published"), text = value_of(fields, "summary_text");
  if (date.empty() && text.size() < telling_text) return {};
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

void identify(std::vector<EntryRecord>& records, IdentifiedBy by) {
  std::unordered_set<std::string> seen;
  for (EntryRecord& record : records) {
    std::string guid = guid_by(by, record.fields, record.guid);
    if (by == IdentifiedBy::link && seen.contains(guid)) guid += ' ' + text_key(record.fields);
    if (!seen.insert(guid).second) guid.clear();
    record.former_guid = std::exchange(record.guid, std::move(guid));
  }
}

bool names_places(const std::vector<EntryRecord>& records, const std::vector<Known::Guid>& known) {
  constexpr std::size_t least = 3;                      // posts: fewer are soon all replaced, or all edited
  std::unordered_map<std::string, std::size_t> stored;  // where the links of stored posts stand
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < records.size() && i < known.size(); ++i) {
    if (known[i].is != Known::Is::different) continue;
    const Fields &now = records[i].fields, &before = known[i].fields;
    std::string link = link_key(value_of(before, "link"));
    const std::string_view date = value_of(now, "date_published"), old_date = value_of(before, "date_published");
    const bool other = differ(link, link_key(value_of(now, "link"))) &&
                       differ(value_of(now, "title"), value_of(before, "title")) &&
                       (date.empty() || old_date.empty() || date != old_date);
    if (other) others.push_back(i);
    if (!link.empty()) stored.emplace(std::move(link), i);
  }
  const auto buried = static_cast<std::size_t>(std::ranges::count(known, Known::Is::tombstoned, &Known::Guid::is));
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
  if (unnamed == all) return many_equal_links(feed) ? IdentifiedBy::digest : by;  // the chain has come to the links
  const bool equal = many_repeated(feed, [](const Entry& entry) { return std::string_view(entry.id); });
  if (!equal && !are_many(unnamed, all)) return by;
  const std::size_t unlinked = count([](const Entry& entry) { return !is_http_url(entry.link); });
  if (!are_many(unlinked, all) && !many_equal_links(feed)) return IdentifiedBy::link;
  return equal ? IdentifiedBy::digest : by;
}

}  // namespace feedmill
