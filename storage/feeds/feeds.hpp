// Registered feeds: add, remove, query, wake, pause and move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/feed_state.hpp"
#include "storage/records/fleet_records.hpp"
#include "storage/records/stored_entry.hpp"
#include "storage/store/store.hpp"
#include "storage/timelines/in_parts.hpp"

namespace feedmill {

/// Filter and position for a page of the feed list.
struct FeedQuery {
  std::string state;  ///< "" or "healthy": in schedule order, without paused feeds; else newest in that state first
  std::string part;   ///< substring of the URL, or of the title in any case of ASCII letters; "" = any
  std::string host;   ///< "" = any
  std::optional<FeedPlace> after;
  std::size_t limit = 50;
  std::size_t look = 5'000;  ///< maximum number of feeds examined for matches
};

/// Progress of a walk that repairs the index of feeds by URL.
struct IndexPlace {
  std::string phase = "in", place = "0";
  bool is_done() const { return phase == "done"; }
};

/// The feeds of one store, over a Store's connection.
class Feeds {
 public:
  /// `store` must outlive this object.
  explicit Feeds(Store& store) : store_(store), impl_(store.impl()) {}

  /// Registers feeds; true for each that is new. URLs must be canonical (worker/egress/web_url.hpp). If one belongs to
  /// another partition (Store::elsewhere()), nothing is written: `refused`. `channel` ("" = none) gets all the feeds,
  /// new or known, in the same step, with their titles; it is created if missing. `rate`: limit of first fetches per
  /// second, over all feeds added with a rate (HTTP P12); 0: no limit.
  StoreResult<std::vector<bool>> add(std::span<const NewFeed> feeds, const std::string& channel = {},
                                     std::uint32_t rate = 0);
  /// Removes a feed and all its keys, in bounded steps; false if unknown (RELIABILITY L17). An interrupted removal is
  /// remembered until it is finished.
  StoreResult<bool> remove(const std::string& feed_url);
  StoreResult<bool> remove(const std::string& feed_url, InParts& parts) { return take_away(feed_url, "begin", parts); }
  /// Finishes a removal that has begun; false if there is none, or the feed was added again.
  StoreResult<bool> finish_removal(const std::string& feed_url, InParts& parts) {
    return take_away(feed_url, "resume", parts);
  }
  /// Finishes interrupted removals, and removes feeds with an import that stalled for ten minutes; returns how many
  /// feeds.
  StoreResult<std::size_t> finish_removals();
  /// Removes a feed so that an import can replace it; the feed stays in its channels and keeps its topic. `only_begun`:
  /// do nothing unless its removal has begun.
  StoreResult<void> remove_for_import(const std::string& feed_url, bool only_begun);
  /// Pauses feeds that have been in no channel for `after`, and removes them after another `after`; at most 100 per
  /// call (RELIABILITY L19). Returns how many were examined.
  StoreResult<std::size_t> look_after_orphans(Milliseconds after);
  /// Number of registered feeds.
  StoreResult<std::uint64_t> count();
  /// The first `most` URLs after `after` in sort order; "" = from the first. Includes every feed that stays registered
  /// throughout. The cost is linear in the result; while the index is incomplete (RELIABILITY L22) it scans all feeds,
  /// in steps that do not block Redis, and holds `most` URLs.
  StoreResult<std::vector<std::string>> urls_after(const std::string& after, std::size_t most);
  /// Approximate number of feeds that satisfy the predicate, counted in steps that do not block Redis; also 0 if there
  /// are too many feeds (about 200,000) to scan.
  StoreResult<std::size_t> count_if(const std::function<bool(const std::string& feed_url)>& wanted);
  /// The feed's learned URL parts that change without being news (VolatileParts): "?name", "/host/2", "@host",
  /// "#length".
  StoreResult<std::vector<std::string>> volatile_parts(const std::string& feed_url);
  /// Whether the index of feeds by URL has as many entries as there are feeds.
  StoreResult<bool> is_indexed();
  /// One bounded step of repairing that index; advances `place` (RELIABILITY L22).
  StoreResult<void> index_step(IndexPlace& place);
  StoreResult<bool> is_registered(const std::string& feed_url);
  /// The records of these feeds; absent if not registered.
  StoreResult<std::vector<std::optional<FeedRecord>>> records(std::span<const std::string> feed_urls);
  /// Feeds in a state other than healthy, the latest to enter it first, at most `limit`, after `before` if given. An
  /// id is the feed's URL, a score unix ms.
  StoreResult<std::vector<EntryCursor>> in_state(const std::string& state, std::size_t limit,
                                                 const std::optional<EntryCursor>& before);
  /// What lists of posts show of their feed: title, its type, link, image and icon; also its format, which every feed
  /// has that was read. Nothing of unknown feeds.
  StoreResult<std::vector<Fields>> faces(std::span<const std::string> feed_urls);
  /// Last success of each healthy feed, 0 = never; absent for other feeds. One command per feed: for continuous walks.
  StoreResult<std::vector<std::optional<Milliseconds>>> last_successes(std::span<const std::string> feed_urls);
  /// Makes feeds due now, but no sooner than `floor` after their last refresh; `force` ignores all limits.
  StoreResult<std::vector<Wake>> wake(std::span<const std::string> feed_urls, Milliseconds floor, bool force);

  /// Removes feeds from the schedule until resume(); a refresh in progress is still committed.
  StoreResult<std::vector<Paused>> pause(std::span<const std::string> feed_urls);
  /// Reschedules paused feeds in their former state, no sooner than `floor` after the last refresh unless they had been
  /// due sooner (HTTP P6).
  StoreResult<std::vector<Resumed>> resume(std::span<const ResumedFeed> feeds, Milliseconds floor);
  /// Replaces the operator's settings of a feed; `outdated`, and nothing is written, if the stored settings are no
  /// longer `before`. `other_hub`: the settings name another hub, so the subscription is checked at once (WEBSUB D5).
  StoreResult<SettingsChange> change_settings(const std::string& feed_url, const std::string& before,
                                              const std::string& settings, bool other_hub = false);
  /// Changes the URL fetched for a feed (HTTP R8); its keys stay, a refresh in progress is discarded.
  StoreResult<MoveResult> move(const std::string& feed_url, const std::string& to);
  /// Reverts the last move, within 90 days; the feed does not repeat it by itself.
  StoreResult<MoveResult> undo_move(const std::string& feed_url);
  /// A page of the feed list; bounded regardless of the store's size. Read-only.
  StoreResult<FeedPage> page(const FeedQuery& query);

 private:
  /// `first`: "begin"; "resume" for a removal that has begun, possibly of a feed that was added again; "orphan" for a
  /// feed that must still have been an orphan for `orphaned`.
  StoreResult<bool> take_away(const std::string& feed_url, std::string_view first, InParts& parts,
                              Milliseconds orphaned = {});
  /// Runs a step of remove.lua; returns its code.
  StoreResult<std::int64_t> removal_step(const std::string& feed_url, std::string_view which, Milliseconds orphaned);
  StoreResult<void> read_places(std::vector<std::optional<FeedRecord>>& records,
                                const std::vector<std::pair<std::size_t, std::string>>& in_lines);
  /// Executes a verified move; `record` is the feed's current state.
  StoreResult<MoveResult> run_verb(FeedRecord record, const Move& move, const std::string& no_move_to);

  Store& store_;
  Store::Impl& impl_;
};

/// Iterates over all registered feeds by URL, in pages. Includes every feed that stays registered throughout. Holds one
/// page, or a larger batch while the index is incomplete (RELIABILITY L22).
class FeedWalk {
 public:
  /// `store` must outlive this object.
  explicit FeedWalk(Store& store) : feeds_(store) {}

  /// The next page, as large as a batch of Feeds; empty at the end.
  StoreResult<std::vector<std::string>> next();

 private:
  Feeds feeds_;
  std::string after_;
  std::vector<std::string> held_;  // in reverse order
};

}  // namespace feedmill
