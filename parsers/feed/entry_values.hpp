// What follows from the values of an entry and is stored in addition to them (DESIGN §3.1). A change of these alone is
// no change of the post (DESIGN §5).
#pragma once

#include <string>

#include "parsers/feed/feed.hpp"

namespace feedmill {

/// The content a reader shows: the first with markup, else the first with text; nullptr when there is none.
const Content* best_content(const Entry& entry);

/// The start of a post as plain text, for lists: of its summary, else of its content; at most 300 bytes, "" when it has
/// neither.
std::string summary_text(const Entry& entry);

/// The address that the post names canonical, else its link, without tracking parameters and fragment; "" when that is
/// no web address.
std::string canonical_address(const Entry& entry);

/// The address of the picture that lists show with a post or feed, "" when there is none: of its own image, banner,
/// logo or icon, podcast:images, media:thumbnail, media:content and enclosures the first that is a picture.
std::string picture_address(const Common& common);

}  // namespace feedmill
