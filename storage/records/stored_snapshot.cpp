#include "storage/records/stored_snapshot.hpp"

#include <algorithm>
#include <string>
#include <unordered_set>

#include <xxhash.h>

#include "parsers/text/holders.hpp"
#include "parsers/text/url.hpp"
#include "storage/records/post_identity.hpp"

namespace feedmill {
namespace {

constexpr std::size_t word = 8, row = 2 * word;

constexpr std::uint64_t guid_half = ~std::uint64_t{0} << 32U;

/// The guid's hash in the upper half, the digest's in the lower one; 0 there without a digest, as of a tombstone.
/// `named`: the guid is from the document; otherwise it is a link.
std::uint64_t post_hash(std::string_view guid, std::string_view digest, bool named) {
  const std::uint64_t hash = XXH3_64bits_withSeed(guid.data(), guid.size(), named ? 0 : 1) & guid_half;
  return digest.empty() ? hash : hash | XXH3_64bits(digest.data(), digest.size()) >> 32U;
}

void append_word(std::string& text, std::uint64_t number) {
  for (unsigned shift = 0; shift < 64; shift += 8) text += static_cast<char>(number >> shift & 0xFFU);
}

std::uint64_t word_at(std::string_view text, std::size_t at) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < word; ++i) {
    number |= std::uint64_t{static_cast<unsigned char>(text[at + i])} << (8 * i);
  }
  return number;
}

}  // namespace

bool stand_alone(const std::vector<EntryRecord>& records) {
  const bool named = !records.empty() && is_named(records.front());
  SmallArena arena;
  std::pmr::unordered_set<std::pmr::string> names(&arena);
  return std::ranges::all_of(records, [&](const EntryRecord& record) {
    if (!record.shared_guid.empty() || !record.former_guid.empty()) return false;
    if (named) return is_named(record) && names.emplace(record.guid).second;
    // Links that differ only in spelling are equal (fitting_identity).
    const std::string key = record.given_guid.empty() ? link_key(record.guid) : std::string();
    return !key.empty() && names.emplace(key).second;
  });
}

std::string items_text(std::uint64_t context, const std::vector<EntryRecord>& records) {
  std::string text;
  const bool any = std::ranges::any_of(records, [](const EntryRecord& record) { return record.item_hash != 0; });
  if (!any || !stand_alone(records)) return text;
  text.reserve(word + records.size() * row);
  append_word(text, context);
  for (const EntryRecord& record : records) {
    if (record.item_hash == 0) continue;
    append_word(text, record.item_hash);
    append_word(text, post_hash(record.guid, record.digest, is_named(record)));
  }
  return text;
}

StoredItems::StoredItems(std::string_view text, std::span<const std::pair<std::string_view, std::string_view>> known) {
  if (text.size() < word + row || text.size() % row != word) return;
  std::vector<std::pair<std::uint64_t, std::size_t>> places, items;  // by hash
  places.reserve(known.size());
  items.reserve(text.size() / row);
  const auto take_item = [&](std::uint64_t item, std::uint64_t post) {
    const auto found = std::ranges::lower_bound(places, post, {}, &std::pair<std::uint64_t, std::size_t>::first);
    if (found == places.end() || found->first != post) return false;
    items.emplace_back(item, found->second);
    return true;
  };
  for (const bool named : {true, false}) {  // either all are named, or none is
    places.clear();
    for (std::size_t i = 0; i < known.size(); ++i) {
      places.emplace_back(post_hash(known[i].first, known[i].second, named), i);
    }
    std::sort(places.begin(), places.end());
    for (std::size_t at = word; at < text.size(); at += row) {
      const std::uint64_t item = word_at(text, at), post = word_at(text, at + word);
      if (!take_item(item, post)) take_item(item, post & guid_half);
    }
    named_ = named;
    if (!items.empty()) break;
  }
  std::sort(items.begin(), items.end());
  context_ = word_at(text, 0);
  hashes_.reserve(items.size());
  posts_.reserve(items.size());
  for (const auto& [hash, place] : items) {
    hashes_.push_back(hash);
    posts_.push_back(known[place]);
  }
}

EntryRecord StoredItems::record(std::uint64_t hash) const {
  const auto found = std::ranges::lower_bound(hashes_, hash);
  const auto& [guid, digest] = posts_[static_cast<std::size_t>(found - hashes_.begin())];
  EntryRecord record;
  record.guid = guid;
  if (named_) record.given_guid = guid;
  record.digest = digest;
  record.item_hash = hash;
  record.passed_over = true;
  return record;
}

}  // namespace feedmill
