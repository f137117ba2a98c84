// Values derived from an entry and stored in addition (DESIGN §3.1). Changing only these does not count as a change of
// the post (DESIGN §5).
#pragma once

#include <string>

#include "parsers/feed/feed.hpp"

namespace feedmill {

/// The content that readers show: the first with markup, else the first with text; nullptr if there is none.
const Content* best_content(const Entry& entry);

/// The start of a post as plain text, for lists: from its summary, else its content; at most 300 bytes, "" if it has
/// neither.
std::string summary_text(const Entry& entry);

/// The post's canonical address, else its link, without tracking parameters and fragment; "" if it is not a web
/// address.
std::string canonical_address(const Entry& entry);

/// The picture that lists show with a post or feed, "" if there is none: the first picture among its image, banner,
/// logo or icon, podcast:images, media:thumbnail, media:content and enclosures.
std::string picture_address(const Common& common);

}  // namespace feedmill
