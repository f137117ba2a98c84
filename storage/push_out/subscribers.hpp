// Who is told of events by POST: webhooks, and the subscribers of our hub (WEBSUB §10, DESIGN §1). One record each,
// with its own place in the stream of events and its own back-off; any worker may serve any of them, one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/event_filter.hpp"
#include "storage/records/topic.hpp"
#include "storage/redis/values.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// So many may there be in a store, of both kinds.
inline constexpr std::size_t most_subscribers = 100'000;

/// How many subscribers of the hub there may be, so that nobody takes the places of all others (WEBSUB U18). Those that
/// are there already may ask for more time, and for their end, whatever there are.
struct SubscriberBounds {
  std::size_t of_site = 10'000;            ///< whose callbacks are one's
  std::size_t unverified = 20'000;         ///< of which nobody knows yet whether they meant it
  std::size_t unverified_of_site = 1'000;  ///< of these
};

struct Subscriber {
  enum class Kind { webhook, hub };
  enum class State {
    pending,    ///< of the hub's: has not been verified yet
    active,     ///
    suspended,  ///< a webhook that failed for too long: it keeps its place and waits for somebody to resume it
  };

  std::string id;  ///< "wh_…" or "hub_…" and 26 characters
  Kind kind{};
  State state = State::active;
  std::string url;  ///< where it is told: the webhook's address, hub.callback
  Milliseconds created{};

  // A webhook's own.
  std::string name;           ///< what people call it, may be ""
  EventFilter filter;         ///
  bool with_private = false;  ///< also of feeds that are not re-published
  std::string secret;         ///< a webhook's "whsec_…" or "whsk_…"; hub.secret, "" = none. Never shown
  std::string old_secret;     ///< signs as well until `old_until`
  Milliseconds old_until{};
  std::uint32_t at_once = 1;  ///< requests under way; 1 keeps the order

  // A hub subscriber's own.
  Topic topic;
  std::string topic_url;     ///< hub.topic as asked for
  std::string site;          ///< whose the callback is, for bounds: a registrable domain, a network; "" = not counted
  Milliseconds lease_end{};  ///< 0: pending

  /// What a hub subscriber has asked for, until it is verified; of "denied" that it is to be told.
  struct Intent {
    std::string mode;  ///< subscribe, unsubscribe, denied; "" = nothing
    std::string secret;
    Milliseconds lease{};
    std::string reason;  ///< of denied
    std::uint32_t tries = 0;
  } intent;

  // How it goes.
  std::string cursor;          ///< stream id of the last event it was told of, or needs not to be told of
  std::uint32_t failures = 0;  ///< in a row
  Milliseconds failing_since{}, last_success{};
  Milliseconds retry_at{};          ///< failing, and asked for something since: not told anything before
  std::string last_error;           ///< for people
  std::uint64_t delivered = 0;      ///< requests that were taken
  std::optional<Milliseconds> due;  ///< when it is looked at next; none: nothing waits for it
};

/// Those that a webhook's messages are signed with at `now`: its own, and the old one until its time is over.
std::vector<std::string> secrets_in_use(const Subscriber& webhook, Milliseconds now);

std::string_view to_string(Subscriber::Kind kind);
std::string_view to_string(Subscriber::State state);

/// Those in hand, each until the lease ends.
struct TakenSubscribers {
  Milliseconds now{};
  Milliseconds next{};  ///< when the next one is due, 0 = none is
  std::string claim;    ///< shown when they are settled
  std::vector<Subscriber> subscribers;
};

/// What becomes of one in hand.
struct SubscriberSettlement {
  enum class Then {
    hold,     ///< in hand for another lease
    idle,     ///< all up to `cursor` was looked at; what came later makes it due at once
    later,    ///< due again after `delay`
    suspend,  ///< a webhook waits for somebody
    remove    ///< there is no such subscriber any more
  };
  std::string id, claim, cursor;
  Then then{};
  Milliseconds delay{};
  Fields fields;  ///< of the record, written as they are; an empty value takes one away
};

/// What the engine of one worker at a time knows of all subscribers, kept up step by step.
struct SubscriberChanges {
  struct Row {
    std::string id;
    Subscriber::Kind kind{};
    EventFilter filter;  ///< of a hub subscriber: its topic, and what is told of it
    bool with_private = false;
  };
  std::vector<Row> changed;
  std::vector<std::string> gone;
  std::uint64_t number = 0;  ///< to go on from
  bool more = false;         ///< there are more already
  bool anew = false;         ///< too much has gone since: what is known must be forgotten first
};

struct SubscriberCounts {
  std::uint64_t webhooks_active = 0, webhooks_suspended = 0, hub_pending = 0, hub_active = 0;
  std::optional<std::uint64_t> due;  ///< to be served now or in back-off; none where Redis does not let its user look

  bool any() const { return webhooks_active + webhooks_suspended + hub_pending + hub_active > 0; }
};

/// What became of a request to the hub.
struct AskedOfHub {
  enum class Is {
    nothing,      ///< there is nothing to unsubscribe
    taken,        ///< to be verified
    too_many,     ///< in the store
    of_site,      ///< of that site
    not_verified  ///< of that site or all, that are not verified
  } is = Is::nothing;

  explicit operator bool() const { return is == Is::taken; }
};

class Subscribers {
 public:
  /// `store` outlives this.
  explicit Subscribers(Store& store) : impl_(store.impl()) {}
  explicit Subscribers(Store::Impl& impl) : impl_(impl) {}

  /// Adds a webhook; its id, made here, and its place, the end of the stream. `unsupported` when there are too many.
  StoreResult<std::string> add(const Subscriber& webhook);
  /// Writes url, name, filter, with_private and at_once of a webhook. False: there is none of that id.
  StoreResult<bool> edit(const Subscriber& webhook);
  /// The secret in use signs for `old_for` longer beside `secret`. False: there is no webhook of that id.
  StoreResult<bool> rotate(const std::string& id, const std::string& secret, Milliseconds old_for);
  /// A suspended webhook goes on where it was. False: there is no webhook of that id.
  StoreResult<bool> resume(const std::string& id);
  /// False: there is none.
  StoreResult<bool> remove(const std::string& id);

  StoreResult<std::optional<Subscriber>> get(const std::string& id);
  /// In the order of their ids behind `after`, at most `limit`; of one kind.
  StoreResult<std::vector<Subscriber>> list(Subscriber::Kind kind, const std::string& after, std::size_t limit);
  StoreResult<SubscriberCounts> counts();

  /// What a subscriber of the hub asks for (`subscriber.intent`), to be verified; it has its id by topic_url and
  /// callback. Nothing that holds now is changed (WEBSUB U5). Asked twice it is as asked once.
  StoreResult<AskedOfHub> ask(const Subscriber& subscriber, const SubscriberBounds& bounds = {});
  /// Whether any callback of the site has confirmed a subscription that holds.
  StoreResult<bool> has_active(const std::string& site);
  /// Every subscriber of a topic is told that it is denied, in steps: up to `most` behind `after`, and returns the id
  /// to go on behind, "" at the end.
  StoreResult<std::string> deny(const Topic& topic, const std::string& after, std::size_t most);

  // For the engine.

  /// Whether `token` holds the right to look for whom events concern, for `ttl`; 0 lets it go.
  StoreResult<bool> lead(const std::string& token, Milliseconds ttl);
  /// Whether anybody holds it: else nobody is told of anything.
  StoreResult<bool> is_led();
  /// How far the stream has been looked through; creates the consumer group behind which it is not trimmed. "" at
  /// first: begin at the end.
  StoreResult<std::string> begin_leading();
  StoreResult<SubscriberChanges> changes(std::uint64_t after, std::size_t most);
  /// Makes those due that an event concerns, who waits for nothing yet with its place right before it: {id, stream id
  /// before the event}. `mark`: the last of these events; `is_last`: nobody else is concerned, so the stream has been
  /// looked through up to there. False: the token holds the right no more, nothing was written. At most 500 at once.
  struct Concerned {
    std::string id, before;
  };
  StoreResult<bool> wake(const std::string& token, std::span<const Concerned> concerned, const std::string& mark,
                         bool is_last = true);
  StoreResult<TakenSubscribers> take(std::size_t most, Milliseconds lease, const std::string& token);
  /// For each whether it was still in hand; else nothing of it was written. `lease`: of those that are held on to.
  StoreResult<std::vector<bool>> settle(std::span<const SubscriberSettlement> settlements, Milliseconds lease);
  /// Makes up to `most` due whose leases at the hub have ended, so that they are removed; how many.
  StoreResult<std::size_t> expire(std::size_t most);

 private:
  Store::Impl& impl_;
};

}  // namespace feedmill
