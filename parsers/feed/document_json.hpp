// The JSON document of the parse contract, printed by `feedmill parse`.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/feed/feed.hpp"

namespace feedmill {

/// Writes one JSON object in UTF-8, on one line without a line end. Keys without a value are omitted. Values shared by
/// several entries are repeated for each, so the output may be far longer than the document: `sink` receives it piece
/// by piece.
void write_document_json(const Feed& feed, const std::function<void(std::string_view)>& sink);

/// Returns what write_document_json() writes as one string.
std::string document_json(const Feed& feed);

// The parts of a stored entry as JSON text (DESIGN §3.1), shaped as in the parse contract.
std::string people_json(const std::vector<Person>& people);
std::string categories_json(const std::vector<Category>& categories);
std::string enclosures_json(const std::vector<Enclosure>& enclosures);
std::string links_json(const std::vector<Link>& links);
std::string person_json(const Person& person);
std::string media_json(const Media& media);

/// The feed an entry was taken from, as a JSON object: id, title, subtitle, rights (all three as plain text), link, url
/// (of the feed itself), updated, authors, contributors, categories, language, icon and logo; "" if empty.
std::string source_json(const Source& source);

/// The contract's `extensions`, {prefix: {…}}, including the extensions with fields of their own (`itunes`, `geo`, the
/// chapters of `psc`). Beyond `max_bytes` the longest prefixes are dropped and `cut` is set. "" if empty.
std::string extensions_json(const Common& common, std::size_t max_bytes, bool& cut);

/// The contract's name of a format: "rss20", "atom10" …
std::string_view format_name(Format format);

/// The contract's token for a repair: "malformed-xml" …; "" for none.
std::string_view bozo_token(Bozo bozo);

}  // namespace feedmill
