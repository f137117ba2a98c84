// Broken XML → XML that is nested properly and says as much of the same as possible.
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

struct Salvaged {
  std::string text;
  bool cut_short = false;  ///< the text ended, or the limits of the work were met, before the root element was closed …
  bool in_entry = false;  ///< … and within an item or entry: the last one of `text` …
  /// … and there within what names or dates it (an id, guid, link, identifier or date), or in front of the end of what
  /// names it for good: its own guid (of an item) or id (of an entry), unless it has an rdf:about.
  bool in_name = false;

  bool operator==(const Salvaged&) const = default;
};

/// Rewrites a document that is not well-formed: references and stray "<" and "&" become text, attributes get their
/// quotes, elements that are open at the end or when an outer one ends are closed, end tags that close nothing and all
/// declarations go. Starts at the root element of a feed wherever it is: behind junk, inside a page or a comment.
/// Ends with that element. Empty when there is no such element. At most 256 deep; linear; iterative. Where twice the
/// result and its tree would take more than `max_memory` bytes it ends, too.
Salvaged salvage(std::string_view text, std::size_t max_memory = std::string_view::npos);

/// Where the root element of a feed begins; npos when nowhere.
std::size_t find_feed_root(std::string_view text);

}  // namespace feedmill
