// Registered feeds: adding, removing, looking at, waking, pausing, moving.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/feed_record.hpp"
#include "storage/records/feed_state.hpp"
#include "storage/store/store.hpp"
#include "storage/timelines/in_parts.hpp"

namespace feedmill {

/// Which feeds a part of the list shows.
struct FeedQuery {
  std::string state;  ///< "" or "healthy": in the order of the schedule, without the paused; else newest in it first
  std::string part;   ///< stands in the URL, "" = any
  std::string host;   ///< "" = any
  std::optional<FeedPlace> after;
  std::size_t limit = 50;
  std::size_t look = 5'000;  ///< feeds looked at for those that are wanted, at most
};

/// How far a walk has come that puts the index of feeds by URL right.
struct IndexPlace {
  std::string phase = "in", place = "0";
  bool is_done() const { return phase == "done"; }
};

/// Over a Store's connection.
class Feeds {
 public:
  /// `store` outlives this.
  explicit Feeds(Store& store) : store_(store), impl_(store.impl()) {}

  /// Registers feeds; true where it was new. URLs must be canonical (worker/web_url), and none of another
  /// partition (Store::elsewhere): `refused`, and nothing is written. `channel`: they are in it in the
  /// same step, known ones too; it is created where it is not there. "" = none. `rate`: at most so many new ones a
  /// second, of all that are added with one, are due for their first fetch (HTTP P12); 0: all at once.
  StoreResult<std::vector<bool>> add(std::span<const NewFeed> feeds, const std::string& channel = {},
                                     std::uint32_t rate = 0);
  /// Removes a feed and its whole key family, in bounded steps; false when it was unknown (RELIABILITY L17). Resumable:
  /// one that was interrupted is known until it is finished.
  StoreResult<bool> remove(const std::string& feed_url);
  StoreResult<bool> remove(const std::string& feed_url, InParts& parts) { return take_away(feed_url, "begin", parts); }
  /// Finishes one that has begun; false when it is unknown or a feed again.
  StoreResult<bool> finish_removal(const std::string& feed_url, InParts& parts) {
    return take_away(feed_url, "resume", parts);
  }
  /// Finishes removals that were interrupted, and what imports have left that did nothing for ten minutes; returns how
  /// many.
  StoreResult<std::size_t> finish_removals();
  /// Removes a feed that an import brings back, but for its channels and its topic. `only_begun`: unless it is a feed.
  StoreResult<void> remove_for_import(const std::string& feed_url, bool only_begun);
  /// Pauses feeds that have been in no channel for so long, and removes those that have been paused for that as long
  /// again; at most 100 a call (RELIABILITY L19). Returns how many were looked at.
  StoreResult<std::size_t> look_after_orphans(Milliseconds after);
  /// How many feeds are registered.
  StoreResult<std::uint64_t> count();
  /// The first `most` URLs behind `after` in their order; "" = from the first. What is registered all the while is
  /// among them. Costs what it returns; where the index lacks feeds (RELIABILITY L22) it looks at every feed, in steps
  /// that keep nobody waiting, and holds `most`.
  StoreResult<std::vector<std::string>> urls_after(const std::string& after, std::size_t most);
  /// About how many feeds are `wanted`, in steps that keep nobody waiting; 0 also where there are too many (200,000) to
  /// look at each of them.
  StoreResult<std::size_t> count_if(const std::function<bool(const std::string& feed_url)>& wanted);
  /// Parts of addresses whose changes are quiet in that feed (volatile_parts.hpp): "?name", "/host/2", "@host",
  /// "#length".
  StoreResult<std::vector<std::string>> volatile_parts(const std::string& feed_url);
  /// Whether the index of feeds by URL has as many as are registered.
  StoreResult<bool> is_indexed();
  /// One bounded step of putting that index right; `place` is moved on (RELIABILITY L22).
  StoreResult<void> index_step(IndexPlace& place);
  StoreResult<bool> is_registered(const std::string& feed_url);
  /// What is known of each; absent where it is not registered.
  StoreResult<std::vector<std::optional<FeedRecord>>> records(std::span<const std::string> feed_urls);
  /// When each healthy feed last succeeded, 0 when it never has; absent for any other. One command a feed: for walks
  /// that never end.
  StoreResult<std::vector<std::optional<Milliseconds>>> last_successes(std::span<const std::string> feed_urls);
  /// Makes feeds due now. `floor`: not sooner than this after the last refresh; nothing is held back when `force`.
  StoreResult<std::vector<Wake>> wake(std::span<const std::string> feed_urls, Milliseconds floor, bool force);

  /// Takes feeds out of the schedule until resume(); a refresh under way is still committed.
  StoreResult<std::vector<Paused>> pause(std::span<const std::string> feed_urls);
  /// Puts paused feeds back, in the state they had. `floor`: not sooner than this after the last refresh, unless they
  /// had been due sooner (HTTP P6).
  StoreResult<std::vector<Resumed>> resume(std::span<const ResumedFeed> feeds, Milliseconds floor);
  /// Replaces what the operator set for a feed; `outdated`, nothing written, when that is no longer `before`.
  /// `other_hub`: its subscription is looked after at once (WEBSUB D5).
  StoreResult<SettingsChange> change_settings(const std::string& feed_url, const std::string& before,
                                              const std::string& settings, bool other_hub = false);
  /// What is requested for a feed from now on (HTTP R8); its keys stay, a refresh under way comes to nothing.
  StoreResult<MoveResult> move(const std::string& feed_url, const std::string& to);
  /// Back to what was requested before its last move, for 90 days; it does not go there again by itself.
  StoreResult<MoveResult> undo_move(const std::string& feed_url);
  /// A part of the list of feeds; bounded whatever the store holds. Reads only.
  StoreResult<FeedPage> page(const FeedQuery& query);

 private:
  /// `first`: "begin"; "resume" for one whose removal has begun and which may be a feed again by now; "orphan" for one
  /// that must still have been an orphan for so long.
  StoreResult<bool> take_away(const std::string& feed_url, std::string_view first, InParts& parts,
                              Milliseconds orphaned = {});
  /// A step of remove.lua, and what it says.
  StoreResult<std::int64_t> removal_step(const std::string& feed_url, std::string_view which, Milliseconds orphaned);
  StoreResult<void> read_places(std::vector<std::optional<FeedRecord>>& records,
                                const std::vector<std::pair<std::size_t, std::string>>& in_lines);
  /// Carries out a move that is known to be one; `record` is the feed as it is.
  StoreResult<MoveResult> run_verb(FeedRecord record, const Move& move, const std::string& no_move_to);

  Store& store_;
  Store::Impl& impl_;
};

/// All registered feeds in the order of their URLs, a page after the other. What is registered all the while is among
/// them. Holds a page; a stretch of them where there is no index to walk (RELIABILITY L22).
class FeedWalk {
 public:
  /// `store` outlives this.
  explicit FeedWalk(Store& store) : feeds_(store) {}

  /// The next ones, as many as one call of Feeds takes at once; empty at the end.
  StoreResult<std::vector<std::string>> next();

 private:
  Feeds feeds_;
  std::string after_;
  std::vector<std::string> held_;  // the next one last
};

}  // namespace feedmill
