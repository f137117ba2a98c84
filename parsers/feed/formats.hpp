// The parse functions that read_feed.cpp chooses from. Internal to parsers/.
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

namespace feedmill {

inline constexpr std::size_t max_entries = 10'000;  ///< kept of one document (SECURITY §3)

/// read_feed with an allowance that is not the one its length gives: for tests, as no document that we know of spends
/// its steps.
boost::system::result<Feed, ParseError> read_feed(std::string_view body, const DocumentHints& hints,
                                                  Allowance allowance);

/// Whether an element that lies beside entries is one by its name, whatever its namespace.
bool may_be_entry(pugi::xml_node node);

/// Room for as many entries of `count` as may be gathered and paid for, so that none has to be moved.
void reserve_entries(Feed& feed, std::size_t count, Allowance& allowance);

/// A new entry at the end of the feed's; nullptr when the allowance has no place for it, and then it is spent. Where
/// there are far more than may be kept, older ones go: what it points to lives until the next call.
Entry* new_entry(Feed& feed, Allowance& allowance);

/// Leaves the newest `max_entries` by date, in document order; entries without date count as the oldest, and of equally
/// old ones the first in the document stay. Linear.
void keep_newest(std::vector<Entry>& entries);

/// RSS in every version, RDF's layout too: items in the channel or beside it.
void parse_rss(XmlDocument& xml, Feed& feed, XmlItems& items);
/// Atom 0.1 … 1.0 (RFC 4287), a feed or a single entry.
void parse_atom(XmlDocument& xml, Feed& feed, XmlItems& items);
/// Microsoft's Channel Definition Format.
void parse_cdf(XmlDocument& xml, Feed& feed, XmlItems& items);
/// JSON Feed 1.0 and 1.1. False when the text is no JSON Feed at all.
/// `text` is freed once it is read: it is not needed beside the tree. `seed` and `known` as XmlItems has them.
bool parse_json_feed(std::string text, std::string_view document_base, Feed& feed, Allowance& allowance,
                     std::uint64_t seed, std::span<const std::uint64_t> known);

}  // namespace feedmill
