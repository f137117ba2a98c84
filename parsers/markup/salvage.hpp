// Repairs broken XML: properly nested output that keeps as much of the content as possible.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace feedmill {

struct Salvaged {
  std::string text;
  bool cut_short = false;  ///< the text ended, or a limit was reached, before the root element was closed …
  bool in_entry = false;   ///< … inside an item or entry, the last one of `text` …
  /// … and there inside an element that identifies or dates it (an id, guid, link, identifier or date), or before the
  /// end of its definitive id: its own guid (of an item) or id (of an entry), unless it has an rdf:about.
  bool in_name = false;

  bool operator==(const Salvaged&) const = default;
};

/// Rewrites a document that is not well-formed. Stray "<", "&" and unreadable references become text, attributes get
/// quotes, unclosed elements are closed when an outer one or the text ends, unmatched end tags and all declarations are
/// dropped. Starts at the root element of a feed, wherever it is: after junk, inside a page or a comment. Stops at the
/// end of that element. Empty if there is none. At most 256 deep; linear; iterative. Also stops where twice the result
/// plus its tree would exceed `max_memory` bytes.
Salvaged salvage(std::string_view text, std::size_t max_memory = std::string_view::npos);

/// Offset of a feed's root element; npos if there is none.
std::size_t find_feed_root(std::string_view text);

// Repairs broken JSON, keeping as much of its content as possible.

struct SalvagedJson {
  std::string text;
  bool cut_short = false;  ///< the text ended before its first value did …
  bool in_item = false;    ///< … inside an object of that value's array "items", the last one in `text` …
  bool in_name = false;    ///< … and there inside the value of "id", "date_published" or "date_modified"
};

/// Rewrites text that is meant to be JSON. Drops comments, trailing commas and everything after the first value; adds
/// missing commas and colons; turns single-quoted and bare words into strings; repairs raw control characters and bad
/// escapes; closes open values at the end. Values nested deeper than `max_depth` become null. Output beyond about
/// `max_bytes` counts as cut off. Linear.
SalvagedJson salvage_json(std::string_view text, std::size_t max_depth, std::size_t max_bytes = std::string_view::npos);

}  // namespace feedmill
