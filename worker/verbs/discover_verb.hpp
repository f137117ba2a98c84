// discover, and what add makes of the address of a web page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "worker/command_line/feed_verbs.hpp"
#include "worker/discovery/discover.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// A feed to add.
struct FeedBehind {
  std::string url;                 ///< canonical
  std::string page;                ///< the address that was given, when that is a page which names the feed
  std::optional<FoundFeed> found;  ///< what it was when it was looked at
  std::string trouble;             ///< why it could not be looked at, not cleaned
};

/// The feeds to add for `urls`. An address that says feed, or is registered, stands for itself and is not asked for.
/// Any other is looked at: of a page its one feed is taken, of several the first if `first`; what cannot be reached is
/// taken as it stands, and told. Writes nothing. Throws VerbFailure, also where a page had no feed or several.
std::vector<FeedBehind> feeds_behind(const std::vector<std::string>& urls, const AddVerb& verb,
                                     const VerbContext& context);

}  // namespace feedmill
