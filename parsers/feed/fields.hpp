// Readers for single fields, used by the rows of several vocabularies; the rank decides. Internal to parsers/.
#pragma once

#include "parsers/feed/reading.hpp"

namespace feedmill {

/// Links, and files, examined per target: further ones are not resolved. Fewer are stored (limits.hpp).
inline constexpr std::size_t max_links = 256;

bool read_title(const Reading& in);
bool read_rights(const Reading& in);
bool read_info(const Reading& in);
bool read_subtitle(const Reading& in);  ///< of a feed or source
bool read_html_subtitle(const Reading& in);
bool read_summary(const Reading& in);  ///< of an entry, plain unless marked otherwise
bool read_html_summary(const Reading& in);
bool read_html_content(const Reading& in);  ///< content:encoded and its relatives

bool read_published(const Reading& in);
bool read_updated(const Reading& in);
bool read_created(const Reading& in);
bool read_expired(const Reading& in);

bool read_language(const Reading& in);
bool read_link(const Reading& in);    ///< an element whose text is the URL
bool read_author(const Reading& in);  ///< a string, or elements name, email, uri
bool read_contributor(const Reading& in);
bool read_publisher(const Reading& in);
bool read_category(const Reading& in);  ///< text, or attributes term, scheme (domain), label
bool read_generator(const Reading& in);
bool read_identifier(const Reading& in);
bool read_comments(const Reading& in);
bool read_nothing(const Reading& in);  ///< ignores the element

/// Adds a link and sets the fields that its rel implies: the entry's page, enclosures, licences, hubs, paging.
void add_link(const Reading& in, Link link);
void set_link(const Reading& in, const std::string& url, int rank);
Person read_person(const Reading& in);

}  // namespace feedmill
