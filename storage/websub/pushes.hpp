// Subscriptions at hubs and what comes through them, in Redis: any worker may answer any callback (WEBSUB §3–§6).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/records/claim.hpp"
#include "storage/records/feed_state.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// One callback path and what it stands for. `token` and `secret` are secrets (SECURITY K1).
struct PushRecord {
  std::string hash;  ///< of the token: its key
  std::string feed_url, token, topic;
  std::string hub;       ///< as advertised
  std::string hub_url;   ///< where it was asked: its https form, or where it has moved to
  std::string secret;    ///< "" = none: what is pushed is a hint
  std::string state;     ///< pending, active, retired
  std::string settings;  ///< retired: FeedState::settings of the feed at that time, which may be gone
  Milliseconds pending_since{}, lease_end{}, renew_at{};
  std::uint64_t bad = 0;   ///< deliveries with a bad signature
  std::uint32_t ends = 0;  ///< how often its hub was asked to end it

  bool operator==(const PushRecord&) const = default;
};

/// A delivery, as far as the store must know of it before it is answered.
struct PushNote {
  enum class Kind {
    fat,   ///< its content is about to be read; the feed is fetched should that come to nothing
    thin,  ///< a hint to fetch
    bad    ///< ignored and counted
  };
  std::string hash;
  Kind kind{};
};

struct PushNoted {
  enum class Result { unknown, retired, noted };
  Result result{};
  Milliseconds at{};  ///< when the feed is fetched at the latest, 0 = not because of this
};

/// A change of a feed's subscription; equal states: there was none.
struct PushTurn {
  std::string feed_url, from, to;  ///< "" = no subscription
  bool hub_in_trouble = false;     ///< it makes 5 feeds of the hub within a day (WEBSUB H3)
};

/// A subscription to look after.
struct PushTask {
  std::string feed_url;  ///< "" = only `subscription` is to be ended at its hub
  FeedState state;       ///< of the feed
  std::optional<PushRecord> subscription, asked_for;
  bool hub_in_trouble = false;
  std::string came;  ///< when it was due, as the store writes it: for HubTurn
  /// What settle() knows it by.
  std::string member() const { return feed_url.empty() ? "#" + subscription->hash : feed_url; }
};

struct PushTasks {
  Milliseconds now{}, next{};  ///< when there is more to do, 0 = not that is known
  std::vector<PushTask> tasks;
};

/// What came of looking after a subscription.
struct PushSettlement {
  enum class How {
    sent,     ///< its hub was asked
    again,    ///< it could not be asked: later
    put_off,  ///< it was not asked, which is not its fault: later
    refused,  ///< it will not, or cannot be asked
    lost,     ///< the lease is over, or nobody verified
    left,     ///< it is not wanted any more
    wait,     ///< nothing to be done yet
    turn,     ///< its turn at a hub is to come, as another partition has told
    forget    ///< nothing to be done any more
  };
  std::string member;
  How how{};
  Milliseconds delay{};  ///< until it is looked after again
  std::string hash;      ///< of the subscription asked for, "" = none
  std::string note;      ///< again, refused, lost: why
  std::string hub_url;   ///< sent: where the hub is
  std::string turn;      ///< host of the hub whose turn ends with this, "" = none was taken
};

/// Who wants to ask a hub, and how it may be asked by all workers together (WEBSUB S5).
struct HubTurn {
  std::string host;    ///< of the hub
  std::string member;  ///< PushTask::member()
  std::string came;    ///< PushTask::came
  std::size_t at_once = 4;
  Milliseconds spacing{100};   ///< between starts
  Milliseconds lease{30'000};  ///< when it ends by itself
};

/// What a hub wants to have confirmed (WEBSUB S7).
struct PushQuestion {
  std::string hash, mode, topic;  ///< subscribe, unsubscribe, denied
  Milliseconds lease{}, renew{};  ///< subscribe: from now on
  std::string note;               ///< denied: why
};

/// Nothing when what was asked is not so; else it has been stored.
using PushAnswer = std::optional<PushTurn>;

class Pushes {
 public:
  /// `store` outlives this.
  explicit Pushes(Store& store) : impl_(store.impl()) {}

  /// Those that exist, in one round trip.
  std::vector<StoreResult<std::optional<PushRecord>>> find(std::span<const std::string> hashes);
  /// Notes deliveries, each atomically, in one round trip.
  std::vector<StoreResult<PushNoted>> note(std::span<const PushNote> notes);
  /// Claims a feed to write what was pushed for it, past the gates for requests; nothing when it cannot be had
  /// (WEBSUB P4). `id`: as Claim::id. Claim::due is the due time without the push.
  StoreResult<std::optional<Claim>> claim(const std::string& feed_url, const std::string& id, Milliseconds lease);

  /// Up to `max` subscriptions that are to be looked after, hidden from others for `lease`.
  StoreResult<PushTasks> take(std::size_t max, Milliseconds lease);
  /// Takes a turn at a hub: zero when it may be asked now, until settle() says that it was; else for how long to wait.
  /// Then it is handed out again when its turn comes, and not to be settled. A subscription of another partition, whose
  /// hub has its gate here (RELIABILITY L27), is to be settled there in either case, and ends its turn by end_turn().
  StoreResult<Milliseconds> take_turn(const HubTurn& turn);
  StoreResult<void> end_turn(const std::string& host, const std::string& member);
  /// Remembers what a hub is about to be asked for; nothing when the feed has gone.
  StoreResult<std::optional<PushTurn>> begin(const PushRecord& wanted);
  /// Likewise the end of a subscription; false when it is not known any more.
  StoreResult<bool> begin_end(const std::string& hash);
  StoreResult<PushTurn> settle(const PushSettlement& settlement);
  StoreResult<PushAnswer> answer(const PushQuestion& question);

  /// Makes feeds due, each once per `spacing` (OPERATIONS §6); when it will be fetched, nothing when it is unknown.
  StoreResult<std::vector<std::optional<Milliseconds>>> ping(std::span<const std::string> feed_urls,
                                                             Milliseconds spacing);

 private:
  Store::Impl& impl_;
};

}  // namespace feedmill
