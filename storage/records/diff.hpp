// Known guids × a document's posts → what to write. Pure.
#pragma once

#include "storage/records/commit.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/records/volatile_parts.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// When an operator last saved the post, unix seconds: there until the publisher changes it. Its `digest` is that of
/// the publisher's version then.
inline constexpr const char* saved_field = "saved";

/// What retention counts of a post: bytes of the names and values of its fields, the store's own apart (bytes, digest,
/// feed_url, first_seen, guid, last_changed, rev, saved, timestamp). Stored beside them as `bytes`; a feed's posts
/// together are `bytes` of its state. What Redis itself needs is not counted.
std::uint64_t entry_bytes(const Fields& fields);

/// Of a post that an operator saved: reader_digest() of the publisher's version then. What the publisher has not
/// changed since stays as it was saved.
inline constexpr const char* saved_over_field = "saved_over";
/// That digest, of all fields of a saved post.
std::string saved_over(const Fields& stored);

/// Limit of posts per feed and poll that are rewritten only because this build stores more fields.
inline constexpr std::size_t most_upgraded = 100;

struct EntryDiff {
  std::vector<EntryWrite> writes;  ///< oldest first
  std::vector<Rekey> rekeys;       ///< those of `read` that are stored under another guid
  std::uint32_t unchanged = 0;     ///< same, or tombstoned
  VolatileParts volatile_parts;    ///< with this document counted
  bool has_more = false;           ///< more than most_upgraded posts differ by the rules of this build alone
};

/// `read` and `known.guids` stand in the same order. New posts get all their fields, which are taken out of `read` (all
/// else of it stays), `first_seen` and rev 1; changed
/// ones only what changed, with the old values, and the next rev.
///
/// Every field follows the document. A post is modified where a reader notices it (post_change.hpp) or its publication
/// date moved by more than a day; all else is written quietly, with the next rev. What differs only because
/// this build reads more (EntryRecord::read_anew) is quiet, too. A post that an operator saved stays until its
/// publisher changes its text.
///
/// A stored post that has changed within a day and whose `date_updated` is newer stays as it is (RELIABILITY I11): that
/// was a document from an old cache. A date in the future protects nothing.
///
/// timestamp (DESIGN §5): the post's date, clamped to `now`; an undated post gets `now` minus its place in the
/// document, once, for ever. A stored post moves with a corrected publication date, and to its `date_updated` only with
/// a change that is news; never into the future, nor to dates that are the time of rendering: new ones between
/// `last_poll` (0 = none) and `now`, of several posts that did not change otherwise, or of one for the second time.
///
/// `shown_up_to`: EntryWrite::shown gets all fields that stay of a post of up to so many bytes.
EntryDiff diff_entries(std::vector<EntryRecord>&& read, const StoredSnapshot& known, Milliseconds now,
                       std::size_t shown_up_to = 0, Milliseconds last_poll = {});

}  // namespace feedmill
