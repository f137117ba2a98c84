// What a request line asks for: path and parameters (SECURITY O5).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace feedmill {

enum class Plus { itself, space };  ///< what "+" is: in forms and queries a space

/// Percent-decoded once (SECURITY O5); nothing when an escape is broken.
std::optional<std::string> percent_decoded(std::string_view text, Plus plus = Plus::itself);

/// As it may stand in a query: everything but letters, digits and - . _ ~ as %XX.
std::string percent_encoded(std::string_view text);

/// The first value of a parameter, decoded once, a plus as a space; nothing when there is none or its escapes are
/// broken. "a&b=c" has both a and b.
std::optional<std::string> parameter(std::string_view query, std::string_view name);

}  // namespace feedmill
