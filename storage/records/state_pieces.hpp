// Redis keeps a hash in little memory as long as no value of it is longer than 64 bytes (hash-max-listpack-value). A
// longer one may be cut into pieces, `why`, `why.1`, `why.2` …: behind a piece of exactly that size the next one
// follows, or what says that none does. Pieces behind a shorter one are leftovers.
#pragma once

#include <string>
#include <string_view>

#include "storage/redis/values.hpp"

namespace feedmill {

/// Adds to `changed` what turns the field's value `before` into `value` ("" removes it).
void add_pieces(Fields& changed, std::string_view name, const std::string& before, const std::string& value);

/// Whether a value as stored may go on in other fields.
bool has_more_pieces(const std::string& first);

/// The whole value of `name`, whose field holds `first`. Looks through `fields` for each piece.
std::string joined(const Fields& fields, const std::string& name, const std::string& first);

}  // namespace feedmill
