// The fields that posts and feeds have alike.
#pragma once

#include <span>
#include <string_view>

#include "parsers/feed/feed.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// A link as a document gives it outside of its list of links.
struct NamedLink {
  std::string_view rel, href, type;
};

/// Which links of a post or feed are in its field `links`.
struct LinkFields {
  std::span<const NamedLink> told;  ///< these have another field
  std::span<const NamedLink> also;  ///< these follow those of the document where it does not list them
  bool enclosures = false;          ///< enclosures have another field
};

/// Authors, categories, contributors, image, license, links, media, publisher and rights of a post or feed that has
/// passed through normalise.hpp; without those that have no value. Texts are plain. Its own page and its first licence
/// are no further links.
Fields shared_fields(const Common& common, const LinkFields& links);

}  // namespace feedmill
