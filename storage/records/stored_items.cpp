#include "storage/records/stored_items.hpp"

#include <algorithm>
#include <unordered_set>

#include <xxhash.h>

#include "storage/records/post_identity.hpp"

namespace feedmill {
namespace {

constexpr std::size_t word = 8, row = 2 * word;

std::uint64_t post_hash(std::string_view guid, std::string_view digest) {
  return XXH3_64bits_withSeed(guid.data(), guid.size(), XXH3_64bits(digest.data(), digest.size()));
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

bool are_named(const std::vector<EntryRecord>& records) {
  std::unordered_set<std::string_view> guids;
  guids.reserve(records.size());
  return std::ranges::all_of(records, [&](const EntryRecord& record) {
    return is_named(record) && record.shared_guid.empty() && record.former_guid.empty() &&
           guids.insert(record.guid).second;
  });
}

std::string items_text(std::uint64_t context, const std::vector<EntryRecord>& records) {
  std::string text;
  const bool any = std::ranges::any_of(records, [](const EntryRecord& record) { return record.item_hash != 0; });
  if (!any || !are_named(records)) return text;
  text.reserve(word + records.size() * row);
  append_word(text, context);
  for (const EntryRecord& record : records) {
    if (record.item_hash == 0) continue;
    append_word(text, record.item_hash);
    append_word(text, post_hash(record.guid, record.digest));
  }
  return text;
}

StoredItems::StoredItems(std::string_view text,
                         std::span<const std::pair<std::string_view, std::string_view>> digests) {
  if (text.size() < word + row || text.size() % row != word) return;
  std::vector<std::pair<std::uint64_t, std::size_t>> stored;  // by their hashes
  stored.reserve(digests.size());
  for (std::size_t i = 0; i < digests.size(); ++i) {
    stored.emplace_back(post_hash(digests[i].first, digests[i].second), i);
  }
  std::sort(stored.begin(), stored.end());
  std::vector<std::pair<std::uint64_t, std::size_t>> items;
  items.reserve(text.size() / row);
  for (std::size_t at = word; at < text.size(); at += row) {
    const std::uint64_t post = word_at(text, at + word);
    const auto found = std::ranges::lower_bound(stored, post, {}, &std::pair<std::uint64_t, std::size_t>::first);
    if (found != stored.end() && found->first == post) items.emplace_back(word_at(text, at), found->second);
  }
  std::sort(items.begin(), items.end());
  context_ = word_at(text, 0);
  hashes_.reserve(items.size());
  posts_.reserve(items.size());
  for (const auto& [hash, place] : items) {
    hashes_.push_back(hash);
    posts_.push_back(digests[place]);
  }
}

EntryRecord StoredItems::record(std::uint64_t hash) const {
  const auto found = std::ranges::lower_bound(hashes_, hash);
  const auto& [guid, digest] = posts_[static_cast<std::size_t>(found - hashes_.begin())];
  EntryRecord record;
  record.guid = record.given_guid = guid;
  record.digest = digest;
  record.item_hash = hash;
  record.passed_over = true;
  return record;
}

}  // namespace feedmill
