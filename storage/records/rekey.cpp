#include "storage/records/rekey.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "parsers/text/url.hpp"
#include "storage/records/find_field.hpp"
#include "storage/records/post_identity.hpp"

namespace feedmill {
namespace {

constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

/// Key of the linked page, "" for a home page.
std::string page_key(const Fields& fields) {
  std::string key = link_key(value_of(fields, "link"));
  return key.find_first_of("/?#") == std::string::npos ? std::string() : key;
}

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
