// What of a post's texts stays the same from one fetch to the next (DESIGN §5). Pure; linear.
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

/// Markup without tracking pixels, and without what is volatile in the addresses of links and embedded files. Refers to
/// `html` when there is nothing of the kind in it, else to `buffer`.
std::string_view settled_markup(std::string_view html, std::string& buffer);

/// The same for JSON text with members "url".
std::string_view settled_json(std::string_view json, std::string& buffer);

}  // namespace feedmill
