// Stored posts: reading them, and what an operator or a program does to them (DESIGN §3.2).
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

/// Over a Store's connection.
class Entries {
 public:
  /// `store` outlives this.
  explicit Entries(Store& store) : impl_(store.impl()) {}

  /// The whole key of "17" or "Entry:17", as "{p000}:Entry:17" in a cluster; anything else as it is.
  std::string id_of(const std::string& given) const;
  /// Whether an entry of this store can be called so.
  bool is_id(std::string_view id) const;

  StoreResult<std::optional<StoredEntry>> get(const std::string& id);
  /// Which of these are there, named as id_of() takes them.
  StoreResult<std::vector<bool>> are_there(std::span<const std::string> names);
  /// Several in one round trip, in the order of `ids`; those that do not exist are left out.
  StoreResult<std::vector<StoredEntry>> get_all(std::span<const std::string> ids);
  StoreResult<std::optional<StoredEntry>> get_by_guid(const std::string& feed_url, const std::string& guid);
  /// Newest first, at most `limit`, after `before` when given.
  StoreResult<std::vector<StoredEntry>> all_by_order(const std::string& feed_url, std::size_t limit = 20,
                                                     const std::optional<EntryCursor>& before = {});
  /// The oldest place of the feed that is not after `cursor`. The same posts follow both, even where the post that
  /// `cursor` names was trimmed. Absent: all posts are after it.
  StoreResult<std::optional<EntryCursor>> place_at(const std::string& feed_url, const EntryCursor& cursor);

  // What an operator or a program does to posts beside the feed's document. Each is one script, atomic, with its
  // event.

  /// Stores a post whole: creates it, or replaces what is stored under its guid (fields not given go). Values pass the
  /// caps and the hygiene of documents (SECURITY §3–§5). Brings back what was trimmed or removed.
  ///
  /// A post that no document lists stays as it is until retention takes it, as one that has left the document. Of one
  /// that a document lists the digest stays the publisher's: what was saved holds until the publisher changes the post.
  StoreResult<Saved> save(const GivenEntry& entry, const GivenMarkup& markup = {});
  /// The same, but fields that are not given stay as they are. Only what differs is written.
  StoreResult<Saved> update_or_create(const GivenEntry& entry, const GivenMarkup& markup = {});
  /// Deletes a post with its place, guid link and digest; false when there is none. It does not come back while the
  /// feed lists it, nor for 7 days after. Sends post_deleted with why=operator.
  StoreResult<bool> remove(const std::string& id);
  /// Trims a feed now, in steps of 100 posts; how many went, nothing when there is no such feed. Trimmed posts do not
  /// come back (RELIABILITY L7).
  StoreResult<std::optional<std::uint64_t>> expire(const std::string& feed_url, const Expiry& expiry);
  StoreResult<std::optional<std::uint64_t>> expire(const std::string& feed_url, std::uint64_t limit = 50);

 private:
  Store::Impl& impl_;
};

}  // namespace feedmill
