// Handles unreliable guids: recognises posts under new guids, and identifies the posts of a feed by link or text while
// its guids keep changing (DESIGN §5). Pure policy; the refresher queries the store.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/feed/feed.hpp"
#include "storage/records/commit.hpp"
#include "storage/records/feed_state.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"
#include "worker/policy/attempt.hpp"

namespace feedmill {

/// Among posts with the same guid and link, keeps the stored one, else the one most similar to it, else the first.
/// `known`: the lookup result; updated accordingly.
void settle_repeated(Document& document, StoredSnapshot& known);

/// Whether the document must be compared with all stored posts, because: most of its guids are unknown; the feed is
/// being switched to another identity or returns to its guids; its guids name positions
/// (storage/records/post_identity.hpp); more than 5 % have been unknown in so many documents that they may be new at
/// every fetch (checked after 3 documents, 6, 12 …); a post unknown under a substitute may be stored under a guid, or
/// vice versa; a post differs from the one stored under its guid; or are_too_many().
bool must_compare(const PostIdentity& identity, const Document& document, const StoredSnapshot& known);

/// Stored posts that the document lists under new guids, for a lookup of their contents.
struct Recognised {
  std::vector<std::size_t> places;   ///< in the document
  std::vector<EntryRecord> look_up;  ///< stored guid and digest of each
};

/// Compares the document with `stored`. Marks in `known` the posts to re-key, and those trimmed under other guids:
/// posts older than all stored ones, if most of the document has new guids; otherwise only those without their own
/// guid. A stored post keeps its guid if the document gives it none; one stored under a substitute gets the guid that
/// the document gives it. A post that arrives under another post's guid keeps its entry if its link or text identifies
/// it. If stored posts had new guids in three documents in a row, or guids name positions, `document` gets the guids of
/// the identity that stayed stable; once its own guids have proven sound, it returns to those. Never for a truncated
/// document.
Recognised recognise(const PostIdentity& identity, Document& document, StoredSnapshot& known,
                     const std::vector<StoredPost>& stored);

/// Adds the result of looking up `recognised.look_up`.
void add_recognised(StoredSnapshot& known, const Recognised& recognised, StoredSnapshot found);

/// Whether the comparison, if any, changed nothing: each post is identified as before.
bool is_told_apart_as_ever(const PostIdentity& identity, const StoredSnapshot& known);

/// How the posts of a document are named if nothing else is stored.
Naming naming_of(const std::vector<EntryRecord>& entries);

/// Whether the document shares no guid with the stored posts, so that posts were probably missed. Never on a first
/// import, after an empty document, or if posts were recognised; nor for a document of one post, which says nothing
/// about earlier ones.
bool is_gap(const FeedState& before, const Document& document, const StoredSnapshot& known);

/// feed_gap{from, to}: from the newest post stored before to the document's oldest, in Unix seconds.
FeedEvent gap_event(const Document& document, const StoredSnapshot& known, Milliseconds now);

/// feed_rekeyed{count, identified_by, examples}
FeedEvent rekeyed_event(const std::vector<Rekey>& rekeys, IdentifiedBy by);

// Single posts under new guids: finds unknown posts of a document that are stored under a guid missing from it
// (DESIGN §5). must_compare() and recognise() handle documents with mostly new guids. Pure policy; the refresher
// queries the store.

/// Stored posts that may be unknown posts of a document, to be looked up with all their fields.
struct Suspects {
  std::vector<EntryRecord> look_up;   ///< guids, without a digest
  std::vector<std::int64_t> seconds;  ///< unix seconds, for LookUp::seconds

  bool empty() const { return look_up.empty() && seconds.empty(); }
};

/// The suspects of a document in a feed identified by guid. A typical new post has none, because it is newer than all
/// stored posts: a post keeps its date under a new guid. Bounded, except for other spellings of unknown guids (at most
/// one each).
Suspects suspects(const PostIdentity& identity, const Document& document, const StoredSnapshot& known,
                  Milliseconds now);

/// Whether more posts are suspicious than suspects() covers, and more have left the document, so that all stored posts
/// must be compared.
bool are_too_many(const PostIdentity& identity, const Document& document, const StoredSnapshot& known);

/// Marks unknown posts of the document that are stored under another guid, as StoredSnapshot::Guid::stored_guid, and
/// those trimmed under another spelling, as tombstoned. `found`: the result of looking up suspects().
/// An unknown post is a stored one not listed by the document if their enclosures do not differ and one of these holds:
/// its guid is the stored one in another spelling, and title or date agrees; link, title, text and the publisher's date
/// agree; title, date and text agree, and the text has 200 bytes. Dropped texts agree if those of the unknown post give
/// the stored post its digest. If several stored posts fit an unknown one, or several unknown posts a stored one, they
/// are different posts.
void recognise_items(const PostIdentity& identity, const Document& document, StoredSnapshot& known,
                     StoredSnapshot&& found);

/// The URLs of the enclosed files, without scheme, host spelling and query; "" = none.
std::string media_key(const Fields& fields);

/// Digest of a URL or guid for a feed's state: 16 hex digits.
std::string mark_of(std::string_view text);

// What successive documents of a feed show about its guids: whether they stay, and whether they are sound again
// (DESIGN §5). Pure policy; must_compare() and recognise() judge single documents.

/// Number of consecutive documents, each different from the previous, that prove what a single one cannot.
inline constexpr std::uint32_t documents_to_switch = 3;

/// Whether a feed that is not identified by its guids returns to them with this document: they were present, distinct
/// and unchanged in three documents in a row; the number doubles with each earlier return.
bool may_return(const PostIdentity& identity, const Document& document, const StoredSnapshot& known);

/// Counts the document in the feed's state; `known`: after the comparison, if there was one.
void count_document(FeedState& state, const Document& document, const StoredSnapshot& known, Milliseconds now);

// Posts withdrawn by their publisher: at:deleted-entry (RFC 6721).

/// The deletions in a document with posts identified `by`. Deletions without a readable date are ignored (RFC 6721 §3
/// requires one). They name posts by their Atom ids: if posts are identified by link, only ids that are web addresses
/// match; if by text, none do.
std::vector<Deletion> deletions(const Feed& feed, IdentifiedBy by);

/// Guids of stored posts to delete and of listed posts not to create. A deletion is ignored if the stored or listed
/// post was updated after it. `dates`: Known::deletable, one for each.
std::vector<std::string> withdrawn(const std::vector<Deletion>& deletions, const std::vector<std::string>& dates,
                                   const std::vector<EntryRecord>& listed);

/// Remembers withdrawn posts, so that an old push does not restore them: after a document that withdrew `deleted` and
/// was written as `writes`. Posts that it created are forgotten here. Keeps a digest of each of the latest 100.
void remember_withdrawn(std::vector<std::string>& marks, const std::vector<std::string>& deleted,
                        const std::vector<EntryWrite>& writes);

/// Whether the publisher has withdrawn this post, as far as `marks` reach.
bool was_withdrawn(const std::vector<std::string>& marks, std::string_view guid);

}  // namespace feedmill
