#include "worker/policy/host_answer.hpp"

#include <algorithm>
#include <cmath>

#include "worker/egress/web_url.hpp"
#include "worker/http/resolver.hpp"

namespace feedmill {
namespace {

std::string site_of(const Origin& origin) {
  const bool is_www = origin.host.starts_with("www.");
  return registrable_domain(is_www ? origin.host.substr(4) : origin.host);
}

std::chrono::sys_seconds seconds_of(Milliseconds now) {
  return std::chrono::sys_seconds(std::chrono::duration_cast<std::chrono::seconds>(now));
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
  const auto wait = retry_after(exchange.headers, seconds_of(now));
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
    host.quota = told_quota(exchange.headers, host.over_quota, seconds_of(now));
  if (!is_feed) doubt(host, claim, now);
  return host;
}

OwnQuota own_quota(const Claim& claim, const Exchange& exchange, Milliseconds now) {
  if (exchange.hops.empty()) return {};
  const int status = exchange.hops.back().status;
  const auto told = told_quota(exchange.headers, status == 429, seconds_of(now));
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
