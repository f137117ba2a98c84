// Hashes of the items in a feed's last document whose posts are stored unchanged: an identical item in the next
// document need not be parsed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/records/stored_snapshot.hpp"

namespace feedmill {

/// Value of `state:items:<feed_url>` for a document: the context of its hashes (Feed::context), then for each item its
/// hash and one of the stored guid and digest, 8 bytes each. "" unless stand_alone(): the whole next document is parsed
/// then. Pure; linear.
std::string items_text(std::uint64_t context, const std::vector<EntryRecord>& records);

/// Whether each post of a feed identified by guid can be identified without the others: all have unique guids from
/// their document, or none has a guid and all have unique links.
bool stand_alone(const std::vector<EntryRecord>& records);

/// The items of an items_text() whose posts are still stored with the guid and digest they had then.
class StoredItems {
 public:
  StoredItems() = default;
  /// `digests`: guid and digest of each stored post; the texts must outlive this object. Malformed text has no items.
  StoredItems(std::string_view text, std::span<const std::pair<std::string_view, std::string_view>> digests);

  std::uint64_t context() const { return context_; }
  /// Sorted, for DocumentHints::known.
  std::span<const std::uint64_t> hashes() const { return hashes_; }
  /// Guid and digest of the items' posts, in any order.
  std::span<const std::pair<std::string_view, std::string_view>> posts() const { return posts_; }
  /// Whether the documents give these posts their guids; otherwise their links serve as guids.
  bool are_named() const { return named_; }
  /// The record of the item with that hash: guid and digest, no fields.
  EntryRecord record(std::uint64_t hash) const;

 private:
  std::uint64_t context_ = 0;
  bool named_ = true;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::pair<std::string_view, std::string_view>> posts_;  // parallel to hashes_
};

}  // namespace feedmill
