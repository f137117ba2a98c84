// Receivers of events by POST: webhooks, and subscribers of our hub (WEBSUB §10, DESIGN §1). One record each, with its
// own cursor in the event stream and its own back-off; any worker may serve any of them, one worker at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/event_record.hpp"
#include "storage/records/topic.hpp"
#include "storage/redis/values.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// Limit per store, of both kinds together.
inline constexpr std::size_t most_subscribers = 100'000;

/// Limits for hub subscribers, so that no site can use up all of them (WEBSUB U18). Existing subscribers may renew and
/// unsubscribe regardless of the limits.
struct SubscriberBounds {
  std::size_t of_site = 10'000;            ///< callbacks of one site
  std::size_t unverified = 20'000;         ///< not yet confirmed by their callbacks
  std::size_t unverified_of_site = 1'000;  ///< unconfirmed, of one site
};

/// A webhook, or a subscriber of our hub.
struct Subscriber {
  enum class Kind { webhook, hub };
  enum class State {
    pending,    ///< hub only: not verified yet
    active,     ///
    suspended,  ///< a webhook that failed for too long: it keeps its cursor until it is resumed
  };

  std::string id;  ///< "wh_…" or "hub_…" and 26 characters
  Kind kind{};
  State state = State::active;
  std::string url;  ///< receiver: the webhook's URL, hub.callback
  Milliseconds created{};

  // Webhooks only.
  std::string name;           ///< for people, may be ""
  EventFilter filter;         ///
  bool with_private = false;  ///< also events of feeds that are not republished
  std::string secret;         ///< webhook: "whsec_…" or "whsk_…"; hub: hub.secret, "" = none. Never shown
  std::string old_secret;     ///< also signs, until `old_until`
  Milliseconds old_until{};
  std::uint32_t at_once = 1;  ///< concurrent requests; 1 keeps the order

  // Hub subscribers only.
  Topic topic;
  std::string topic_url;     ///< hub.topic as requested
  std::string site;          ///< owner of the callback, for limits: a registrable domain or a network; "" = not counted
  std::string address;       ///< at which the callback last confirmed; "" = never, or behind a proxy
  Milliseconds lease_end{};  ///< 0: pending

  /// A hub subscriber's request until it is verified, or a denial to be sent.
  struct Intent {
    std::string mode;  ///< subscribe, unsubscribe, denied; "" = nothing
    std::string secret;
    Milliseconds lease{};
    std::string reason;  ///< for denied
    std::uint32_t tries = 0;
  } intent;

  // Delivery state.
  std::string cursor;          ///< stream id of the last event delivered or skipped
  std::uint32_t failures = 0;  ///< consecutive
  Milliseconds failing_since{}, last_success{};
  Milliseconds retry_at{};          ///< set if it sent a request while failing: no delivery before then
  std::string last_error;           ///< for people
  std::uint64_t delivered = 0;      ///< accepted requests
  std::uint64_t withheld = 0;       ///< webhook: matching events of private feeds that it was not sent
  std::optional<Milliseconds> due;  ///< when it is served next; empty: nothing to do
};

/// The secrets that sign a webhook's messages at `now`: its own, and the old one until it expires.
std::vector<std::string> secrets_in_use(const Subscriber& webhook, Milliseconds now);

std::string_view to_string(Subscriber::Kind kind);
std::string_view to_string(Subscriber::State state);

/// Subscribers leased to this worker.
struct TakenSubscribers {
  Milliseconds now{};
  Milliseconds next{};  ///< when the next one is due, 0 = none
  std::string claim;    ///< required to settle them
  std::vector<Subscriber> subscribers;
};

/// Result for a leased subscriber.
struct SubscriberSettlement {
  enum class Then {
    hold,     ///< keep it for another lease
    idle,     ///< everything up to `cursor` is done; newer events make it due at once
    later,    ///< due again after `delay`
    suspend,  ///< suspend a webhook until it is resumed
    remove    ///< remove the subscriber
  };
  std::string id, claim, cursor;
  Then then{};
  Milliseconds delay{};
  Fields fields;  ///< fields to write; an empty value removes one
};

/// Incremental changes of all subscribers, for the leading engine.
struct SubscriberChanges {
  struct Row {
    std::string id;
    Subscriber::Kind kind{};
    EventFilter filter;  ///< of a hub subscriber: its topic and event types
    bool with_private = false;
  };
  std::vector<Row> changed;
  std::vector<std::string> gone;
  std::uint64_t number = 0;  ///< continue from here
  bool more = false;         ///< more changes are available
  bool anew = false;         ///< removals were lost: discard everything first
};

/// Numbers of subscribers by kind and state.
struct SubscriberCounts {
  std::uint64_t webhooks_active = 0, webhooks_suspended = 0, hub_pending = 0, hub_active = 0;
  std::optional<std::uint64_t> due;  ///< to be served now or in back-off; empty if the Redis user may not read it

  bool any() const { return webhooks_active + webhooks_suspended + hub_pending + hub_active > 0; }
};

/// Result of a request to the hub.
struct AskedOfHub {
  enum class Is {
    nothing,      ///< no subscription to end
    taken,        ///< accepted, to be verified
    too_many,     ///< limit of the store
    of_site,      ///< limit of the site
    not_verified  ///< limit of unverified subscribers, of the site or in all
  } is = Is::nothing;

  explicit operator bool() const { return is == Is::taken; }
};

/// The subscribers of one store, over a Store's connection.
class Subscribers {
 public:
  /// `store` must outlive this object.
  explicit Subscribers(Store& store) : impl_(store.impl()) {}
  explicit Subscribers(Store::Impl& impl) : impl_(impl) {}

  /// Adds a webhook at the end of the stream and returns its new id. `unsupported` if there are too many subscribers.
  StoreResult<std::string> add(const Subscriber& webhook);
  /// Replaces the settings `was` of a webhook: url, name, filter, with_private and at_once. False: no such webhook, or
  /// another call has changed its settings.
  StoreResult<bool> edit(const Subscriber& webhook, const Subscriber& was);
  /// Replaces the secret; the old one also signs for `old_for`. False if the webhook is unknown.
  StoreResult<bool> rotate(const std::string& id, const std::string& secret, Milliseconds old_for);
  /// Resumes a suspended webhook at its cursor. False if it is unknown.
  StoreResult<bool> resume(const std::string& id);
  /// False if the id is unknown.
  StoreResult<bool> remove(const std::string& id);

  StoreResult<std::optional<Subscriber>> get(const std::string& id);
  /// Subscribers of one kind, sorted by id, after `after`, at most `limit`.
  StoreResult<std::vector<Subscriber>> list(Subscriber::Kind kind, const std::string& after, std::size_t limit);
  StoreResult<SubscriberCounts> counts();

  /// Stores a hub subscriber's request (`subscriber.intent`) for verification; its id derives from topic_url and
  /// callback. The current subscription is unchanged (WEBSUB U5). Idempotent.
  StoreResult<AskedOfHub> ask(const Subscriber& subscriber, const SubscriberBounds& bounds = {});
  /// Whether any callback of the site has a confirmed subscription that has not expired.
  StoreResult<bool> has_active(const std::string& site);
  /// Sends a denial to every subscriber of a topic, in steps of up to `most` after `after`; returns the next `after`,
  /// "" at the end.
  StoreResult<std::string> deny(const Topic& topic, const std::string& after, std::size_t most);

  // For the engine.

  /// Acquires or renews for `token` the leadership in matching events to subscribers, for `ttl`; 0 releases it.
  StoreResult<bool> lead(const std::string& token, Milliseconds ttl);
  /// Whether there is a leader; without one no events are delivered.
  StoreResult<bool> is_led();
  /// Position up to which the stream has been matched; creates the consumer group that protects the rest from trimming.
  /// "" the first time: start at the end.
  StoreResult<std::string> begin_leading();
  /// Changes numbered above `after`, at most `most` changed and `most` removed subscribers.
  StoreResult<SubscriberChanges> changes(std::uint64_t after, std::size_t most);
  /// Makes subscribers of an event due: an idle one gets `before`, the stream id before the event, as its cursor. If
  /// `before` is "", only adds to its count of withheld events.
  /// `mark`: the last of these events; `is_last`: no further subscribers match, so the stream is matched up to there.
  /// False, nothing written: the token is not the leader. At most 500 at once.
  struct Concerned {
    std::string id, before;
    std::uint64_t withheld = 0;  ///< events of private feeds among these
  };
  StoreResult<bool> wake(const std::string& token, std::span<const Concerned> concerned, const std::string& mark,
                         bool is_last = true);
  StoreResult<TakenSubscribers> take(std::size_t most, Milliseconds lease, const std::string& token);
  /// Stores the results. For each, whether it was still leased; if not, nothing was written. `lease`: for those on
  /// `hold`.
  StoreResult<std::vector<bool>> settle(std::span<const SubscriberSettlement> settlements, Milliseconds lease);
  /// Makes up to `most` hub subscribers with expired leases due, so that they are removed; returns how many.
  StoreResult<std::size_t> expire(std::size_t most);

 private:
  Store::Impl& impl_;
};

}  // namespace feedmill
