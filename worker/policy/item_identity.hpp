// Single posts under new guids: finds which of a document's unknown posts are stored under a guid that it no longer
// lists (DESIGN §5). feed_identity.hpp handles documents with mostly new guids. Pure policy; the refresher queries the
// store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/records/feed_state.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"
#include "worker/policy/attempt.hpp"

namespace feedmill {

/// Stored posts that may be unknown posts of a document, to be looked up with all their fields.
struct Suspects {
  std::vector<EntryRecord> look_up;   ///< guids, without a digest
  std::vector<std::int64_t> seconds;  ///< unix seconds, for LookUp::seconds

  bool empty() const { return look_up.empty() && seconds.empty(); }
};

/// The suspects of a document whose feed is identified by guid. None for a usual new post, which is newer than all
/// stored ones: a post keeps its date under a new guid. Bounded, except for other spellings of unknown guids (at most
/// one each).
Suspects suspects(const PostIdentity& identity, const Document& document, const StoredSnapshot& known,
                  Milliseconds now);

/// Whether more posts are suspicious than suspects() covers, and more have left the document: then all stored posts
/// must be compared.
bool are_too_many(const PostIdentity& identity, const Document& document, const StoredSnapshot& known);

/// Marks unknown posts of the document that are stored under another guid, as StoredSnapshot::Guid::stored_guid, and
/// those trimmed under another spelling, as tombstoned. `found`: the result of looking up suspects().
/// An unknown post is a stored one not listed by the document if their enclosures do not differ and one of these holds:
/// its guid is the stored one in another spelling, and title or date agrees; link, title, text and the publisher's date
/// agree; title, date and text agree, and the text has 200 bytes. If several stored posts fit an unknown one, or
/// several unknown posts a stored one, they are different posts.
void recognise_items(const PostIdentity& identity, const Document& document, StoredSnapshot& known,
                     StoredSnapshot&& found);

/// The URLs of the enclosed files, without scheme, host spelling and query; "" = none.
std::string media_key(const Fields& fields);

}  // namespace feedmill
