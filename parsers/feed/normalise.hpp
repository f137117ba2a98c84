// The last pass over what a format reader found: markup resolved and sanitised, fallbacks, identities, caps.
#pragma once

#include "parsers/feed/feed.hpp"
#include "parsers/feed/read_feed.hpp"
#include "parsers/text/allowance.hpp"

namespace feedmill {

/// What the pass needs to know besides the feed.
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

/// The same for values that are nobody's document: of an operator, or from the store.
void normalise(Feed& feed, const NormaliseOptions& options);

/// What stands for a guid that is too long to be stored, or to be copied: "sha256:<hex>" (SECURITY T19).
std::string hashed_guid(std::string_view guid);

/// A guid as it is stored: over 1 KiB it is hashed.
std::string storable_guid(std::string guid);

/// The guid of a post whose own stands for another post of its document: the link tells them apart.
std::string guid_beside(const std::string& guid, const std::string& link);

/// Counts a flaw.
void add_flaw(Feed& feed, Flaw flaw, std::size_t count = 1);

}  // namespace feedmill
