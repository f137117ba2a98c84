#include "storage/records/stored_snapshot.hpp"

#include <algorithm>
#include <string>
#include <unordered_set>

#include <xxhash.h>

#include "parsers/text/holders.hpp"
#include "parsers/text/url.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/post_identity.hpp"

namespace feedmill {
namespace {

constexpr std::size_t word = 8, row = 2 * word;

constexpr std::uint64_t guid_half = ~std::uint64_t{0} << 32U;

/// The guid's hash in the upper half, that of the digest's mark in the lower one; 0 there without a digest, as of a
/// tombstone. `digest` may be its mark. `named`: the guid is from the document; otherwise it is a link.
std::uint64_t post_hash(std::string_view guid, std::string_view digest, bool named) {
  const std::uint64_t hash = XXH3_64bits_withSeed(guid.data(), guid.size(), named ? 0 : 1) & guid_half;
  if (digest.empty()) return hash;
  const DigestMark mark = digest_mark(digest);
  return hash | XXH3_64bits(mark.data(), mark.size()) >> 32U;
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

DigestMark digest_mark(std::string_view digest) {
  DigestMark mark{};
  const bool is_cut = digest.size() > mark.size() && digest.starts_with(cut_mark);
  const std::size_t size = std::min(digest.size(), mark.size() - (is_cut ? 1 : 0));
  digest.copy(mark.data() + (mark.size() - size), size, digest.size() - size);
  if (is_cut) mark[0] = '!';
  return mark;
}

PackedItems::PackedItems(std::string_view value) {
  constexpr std::size_t head = 4;
  if (value.size() < head) return;
  std::size_t count = 0;
  for (std::size_t i = 0; i < head; ++i) count |= std::size_t{static_cast<unsigned char>(value[i])} << (8 * i);
  value.remove_prefix(head);
  if (count > value.size() / row_bytes) return;
  const std::string_view behind = value.substr(count * row_bytes);
  if (!behind.empty() && (behind.size() < word + row || behind.size() % row != word)) return;
  digests = value.substr(0, count * row_bytes);
  items = behind;
}

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

StoredItems::StoredItems(std::string_view text, std::span<const StoredGuid> known) {
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
      places.emplace_back(post_hash(known[i].guid, known[i].mark, named), i);
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
  const StoredGuid& post = posts_[static_cast<std::size_t>(found - hashes_.begin())];
  EntryRecord record;
  record.guid = post.guid;
  if (named_) record.given_guid = post.guid;
  record.digest = post.mark;
  record.item_hash = hash;
  record.passed_over = true;
  return record;
}

}  // namespace feedmill
