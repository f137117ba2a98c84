// Known guids × a document's posts → what to write. Pure.
#pragma once

#include "storage/records/commit.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// When an operator last saved the post, unix seconds: there until the publisher changes it. Its `digest` is that of
/// the publisher's version then.
inline constexpr const char* saved_field = "saved";

/// What retention counts of a post: bytes of the names and values of its fields, the store's own apart (bytes, digest,
/// feed_url, first_seen, guid, last_changed, rev, saved, timestamp). Stored beside them as `bytes`; a feed's posts
/// together are `bytes` of its state. What Redis itself needs is not counted.
std::uint64_t entry_bytes(const Fields& fields);

struct EntryDiff {
  std::vector<EntryWrite> writes;  ///< oldest first
  std::vector<Rekey> rekeys;       ///< those of `read` that are stored under another guid
  std::uint32_t unchanged = 0;     ///< same, or tombstoned
};

/// `read` and `known.guids` stand in the same order. New posts get all their fields, which are taken out of `read` (all
/// else of it stays), `first_seen` and rev 1; changed
/// ones only what changed, with the old values, and the next rev.
///
/// A stored post whose `date_updated` is newer stays as it is (RELIABILITY I11): that was a document from an old cache.
/// A date in the future protects nothing. What no reader would notice is written quietly: a digest without an event
/// and without a rev, and what Known::Guid::mended holds of a post that did not change otherwise with the next rev.
///
/// timestamp (DESIGN §5): the post's date, clamped to `now`; an undated post gets `now` minus its place in the
/// document, once, for ever. A changed post moves only when its own date says so, and never because of a date in the
/// future.
///
/// `shown_up_to`: EntryWrite::shown gets all fields that stay of a post of up to so many bytes.
EntryDiff diff_entries(std::vector<EntryRecord>&& read, const StoredSnapshot& known, Milliseconds now,
                       std::size_t shown_up_to = 0);

}  // namespace feedmill
