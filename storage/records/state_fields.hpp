// FeedState ⇄ the fields of the hash state:feed:<feed_url>. Numbers that change together share a field, and some long
// values are split, so that a feed's state stays small in Redis (PERFORMANCE F8).
#pragma once

#include <string>
#include <string_view>

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

// Splits long values: Redis stores a hash compactly only if no value exceeds 64 bytes (hash-max-listpack-value).
// The pieces are `why`, `why.1`, `why.2` …: a piece of exactly 64 bytes is followed by the next piece or by an end
// marker. Any pieces after a shorter one are leftovers.

/// Adds to `changed` the writes that turn the field's value `before` into `value` ("" removes it).
void add_pieces(Fields& changed, std::string_view name, const std::string& before, const std::string& value);

/// Whether a stored value may continue in further pieces.
bool has_more_pieces(const std::string& first);

/// The complete value of `name`; its field holds `first`. Searches `fields` for each piece.
std::string joined(const Fields& fields, const std::string& name, const std::string& first);

}  // namespace feedmill
