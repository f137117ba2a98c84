// Readers of single fields, used by the tables of several vocabularies; the element's rank decides which value wins.
// Internal to parsers/.
#pragma once

#include "parsers/feed/reading.hpp"

namespace feedmill {

/// How many links, and how many files, are resolved per target; further ones are ignored. Fewer are stored
/// (limits.hpp).
inline constexpr std::size_t max_links = 256;

/// Text constructs. The html variants take text of undeclared type as HTML, the others as plain text.
bool read_title(const Reading& in);
bool read_rights(const Reading& in);
bool read_info(const Reading& in);
bool read_subtitle(const Reading& in);  ///< of a feed or source; an entry's summary otherwise
bool read_html_subtitle(const Reading& in);
bool read_summary(const Reading& in);  ///< of an entry; a feed's subtitle otherwise
bool read_html_summary(const Reading& in);
bool read_html_content(const Reading& in);  ///< content:encoded and similar elements; a feed's subtitle otherwise

bool read_published(const Reading& in);
bool read_updated(const Reading& in);
bool read_created(const Reading& in);
bool read_expired(const Reading& in);

bool read_language(const Reading& in);
bool read_link(const Reading& in);    ///< the URL is the element's text, its href or its rdf:resource
bool read_author(const Reading& in);  ///< text, or elements name, email, uri
bool read_contributor(const Reading& in);
bool read_publisher(const Reading& in);
bool read_category(const Reading& in);  ///< text, or attributes term, scheme (domain), label
bool read_generator(const Reading& in);
bool read_identifier(const Reading& in);
bool read_comments(const Reading& in);
bool read_error_reports_to(const Reading& in);
bool read_nothing(const Reading& in);  ///< ignores the element

/// Adds a link and sets the fields that its rel implies: the entry's page, enclosures, licences, hubs, paging.
void add_link(const Reading& in, Link link);
/// Sets the page of the feed or entry, unless an element of a better rank has set it or `url` is "".
void set_link(const Reading& in, const std::string& url, int rank);
/// Adds the page and its link, with the address in attribute href.
void add_page(const Reading& in, int rank);
/// Sets the picture, unless an element of a better rank has set it.
bool set_image(const Reading& in, std::string url);
/// A link with the element's rel, type, title, hreflang and length.
Link link_of(const Reading& in, std::string href);
/// A person from child elements name, email, uri and an avatar; other children go to the extensions.
Person read_person(const Reading& in);

}  // namespace feedmill
