// FeedState ⇄ the fields of the hash state:feed:<feed_url>. Numbers that change together share a field, and some long
// values are split, so that a feed's state stays small in Redis (PERFORMANCE F8).
#pragma once

#include "storage/records/feed_state.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// All fields, unsplit, including "" for those without a value (which removes them).
Fields state_fields(const FeedState& state);

/// Value of the field `moves`.
std::string moves_text(const std::vector<Move>& moves);

/// Only the fields (or pieces of fields) that differ from `before`.
Fields changed_state_fields(const FeedState& before, const FeedState& state);

/// Ignores unknown fields (older and newer versions may share a store); missing or unreadable fields keep their
/// defaults.
FeedState read_state(const Fields& fields);

}  // namespace feedmill
