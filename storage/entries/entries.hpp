// Stored posts: reading, and changes by an operator or a program (DESIGN §3.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/given_entry.hpp"
#include "storage/records/stored_entry.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// Entries of one store, over a Store's connection.
class Entries {
 public:
  /// `store` must outlive this object.
  explicit Entries(Store& store) : impl_(store.impl()) {}

  /// The full key of "17" or "Entry:17", such as "{p000}:Entry:17" in a cluster; other text is unchanged.
  std::string id_of(const std::string& given) const;
  /// Whether `id` has the form of an entry id of this store.
  bool is_id(std::string_view id) const;

  StoreResult<std::optional<StoredEntry>> get(const std::string& id);
  /// For each name, in a form that id_of() accepts, whether the entry exists.
  StoreResult<std::vector<bool>> are_there(std::span<const std::string> names);
  /// Several entries in one round trip, in the order of `ids`, without those that do not exist.
  StoreResult<std::vector<StoredEntry>> get_all(std::span<const std::string> ids);
  StoreResult<std::optional<StoredEntry>> get_by_guid(const std::string& feed_url, const std::string& guid);
  /// A feed's entries, newest first, at most `limit`, after `before` if given.
  StoreResult<std::vector<StoredEntry>> all_by_order(const std::string& feed_url, std::size_t limit = 20,
                                                     const std::optional<EntryCursor>& before = {});
  /// The oldest position of the feed that is not after `cursor`, so that the same posts follow both, even if the post
  /// of `cursor` was trimmed. Absent: all posts follow it.
  StoreResult<std::optional<EntryCursor>> place_at(const std::string& feed_url, const EntryCursor& cursor);

  // Changes by an operator or a program, independent of the feed's document. Each is one atomic script, including its
  // event.

  /// Stores a complete post: creates it, or replaces the one with its guid (fields not given are removed). Values get
  /// the caps and cleaning of documents (SECURITY §3, §4, X3). Restores trimmed and removed posts.
  ///
  /// A post that is in no document stays until retention removes it, like one that left the document. If a document has
  /// the post, its digest stays the publisher's: the saved version lasts until the publisher changes the post.
  StoreResult<Saved> save(const GivenEntry& entry, const GivenMarkup& markup = {});
  /// Like save(), but fields not given are kept, and only differences are written.
  StoreResult<Saved> update_or_create(const GivenEntry& entry, const GivenMarkup& markup = {});
  /// Deletes a post with its position, guid and digest; false if there is none. It does not return while the feed lists
  /// it, nor for 7 days after. Sends post_deleted with why=operator.
  StoreResult<bool> remove(const std::string& id);
  /// Trims a feed now, in steps of 100 posts; returns how many posts were removed, or empty if the feed is unknown.
  /// Trimmed posts do not return (RELIABILITY L7).
  StoreResult<std::optional<std::uint64_t>> expire(const std::string& feed_url, const Expiry& expiry);
  StoreResult<std::optional<std::uint64_t>> expire(const std::string& feed_url, std::uint64_t limit = 50);

 private:
  Store::Impl& impl_;
};

}  // namespace feedmill
