// Asks a callback to confirm its subscription before that takes effect.
#include <utility>

#include "storage/redis/test_point.hpp"
#include "worker/push_out/dispatcher.hpp"

namespace feedmill {

namespace asio = boost::asio;
using Then = SubscriberSettlement::Then;

namespace {

constexpr std::uint32_t most_verifications = 3;

}  // namespace

/// Whether the limits of the callback's site and of the peer's network allow a request now (WEBSUB U19). Sets `peer` to
/// the address to connect to. After Turn::now, the caller must call leave() on both limits.
asio::awaitable<Dispatcher::Turn> Dispatcher::turn_at_site(Served& served, SubscriberSettlement& end,
                                                           Fetcher::Peer& peer) {
  const std::string& site = served.subscriber.site;
  bool known = sites_.knows(site);
  if (!known || sites_.closed_for(site) > Milliseconds(0)) {
    const auto look = [&](Store& store) { return Subscribers(store).has_active(site); };
    const StoreResult<bool> confirmed = co_await store_.call(look);
    if (!confirmed) metrics_.store_error(confirmed.error());
    known = confirmed && sites_.add(site, *confirmed);
  }
  if (sites_.closed_for(site) > Milliseconds(0)) co_return Turn::never;
  peer = co_await sender_.peer_of(served.subscriber);
  Milliseconds wait = known ? sites_.enter(site) : 5 * options_.poll;
  if (wait == Milliseconds(0)) {
    if (!peer.network.empty()) wait = networks_.enter(peer.network, 5 * options_.poll);
    if (wait == Milliseconds(0)) co_return Turn::now;
    sites_.leave(site, VerificationLimit::Outcome::not_asked);
  }
  end.then = Then::later;
  end.delay = with_jitter(wait);
  co_return Turn::later;
}

/// Verifies a subscription request before it takes effect (WEBSUB U4, U5, U7).
asio::awaitable<Dispatcher::Next> Dispatcher::confirm(Served& served, SubscriberSettlement& end) {
  Subscriber& subscriber = served.subscriber;
  const Subscriber::Intent intent = subscriber.intent;
  const bool limited =
      subscriber.state == Subscriber::State::pending && intent.mode != "denied" && !subscriber.site.empty();
  Fetcher::Peer peer;
  const Turn turn_there = limited ? co_await turn_at_site(served, end, peer) : Turn::now;
  if (turn_there == Turn::later) co_return Next::settled;
  Told told;
  told.is = Told::Is::failed;
  told.status = 403;  // counts as a refusal
  if (turn_there == Turn::now) told = co_await sender_.verify(subscriber, peer.address);
  test_point("S21");
  if (limited && turn_there == Turn::now) {
    auto outcome = VerificationLimit::Outcome::failed;
    if (told.is == Told::Is::taken) outcome = VerificationLimit::Outcome::confirmed;
    if (told.is == Told::Is::not_asked) outcome = VerificationLimit::Outcome::not_asked;
    sites_.leave(subscriber.site, outcome);
    networks_.leave(peer.network, outcome);
  }
  if (told.is == Told::Is::not_asked) {
    end.then = Then::later;
    end.delay = place_again(told);
    co_return Next::settled;
  }
  // If the request changes while we verify, the new one is verified next.
  set(served.changes, "want_was", intent.mode + "\n" + std::to_string(intent.lease.count()) + "\n" + intent.secret);
  // Retry on network errors, 5xx and 429; any other answer is final. A callback that never confirmed gets one request.
  const bool unheard = told.is == Told::Is::failed && (told.status == 0 || told.status >= 500 || told.status == 429) &&
                       (!limited || !told.sent);
  if (unheard && intent.tries + 1 < most_verifications) {
    set(served.changes, "want_tries", std::to_string(intent.tries + 1));
    end.then = Then::later;
    end.delay = with_jitter(std::chrono::seconds(10) * (1 << (2 * intent.tries)));
    co_return Next::settled;
  }
  const bool confirmed = told.is == Told::Is::taken;
  metrics_.push_out_verified(confirmed);
  for (const char* field : {"want_mode", "want_secret", "want_lease", "want_reason", "want_tries"})
    set(served.changes, field, "");
  const bool ends = intent.mode == "denied" || (intent.mode == "unsubscribe" && confirmed) ||
                    (subscriber.state == Subscriber::State::pending && !confirmed);
  if (ends) {
    set(served.changes, "state", "pending");  // the state that remains if a newer request keeps it
    end.then = Then::remove;
    co_return Next::settled;
  }
  if (intent.mode == "subscribe" && confirmed) {
    subscriber.state = Subscriber::State::active;
    subscriber.secret = intent.secret;
    subscriber.lease_end = redis_now() + intent.lease;
    set(served.changes, "state", "active");
    set(served.changes, "secret", intent.secret);
    set(served.changes, "lease_end", std::to_string(subscriber.lease_end.count()));
  }
  subscriber.intent = {};
  co_return Next::more;
}

}  // namespace feedmill
