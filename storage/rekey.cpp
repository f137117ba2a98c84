#include "storage/rekey.hpp"

#include <string>
#include <string_view>
#include <unordered_map>

#include "parsers/url.hpp"
#include "storage/fields.hpp"
#include "storage/identity.hpp"

namespace feedmill {
namespace {

constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

/// "" for a home page.
std::string page_key(const Fields& fields) {
  std::string key = link_key(value_of(fields, "link"));
  return key.find_first_of("/?#") == std::string::npos ? std::string() : key;
}

const std::string& known_as(const EntryRecord& record) {
  return record.former_guid.empty() ? record.guid : record.former_guid;
}

/// Keys that one post alone has, and its place.
class Places {
 public:
  void add(const std::string& key, std::size_t place) {
    if (key.empty()) return;
    const auto [known, is_new] = places_.emplace(key, place);
    if (!is_new) known->second = nowhere;
  }
  std::size_t of(const std::string& key) const {
    const auto known = places_.find(key);
    return known == places_.end() ? nowhere : known->second;
  }

 private:
  std::unordered_map<std::string, std::size_t> places_;
};

/// A link alone may be that of a page whose content comes and goes.
bool agree(const Fields& a, const Fields& b) {
  const std::string_view first = value_of(a, "date_published"), second = value_of(b, "date_published");
  if (!first.empty() && !second.empty()) return first == second;
  return value_of(a, "title") == value_of(b, "title") && !value_of(a, "title").empty();
}

}  // namespace

std::vector<Match> match_posts(const std::vector<EntryRecord>& read, const std::vector<bool>& wanted,
                               const std::vector<StoredPost>& stored) {
  std::unordered_map<std::string_view, std::size_t> by_guid;
  for (std::size_t i = 0; i < stored.size(); ++i) by_guid.emplace(stored[i].guid, i);

  std::vector<bool> taken(stored.size());  // listed under its own guid, or matched
  Places links, texts;                     // of the document
  std::vector<std::string> link_keys, text_keys;
  for (std::size_t i = 0; i < read.size(); ++i) {
    const auto own = by_guid.find(known_as(read[i]));
    if (own != by_guid.end()) taken[own->second] = true;
    links.add(link_keys.emplace_back(page_key(read[i].fields)), i);
    texts.add(text_keys.emplace_back(text_key(read[i].fields)), i);
  }
  Places stored_links, stored_texts;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (taken[i]) continue;
    stored_links.add(page_key(stored[i].fields), i);
    stored_texts.add(text_key(stored[i].fields), i);
  }

  std::vector<Match> matches;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (!wanted[i]) continue;
    if (const auto own = by_guid.find(known_as(read[i])); own != by_guid.end()) {
      matches.push_back({i, own->second, Match::By::guid, true});
      by_guid.erase(own);
      continue;
    }
    std::size_t found = links.of(link_keys[i]) == i ? stored_links.of(link_keys[i]) : nowhere;
    if (found != nowhere && !taken[found]) {
      matches.push_back({i, found, Match::By::link, agree(read[i].fields, stored[found].fields)});
      taken[found] = true;
      continue;
    }
    found = texts.of(text_keys[i]) == i ? stored_texts.of(text_keys[i]) : nowhere;
    if (found != nowhere && !taken[found]) {
      matches.push_back({i, found, Match::By::text, true});
      taken[found] = true;
    }
  }
  return matches;
}

}  // namespace feedmill
