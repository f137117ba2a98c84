// A document's posts before they are written, and the stored posts to compare them with (RELIABILITY L5).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/records/feed_state.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// A post to be stored: everything a reader gets, in the stored form of DESIGN §3.1.
struct EntryRecord {
  std::string guid;
  std::string digest;                     ///< entry_digest()
  std::optional<std::int64_t> timestamp;  ///< unix seconds; absent when the post is undated
  Fields fields;                          ///< title, link, content …: sorted by name, no empty values
  std::string former_guid{};              ///< its guid before the feed switched to another identity, "" = unchanged
  std::string given_guid{};               ///< guid in its document, "" = none
  std::string shared_guid{};              ///< the guid it would have if no other post of the document had it, too …
                                          ///< … also set in that other post; "" = its guid is unique
  std::uint64_t item_hash = 0;            ///< of its item (Entry::item_hash)
  bool has_idle = false;                  ///< it has values that its digest ignores
  bool passed_over = false;               ///< recognised by item_hash and not parsed: stored with this digest, or …
                                          ///< … tombstoned, without a digest
  /// Another build parsed the feed's last document, and the item seems unchanged since: differences from the stored
  /// post are not news.
  bool read_anew = false;
};

/// A post that the document declares deleted (RFC 6721).
struct Deletion {
  std::string guid;
  std::int64_t when = 0;  ///< unix seconds
};

/// A stored post that moves to another guid (DESIGN §5).
struct Rekey {
  std::string id, from, to;
  std::string digest;
  Fields set;  ///< fields to update quietly: its link in another spelling
};

/// The part of a stored post needed to recognise it under another guid.
struct StoredPost {
  std::string id, guid, digest;
  std::int64_t timestamp = 0;
  Fields fields;  ///< date_published, enclosures, link, summary_text, title
};

/// The stored posts for the guids of a document, read with plain commands (RELIABILITY L5).
struct StoredSnapshot {
  static constexpr std::size_t max_departed = 50;
  static constexpr auto any_age = std::numeric_limits<std::int64_t>::min();
  static constexpr std::size_t usual_news = 20;  ///< usual number of new posts at once; more may be a back catalogue
  enum class Is { unknown, tombstoned, same, different };
  struct Guid {
    Is is{};
    std::string id;             ///< Entry:<n> when `different`
    Fields fields;              ///< stored fields when `different`
    std::string stored_guid{};  ///< guid of the stored post `id`, if it is a different one
    /// Stored by older rules: the fields that the current rules change, "" = remove, without `bytes` and `digest`
    /// (resanitise.hpp). `fields` include these changes; with `same`, `id` and `fields` are then set as well.
    Fields mended{};
    /// With `unknown`: the only stored guid that is another spelling of it (append_url_alias), or else a trimmed one;
    /// not in the document. "" = none, or several unknown guids of the document match.
    std::string alias{};
    bool alias_trimmed = false;  ///< `alias` is a tombstone
    /// Its texts were dropped, but are to be kept again (RELIABILITY L34); with `same`, `id` and `fields` are then set.
    bool wants_texts = false;
  };
  std::vector<Guid> guids;                 ///< in the order of the document
  std::vector<std::string> left, back;     ///< tombstones of guids that left the document, or are listed again
  Fields feed;                             ///< the readers' record Feed:<feed_url>: title, description …
  Fields feed_mended;                      ///< stored by older rules: fields the current rules change, "" = remove
  bool other_rules = false;                ///< another sanitiser version processed the markup of the last document
  std::string items;                       ///< items_text() of the last document
  std::uint64_t stored = 0;                ///< number of the feed's posts
  std::size_t textless = 0;                ///< posts without texts among those that are to have them
  std::int64_t texts_from = any_age;       ///< older posts are not to have texts (RELIABILITY L34)
  std::int64_t newest = 0;                 ///< timestamp of the newest post
  std::int64_t oldest = 0;                 ///< timestamp of the oldest post; 0 unless more than usual_news are unknown
  bool trimmed = false;                    ///< the feed has tombstones
  std::optional<Milliseconds> first_tomb;  ///< when the guid of the oldest tombstone left the document
  bool compares_all = false;               ///< posts with an equal digest have `fields`, too
  std::string volatile_parts;              ///< VolatileParts::text(), "" = none
  /// Guids of stored posts that were in the last document and are not in this one, as far as StoredItems knows them.
  /// Read only if some guid is unknown; at most max_departed + 1.
  std::vector<std::string> departed;
  std::vector<Guid> same_second;       ///< posts of the requested seconds, `different`, with their fields
  std::vector<std::string> deletable;  ///< of each requested deletion: "" = no such post, else the post's date or "0"

  // Results of the comparison with stored posts (worker/policy/feed_identity.hpp).
  bool compared = false,
       replaced = false;               ///< more than 5 % of the document are stored posts under new guids …
                                       ///< … possibly found by their items' hashes, without that comparison
  std::size_t recognised = 0;          ///< posts of the document that are stored under another guid
  Naming naming = Naming::given;       ///< of a feed identified by guid, including the document
  std::vector<Rekey> rekeys;           ///< of posts that are not in the document
  std::vector<std::string> tombs_new;  ///< guids of posts that were trimmed under other guids
};

// Value of `state:items:<feed_url>`: the digests of the feed's posts, to find those that a document changes; and hashes
// of the items in its last document with posts that are stored unchanged, or that retention removed, because an
// identical item in the next document need not be parsed. Scripts write it (storage/lua/shared/digests.lua).

/// What stands for a digest in a row: its last characters. Of an entry_digest(), 58 of 64 bits.
using DigestMark = std::array<char, 10>;
/// Of a mark: the same mark.
DigestMark digest_mark(std::string_view digest);

/// Parts of the value; both empty if it is malformed or of a build before schema 2.
struct PackedItems {
  static constexpr std::size_t number_bytes = 6, row_bytes = number_bytes + sizeof(DigestMark);

  std::string_view digests;  ///< of each post its entry's number, little-endian, and its digest_mark(); in any order
  std::string_view items;    ///< items_text()

  explicit PackedItems(std::string_view value);
};

/// A stored post, or a tombstone. The views refer to the store's replies.
struct StoredGuid {
  std::string_view guid, id;  ///< id: "" = tombstoned
  std::string_view mark;      ///< digest_mark(), "" = unknown or tombstoned
};

/// The items of a document: the context of their hashes (Feed::context), then for each item its hash (8 bytes), and
/// that of the guid and of the digest's mark (4 each). "" unless stand_alone(): the whole next document is parsed then.
/// Pure; linear.
std::string items_text(std::uint64_t context, const std::vector<EntryRecord>& records);

/// Whether each post of a feed identified by guid can be identified without the others: all have unique guids from
/// their document, or none has a guid and all have unique links.
bool stand_alone(const std::vector<EntryRecord>& records);

/// The items of an items_text() with posts that are still stored under the guid and digest they had then, or have a
/// tombstone.
class StoredItems {
 public:
  StoredItems() = default;
  /// `known`: stored posts with their marks, and tombstones; their texts must outlive this object. Malformed text
  /// has no items.
  StoredItems(std::string_view text, std::span<const StoredGuid> known);

  std::uint64_t context() const { return context_; }
  /// Sorted, for DocumentHints::known.
  std::span<const std::uint64_t> hashes() const { return hashes_; }
  /// The items' posts and tombstones, in any order.
  std::span<const StoredGuid> posts() const { return posts_; }
  /// Whether the documents give these posts their guids; otherwise their links serve as guids.
  bool are_named() const { return named_; }
  /// The record of the item with that hash: guid, no fields; as its digest the mark.
  EntryRecord record(std::uint64_t hash) const;

 private:
  std::uint64_t context_ = 0;
  bool named_ = true;
  std::vector<std::uint64_t> hashes_;
  std::vector<StoredGuid> posts_;  // parallel to hashes_
};

}  // namespace feedmill
