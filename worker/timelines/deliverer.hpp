// One pass after another over the events: timelines and notices from what was committed (RELIABILITY L13–L16).
// Blocking.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/events/merged_stream.hpp"
#include "storage/redis/server_wait.hpp"
#include "storage/store/store.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/timelines/deliveries.hpp"
#include "storage/timelines/notifications.hpp"
#include "storage/timelines/stories.hpp"
#include "worker/timelines/notification_matcher.hpp"

namespace feedmill {

/// What becomes of the index of stories.
enum class StoryIndex {
  kept,    ///< up to date, and what it tells is told
  left,    ///< as it is: somebody else may keep it
  removed  ///< nobody keeps it up
};

struct DelivererOptions {
  std::string token;      ///< whose the right to deliver is; unique
  bool per_feed = false;  ///< publish each event on "<type>:<feed_url>" as well
  StoryIndex stories = StoryIndex::removed;
  bool merges = false;                ///< copy events into the one stream of all partitions
  std::size_t batch = 200;            ///< records at once
  Milliseconds right_for{30'000};     ///< how long the right lasts without being renewed
  Milliseconds upkeep_every{15'000};  ///< how often old read marks go and the stream is trimmed
};

/// Not thread-safe. May be killed anywhere, may run several times at once: every record is applied once, in order.
class Deliverer {
 public:
  Deliverer(const StoreOptions& store, DelivererOptions options);
  Deliverer(const Deliverer&) = delete;  // its parts refer to its store
  Deliverer& operator=(const Deliverer&) = delete;

  struct Step {
    std::optional<ServerWait> waits{};  ///< for a record: end_step() ends it
    bool waiting = false;               ///< another owner delivers
    bool idle = false;                  ///< nothing is left to do
    bool unwanted = false;              ///< nobody is to be told of anything: it did not wait for the next record
    std::uint64_t applied = 0;          ///< records applied to the timelines
    std::uint64_t repeated = 0;         ///< that had been before
    std::uint64_t same_as = 0;          ///< events post_same_as written
    std::uint64_t failed = 0;           ///< records that are no events, and writes refused by a key of the wrong type
    bool rebuilt = false;               ///< records were missing: timelines were built anew
    bool missed = false;                ///< records were missing: nobody got notices of them
    bool unmerged = false;              ///< records were missing: they are not in the one stream of all partitions
    std::optional<StoreError> merge_trouble{};  ///< why that one takes nothing; all else goes on
    bool merges = false;                        ///< it was asked, and answered
  };
  /// One batch of what there is; all of it while nobody is to be told of it. After an error call again: nothing is lost
  /// by it.
  StoreResult<Step> step() { return begin_step(Milliseconds(0)); }
  /// The same where a record may be waited for, up to `longest`. Where it `waits`, end_step() takes what has come, and
  /// nothing else is called in between.
  StoreResult<Step> begin_step(Milliseconds longest);
  StoreResult<Step> end_step();
  /// Behind a step that was `unwanted` or `waiting`: waits up to `longest` for a record; then whether one has come.
  StoreResult<ServerWait> begin_to_wait(Milliseconds longest);
  StoreResult<bool> has_come();
  /// Gives the right back, so that another may go on at once; over another connection where this one is lost.
  StoreResult<void> let_go();
  /// Whether all that is committed by now has been delivered, by whomever.
  StoreResult<bool> is_done();
  /// Asked between the steps of long work, on the thread that is in step(); true makes it end early.
  std::function<bool()> cancelled = [] { return false; };

  /// From any thread: what waits for a record ends with an error, else the next one that would.
  void break_wait() { store_.break_wait(); }
  std::uint64_t reconnects() const { return store_.reconnects(); }

 private:
  using Clock = std::chrono::steady_clock;

  StoreResult<Step> go_through(const std::vector<EventRecord>& records);
  StoreResult<Step> broken(const StoreError& error);
  StoreResult<Step> ended();
  bool merge(Step& step);
  StoreResult<bool> hold();
  StoreResult<void> join();
  StoreResult<bool> pass(Step& step);
  StoreResult<void> catch_up(Step& step);
  StoreResult<void> catch_up_stories(Step& step);
  StoreResult<void> keep_up();
  StoreResult<void> deliver(DeliveryTarget target, const std::vector<EventRecord>& records, Step& step);
  StoreResult<Delivered> apply(DeliveryTarget target, const std::vector<EventRecord>& records);
  StoreResult<Delivered> apply_posts(std::span<const Event> events, std::span<const EventRecord> publish);
  StoreResult<Delivered> apply_notices(std::span<const NoticesOfRecord> records);
  StoreResult<void> go_on();
  StoreResult<void> build(Step& step);
  StoreResult<void> begin_stories();
  StoreResult<void> build_stories();
  StoreResult<void> rebuild(const std::string& uid);
  StoreResult<void> heal(DeliveryTarget target, const std::string& resume, Step& step);
  StoreResult<std::vector<NoticesOfRecord>> notices_of(const std::vector<Event>& events);
  StoreResult<std::vector<SameAsOfRecord>> same_as_of(const std::vector<Event>& events, std::uint64_t& refused);
  StoreResult<void> read_rules();

  DelivererOptions options_;
  Store store_;
  Channels channels_{store_};
  Deliveries deliveries_{store_};
  Notifications notifications_{store_};
  Stories stories_{store_};
  std::vector<DeliveryTarget> targets_;
  std::optional<MergedStream> merged_;

  Step step_;              // under way
  bool is_merged_ = true;  // in it, everything
  std::string passed_;     // everything up to this place was for nobody, or is another's; "$" = all there is
  bool holding_ = false, pending_ = false;
  Clock::time_point renew_at_, upkeep_at_, try_to_pass_at_, merge_again_at_;
  bool look_for_unbuilt_ = false;
  std::vector<std::string> unbuilt_;          // channels whose index of all posts is to be built
  std::optional<Stories::Place> stories_at_;  // while the index of stories is built
  std::optional<NotificationMatcher> watcher_;
  std::string rules_version_;
};

}  // namespace feedmill
