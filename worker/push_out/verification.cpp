// Asks a callback to confirm its subscription before that takes effect, within the limits of its site and network.
#include <algorithm>
#include <utility>

#include "storage/redis/test_point.hpp"
#include "worker/push_out/dispatcher.hpp"
#include "worker/push_out/verification_limit.hpp"

namespace feedmill {

namespace asio = boost::asio;
using Then = SubscriberSettlement::Then;

namespace {

constexpr std::uint32_t most_verifications = 3;
constexpr std::size_t most_failures = 10;
constexpr std::chrono::seconds between_requests{1}, longest_wait{5};
constexpr std::chrono::minutes closed{10};
constexpr Milliseconds longest_wait_of_active{30'000};  // its deliveries are looked at that often

/// Whether the callback is at the address at which it confirmed before; behind a proxy, where both are unknown, it is
/// taken to be.
bool is_where_it_confirmed(const Subscriber& subscriber, const Fetcher::Peer& peer) {
  return subscriber.state == Subscriber::State::active && subscriber.address == peer.address;
}

}  // namespace

/// Whether the limits of the callback's site and of the peer's network allow a request now (WEBSUB U19). Sets `peer` to
/// the address to connect to and the name of its limit. After Turn::now, the caller must call leave() on both limits.
asio::awaitable<Dispatcher::Turn> Dispatcher::turn_at_site(Served& served, SubscriberSettlement& end,
                                                           Fetcher::Peer& peer) {
  const std::string& site = served.subscriber.site;
  const bool active = served.subscriber.state == Subscriber::State::active;
  bool known = active ? sites_.add(site, true) : sites_.knows(site);
  if (!active && (!known || sites_.closed_for(site) > Milliseconds(0))) {
    const auto look = [&](Store& store) { return Subscribers(store).has_active(site); };
    const StoreResult<bool> confirmed = co_await store_.call(look);
    if (!confirmed) metrics_.store_error(confirmed.error());
    known = confirmed && sites_.add(site, *confirmed);
  }
  if (sites_.closed_for(site) > Milliseconds(0)) co_return Turn::never;
  peer = co_await sender_.peer_of(served.subscriber);
  // Invented callbacks must not use up the limit of renewals.
  if (is_where_it_confirmed(served.subscriber, peer)) peer.network = "confirmed " + peer.address + " " + site;
  if (peer.network.empty()) peer.network = site;
  Milliseconds wait = known ? sites_.enter(site) : 5 * options_.poll;
  if (wait == Milliseconds(0)) {
    wait = networks_.enter(peer.network, 5 * options_.poll);
    if (wait == Milliseconds(0)) co_return Turn::now;
    sites_.leave(site, VerificationLimit::Outcome::not_asked);
  }
  if (active) wait = std::min(wait, longest_wait_of_active);
  put_off(end, with_jitter(wait));
  co_return Turn::later;
}

/// Verifies a subscription request before it takes effect (WEBSUB U4, U5, U7).
asio::awaitable<Dispatcher::Next> Dispatcher::confirm(Served& served, SubscriberSettlement& end) {
  Subscriber& subscriber = served.subscriber;
  const Subscriber::Intent intent = subscriber.intent;
  const bool limited = intent.mode != "denied" && !subscriber.site.empty();
  Fetcher::Peer peer;
  const Turn turn_there = limited ? co_await turn_at_site(served, end, peer) : Turn::now;
  // Until its turn, an active subscription keeps its deliveries.
  if (turn_there == Turn::later) co_return subscriber.state == Subscriber::State::active ? Next::more : Next::settled;
  const bool once = limited && !is_where_it_confirmed(subscriber, peer);
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
  if (told.is == Told::Is::not_asked) co_return put_off(end, place_again(told));
  // If the request changes while we verify, the new one is verified next.
  set(served.changes, "want_was", intent.mode + "\n" + std::to_string(intent.lease.count()) + "\n" + intent.secret);
  // Retry on network errors, 5xx and 429; any other answer is final. A callback that never confirmed there gets one
  // request.
  const bool unheard = told.is == Told::Is::failed && (told.status == 0 || told.status >= 500 || told.status == 429) &&
                       (!once || !told.sent);
  if (unheard && intent.tries + 1 < most_verifications) {
    set(served.changes, "want_tries", std::to_string(intent.tries + 1));
    co_return put_off(end, with_jitter(std::chrono::seconds(10) * (1 << (2 * intent.tries))));
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
    subscriber.address = peer.address;
    subscriber.lease_end = redis_now() + intent.lease;
    set(served.changes, "state", "active");
    set(served.changes, "secret", intent.secret);
    set(served.changes, "address", peer.address);
    set(served.changes, "lease_end", std::to_string(subscriber.lease_end.count()));
  }
  subscriber.intent = {};
  co_return Next::more;
}

// --- limits ----------------------------------------------------------------------------------------------------------

VerificationLimit::Site* VerificationLimit::find(const std::string& site) {
  const auto found = places_.find(site);
  if (found == places_.end()) return nullptr;
  Site& known = *found->second;
  if (known.failures > 0 && known.until <= Clock::now()) known.failures = 0;
  return &known;
}

bool VerificationLimit::may_be_forgotten(const Site& site) const {
  return site.under_way == 0 && (site.failures < most_failures || site.until <= Clock::now());
}

bool VerificationLimit::add(const std::string& site, bool confirmed) {
  if (Site* const known = find(site)) {
    known->confirmed |= confirmed;
    return true;
  }
  if (sites_.size() >= most_) {
    const auto goes = std::ranges::find_if(sites_, [this](const Site& one) { return may_be_forgotten(one); });
    if (goes == sites_.end()) return false;
    places_.erase(goes->name);
    sites_.erase(goes);
  }
  Site added;
  added.name = site;
  added.confirmed = confirmed;
  places_.emplace(site, sites_.insert(sites_.end(), std::move(added)));
  return true;
}

Milliseconds VerificationLimit::closed_for(const std::string& site) {
  const Site* const known = find(site);
  if (known == nullptr || is_lifted(*known) || known->failures < most_failures) return Milliseconds(0);
  return std::chrono::ceil<Milliseconds>(known->until - Clock::now());
}

Milliseconds VerificationLimit::enter(const std::string& site) {
  Site* const known = find(site);
  if (known == nullptr) return longest_wait;
  const auto now = Clock::now();
  const bool full = known->failures + known->under_way >= most_failures;
  if (!is_lifted(*known) && (full || (!known->confirmed && now < known->next))) {
    ++known->waiting;
    const auto wait = std::max(known->next - now, Clock::duration(0)) + known->waiting * between_requests;
    return std::chrono::ceil<Milliseconds>(std::min<Clock::duration>(wait, longest_wait));
  }
  ++known->under_way;
  known->waiting = 0;
  known->next = now + between_requests;
  return Milliseconds(0);
}

void VerificationLimit::leave(const std::string& site, Outcome outcome) {
  Site* const known = find(site);
  if (known == nullptr) return;
  if (known->under_way > 0) --known->under_way;
  if (outcome == Outcome::confirmed) {
    known->confirmed = true;
    if (is_lifted(*known)) known->failures = 0;
  } else if (outcome == Outcome::failed) {
    known->confirmed = is_lifted(*known);
    ++known->failures;
    known->until = Clock::now() + closed;
  }
}

Milliseconds VerificationLimit::enter(const std::string& name, Milliseconds full) {
  if (!add(name, false)) return full;
  const Milliseconds closed = closed_for(name);
  return closed > Milliseconds(0) ? closed : enter(name);
}

}  // namespace feedmill
