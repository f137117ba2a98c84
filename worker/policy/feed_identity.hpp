// When a feed's guids are not to be trusted: posts under new guids are recognised, and a feed whose guids never stay is
// identified by something else, until they do (DESIGN §5, SECURITY T19). Pure policy; the refresher asks the store.
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

/// Of posts that the document gives one guid and one link leaves the one that is stored, else the one that is most like
/// it, else the first. `known`: as it was looked up; stays in step.
void settle_repeated(Document& document, StoredSnapshot& known);

/// Whether the document must be compared with all stored posts: most of its guids are unknown, or the feed is being
/// switched to another identity, or goes back to its guids, or its guids name places
/// (storage/records/post_identity.hpp), or more than 5 % have been unknown for so long that they may be new at every
/// fetch (looked at after 3 documents, 6, 12 …), or a post that is unknown under a substitute may be stored under a
/// guid, or the other way round, or a post is not the one that is stored under its guid, or too many are_too_many() to
/// be told apart one by one.
bool must_compare(const PostIdentity& identity, const Document& document, const StoredSnapshot& known);

/// Stored posts that the document lists under new guids, to be looked up once more for what they hold.
struct Recognised {
  std::vector<std::size_t> places;   ///< in the document
  std::vector<EntryRecord> look_up;  ///< stored guid and digest of each
};

/// Compares. `known` then says which posts are to be re-keyed, and which were trimmed under other guids: those that are
/// older than all that is stored, once most of the document goes on under new guids, and of posts without a guid of
/// their own those alone. A stored post that the document gives no guid of its own keeps the one it has, and one that
/// is stored under a substitute gets the guid that the document gives it. One that comes under the guid of another
/// stays what it is, where its link or its text leads to its own entry. When stored posts had new guids in three
/// documents in a row, or the guids name places, `document` gets the guids of the identity that has stayed the same;
/// when its guids have proven sound, those; never one that ends in the middle.
Recognised recognise(const PostIdentity& identity, Document& document, StoredSnapshot& known,
                     const std::vector<StoredPost>& stored);

/// Adds what the store said of `recognised.look_up`.
void add_recognised(StoredSnapshot& known, const Recognised& recognised, StoredSnapshot found);

/// Whether the comparison, if there was one, left everything as it was: each post is told apart as it always was.
bool is_told_apart_as_ever(const PostIdentity& identity, const StoredSnapshot& known);

/// What the posts of a document are stored under when nothing else is stored.
Naming naming_of(const std::vector<EntryRecord>& entries);

/// The document shares no guid with what is stored: posts were probably missed. Never at a first import, after an empty
/// document or one whose posts were recognised; nor for a document of one post, which says nothing of those before it.
bool is_gap(const FeedState& before, const Document& document, const StoredSnapshot& known);

/// feed_gap{from, to}: between the newest post stored before and the oldest of the document, unix seconds.
FeedEvent gap_event(const Document& document, const StoredSnapshot& known, Milliseconds now);

/// feed_rekeyed{count, identified_by, examples}
FeedEvent rekeyed_event(const std::vector<Rekey>& rekeys, IdentifiedBy by);

}  // namespace feedmill
