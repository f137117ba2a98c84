// Path and parameters of a request target (SECURITY O5).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace feedmill {

enum class Plus { itself, space };  ///< meaning of "+": a space in forms and queries

/// Percent-decodes once (SECURITY O5); empty if an escape is malformed.
std::optional<std::string> percent_decoded(std::string_view text, Plus plus = Plus::itself);

/// Percent-encodes for a query: everything but letters, digits and - . _ ~.
std::string percent_encoded(std::string_view text);

/// The first value of a parameter, decoded once, with "+" as a space; empty if missing or malformed. "a&b=c" has both a
/// and b.
std::optional<std::string> parameter(std::string_view query, std::string_view name);

}  // namespace feedmill
