// Finds the feeds of a web page: fetches the candidates from parsers/discovery.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "parsers/lists/discovery.hpp"
#include "storage/redis/values.hpp"
#include "worker/discovery/probe.hpp"

namespace feedmill {

/// A feed that a page offers, fetched and parsed.
struct FoundFeed {
  std::string url;            ///< canonical, as linked
  std::string title, format;  ///< the document's, as plain text; the link's if it has no title
  std::size_t entries = 0;
  std::vector<Fields> posts;  ///< the first three, short fields only: as they would be stored
  FoundIn found_in{};
  bool comments = false;  ///< of readers' comments
};

/// A candidate that is not a feed or cannot be fetched.
struct RefusedCandidate {
  std::string url, reason;
};

struct Discovery {
  std::optional<Look> look;      ///< at the URL itself
  std::vector<FoundFeed> feeds;  ///< most likely first, comments last; only the URL itself if it is a feed
  std::vector<RefusedCandidate> refused;
};

/// Finds the feeds of `url` (canonical): the URL itself, else those in Link headers and link tags, else well-known
/// paths up to the first feed, else anchors. Each step runs only if the earlier ones found nothing but comment feeds,
/// and fetches at most 10 candidates. URLs of one document count once, as do formats of one feed: equal title and first
/// posts. Blocks; throws Interrupted, with the results so far in `discovery`.
void discover(Probe& probe, const std::string& url, Discovery& discovery);

}  // namespace feedmill
