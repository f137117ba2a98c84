// Removes parts of a post's texts that change from one fetch to the next (DESIGN §5). Pure; linear.
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

/// Appends a URL without some of its parameters (parsers/text/url.hpp).
using AppendUrl = void (*)(std::string& out, std::string_view url);

/// Markup without tracking pixels; URLs of links pass through `link`, those of embedded files through `file`. Refers to
/// `html` if there is nothing to change, else to `buffer`.
std::string_view settled_markup(std::string_view html, std::string& buffer, AppendUrl link, AppendUrl file);

/// JSON text with the members "url" passed through `file`. Refers to `json` if they have no parameters, else to
/// `buffer`.
std::string_view settled_json(std::string_view json, std::string& buffer, AppendUrl file);

/// Whether an `<img …>` tag is a tracking pixel, at most one pixel in size.
bool is_pixel(std::string_view tag);

}  // namespace feedmill
