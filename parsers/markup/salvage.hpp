// Repairs broken XML and JSON. The output is properly nested and keeps as much of the content as possible.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace feedmill {

/// A repaired XML document.
struct Salvaged {
  std::string text;
  bool cut_short = false;  ///< the text ended, or a limit was reached, before the root element was closed …
  bool in_entry = false;   ///< … inside an item or entry, which is the last one in `text` …
  /// … and there inside an element that identifies or dates the entry (an id, guid, link, identifier or date), or
  /// before the end of its definitive id: its own guid (of an item) or id (of an entry), unless it has an rdf:about.
  bool in_name = false;

  bool operator==(const Salvaged&) const = default;
};

/// Rewrites a document that is not well-formed. Stray "<", "&" and unreadable references become text; attributes get
/// quotes; unclosed elements are closed when an outer one or the text ends; unmatched end tags and all declarations are
/// dropped. Starts at the root element of a feed, wherever it is: after junk, inside a page or a comment; returns an
/// empty text if there is none. Stops at the end of that element, or where twice the result plus its tree would exceed
/// `max_memory` bytes. At most 256 levels deep; linear; iterative.
Salvaged salvage(std::string_view text, std::size_t max_memory = std::string_view::npos);

/// Offset of the first root element of a feed; npos if there is none.
std::size_t find_feed_root(std::string_view text);

// Repairs broken JSON, keeping as much of its content as possible.

/// A repaired JSON text.
struct SalvagedJson {
  std::string text;
  bool cut_short = false;  ///< the text ended before its first value did …
  bool in_item = false;    ///< … inside an object of that value's array "items", which is the last one in `text` …
  bool in_name = false;    ///< … and there inside the value of "id", "date_published" or "date_modified"
};

/// Rewrites text that is meant to be JSON. Drops comments, trailing commas and everything after the first value; adds
/// missing commas and colons; turns single-quoted and bare words into strings; repairs raw control characters and bad
/// escapes; closes open values at the end. Values nested deeper than `max_depth` become null. Stops at about
/// `max_bytes` of output; the rest counts as cut off. Linear.
SalvagedJson salvage_json(std::string_view text, std::size_t max_depth, std::size_t max_bytes = std::string_view::npos);

}  // namespace feedmill
