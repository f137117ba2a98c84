// How a post differs from its stored version: what a reader notices, and which URL parts changed (DESIGN
// §5). Pure; linear in both versions.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "storage/redis/values.hpp"

namespace feedmill {

struct PostChange {
  /// A reader notices it, regardless of volatile parts: texts, categories, URLs of pages and files, and extensions
  /// about the post's content (transcript, chapters, episode, place, price, severity of an alert). Dates are ignored.
  bool noticed = false;
  /// Other differences, in URL parts and numbers of files; news unless volatile: "?name" of a query, "/host/2" a path
  /// segment in the text, "@host" if only the host differs, "#length" a number.
  std::set<std::string> parts;
};

/// Ignores differences of spelling and time in URLs: scheme, `www.`, tracking, signatures, cache busters.
/// `other_rules`: another sanitiser version made `stored`, so only the words of markup are compared.
PostChange change_between(const Fields& stored, const Fields& read, bool other_rules = false);

// Removes parts of a post's texts that change from one fetch to the next (DESIGN §5). Pure; linear.

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
