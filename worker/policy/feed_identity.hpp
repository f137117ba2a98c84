// Handles untrustworthy guids: recognises posts under new guids, and identifies a feed whose guids never stay by
// something else until they do (DESIGN §5, SECURITY T19). Pure policy; the refresher queries the store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/records/commit.hpp"
#include "storage/records/feed_state.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"
#include "worker/policy/attempt.hpp"

namespace feedmill {

/// Of posts with the same guid and link, keeps the stored one, else the one most similar to it, else the first.
/// `known`: the lookup result; updated accordingly.
void settle_repeated(Document& document, StoredSnapshot& known);

/// Whether the document must be compared with all stored posts. One of: most of its guids are unknown; the feed is
/// being switched to another identity or returns to its guids; its guids name positions
/// (storage/records/post_identity.hpp); more than 5 % have been unknown for so many documents that they may be new at
/// every fetch (checked after 3 documents, 6, 12 …); a post unknown under a substitute may be stored under a guid, or
/// vice versa; a post differs from the one stored under its guid; are_too_many() posts must be told apart.
bool must_compare(const PostIdentity& identity, const Document& document, const StoredSnapshot& known);

/// Stored posts that the document lists under new guids, for a lookup of their contents.
struct Recognised {
  std::vector<std::size_t> places;   ///< in the document
  std::vector<EntryRecord> look_up;  ///< stored guid and digest of each
};

/// Compares the document with `stored`. `known` then says which posts to re-key, and which were trimmed under other
/// guids: those older than all stored posts, if most of the document has new guids; otherwise only those without a guid
/// of their own. A stored post keeps its guid if the document gives it none; one stored under a substitute gets the
/// guid that the document gives it. A post that arrives under another's guid keeps its entry if its link or text
/// identifies it. If stored posts had new guids in three documents in a row, or guids name positions, `document` gets
/// the guids of the identity that stayed stable; once its own guids have proven sound, it returns to those. Never for a
/// truncated document.
Recognised recognise(const PostIdentity& identity, Document& document, StoredSnapshot& known,
                     const std::vector<StoredPost>& stored);

/// Adds the result of looking up `recognised.look_up`.
void add_recognised(StoredSnapshot& known, const Recognised& recognised, StoredSnapshot found);

/// Whether the comparison, if any, changed nothing: each post is identified as before.
bool is_told_apart_as_ever(const PostIdentity& identity, const StoredSnapshot& known);

/// How the posts of a document are named if nothing else is stored.
Naming naming_of(const std::vector<EntryRecord>& entries);

/// Whether the document shares no guid with the stored posts, so that posts were probably missed. Never at a first
/// import, after an empty document or one whose posts were recognised; nor for a document of one post, which says
/// nothing about earlier ones.
bool is_gap(const FeedState& before, const Document& document, const StoredSnapshot& known);

/// feed_gap{from, to}: between the newest post stored before and the document's oldest, in Unix seconds.
FeedEvent gap_event(const Document& document, const StoredSnapshot& known, Milliseconds now);

/// feed_rekeyed{count, identified_by, examples}
FeedEvent rekeyed_event(const std::vector<Rekey>& rekeys, IdentifiedBy by);

}  // namespace feedmill
