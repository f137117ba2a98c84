// Splits long values: Redis stores a hash compactly only if no value exceeds 64 bytes (hash-max-listpack-value).
// The pieces are `why`, `why.1`, `why.2` …: a piece of exactly 64 bytes is followed by the next piece or by an end
// marker. Any pieces after a shorter one are leftovers.
#pragma once

#include <string>
#include <string_view>

#include "storage/redis/values.hpp"

namespace feedmill {

/// Adds to `changed` the writes that turn the field's value `before` into `value` ("" removes it).
void add_pieces(Fields& changed, std::string_view name, const std::string& before, const std::string& value);

/// Whether a stored value may continue in further pieces.
bool has_more_pieces(const std::string& first);

/// The complete value of `name`; its field holds `first`. Searches `fields` for each piece.
std::string joined(const Fields& fields, const std::string& name, const std::string& first);

}  // namespace feedmill
