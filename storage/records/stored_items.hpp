// The items of a feed's last document whose posts are stored as they were read then: what stands in the next one as it
// stood in that one need not be read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/records/stored_snapshot.hpp"

namespace feedmill {

/// What is kept of a document's items, for `state:items:<feed_url>`: the context of their hashes (Feed::context), then
/// of each item its hash and one of the guid and digest that it is stored under, 8 bytes each. "" when its posts are
/// not told apart each by itself: then all of it is read each time. Pure; linear.
std::string items_text(std::uint64_t context, const std::vector<EntryRecord>& records);

/// Whether each post is told apart without a look at the others, of a feed that is identified by guid: all have guids
/// of their own from their document, or none has one and all have links of their own.
bool stand_alone(const std::vector<EntryRecord>& records);

/// The items of such a text whose posts are still stored as they were read: under the same guid, with the same digest.
class StoredItems {
 public:
  StoredItems() = default;
  /// `digests`: guid and digest of each stored post; their text outlives this. A text that is none of ours has no
  /// items.
  StoredItems(std::string_view text, std::span<const std::pair<std::string_view, std::string_view>> digests);

  std::uint64_t context() const { return context_; }
  /// Sorted, for DocumentHints::known.
  std::span<const std::uint64_t> hashes() const { return hashes_; }
  /// Guid and digest of the posts that they are of, in any order.
  std::span<const std::pair<std::string_view, std::string_view>> posts() const { return posts_; }
  /// Whether the documents give these posts their guids; else their links stand for them.
  bool are_named() const { return named_; }
  /// The record of the item with one of these hashes: guid and digest, no fields.
  EntryRecord record(std::uint64_t hash) const;

 private:
  std::uint64_t context_ = 0;
  bool named_ = true;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::pair<std::string_view, std::string_view>> posts_;  // of each hash
};

}  // namespace feedmill
