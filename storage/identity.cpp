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
