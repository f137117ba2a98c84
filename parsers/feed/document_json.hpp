// The JSON document of the parse contract: what `feedmill parse` prints.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/feed/feed.hpp"

namespace feedmill {

/// One JSON object, UTF-8, on one line without a line end. Keys without a value are left out. What many texts share is
/// written with each of them, so the whole may be far longer than the document: `sink` gets it piece by piece.
void write_document_json(const Feed& feed, const std::function<void(std::string_view)>& sink);

/// The same at once.
std::string document_json(const Feed& feed);

// What the stored form of an entry (DESIGN §3.1) holds as JSON text has the shapes of the contract.
std::string people_json(const std::vector<Person>& people);
std::string categories_json(const std::vector<Category>& categories);
std::string enclosures_json(const std::vector<Enclosure>& enclosures);
std::string links_json(const std::vector<Link>& links);
std::string person_json(const Person& person);
std::string media_json(const Media& media);

/// What names the feed that an entry was taken from: id, title, subtitle, rights (all three as plain text), link, url
/// (of the feed itself), updated, authors, contributors, categories, language, icon and logo; "" for nothing.
std::string source_json(const Source& source);

/// {prefix: {…}}: the contract's `extensions`, and beside them what it has keys of its own for: `itunes`, `geo` and the
/// chapters of `psc`. When that is longer than `max_bytes` the longest prefixes go, and `cut` is set. "" for nothing.
std::string extensions_json(const Common& common, std::size_t max_bytes, bool& cut);

/// The contract's word for a format: "rss20", "atom10" …
std::string_view format_name(Format format);

/// The contract's token for what was repaired: "malformed-xml" …; "" for none.
std::string_view bozo_token(Bozo bozo);

}  // namespace feedmill
