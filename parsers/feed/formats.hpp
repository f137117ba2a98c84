// The parse functions that read_feed.cpp chooses from, and the normalisation after them. Internal to parsers/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/feed/feed.hpp"
#include "parsers/feed/item_hash.hpp"
#include "parsers/feed/read_feed.hpp"
#include "parsers/markup/xml.hpp"
#include "parsers/text/allowance.hpp"

namespace feedmill {

inline constexpr std::size_t max_entries = 10'000;  ///< kept per document (SECURITY §3)

/// read_feed() with a given allowance instead of the one for the document's length. For tests: no known document
/// exceeds its steps.
boost::system::result<Feed, ParseError> read_feed(std::string_view body, const DocumentHints& hints,
                                                  Allowance allowance);

/// Whether an element, by its name alone, may be an entry: it ends in "item" or "entry", whatever its namespace.
bool may_be_entry(pugi::xml_node node);

/// Reserves memory for `count` entries, or as many as may be kept and the allowance covers, so that they are not moved
/// later.
void reserve_entries(Feed& feed, std::size_t count, Allowance& allowance);

/// Appends an entry to the feed; nullptr if the allowance does not cover it, and then the allowance is spent. If there
/// are far more entries than may be kept, the oldest are dropped. The pointer is valid until the next call.
Entry* new_entry(Feed& feed, Allowance& allowance);

/// Keeps the newest `max_entries` by date, in document order. Entries without a date count as the oldest; of equally
/// old ones the first in the document are kept. Linear.
void keep_newest(std::vector<Entry>& entries);

/// Reads RSS of every version, including RDF: items are inside the channel or next to it.
void parse_rss(XmlDocument& xml, Feed& feed, XmlItems& items);
/// Reads Atom 0.1 … 1.0 (RFC 4287): a feed or a single entry.
void parse_atom(XmlDocument& xml, Feed& feed, XmlItems& items);
/// Reads Microsoft's Channel Definition Format.
void parse_cdf(XmlDocument& xml, Feed& feed, XmlItems& items);
/// Reads JSON Feed 1.0 and 1.1. False if the text is not a JSON Feed. Frees `text` once it is parsed, as only the tree
/// is needed. `seed` and `known`: see XmlItems.
bool parse_json_feed(std::string text, std::string_view document_base, Feed& feed, Allowance& allowance,
                     std::uint64_t seed, std::span<const std::uint64_t> known);

// The last pass after a format's reader: resolves and sanitises markup, adds fallbacks and identities, applies caps.

/// Options of normalise().
struct NormaliseOptions {
  HtmlPolicy html = HtmlPolicy::strict;
  std::string_view document_base;  ///< Content-Location or the feed's own URL; "" if unknown
  bool whole_values = false;       ///< no caps on the length of values
  bool keep_class = false;         ///< `class` survives `strict` (SECURITY S4)
};

/// Resolves and sanitises all markup (base: xml:base, else the entry's own page, else the feed's, else the document's),
/// fills author and guid, and applies the caps of SECURITY §3. Markup that grows because its URLs are resolved is
/// charged to `allowance`; the part it does not cover is cut.
void normalise(Feed& feed, const NormaliseOptions& options, Allowance& allowance);

/// normalise() for values that do not come from a document: entered by an operator, or stored.
void normalise(Feed& feed, const NormaliseOptions& options);

/// The stored form of a guid that is too long to keep: "sha256:<hex>" (SECURITY §3).
std::string hashed_guid(std::string_view guid);

/// A guid as it is stored: hashed if over 1 KiB.
std::string storable_guid(std::string guid);

/// A guid for a post that shares its guid with another post of the document: made of `guid` and `link`, hashed if over
/// 1 KiB.
std::string guid_beside(const std::string& guid, const std::string& link);

/// Counts a flaw.
void add_flaw(Feed& feed, Flaw flaw, std::size_t count = 1);

}  // namespace feedmill
