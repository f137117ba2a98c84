// How a post differs from its stored version: what a reader notices, and which URL parts changed (DESIGN
// §5). Pure; linear in both versions.
#pragma once

#include <set>
#include <string>

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

}  // namespace feedmill
