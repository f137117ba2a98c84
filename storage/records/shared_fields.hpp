// Fields that posts and feeds share.
#pragma once

#include <span>
#include <string_view>

#include "parsers/feed/feed.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// A link that a document gives outside its list of links.
struct NamedLink {
  std::string_view rel, href, type;
};

/// Selects the links for a post's or feed's field `links`.
struct LinkFields {
  std::span<const NamedLink> told;  ///< stored in other fields: left out
  std::span<const NamedLink> also;  ///< appended, unless the document's list has them
  bool enclosures = false;          ///< enclosures have a field of their own: left out
};

/// Authors, categories, contributors, image, license, links, media, publisher and rights of a normalised post or feed
/// (normalise.hpp), without empty values. Texts are plain. `links` contains neither its own page nor its first licence.
Fields shared_fields(const Common& common, const LinkFields& links);

}  // namespace feedmill
