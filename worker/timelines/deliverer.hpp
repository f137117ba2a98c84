// Delivers committed events to timelines and notices, pass by pass (RELIABILITY L13–L16). Blocking.
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

/// Handling of the story index.
enum class StoryIndex {
  kept,    ///< up to date; its events are written
  left,    ///< unchanged: another process may keep it
  removed  ///< dropped
};

struct DelivererOptions {
  std::string token;      ///< owner of the delivery lease; unique
  bool per_feed = false;  ///< publish each event on "<type>:<feed_url>" as well
  StoryIndex stories = StoryIndex::removed;
  bool merges = false;                ///< copy events into the merged stream of all partitions
  std::size_t batch = 200;            ///< records per step
  Milliseconds right_for{30'000};     ///< duration of the lease without renewal
  Milliseconds upkeep_every{15'000};  ///< how often old read marks expire and the stream is trimmed
};

/// Not thread-safe. May be killed at any point, and several may run at once: every record is applied once, in order.
class Deliverer {
 public:
  Deliverer(const StoreOptions& store, DelivererOptions options);
  Deliverer(const Deliverer&) = delete;  // its parts refer to its store
  Deliverer& operator=(const Deliverer&) = delete;

  struct Step {
    std::optional<ServerWait> waits{};          ///< waits for a record: end_step() completes it
    bool waiting = false;                       ///< another owner delivers
    bool idle = false;                          ///< nothing left to do
    bool unwanted = false;                      ///< no receivers: the step did not wait for a record
    std::uint64_t applied = 0;                  ///< records applied to the timelines
    std::uint64_t repeated = 0;                 ///< records applied before
    std::uint64_t same_as = 0;                  ///< events post_same_as written
    std::uint64_t failed = 0;                   ///< records that are not events, and writes to keys of the wrong type
    bool rebuilt = false;                       ///< records were missing: timelines were rebuilt
    bool missed = false;                        ///< records were missing: their notices are lost
    bool unmerged = false;                      ///< records were missing from the merged stream
    std::optional<StoreError> merge_trouble{};  ///< why the merged stream accepts no events; delivery continues
    bool merges = false;                        ///< the merged stream has answered
  };
  /// Delivers one batch, or everything if there are no receivers. After an error call it again: nothing is lost.
  StoreResult<Step> step() { return begin_step(Milliseconds(0)); }
  /// As step(), but may wait up to `longest` for a record. If the result has `waits`, call end_step() next.
  StoreResult<Step> begin_step(Milliseconds longest);
  StoreResult<Step> end_step();
  /// After a step that was `unwanted` or `waiting`: waits up to `longest`; has_come(): whether a record arrived.
  StoreResult<ServerWait> begin_to_wait(Milliseconds longest);
  StoreResult<bool> has_come();
  /// Releases the lease, so that another owner can continue at once; reconnects if necessary.
  StoreResult<void> let_go();
  /// Whether everything committed so far has been delivered, by any owner.
  StoreResult<bool> is_done();
  /// Polled between the steps of long work, on the thread in step(); true ends it early.
  std::function<bool()> cancelled = [] { return false; };

  /// From any thread: ends a running wait for a record, else the next one, with an error.
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

  Step step_;              // in progress
  bool is_merged_ = true;  // everything is in the merged stream
  std::string passed_;     // records up to here have no receivers or another owner; "$" = all
  bool holding_ = false, pending_ = false;
  Clock::time_point renew_at_, upkeep_at_, try_to_pass_at_, merge_again_at_;
  bool look_for_unbuilt_ = false;
  std::vector<std::string> unbuilt_;          // channels whose index of all posts must be built
  std::optional<Stories::Place> stories_at_;  // while the story index is built
  std::optional<NotificationMatcher> watcher_;
  std::string rules_version_;
};

}  // namespace feedmill
