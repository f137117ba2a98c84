// Shared by verbs about feeds: the feeds for given URLs, previews, refreshes, removals.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "worker/config/feed_settings.hpp"
#include "worker/operations/discover.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// A feed to add, and how it was found.
struct FeedBehind {
  std::string url;                 ///< canonical
  std::string page;                ///< the given URL, if it is a page that links to the feed
  std::optional<FoundFeed> found;  ///< as found by the fetch
  std::string trouble;             ///< why the fetch failed, unescaped
  /// The end of the pause that the server asked for, if it did.
  std::optional<std::chrono::system_clock::time_point> not_before{};
};

/// The feeds to add for `urls`. A URL that looks_like_feed() or is registered is used unchanged. Others are fetched:
/// for a page, its only feed is used, or its first if `first`; an unreachable URL is used unchanged, with a note unless
/// `dry_run`. Writes nothing. Throws VerbFailure, also if a page has no feed or several.
std::vector<FeedBehind> feeds_behind(const std::vector<std::string>& urls, bool first, bool dry_run,
                                     const VerbContext& context);

/// Prints for each feed, found from one of `arguments`, whether it exists, whether the egress policy allows it, the
/// limits of its host and its settings. Resolves names and writes nothing. Returns exits::done.
int preview(const std::vector<std::string>& arguments, const FeedSettings& wanted, const std::vector<FeedBehind>& feeds,
            const VerbContext& context);

/// Warns on stderr about URLs that will never be requested, with the reason: otherwise only the worker's log would show
/// it. Resolves at most 20 names, within 2 s; for more URLs, judges only those with an IP address.
void warn_of_refusals(const std::vector<std::string>& urls, const FeedSettings& settings, const VerbContext& context);

/// Fetches registered feeds and prints the results. Feeds in `just_added` are already due and are not woken: their
/// first fetch counts, even if a worker has begun or finished it.
int refresh_added(const std::vector<std::string>& feed_urls, const std::vector<std::string>& just_added,
                  const VerbContext& context);

/// Removes feeds and everything stored for them, after asking unless `is_confirmed`; `dry_run` only prints them.
/// Completes interrupted removals first. Returns the exit code; throws VerbFailure and Interrupted.
int remove_feeds(const std::vector<std::string>& named, bool is_confirmed, bool dry_run, const VerbContext& context);

}  // namespace feedmill
