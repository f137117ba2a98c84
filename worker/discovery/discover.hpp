// From the address of a page to the feeds behind it: candidates are found by parsers/discovery and asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "parsers/lists/discovery.hpp"
#include "storage/redis/values.hpp"
#include "worker/discovery/probe.hpp"

namespace feedmill {

/// A feed that a page offers, fetched and read.
struct FoundFeed {
  std::string url;            ///< canonical, as the page names it
  std::string title, format;  ///< of the document, as plain text; the page's word where it has no title
  std::size_t entries = 0;
  std::vector<Fields> posts;  ///< the first three, what is short of them: as they would be stored
  FoundIn found_in{};
  bool comments = false;  ///< of readers, not of the site itself
};

/// A candidate that is no feed, or cannot be had.
struct RefusedCandidate {
  std::string url, reason;
};

struct Discovery {
  std::optional<Look> look;      ///< at the address itself
  std::vector<FoundFeed> feeds;  ///< the surest first, comments last; the address itself alone when it is a feed
  std::vector<RefusedCandidate> refused;
};

/// What is behind `url` (canonical): itself, else what Link headers and link tags name, else the well-known places up
/// to the first feed, else anchors. Each step only when those before found no feed but of comments; at most 10
/// candidates of a step are asked for. Addresses that lead to one document count once, and so do formats of one feed:
/// the same title and the same first posts. Blocks; throws Interrupted, and what was found until then
/// is in `discovery`.
void discover(Probe& probe, const std::string& url, Discovery& discovery);

}  // namespace feedmill
