// Values derived from an entry and stored with it (DESIGN §3.1). A change of only these values does not count as a
// change of the post (DESIGN §5).
#pragma once

#include <string>

#include "parsers/feed/feed.hpp"

namespace feedmill {

/// The content that readers show: the first with markup, else the first with text; nullptr if there is none. Valid
/// while `entry` is unchanged.
const Content* best_content(const Entry& entry);

/// The beginning of a post as plain text, for lists: from its summary, else from its content. At most 300 bytes; "" if
/// it has neither.
std::string summary_text(const Entry& entry);

/// The post's canonical URL, else its link, without tracking parameters and fragment; "" if that is not a web URL.
std::string canonical_address(const Entry& entry);

/// URL of the picture that lists show for a post or feed: the first among its image, banner, logo or icon,
/// podcast:images, media:thumbnail, media:content and enclosures; "" if there is none.
std::string picture_address(const Common& common);

}  // namespace feedmill
