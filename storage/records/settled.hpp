// What of a post's texts stays the same from one fetch to the next (DESIGN §5). Pure; linear.
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

/// Appends an address without some of its parameters (parsers/text/url.hpp).
using AppendUrl = void (*)(std::string& out, std::string_view url);

/// Markup without tracking pixels; links pass through `link`, addresses of embedded files through `file`. Refers to
/// `html` when it has no address with parameters and no pixel, else to `buffer`.
std::string_view settled_markup(std::string_view html, std::string& buffer, AppendUrl link, AppendUrl file);

/// JSON text whose members "url" pass through `file`. Refers to `json` when it has no parameters, else to `buffer`.
std::string_view settled_json(std::string_view json, std::string& buffer, AppendUrl file);

/// Whether an `<img …>` tag is an image of at most one pixel: it is there to be counted.
bool is_pixel(std::string_view tag);

}  // namespace feedmill
