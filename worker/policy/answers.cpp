#include "worker/policy/answers.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "worker/egress/web_url.hpp"
#include "worker/http/resolver.hpp"

namespace feedmill {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;

Failure failure_of_status(int status) {
  switch (status) {
    case 401:
    case 407:
      return {Reason::status_auth, hours(4), days(7), "auth", 3};
    case 403:
      return {Reason::status_forbidden, hours(4), days(7), "forbidden", 3};
    case 404:
      return {Reason::status_not_found, minutes(60), days(7), "not_found"};
    case 410:
      return {Reason::status_gone, hours(24), hours(24), "gone"};
    case 408:
    case 425:
      return {Reason::status_server, minutes(60), hours(24)};
    case 429:
      return {Reason::status_rate_limited, hours(4), days(7), "rate_limited"};
    case 431:
      return {Reason::status_client, hours(4), days(7)};
    case 451:
      return {Reason::status_legal, hours(24), days(30), "legal", 1};
    default:
      break;
  }
  if (status >= 500) return {Reason::status_server, minutes(60), hours(24)};
  if (status >= 400) return {Reason::status_client, minutes(60), days(7)};
  return {Reason::http_unexpected, minutes(60), hours(24)};
}

Failure failure_of_challenge() {
  return {Reason::status_challenge, hours(4), days(7), "challenge", 3};
}

Failure failure_of_the_gone() {
  return {Reason::status_gone, days(30), days(30), "gone"};
}

Failure failure_of_error(Reason reason, bool sent) {
  switch (reason) {
    case Reason::dns_not_found:
    case Reason::dns_timeout:
    case Reason::dns_failed:
    case Reason::connect_refused:
    case Reason::connect_timeout:
    case Reason::connect_failed:
    case Reason::tls_verify:
    case Reason::tls_handshake:
      // HTTP P6: if an earlier hop sent an HTTP byte, the 60 min floor applies.
      return {reason, sent ? minutes(60) : minutes(15), hours(24)};
    case Reason::egress_blocked:
    case Reason::egress_port:
    case Reason::url_invalid:
      return {reason, hours(4), days(7)};
    case Reason::status_challenge:
      return failure_of_challenge();
    default:
      return {reason, minutes(60), hours(24)};
  }
}

bool is_like_a_storm(Reason reason) {
  return reason == Reason::status_not_found || reason == Reason::status_server || reason == Reason::parse_not_a_feed ||
         reason == Reason::parse_empty;
}

std::string_view group_of(Reason reason) {
  const std::string_view name = to_string(reason);
  const bool alone = name.starts_with("status.") || reason == Reason::parse_limit;
  return alone ? name : name.substr(0, name.find('.'));
}

bool states_freshness(int status) {
  return status == 200 || status == 304 || status == 404 || status == 410 || status == 429 || status >= 500;
}

namespace {

constexpr int enough_sightings = 3;
constexpr Milliseconds long_enough = std::chrono::hours(24);

/// http → https of the same host and path.
bool only_secures(std::string_view from, std::string_view to) {
  constexpr std::string_view plain = "http://", secure = "https://";
  return from.starts_with(plain) && to.starts_with(secure) && from.substr(plain.size()) == to.substr(secure.size());
}

/// The document's own statement counts as one sighting, however often it is read (HTTP R5).
void hear_document(PendingRedirect& moving, const Identity& identity) {
  if (moving.by_document || identity.new_location != moving.to) return;
  moving.by_document = true;
  ++moving.sightings;
}

}  // namespace

std::string permanent_target(std::span<const Hop> hops) {
  std::string target;
  for (std::size_t i = 0; i + 1 < hops.size(); ++i) {
    if (hops[i].status != 301 && hops[i].status != 308) break;
    target = hops[i].location;
  }
  return target;
}

Judgement judge(const FeedAddress& before, const std::string& requested, std::span<const Hop> hops,
                const Identity& identity, Milliseconds now) {
  Judgement result{before.moving, ""};
  PendingRedirect& moving = result.moving;
  std::string target = permanent_target(hops);
  const bool redirected = !target.empty();
  if (!redirected) {
    if (hops.size() > 1) return result;  // a temporary redirect says nothing about either
    target = identity.new_location;      // the URL serves the feed itself: an earlier redirect was temporary
  }
  if (target.empty() || target == requested || target == before.no_move_to) return {};
  if (moving.to != target) {
    moving = PendingRedirect();
    moving.to = target;
    moving.since = now;
  }
  hear_document(moving, identity);
  if (!redirected) return result;
  // Only the first sighting counts: later documents share guids because the first was stored.
  const bool first = moving.sightings == (moving.by_document ? 1 : 0);
  if ((first && identity.same) || identity.names_old) moving.same_feed = true;
  ++moving.sightings;
  const bool seasoned = moving.sightings >= enough_sightings && now - moving.since >= long_enough;
  if (moving.same_feed && (seasoned || only_secures(requested, target))) result = {PendingRedirect(), target};
  return result;
}

namespace {

std::string site_of(const Origin& origin) {
  const bool is_www = origin.host.starts_with("www.");
  return registrable_domain(is_www ? origin.host.substr(4) : origin.host);
}

constexpr Milliseconds most_for_all = std::chrono::hours(1);  // as in answers.lua

bool is_usual(unsigned port) {
  return port == 80 || port == 443;
}

bool is_one_server(const std::string& url, const std::string& other) {
  return url == other || server_of(url) == server_of(other);
}

bool is_led_away(const Exchange& exchange) {
  return std::ranges::any_of(exchange.hops,
                             [&](const Hop& hop) { return !is_one_site(exchange.requested_url, hop.url); });
}

/// Anyone may add any URL of a host; that must not slow the host's feeds for long (HTTP H3).
void doubt(HostAnswer& host, const Claim& claim, Milliseconds now) {
  host.quota.reset();
  host.shows_no_limits = true;
  host.retry_at = std::min(host.retry_at, now + most_for_all);
  const bool serves_others = claim.host_served_at.count() != 0 && now - claim.host_served_at < std::chrono::hours(48);
  if (host.cause != "unavailable" || !serves_others) return;
  host.is = HostAnswer::Is::served;
  host.cause.clear();
}

}  // namespace

bool is_one_site(const std::string& url, const std::string& other) {
  if (url == other) return true;  // the usual case
  const Origin a = origin_of(url), b = origin_of(other);
  if (a.port != b.port && !(is_usual(a.port) && is_usual(b.port))) return false;
  return a.host == b.host || site_of(a) == site_of(b);
}

bool is_of_another_site(const Claim& claim, const Exchange& exchange) {
  return is_led_away(exchange) || !is_one_site(claim.feed_url, exchange.requested_url);
}

bool is_of_another_server(const Exchange& exchange) {
  return std::ranges::any_of(exchange.hops,
                             [&](const Hop& hop) { return !is_one_server(exchange.requested_url, hop.url); });
}

HostAnswer host_answer(const Claim& claim, const Exchange& exchange, int status, Forbidden forbidden, bool is_feed,
                       Milliseconds now) {
  HostAnswer host;
  host.egress = claim.egress;
  if (is_led_away(exchange)) {
    host.is = HostAnswer::Is::served;
    return host;
  }
  if (!exchange.hops.empty() && !is_one_server(exchange.requested_url, exchange.hops.back().url))
    host.server = server_of(exchange.hops.back().url);
  host.document = status == 200;
  if (is_of_another_site(claim, exchange)) {
    host.shows_no_limits = true;
    if (status == 200 || status == 304) host.is = HostAnswer::Is::served;
    return host;
  }
  const auto wait = retry_after(exchange.headers, whole_seconds(now));
  const bool told_when = wait && wait->wait.count() > 0;
  const bool is_throttled = forbidden != Forbidden::for_good;
  host.over_quota = status == 429 || forbidden == Forbidden::over_quota;
  if (status == 429 || status == 503 || is_throttled || told_when) {
    host.is = HostAnswer::Is::refused;
    host.cause = status == 429 ? "rate_limited" : is_throttled ? "forbidden" : "unavailable";
    if (told_when) host.retry_at = now + Milliseconds(wait->wait);
  } else if (status >= 200 && status < 500) {
    host.is = HostAnswer::Is::served;
  }
  if (host.is == HostAnswer::Is::served || host.over_quota)
    host.quota = told_quota(exchange.headers, host.over_quota, whole_seconds(now));
  if (!is_feed) doubt(host, claim, now);
  return host;
}

OwnQuota own_quota(const Claim& claim, const Exchange& exchange, Milliseconds now) {
  if (exchange.hops.empty()) return {};
  const int status = exchange.hops.back().status;
  const auto told = told_quota(exchange.headers, status == 429, whole_seconds(now));
  if (!told) return {};
  const Milliseconds wait = std::max(told->gap, told->pace);
  const bool may_be_feed = claim.state.last.success.count() != 0 || status == 200 || status == 304;
  if (wait <= most_for_all && may_be_feed && !is_of_another_site(claim, exchange)) return {};
  return {wait, told->gap >= told->lasts};
}

std::optional<ToldQuota> told_quota(std::span<const Header> headers, bool refused, std::chrono::sys_seconds now) {
  constexpr Milliseconds longest = std::chrono::hours(24), rounding = std::chrono::seconds(1);
  std::optional<Milliseconds> gap, pace;
  Milliseconds lasts{};
  for (const StatedQuota& quota : stated_quotas(headers, now)) {
    if (quota.pace) pace = std::max(pace.value_or(*quota.pace), *quota.pace);
    if (!quota.reset || (!quota.remaining && !refused)) continue;
    lasts = std::max(lasts, Milliseconds(*quota.reset) + rounding);
    const double left = refused ? 0 : std::floor(quota.remaining.value_or(0));
    Milliseconds next(static_cast<std::int64_t>(std::ceil(static_cast<double>(quota.reset->count()) / (left + 1))));
    if (left == 0) next += rounding;  // most servers report whole seconds
    gap = std::max(gap.value_or(next), next);
  }
  if (!gap && !pace) return std::nullopt;
  // The window of a refused request may have begun long ago: it shows when to retry, but not how often.
  if (!pace) pace = refused ? Milliseconds(0) : *gap;
  if (!gap) gap = *pace;
  // A quota without an end must be repeated by the next response.
  lasts = std::max(lasts.count() > 0 ? lasts : 2 * *pace, *gap);
  return ToldQuota{std::min(*gap, longest), std::min(*pace, longest), std::min(lasts, longest)};
}

}  // namespace feedmill
