// What the documents of a feed say of its guids one after the other: whether they stay, whether they are sound again
// (DESIGN §5, SECURITY T19). Pure policy; feed_identity.hpp judges each document by itself.
#pragma once

#include <cstdint>

#include "storage/records/feed_state.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"
#include "worker/policy/attempt.hpp"

namespace feedmill {

/// So many documents in a row, each unlike the one before it, prove what a single one does not.
inline constexpr std::uint32_t documents_to_switch = 3;

/// Whether a feed that goes by something else goes back to its guids with this document: they have been there,
/// different and unchanged, in three documents in a row, and in twice as many after each return.
bool may_return(const PostIdentity& identity, const Document& document, const StoredSnapshot& known);

/// Counts the document in the feed's state; `known` as the comparison has left it, if there was one.
void count_document(FeedState& state, const Document& document, const StoredSnapshot& known, Milliseconds now);

}  // namespace feedmill
