// `discover`, and how `add` finds the feed of a web page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "worker/discovery/discover.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// A feed to add.
struct FeedBehind {
  std::string url;                 ///< canonical
  std::string page;                ///< the given URL, if it is a page that links to the feed
  std::optional<FoundFeed> found;  ///< as found by the fetch
  std::string trouble;             ///< why the fetch failed, unescaped
};

/// The feeds to add for `urls`. A URL that looks_like_feed() or is registered is used as is. Others are fetched: for a
/// page its only feed is used, or the first if `first`; an unreachable URL is used as is, with a note unless it is a
/// dry run. Writes nothing. Throws VerbFailure, also if a page has no feed or several.
std::vector<FeedBehind> feeds_behind(const std::vector<std::string>& urls, bool first, bool dry_run,
                                     const VerbContext& context);

}  // namespace feedmill
