// FeedState ⇄ the fields of the hash state:feed:<feed_url>. Numbers that change together share a field and some long
// values are cut into pieces, so that a feed's state stays small in Redis (PERFORMANCE F8).
#pragma once

#include "storage/records/feed_state.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// All fields, none cut into pieces, those without a value included as "" (which removes them).
Fields state_fields(const FeedState& state);

/// The field `moves`.
std::string moves_text(const std::vector<Move>& moves);

/// Only the fields and pieces of fields in which `state` differs from `before`.
Fields changed_state_fields(const FeedState& before, const FeedState& state);

/// Unknown fields are ignored (older and newer versions may share a store); what is missing or unreadable keeps its
/// default.
FeedState read_state(const Fields& fields);

}  // namespace feedmill
