// HTML pages about feeds: the list, and one feed (OPERATIONS §6).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "storage/records/fleet_records.hpp"
#include "storage/records/stored_entry.hpp"
#include "storage/records/stream_records.hpp"
#include "storage/store/store.hpp"
#include "worker/admin/page_parts.hpp"
#include "worker/words/explanation.hpp"

namespace feedmill {

/// The parameters of /status/feeds.
struct FeedListQuery {
  std::string state, host, part;  ///< "" = any
  std::optional<FeedPlace> after;
};

/// Parses the parameters state, host, q and after; ignores malformed values.
FeedListQuery read_feed_list_query(std::string_view query);

/// One page of the list of feeds.
struct FeedList {
  FleetFigures fleet;
  FeedPage page;
  bool exact = false;  ///< `q` was the URL of the only feed shown
};

/// Reads a page of the list. Costs at most about 300 commands; a search also examines up to 20 000 URLs or 5 000
/// states. Throws StoreFailure.
FeedList read_feed_list(Store& store, const FeedListQuery& query);

/// The main part of /status/feeds.
Html feed_list_page(const FeedListQuery& query, const FeedList& list);

/// A feed and its recent events.
struct FeedStory {
  Explained explained;
  std::vector<StoredEntry> entries;  ///< newest first
  std::vector<EventRecord> events;   ///< newest first, from the newest signals_looked_at events of the store
};
inline constexpr std::size_t signals_looked_at = 1'000;

/// Reads one feed with about 40 commands; empty if it is not registered. Throws StoreFailure.
std::optional<FeedStory> read_feed_story(Store& store, const HostRules& rules, const std::string& feed_url);

/// The main part of /status/feed.
Html feed_page(const FeedStory& story);

}  // namespace feedmill
