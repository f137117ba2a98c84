// Compares a document's posts with the stored ones and derives the writes. Pure.
#pragma once

#include "storage/records/commit.hpp"
#include "storage/records/post_change.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// Unix seconds of the operator's last save of a post; removed once the publisher changes the post. Its `digest` is
/// that of the publisher's version at the save.
inline constexpr const char* saved_field = "saved";

/// Size of a post for retention: bytes of its field names and values, except the store's own (bytes, digest, feed_url,
/// first_seen, guid, last_changed, rev, saved, timestamp). Stored as `bytes` in the post; the sum over a feed's posts
/// is `bytes` of its state. Redis' own overhead is not counted.
std::uint64_t entry_bytes(const Fields& fields);

/// In a post that an operator saved: reader_digest() of the publisher's version then. The operator's version stays
/// until the publisher changes the post.
inline constexpr const char* saved_over_field = "saved_over";
/// saved_over of a stored post, from its fields.
std::string saved_over(const Fields& stored);

/// Posts per feed and poll that may be rewritten only because this build stores more fields.
inline constexpr std::size_t most_upgraded = 100;

/// Result of diff_entries().
struct EntryDiff {
  std::vector<EntryWrite> writes;  ///< oldest first
  std::vector<Rekey> rekeys;       ///< posts of `read` that are stored under another guid
  std::uint32_t unchanged = 0;     ///< equal, quietly rewritten or tombstoned
  VolatileParts volatile_parts;    ///< including this document
  bool has_more = false;           ///< more than most_upgraded posts differ only by this build's rules
  bool has_stale = false;          ///< a post stayed because its version in the document may be an older one
};

/// Derives the writes for a document. `read` and `known.guids` have the same order. A new post gets all its fields,
/// moved out of `read`, plus `first_seen` and rev 1; a changed post only the changed fields, with their old values, and
/// the next rev.
///
/// Every field follows the document. A post is modified if a reader notices the change (post_change.hpp) or its
/// publication date moved by more than a day; any other change is written quietly, with the next rev, and so are
/// differences that exist only because this build reads more (EntryRecord::read_anew). A post that an operator saved
/// stays until its publisher changes its text.
///
/// A stored post that changed within the last day and has a newer `date_updated` stays (RELIABILITY I11): the document
/// may come from an old cache. A date in the future does not protect a post.
///
/// timestamp (DESIGN §5): the post's date, at most `now`; an undated post gets `now` minus its index in the document,
/// once and for all. A stored post follows a corrected publication date, and its `date_updated` only if the change is
/// news; never into the future, and never to a date that is the time of rendering: one between `last_poll` (0 = none)
/// and `now`, on several posts that did not change otherwise, or on one post for the second time.
///
/// `shown_up_to`: EntryWrite::shown gets all unchanged fields of posts of up to this many bytes.
EntryDiff diff_entries(std::vector<EntryRecord>&& read, const StoredSnapshot& known, Milliseconds now,
                       std::size_t shown_up_to = 0, Milliseconds last_poll = {});

/// Drops the texts of new posts that are older than the `newest` newest of them (RELIABILITY L34); commit.lua drops
/// those of the others. `writes`: oldest first.
void drop_texts(std::vector<EntryWrite>& writes, std::uint64_t newest);

}  // namespace feedmill
