// Single posts under new guids: which of a document's unknown posts are stored under a guid that it no longer lists
// (DESIGN §5). Documents most of whose guids are new are feed_identity.hpp's. Pure policy; the refresher asks the
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

/// Stored posts that unknown posts of a document may be: to be looked up with all their fields.
struct Suspects {
  std::vector<EntryRecord> look_up;   ///< guids, without a digest
  std::vector<std::int64_t> seconds;  ///< unix seconds, for LookUp::seconds

  bool empty() const { return look_up.empty() && seconds.empty(); }
};

/// The suspects of a document of a feed that is identified by guid. None for a usual new post, which is newer than all
/// that is stored: a post keeps its date under a new guid. Bounded, but for other spellings of unknown guids, of which
/// each has one at most.
Suspects suspects(const PostIdentity& identity, const Document& document, const StoredSnapshot& known,
                  Milliseconds now);

/// Whether more posts are suspicious than suspects() looks at, and more left the document: then a comparison with all
/// that is stored is to tell.
bool are_too_many(const PostIdentity& identity, const Document& document, const StoredSnapshot& known);

/// Marks the unknown posts of the document that are stored under another guid, as StoredSnapshot::Guid::stored_guid,
/// and those that were trimmed under another spelling, as tombstoned. `found`: what the store said of suspects().
///
/// An unknown post is a stored one whose guid the document does not list when their enclosures do not differ and one of
/// these holds: its guid is the stored one in another spelling, and the title or the date agrees; link, title, text and
/// the publisher's date agree; title, date and text agree, and the text has 200 bytes. Where several stored posts fit
/// an unknown one, or several unknown posts a stored one, they are different posts.
void recognise_items(const PostIdentity& identity, const Document& document, StoredSnapshot& known,
                     StoredSnapshot&& found);

/// The addresses of the files that are enclosed, without scheme, spelling of the host and query; "" = none.
std::string media_key(const Fields& fields);

}  // namespace feedmill
