// What a feed's successive documents show about its guids: whether they stay, and whether they are sound again (DESIGN
// §5, SECURITY T19). Pure policy; feed_identity.hpp judges single documents.
#pragma once

#include <cstdint>

#include "storage/records/feed_state.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"
#include "worker/policy/attempt.hpp"

namespace feedmill {

/// Consecutive documents, each different from the previous, that prove what a single one cannot.
inline constexpr std::uint32_t documents_to_switch = 3;

/// Whether a feed identified otherwise returns to its guids with this document: they were present, distinct and
/// unchanged in three documents in a row, and twice as many after each return.
bool may_return(const PostIdentity& identity, const Document& document, const StoredSnapshot& known);

/// Counts the document in the feed's state; `known`: after the comparison, if there was one.
void count_document(FeedState& state, const Document& document, const StoredSnapshot& known, Milliseconds now);

}  // namespace feedmill
