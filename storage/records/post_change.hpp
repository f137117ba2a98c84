// How a post differs from its stored version: what a reader notices, and which parts of its addresses changed (DESIGN
// §5). Pure; linear in both versions.
#pragma once

#include <set>
#include <string>

#include "storage/redis/values.hpp"

namespace feedmill {

struct PostChange {
  /// A reader notices it, whatever is volatile: texts, categories, addresses of pages and files, and what extensions
  /// say of a post's content (transcript, chapters, episode, place, price, severity of an alert). Dates are not looked
  /// at.
  bool noticed = false;
  /// Other differences, in parts of URLs and in numbers of files; news unless they are volatile: "?name" of a
  /// query, "/host/2" a part of a path inside of the text, "@host" where only the host differs, "#length" a number.
  std::set<std::string> parts;
};

/// Scheme, `www.`, tracking, signatures and what gets past caches are in neither: only spelling differs, or its time.
/// `other_rules`: `stored` went through another sanitiser, so of markup only the words count.
PostChange change_between(const Fields& stored, const Fields& read, bool other_rules = false);

}  // namespace feedmill
