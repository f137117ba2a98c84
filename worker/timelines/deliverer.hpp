// Delivers committed events to timelines and notices in bounded steps (RELIABILITY L13–L16). Blocking.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/events/event_stream.hpp"
#include "storage/redis/redis.hpp"
#include "storage/store/store.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/timelines/deliveries.hpp"
#include "storage/timelines/notifications.hpp"
#include "storage/timelines/stories.hpp"
#include "worker/timelines/notification_matcher.hpp"

namespace feedmill {

/// What to do with the index of posts about the same story.
enum class StoryIndex {
  kept,    ///< kept up to date; its events are written
  left,    ///< left unchanged, because another process may keep it
  removed  ///< dropped
};

struct DelivererOptions {
  std::string token;      ///< owner of the delivery lease; unique
  bool per_feed = false;  ///< publish each event on "<type>:<feed_url>" as well
  StoryIndex stories = StoryIndex::removed;
  bool merges = false;                ///< copy events into the merged stream of all partitions
  std::size_t batch = 200;            ///< records per step
  Milliseconds right_for{30'000};     ///< duration of the lease without renewal
  Milliseconds upkeep_every{15'000};  ///< interval of expiring old read marks and trimming the stream
};

/// Not thread-safe. May be killed at any point, and several may run at once: each record is applied once, in order.
class Deliverer {
 public:
  Deliverer(const StoreOptions& store, DelivererOptions options);
  Deliverer(const Deliverer&) = delete;  // its parts refer to its store
  Deliverer& operator=(const Deliverer&) = delete;

  /// The result of one step.
  struct Step {
    std::optional<ServerWait> waits{};          ///< set: waits for a record; end_step() completes the step
    bool waiting = false;                       ///< another owner holds the lease
    bool idle = false;                          ///< nothing left to do
    bool unwanted = false;                      ///< there are no receivers; the step did not wait for a record
    std::uint64_t applied = 0;                  ///< records applied to the timelines
    std::uint64_t repeated = 0;                 ///< records applied before
    std::uint64_t same_as = 0;                  ///< events `post_same_as` written
    std::uint64_t failed = 0;                   ///< records that are not events, and writes refused because a key has
                                                ///< the wrong type
    bool rebuilt = false;                       ///< records were lost, timelines were rebuilt
    bool missed = false;                        ///< records were lost, and their notices with them
    bool unmerged = false;                      ///< records are missing from the merged stream
    std::optional<StoreError> merge_trouble{};  ///< why the merged stream accepts no events; delivery continues
    bool merges = false;                        ///< the merged stream answered
  };
  /// Delivers one batch, or everything if there are no receivers. May be repeated after an error: nothing is lost.
  StoreResult<Step> step() { return begin_step(Milliseconds(0)); }
  /// Like step(), but may wait up to `longest` for a record. If the result has `waits`, call end_step() next.
  StoreResult<Step> begin_step(Milliseconds longest);
  StoreResult<Step> end_step();
  /// After a step that was `unwanted` or `waiting`: begins a wait of up to `longest` for a record. has_come() returns
  /// whether one arrived.
  StoreResult<ServerWait> begin_to_wait(Milliseconds longest);
  StoreResult<bool> has_come();
  /// Releases the lease, so that another owner can continue at once; reconnects if necessary.
  StoreResult<void> let_go();
  /// Whether everything committed so far has been delivered, by any owner.
  StoreResult<bool> is_done();
  /// Polled between the steps of long work, on the thread that runs step(); returns true to end it early.
  std::function<bool()> cancelled = [] { return false; };

  /// From any thread: makes the current wait for a record, or else the next one, fail.
  void break_wait() { store_.break_wait(); }
  std::uint64_t reconnects() const { return store_.reconnects(); }

 private:
  using Clock = std::chrono::steady_clock;

  StoreResult<Step> go_through(const std::vector<EventRecord>& records);
  StoreResult<Step> broken(const StoreError& error);
  StoreResult<Step> ended();
  bool merge();
  StoreResult<bool> hold();
  StoreResult<void> join();
  StoreResult<bool> pass();
  StoreResult<void> catch_up();
  StoreResult<void> catch_up_stories();
  StoreResult<void> keep_up();
  StoreResult<void> deliver(DeliveryTarget target, const std::vector<EventRecord>& records);
  StoreResult<Delivered> apply(DeliveryTarget target, const std::vector<EventRecord>& records);
  StoreResult<Delivered> apply_posts(std::span<const Event> events, std::span<const EventRecord> publish);
  StoreResult<Delivered> apply_notices(std::span<const NoticesOfRecord> records);
  StoreResult<void> go_on();
  StoreResult<void> build();
  StoreResult<void> begin_stories();
  StoreResult<void> build_stories();
  StoreResult<void> rebuild(const std::string& uid);
  StoreResult<void> heal(DeliveryTarget target, const std::string& resume);
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

  Step step_;              // the step in progress
  bool is_merged_ = true;  // everything is in the merged stream
  std::string passed_;     // where begin_to_wait() starts; "$" = after the newest record
  bool holding_ = false, pending_ = false;
  Clock::time_point renew_at_, upkeep_at_, try_to_pass_at_, merge_again_at_;
  bool look_for_unbuilt_ = false;
  std::vector<std::string> unbuilt_;          // channels that need an index of all posts
  std::optional<Stories::Place> stories_at_;  // set while the story index is built
  std::optional<NotificationMatcher> watcher_;
  std::string rules_version_;
};

}  // namespace feedmill
