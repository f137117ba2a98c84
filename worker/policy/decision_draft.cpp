#include "worker/policy/decision_draft.hpp"

#include <algorithm>
#include <utility>

#include <boost/json.hpp>

#include "parsers/text/strings.hpp"
#include "worker/base/redact.hpp"
#include "worker/egress/web_url.hpp"

namespace feedmill {
namespace {

using std::chrono::days;
using std::chrono::hours;

constexpr std::size_t longest_detail = 200;  // bytes of it that are kept
constexpr int attempts_at_a_limit = 3;       // in a row (SECURITY Q2)

std::chrono::sys_seconds wall_clock(Milliseconds now) {
  return std::chrono::sys_seconds(std::chrono::duration_cast<std::chrono::seconds>(now));
}

/// What is kept of a feed: as configured, or as its operator set (RELIABILITY L7).
Retention retention_of(Retention retention, const FeedSettings& settings) {
  constexpr std::uint64_t longest_s = std::uint64_t{100} * 366 * 24 * 3600;
  if (settings.keep) retention.entries = *settings.keep;
  if (settings.keep_age) {
    retention.age = std::chrono::seconds(static_cast<std::int64_t>(std::min(*settings.keep_age, longest_s)));
  }
  if (settings.keep_bytes) retention.bytes = *settings.keep_bytes;
  return retention;
}

}  // namespace

DecisionDraft::DecisionDraft(const Claim& claim, const Exchange& exchange, const PolicyOptions& options,
                             Milliseconds now)
    : settings(read_settings(claim.state.settings)), claim_(claim), exchange_(exchange), options_(options), now_(now) {
  Commit& commit = decision.commit;
  commit.feed_url = claim.feed_url;
  commit.claim = claim.id;
  commit.before = commit.state = claim.state;
  commit.retention = retention_of(options.retention, settings);
  FeedState& state = commit.state;
  state.last_at = now;
  state.last_status = 0;
  state.last_error.clear();
  state.last_detail.clear();
  if (state.not_before <= now) state.not_before = Milliseconds(0);
  ++state.polls;
  state.total_wire_bytes += exchange.wire_bytes;
  if (exchange.early) ++state.early_polls;
  count_unconditional();
  context.feed_url = claim.feed_url;
  context.now = now;
  context.retry_after = retry_after(exchange.headers, wall_clock(now));
  context.fresh = freshness(exchange.headers, wall_clock(now));
  context.opened_by_allow = exchange.opened_by_allow;
  context.interval_min = least_interval();
  if (settings.interval_max) context.interval_max = std::chrono::seconds(*settings.interval_max);
  context.not_before = state.not_before;
  if (context.retry_after && context.retry_after->wait.count() > 0) {
    state.not_before = std::max(state.not_before, now + Milliseconds(context.retry_after->wait));
  }
}

void DecisionDraft::succeed(Outcome outcome, std::uint32_t created, bool first) {
  FeedState& state = decision.commit.state;
  decision.outcome = outcome;
  state.last_outcome = to_string(outcome);
  state.last_success = now_;
  state.failures = 0;
  state.failure_group.clear();
  state.failing_since = Milliseconds(0);
  state.group_since = Milliseconds(0);
  if (!first) {
    state.new_per_week = decayed_rate(state.new_per_week, now_ - claim_.state.last_at, created);
  }
  set_state("healthy");
  context.last_new = state.last_new;
  watch(created, decision.commit.entries.empty(), false);
  plan(due_after_success(options_.schedule, context, state.new_per_week, read_schedule_hints(state.hints)));
}

void DecisionDraft::put_off(std::string detail) {
  FeedState& state = decision.commit.state;
  decision.outcome = Outcome::deferred;
  decision.reason = Reason::worker_host_wait;
  state.last_outcome = to_string(Outcome::deferred);
  state.last_error = to_string(Reason::worker_host_wait);
  state.last_detail = utf8_prefix(redact(detail), longest_detail);
  decision.detail = std::move(detail);
  context.last_new = state.last_new;
  const Milliseconds floor = shortest_floor(options_.schedule, context);
  plan(due_after_failure(context, floor, floor, 1, "host_spacing"));
}

void DecisionDraft::fail(const Failure& failure, std::string detail, std::uint32_t created) {
  FeedState& state = decision.commit.state;
  context.last_new = state.last_new;
  decision.outcome = Outcome::failed;
  decision.reason = failure.reason;
  state.last_outcome = to_string(Outcome::failed);
  state.last_error = to_string(failure.reason);
  state.last_detail = utf8_prefix(redact(detail), longest_detail);
  decision.detail = std::move(detail);
  ++state.polls_failed;
  const std::string_view group = group_of(failure.reason);
  const bool again = state.failure_group == group;
  state.failures = again ? state.failures + 1 : 1;
  if (!again) state.group_since = now_;
  state.failure_group = group;
  if (state.failing_since.count() == 0) state.failing_since = now_;
  if (claim_.state.last_at.count() != 0) {
    state.new_per_week = decayed_rate(state.new_per_week, now_ - claim_.state.last_at, created);
  }
  if (!states_freshness(state.last_status)) context.fresh = Freshness();
  if (failure.reason == Reason::parse_limit && state.failures >= attempts_at_a_limit) {
    quarantine();
    return;
  }
  set_state(failing_state(failure));
  plan(due_after_failure(context, failure.base, failure.cap, state.failures, failure.code));
}

/// SECURITY Q2: what takes more than any document deserves, time after time, waits as what has killed workers does.
void DecisionDraft::quarantine() {
  FeedState& state = decision.commit.state;
  if (state.state != "quarantined") state.quarantined_at = now_;
  set_state("quarantined");
  plan(due_after_failure(context, hours(24), days(7), static_cast<int>(++state.quarantines), "quarantine"));
}

void DecisionDraft::end_as_gone() {
  set_state("gone");
  fail(failure_of_the_gone(), "the server says the feed is gone (410) for good");
}

void DecisionDraft::end_push(std::uint32_t created, bool wrote) {
  FeedState& state = decision.commit.state;
  decision.outcome = wrote ? Outcome::updated : Outcome::unchanged;
  if (wrote) {
    state.total_new += created;
    if (created > 0) state.last_new = now_;
    state.new_per_week = decayed_rate(state.new_per_week, now_ - claim_.state.last_at, created);
    state.last_at = state.push.last_push = now_;
  }
  watch(created, !wrote, true);
  decision.commit.next_due = claim_.due;
  // What brought nothing puts no poll off: a hub may send the same for ever (RELIABILITY I16).
  if (!wrote || state.state != "healthy") return;
  context.last_new = state.last_new;
  plan(due_after_success(options_.schedule, context, state.new_per_week, read_schedule_hints(state.hints)));
  // Sooner than the last answer has asked for it is not: what that was is not known any more.
  if (decision.commit.next_due < claim_.due) decision.commit.next_due = claim_.due;
}

Decision DecisionDraft::take() {
  const FeedState& state = decision.commit.state;
  if (state.state != claim_.state.state) tell_transition();
  tell_host();
  decision.retry_in_s = std::chrono::duration_cast<std::chrono::seconds>(decision.commit.next_due - now_).count();
  return std::move(decision);
}

/// The operator's for this feed, or for its host if that is longer (HTTP F8, H7).
std::optional<Milliseconds> DecisionDraft::least_interval() const {
  std::optional<Milliseconds> least;
  if (settings.interval_min) least = std::chrono::seconds(*settings.interval_min);
  if (options_.host_min_interval.empty()) return least;
  const auto host = options_.host_min_interval.find(host_of(exchange_.requested_url));
  if (host != options_.host_min_interval.end()) least = std::max(least.value_or(host->second), host->second);
  return least;
}

/// HTTP P4, P24.
void DecisionDraft::count_unconditional() {
  FeedState& state = decision.commit.state;
  if (exchange_.unconditional == Unconditional::no) return;
  ++state.polls_unconditional;
  switch (exchange_.unconditional) {
    case Unconditional::no:
      break;
    case Unconditional::first:
      ++state.unconditional_first;
      break;
    case Unconditional::no_validators:
      ++state.unconditional_none;
      break;
    case Unconditional::target_changed:
      ++state.unconditional_target;
      break;
    case Unconditional::probe:
      ++state.unconditional_probe;
      state.last_probe = now_;
      break;
  }
}

/// The host that answered last, "" when it is the one that was asked first.
std::string DecisionDraft::led_to() const {
  if (exchange_.hops.size() < 2) return "";
  std::string last = host_of(exchange_.hops.back().url);
  return last == host_of(exchange_.requested_url) ? "" : last;
}

bool DecisionDraft::host_serves_others() const {
  return claim_.host_served_at.count() != 0 && now_ - claim_.host_served_at <= days(7) && led_to().empty();
}

/// What the answer says of the host, for all its feeds (HTTP H3–H5).
void DecisionDraft::tell_host() {
  const FeedState& state = decision.commit.state;
  HostAnswer& host = decision.commit.host;
  host.host = led_to();
  host.document = state.last_status == 200;
  host.needs_identity = exchange_.identity && decision.outcome != Outcome::failed;
  host.needs_http1 = exchange_.fell_back;
  const bool throttled =
      state.last_error == to_string(Reason::status_forbidden) && host_serves_others() && state.failures <= 3;
  const bool told_when = context.retry_after && context.retry_after->wait.count() > 0;
  if (state.last_status == 429 || state.last_status == 503 || throttled || told_when) {
    host.is = HostAnswer::Is::refused;
    host.cause = state.last_status == 429 ? "rate_limited" : throttled ? "forbidden" : "unavailable";
    if (told_when) host.retry_at = now_ + Milliseconds(context.retry_after->wait);
  } else if (state.last_status >= 200 && state.last_status < 500) {
    host.is = HostAnswer::Is::served;
  }
}

/// WEBSUB §5, and whether the subscription is to be looked after. `barren`: nothing was written.
void DecisionDraft::watch(std::uint32_t created, bool barren, bool payload) {
  if (!options_.push.on) return;
  Commit& commit = decision.commit;
  FeedState& state = commit.state;
  if (payload || is_by_push(claim_.state))
    state.consecutive_empty_pushes = barren ? std::min(state.consecutive_empty_pushes + 1, 1000U) : 0;
  const bool first = claim_.state.imported.count() == 0;
  const PushSight sight{now_, claim_.state.last_at, payload, first ? 0 : created, overdue, state.new_per_week};
  PushVerdict verdict = watch_push(state.push, state.push_health, sight, options_.push);
  state.push_health = verdict.health;
  decision.pushed_first = verdict.pushed_first;
  decision.poll_first = verdict.poll_first;
  if (verdict.state == "healthy") context.push_fallback = verdict.health.fallback;
  if (verdict.state != state.push.state) commit.push_to = verdict.state;

  const HubAdvert& advert = state.advert;
  const bool wanted = !advert.hubs.empty() && advert.missing < 3 && settings.websub != "off";
  const bool subscribed = !state.push.state.empty();
  const bool changed = wanted && advert != claim_.state.advert && advert.missing == claim_.state.advert.missing;
  if (wanted != subscribed || changed)
    commit.push_ask = now_;
  else if (commit.push_to == "failed")
    commit.push_ask = now_ + push_retry_after(state.push.tries);
}

std::string_view DecisionDraft::failing_state(const Failure& failure) const {
  const FeedState& state = decision.commit.state;
  if (state.state == "gone" || state.state == "quarantined") return state.state;  // only a success ends these
  if (failure.blocks_after > 0 && state.failures >= failure.blocks_after) return "blocked";
  if (now_ - state.failing_since >= days(7)) return "failing";
  if (state.failures >= 3 && (state.state == "healthy" || state.state == "new")) return "degraded";
  return state.state;
}

bool DecisionDraft::is_confirmed_gone() const {
  const FeedState& before = claim_.state;
  return before.state == "gone" || (before.failure_group == "status.gone" && now_ - before.group_since >= hours(24));
}

void DecisionDraft::set_state(std::string_view name) {
  FeedState& state = decision.commit.state;
  if (state.state == name) return;
  state.state = name;
  state.state_since = now_;
}

void DecisionDraft::plan(const NextDue& next) {
  decision.commit.next_due = next.due;
  decision.commit.state.due_reason = next.due_reason;
  decision.commit.state.why = why_text(next.inputs);
}

/// HTTP §4: to failing or blocked feed_failing, to gone feed_gone, from these back to healthy feed_recovered.
void DecisionDraft::tell_transition() {
  const std::string& from = claim_.state.state;
  const FeedState& state = decision.commit.state;
  const char* type = nullptr;
  if (state.state == "failing" || state.state == "blocked")
    type = "feed_failing";
  else if (state.state == "gone")
    type = "feed_gone";
  else if (state.state == "healthy" && (from == "failing" || from == "blocked" || from == "gone"))
    type = "feed_recovered";
  if (type == nullptr) return;
  boost::json::object data{
      {"state", state.state}, {"reason", state.last_error}, {"since", state.state_since.count() / 1000}};
  if (state.last_error.empty()) data.erase("reason");
  decision.commit.events.push_back({type, "updated", boost::json::serialize(data), ""});
}

}  // namespace feedmill
