// Subscriptions at hubs and their deliveries, in Redis: any worker may answer any callback (WEBSUB §3–§6).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/records/commit.hpp"
#include "storage/records/feed_state.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// A callback path and its subscription. `token` and `secret` are secrets (SECURITY K1).
struct PushRecord {
  std::string hash;  ///< of the token; used in the key
  std::string feed_url, token, topic;
  std::string hub;       ///< as advertised
  std::string hub_url;   ///< where it is contacted: its https form, or the URL it moved to
  std::string secret;    ///< "" = none: a push is only a hint
  std::string state;     ///< pending, active, retired
  std::string settings;  ///< retired: FeedState::settings at that time, because the feed may be gone
  Milliseconds pending_since{}, lease_end{}, renew_at{};
  std::uint64_t bad = 0;   ///< deliveries with a bad signature
  std::uint32_t ends = 0;  ///< unsubscribe requests sent to its hub

  bool operator==(const PushRecord&) const = default;
};

/// The facts about a delivery that must be stored before the response.
struct PushNote {
  enum class Kind {
    fat,   ///< its content will be read; the feed is fetched if that fails
    thin,  ///< a hint to fetch
    bad    ///< ignored and counted
  };
  std::string hash;
  Kind kind{};
};

/// Result of Pushes::note() for one delivery.
struct PushNoted {
  enum class Result { unknown, retired, noted };
  Result result{};
  Milliseconds at{};  ///< when the feed is fetched at the latest, 0 = not because of this delivery
};

/// A change of a feed's subscription state; none if both states are equal.
struct PushTurn {
  std::string feed_url, from, to;  ///< "" = no subscription
  bool hub_in_trouble = false;     ///< the hub now has 5 failing feeds within a day (WEBSUB H3)
};

/// A subscription that needs attention.
struct PushTask {
  std::string feed_url;  ///< "" = only end `subscription` at its hub
  FeedState state;       ///< of the feed
  std::optional<PushRecord> subscription, asked_for;
  bool hub_in_trouble = false;
  std::string came;  ///< its due time as stored, for HubTurn
  /// Its key for settle().
  std::string member() const { return feed_url.empty() ? "#" + subscription->hash : feed_url; }
};

/// Result of Pushes::take().
struct PushTasks {
  Milliseconds now{}, next{};  ///< when the next task is due, 0 = unknown
  std::vector<PushTask> tasks;
};

/// Result of a PushTask.
struct PushSettlement {
  enum class How {
    sent,     ///< request sent to its hub
    again,    ///< the hub could not be asked: retry later
    put_off,  ///< not asked, through no fault of the hub: later
    refused,  ///< the hub refused, or cannot be asked
    lost,     ///< the lease expired, or the hub never verified
    left,     ///< no longer needed
    wait,     ///< nothing to do yet
    turn,     ///< waits for its slot at the hub, as another partition has reported
    forget    ///< nothing left to do
  };
  std::string member;
  How how{};
  Milliseconds delay{};  ///< until the next check
  std::string hash;      ///< of the requested subscription, "" = none
  std::string note;      ///< again, refused, lost: the reason
  std::string hub_url;   ///< sent: URL of the hub
  std::string turn;      ///< host of the hub to free a slot at, "" = none
};

/// A subscription's wait for a hub, and the limits that all workers share there (WEBSUB S5).
struct HubTurn {
  std::string host;    ///< of the hub
  std::string member;  ///< PushTask::member()
  std::string came;    ///< PushTask::came; `here`: the caller waits itself, `turn`: it has waited
  std::size_t at_once = 4;
  Milliseconds spacing{100};   ///< between starts
  Milliseconds lease{30'000};  ///< when the slot expires
};

/// A hub's verification request (WEBSUB S7).
struct PushQuestion {
  std::string hash, mode, topic;  ///< subscribe, unsubscribe, denied
  Milliseconds lease{}, renew{};  ///< subscribe: from now
  std::string note;               ///< denied: the reason
};

/// The change caused by a PushQuestion, already stored; empty if the question does not match.
using PushAnswer = std::optional<PushTurn>;

/// The subscriptions of one store at hubs, over a Store's connection.
class Pushes {
 public:
  /// `store` must outlive this object.
  explicit Pushes(Store& store) : impl_(store.impl()) {}

  /// The record for each token hash, in one round trip; empty if there is none.
  std::vector<StoreResult<std::optional<PushRecord>>> find(std::span<const std::string> hashes);
  /// Notes deliveries, each atomically, in one round trip.
  std::vector<StoreResult<PushNoted>> note(std::span<const PushNote> notes);
  /// Claims a feed to store its pushed content, bypassing the gates for requests; empty if it cannot be claimed (WEBSUB
  /// P4). `id`: as Claim::id. Claim::due is the due time without the push.
  StoreResult<std::optional<Claim>> claim(const std::string& feed_url, const std::string& id, Milliseconds lease);

  /// Up to `max` subscriptions that need attention, hidden from other workers for `lease`.
  StoreResult<PushTasks> take(std::size_t max, Milliseconds lease);
  /// Takes a slot at a hub: 0 if it may be asked now, until settle(); else how long to wait. While waiting, do not
  /// settle the task: take() returns it again when a slot is free, unless the caller waits itself. If the subscription
  /// belongs to another partition and the hub's gate is here (RELIABILITY L27), call settle() in that partition in both
  /// cases, and free the slot here with end_turn().
  StoreResult<Milliseconds> take_turn(const HubTurn& turn);
  StoreResult<void> end_turn(const std::string& host, const std::string& member);
  /// Stores the request about to be sent to a hub; empty if the feed is gone.
  StoreResult<std::optional<PushTurn>> begin(const PushRecord& wanted);
  /// Stores the unsubscribe request about to be sent; false if the subscription is gone.
  StoreResult<bool> begin_end(const std::string& hash);
  /// Stores the result of a task. Returns the change of the feed's subscription state.
  StoreResult<PushTurn> settle(const PushSettlement& settlement);
  /// Answers a hub's verification request.
  StoreResult<PushAnswer> answer(const PushQuestion& question);

  /// Makes feeds due, each once per `spacing` (OPERATIONS §6); returns when each will be fetched, empty if unknown.
  StoreResult<std::vector<std::optional<Milliseconds>>> ping(std::span<const std::string> feed_urls,
                                                             Milliseconds spacing);

 private:
  Store::Impl& impl_;
};

}  // namespace feedmill
