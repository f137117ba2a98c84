// The last pass after a format reader: resolves and sanitises markup, adds fallbacks and identities, applies caps.
#pragma once

#include "parsers/feed/feed.hpp"
#include "parsers/feed/read_feed.hpp"
#include "parsers/text/allowance.hpp"

namespace feedmill {

/// Options of the pass.
struct NormaliseOptions {
  HtmlPolicy html = HtmlPolicy::strict;
  std::string_view document_base;  ///< Content-Location or the feed's own address; "" if unknown
  bool whole_values = false;       ///< no caps on the length of values
  bool keep_class = false;         ///< `class` survives `strict` (SECURITY S4)
};

/// Resolves and sanitises all markup (base: xml:base, else the entry's own page, else the feed's, else the document's),
/// fills author and guid, and applies the caps of SECURITY §3.
/// Markup that grows with its URLs takes from `allowance`; what that does not allow is cut.
void normalise(Feed& feed, const NormaliseOptions& options, Allowance& allowance);

/// normalise() for values that are not from a document: an operator's or stored ones.
void normalise(Feed& feed, const NormaliseOptions& options);

/// Stored instead of a guid that is too long to keep or copy: "sha256:<hex>" (SECURITY T19).
std::string hashed_guid(std::string_view guid);

/// A guid as it is stored: hashed if over 1 KiB.
std::string storable_guid(std::string guid);

/// A new guid for a post whose guid is already used by another post of the document; derived from its link.
std::string guid_beside(const std::string& guid, const std::string& link);

/// Counts a flaw.
void add_flaw(Feed& feed, Flaw flaw, std::size_t count = 1);

}  // namespace feedmill
