// Lists of feeds and one feed, for people (OPERATIONS §6).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "storage/records/fleet_figures.hpp"
#include "storage/records/stored_entry.hpp"
#include "storage/records/stream_records.hpp"
#include "storage/store/store.hpp"
#include "worker/admin/html.hpp"
#include "worker/words/explanation.hpp"

namespace feedmill {

/// What stands behind /status/feeds?…
struct FeedListQuery {
  std::string state, host, part;  ///< "" = any
  std::optional<FeedPlace> after;
};

/// Reads the parameters state, host, q, after; what cannot be meant is as if it were not there.
FeedListQuery read_feed_list_query(std::string_view query);

/// A part of a list of feeds.
struct FeedList {
  FleetFigures fleet;
  FeedPage page;
  bool exact = false;  ///< `q` is the address of the feed that is shown
};

/// About 300 commands at most, and where it searches, besides, a look at 20 000 addresses or 5 000 states.
StoreResult<FeedList> read_feed_list(Store& store, const FeedListQuery& query);

/// The main part of /status/feeds.
Html feed_list_page(const FeedListQuery& query, const FeedList& list);

/// A feed and what came of it of late.
struct FeedStory {
  Explained explained;
  std::vector<StoredEntry> entries;  ///< newest first
  std::vector<EventRecord> events;   ///< newest first, of the newest signals_looked_at of all
};
inline constexpr std::size_t signals_looked_at = 1'000;

/// About 40 commands; nothing when there is no such feed.
StoreResult<std::optional<FeedStory>> read_feed_story(Store& store, const HostRules& rules,
                                                      const std::string& feed_url);

/// The main part of /status/feed.
Html feed_page(const FeedStory& story);

}  // namespace feedmill
