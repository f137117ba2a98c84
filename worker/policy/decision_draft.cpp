#include "worker/policy/decision_draft.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/text/strings.hpp"
#include "worker/base/redact.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/policy/answers.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill {
namespace {

using std::chrono::days;
using std::chrono::hours;

constexpr std::size_t longest_detail = 200;  // bytes of the detail that are kept
constexpr int attempts_at_a_limit = 3;       // consecutive (SECURITY Q2)
constexpr Milliseconds second_look_after = std::chrono::minutes(1);

}  // namespace

std::uint64_t texts_kept(const Retention& retention, const FeedSettings& settings) {
  const std::uint64_t texts = settings.texts.value_or(retention.texts);
  return texts < FeedSettings::all_texts ? texts : Retention::all_texts;
}

TextsToRead texts_to_read(const FeedState& state, const Retention& configured) {
  const std::uint64_t kept = texts_kept(configured, read_settings(state.settings));
  if (kept == Retention::all_texts && !state.trim.texts) return {};
  return {kept, state.trim.texts && *state.trim.texts < kept};
}

Retention retention_of(Retention retention, const FeedSettings& settings, const LastTrim& trim) {
  constexpr std::uint64_t longest_s = std::uint64_t{100} * 366 * 24 * 3600;
  if (settings.keep) retention.entries = *settings.keep;
  retention.entries = std::max(retention.entries, settings.backfill.value_or(0));
  if (settings.keep_age) {
    retention.age = std::chrono::seconds(static_cast<std::int64_t>(std::min(*settings.keep_age, longest_s)));
  }
  if (settings.keep_bytes) retention.bytes = *settings.keep_bytes;
  retention.texts = std::min(texts_kept(retention, settings), trim.texts.value_or(Retention::all_texts));
  return retention;
}

void plan_at(Commit& commit, Milliseconds due, std::string_view code, std::string from, Milliseconds now) {
  commit.next_due = due;
  commit.state.due.reason = code;
  const DueInput input{code, std::max<std::int64_t>((due - now).count() / 1000, 0), std::move(from)};
  commit.state.due.why = encode_due_inputs(std::span(&input, 1));
}

DecisionDraft::DecisionDraft(const Claim& claim, const Exchange& exchange, const PolicyOptions& options,
                             Milliseconds now)
    : settings(read_settings(claim.state.settings)), claim_(claim), exchange_(exchange), options_(options), now_(now) {
  Commit& commit = decision.commit;
  commit.feed_url = claim.feed_url;
  commit.claim = claim.id;
  commit.before = commit.state = claim.state;
  commit.retention = retention_of(options.retention, settings, claim.state.trim);
  FeedState& state = commit.state;
  state.last.at = now;
  state.last.status = 0;
  state.last.error.clear();
  state.last.detail.clear();
  state.push.looks_again = false;
  if (state.due.not_before <= now) state.due.not_before = Milliseconds(0);
  ++state.counts.polls;
  state.counts.total_wire_bytes += exchange.wire_bytes;
  if (exchange.early) ++state.counts.early_polls;
  state.exposure = std::max(state.exposure, exchange.exposure);
  count_unconditional();
  context.phase = phase_of(claim.feed_url);
  context.now = now;
  context.retry_after = retry_after(exchange.headers, whole_seconds(now));
  context.fresh = freshness(exchange.headers, whole_seconds(now));
  context.opened_by_allow = exchange.opened_by_allow;
  context.interval_min = least_interval();
  if (settings.interval_max) context.interval_max = std::chrono::seconds(*settings.interval_max);
  context.not_before = state.due.not_before;
  const OwnQuota quota = own_quota(claim_, exchange, now);
  context.quota_wait = quota.wait;
  const bool was_hurried = claim.state.due.reason == "manual" || claim.state.push.hinted;
  if (quota.used_up && was_hurried) state.due.not_before = std::max(state.due.not_before, now + quota.wait);
  if (context.retry_after && context.retry_after->wait.count() > 0) {
    state.due.not_before = std::max(state.due.not_before, now + Milliseconds(context.retry_after->wait));
  }
}

void DecisionDraft::succeed(Outcome outcome, std::uint32_t created, bool first) {
  FeedState& state = decision.commit.state;
  decision.outcome = outcome;
  state.last.outcome = to_string(outcome);
  state.last.success = now_;
  state.failures = FailureRun();
  const bool stays = !decision.commit.document && claim_.state.last.error.empty();  // the last document's
  const std::string fault = exchange_.fault.value_or(stays ? claim_.state.last.detail : "");
  state.last.detail = utf8_prefix(redact(fault), longest_detail);
  if (decision.backlog > 0)
    state.last.detail = fmt::format("{} new posts are older than all stored posts (backlog)", decision.backlog);
  if (!first) {
    state.rhythm.new_per_week = decayed_rate(state.rhythm.new_per_week, now_ - claim_.state.last.at, created);
  }
  set_state("healthy");
  context.last_new = state.rhythm.last_new;
  watch(created, decision.commit.entries.empty(), false);
  plan(with_second_look(after_success()));
  go_on_with_pages(decision.commit, claim_, false, now_);
}

/// Records an attempt that was no success.
void DecisionDraft::note(Outcome outcome, Reason reason, std::string detail) {
  FeedState& state = decision.commit.state;
  decision.outcome = outcome;
  decision.reason = reason;
  state.last.outcome = to_string(outcome);
  state.last.error = to_string(reason);
  state.last.detail = utf8_prefix(redact(detail), longest_detail);
  decision.detail = std::move(detail);
  context.last_new = state.rhythm.last_new;
}

NextDue DecisionDraft::after_success() const {
  const FeedState& state = decision.commit.state;
  return due_after_success(options_.schedule, context, state.rhythm.new_per_week,
                           read_schedule_hints(state.document.hints));
}

void DecisionDraft::put_off(std::string detail) {
  note(Outcome::deferred, Reason::worker_host_wait, std::move(detail));
  const Milliseconds floor = shortest_floor(options_.schedule, context);
  plan(due_after_failure(context, floor, floor, 1, "host_spacing"));
  go_on_with_pages(decision.commit, claim_, true, now_);
}

void DecisionDraft::fail(const Failure& failure, std::string detail, std::uint32_t created) {
  FeedState& state = decision.commit.state;
  note(Outcome::failed, failure.reason, std::move(detail));
  ++state.counts.polls_failed;
  if (is_of_storm(failure.reason)) {
    weather_storm();
    return;
  }
  const std::string_view group = group_of(failure.reason);
  FailureRun& failures = state.failures;
  const bool again = failures.group == group;
  failures.count = again ? failures.count + 1 : 1;
  if (!again) failures.group_since = now_;
  failures.group = group;
  if (failures.since.count() == 0) failures.since = now_;
  if (claim_.state.last.at.count() != 0) {
    state.rhythm.new_per_week = decayed_rate(state.rhythm.new_per_week, now_ - claim_.state.last.at, created);
  }
  if (!states_freshness(state.last.status)) context.fresh = Freshness();
  if (failure.reason == Reason::parse_limit && failures.count >= attempts_at_a_limit) {
    quarantine();
    return;
  }
  set_state(failing_state(failure));
  plan(due_after_failure(context, failure.base, failure.cap, failures.count, failure.code));
  go_on_with_pages(decision.commit, claim_, true, now_);
}

/// After a failure in a storm of the host: the feed's state, failures and interval stay unchanged.
void DecisionDraft::weather_storm() {
  if (!states_freshness(decision.commit.state.last.status)) context.fresh = Freshness();
  plan(after_success());
}

bool DecisionDraft::is_of_storm(Reason reason) const {
  constexpr Milliseconds longest = days(7);
  return claim_.host_storm.count() != 0 && now_ - claim_.host_storm < longest && !is_of_another_server(exchange_) &&
         is_like_a_storm(reason);
}

/// SECURITY Q2: a document that repeatedly exceeds all reasonable cost backs off like one that killed workers.
void DecisionDraft::quarantine() {
  FeedState& state = decision.commit.state;
  if (state.state != "quarantined") state.quarantine.since = now_;
  set_state("quarantined");
  plan(due_after_failure(context, hours(24), days(7), static_cast<int>(++state.quarantine.count), "quarantine"));
}

void DecisionDraft::end_as_gone() {
  set_state("gone");
  fail(failure_of_the_gone(), "the server reports the feed as gone (410)");
}

void DecisionDraft::end_push(std::uint32_t created, bool wrote) {
  FeedState& state = decision.commit.state;
  decision.outcome = wrote ? Outcome::updated : Outcome::unchanged;
  if (wrote) {
    state.counts.total_new += created;
    if (created > 0) state.rhythm.last_new = now_;
    state.rhythm.new_per_week = decayed_rate(state.rhythm.new_per_week, now_ - claim_.state.last.at, created);
    state.last.at = state.last.success = state.push.standing.last_push = now_;
  }
  watch(created, !wrote, true);
  decision.commit.next_due = claim_.due;
  // A push that changed nothing does not postpone the poll: a hub may repeat one forever (RELIABILITY I16).
  if (!wrote || state.state != "healthy") {
    if (state.due.reason == "websub_push") plan_at(decision.commit, claim_.due, "pushed", "", now_);
    return;
  }
  context.last_new = state.rhythm.last_new;
  plan(after_success());
  // Not earlier than planned: the last response may have requested that delay, but it is not stored.
  if (decision.commit.next_due < claim_.due) plan_at(decision.commit, claim_.due, "pushed", "", now_);
  go_on_with_pages(decision.commit, claim_, false, now_);
}

Decision DecisionDraft::take() {
  const FeedState& state = decision.commit.state;
  if (state.state != claim_.state.state) tell_transition();
  tell_host();
  decision.retry_in_s = std::chrono::duration_cast<std::chrono::seconds>(decision.commit.next_due - now_).count();
  return std::move(decision);
}

/// The operator's minimum for this feed, or for its host if longer (HTTP F8, H7).
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
  if (exchange_.unconditional == Unconditional::no) return;
  FeedState& state = decision.commit.state;
  ++state.counts.polls_unconditional;
  switch (exchange_.unconditional) {
    case Unconditional::no:
      break;
    case Unconditional::first:
      ++state.counts.unconditional_first;
      break;
    case Unconditional::no_validators:
      ++state.counts.unconditional_none;
      break;
    case Unconditional::target_changed:
      ++state.counts.unconditional_target;
      break;
    case Unconditional::probe:
      ++state.counts.unconditional_probe;
      state.validators.last_probe = now_;
      break;
  }
}

bool DecisionDraft::host_serves_others() const {
  return claim_.host_served_at.count() != 0 && now_ - claim_.host_served_at <= days(7) &&
         !is_of_another_server(exchange_);
}

/// Records what the response says about its server, for all feeds on it (HTTP H3–H5).
void DecisionDraft::tell_host() {
  const FeedState& state = decision.commit.state;
  const bool throttled =
      state.last.error == to_string(Reason::status_forbidden) && host_serves_others() && state.failures.count <= 3;
  HostAnswer& host = decision.commit.host;
  // A feed that is forbidden repeatedly has a problem of its own.
  const Forbidden forbidden = !throttled                  ? Forbidden::for_good
                              : state.failures.count == 1 ? Forbidden::over_quota
                                                          : Forbidden::throttled;
  const bool is_feed = claim_.state.last.success.count() != 0 || decision.outcome != Outcome::failed;
  host = host_answer(claim_, exchange_, state.last.status, forbidden, is_feed, now_);
  if (is_of_another_site(claim_, exchange_)) return;
  host.needs_identity = exchange_.identity && decision.outcome != Outcome::failed;
  host.needs_http1 = exchange_.fell_back;
  if (host.is != HostAnswer::Is::refused && decision.outcome == Outcome::failed) {
    const bool was_healthy = claim_.state.state == "healthy" && claim_.state.failures.count == 0;
    const bool in_storm = claim_.host_storm.count() != 0 && !is_of_another_server(exchange_);
    if (in_storm || (was_healthy && is_like_a_storm(decision.reason))) host.cause = to_string(decision.reason);
  }
}

/// WEBSUB §5, and whether to update the subscription. `barren`: nothing was written.
void DecisionDraft::watch(std::uint32_t created, bool barren, bool payload) {
  if (!options_.push.on) return;
  Commit& commit = decision.commit;
  FeedPushes& push = commit.state.push;
  const bool by_push = is_by_push(claim_.state), looked_again = !payload && claim_.state.push.looks_again;
  if (payload || by_push)
    push.empty_in_a_row = barren ? std::min(push.empty_in_a_row + 1, 1000U) : 0;
  else if (looked_again && !barren)
    push.empty_in_a_row = 0;  // the first look counted its push
  if (!payload)
    push.looks_again = by_push && decision.outcome != Outcome::updated && may_look_again();
  else if (!barren)
    push.looks_again = false;
  const bool first = claim_.state.rhythm.imported.count() == 0;
  const double new_per_week = commit.state.rhythm.new_per_week;
  const PushSight sight{now_, claim_.state.last.at, payload, first ? 0 : created, overdue, new_per_week, looked_again};
  PushVerdict verdict = watch_push(push.standing, push.health, sight, options_.push);
  push.health = verdict.health;
  decision.pushed_first = verdict.pushed_first;
  decision.poll_first = verdict.poll_first;
  if (verdict.state == "healthy") context.push_fallback = verdict.health.fallback;
  if (verdict.state != push.standing.state) commit.push_to = verdict.state;

  const HubAdvert advert = chosen_hubs(settings, commit.state, claim_.feed_url);
  const HubAdvert before = chosen_hubs(settings, claim_.state, claim_.feed_url);
  const bool wanted = wants_hub(settings, advert);
  const bool subscribed = !push.standing.state.empty();
  const bool changed = wanted && advert != before && advert.missing == before.missing;
  if (wanted != subscribed || changed)
    commit.push_ask = now_;
  else if (commit.push_to == "failed")
    commit.push_ask = now_ + push_retry_after(push.standing.tries);
}

/// WEBSUB P6: whether to poll again soon, because a cache may serve a post later than its push. Not if the feed's
/// pushes usually bring nothing, nor if the operator's minimum interval is longer.
bool DecisionDraft::may_look_again() const {
  const bool is_rare = context.interval_min && *context.interval_min > second_look_after;
  return decision.commit.state.push.empty_in_a_row < 3 && !is_rare;
}

/// Moves a due time forward to the second look, if one is planned.
NextDue DecisionDraft::with_second_look(NextDue next) const {
  if (!decision.commit.state.push.looks_again) return next;
  const Milliseconds at = std::max(now_ + second_look_after, decision.commit.state.due.not_before);
  if (at >= next.due) return next;
  next.due = at;
  next.due_reason = "second_look";
  next.inputs.push_back({"second_look", (at - now_).count() / 1000, ""});
  return next;
}

std::string_view DecisionDraft::failing_state(const Failure& failure) const {
  const FeedState& state = decision.commit.state;
  if (state.state == "gone" || state.state == "quarantined") return state.state;  // only a success ends these
  if (failure.blocks_after > 0 && state.failures.count >= failure.blocks_after) return "blocked";
  const bool stays = state.state == "blocked" || state.state == "paused";
  // Posts of a truncated document count as read.
  const bool read = state.rhythm.imported.count() != 0 || state.counts.total_new > 0;
  if (!read && !stays) return "never_read";
  if (now_ - state.failures.since >= days(7)) return "failing";
  if (state.state == "new" || (state.failures.count >= 3 && state.state == "healthy")) return "degraded";
  return state.state;
}

bool DecisionDraft::is_confirmed_gone() const {
  const FailureRun& failures = claim_.state.failures;
  return claim_.state.state == "gone" || (failures.group == "status.gone" && now_ - failures.group_since >= hours(24));
}

void DecisionDraft::set_state(std::string_view name) {
  FeedState& state = decision.commit.state;
  if (state.state == name) return;
  state.state = name;
  state.state_since = now_;
}

void DecisionDraft::plan(const NextDue& next) {
  decision.commit.next_due = next.due;
  decision.commit.state.due.reason = next.due_reason;
  decision.commit.state.due.why = encode_due_inputs(next.inputs);
}

/// HTTP §4: publishes feed_failing on a change to never_read, failing or blocked; feed_gone on gone; feed_recovered on
/// the way back to healthy.
void DecisionDraft::tell_transition() {
  const std::string& from = claim_.state.state;
  const FeedState& state = decision.commit.state;
  const auto fails = [](std::string_view name) {
    return name == "never_read" || name == "failing" || name == "blocked";
  };
  const char* type = nullptr;
  if (fails(state.state))
    type = "feed_failing";
  else if (state.state == "gone")
    type = "feed_gone";
  else if (state.state == "healthy" && (fails(from) || from == "gone"))
    type = "feed_recovered";
  if (type == nullptr) return;
  boost::json::object data{
      {"state", state.state}, {"reason", state.last.error}, {"since", state.state_since.count() / 1000}};
  if (state.last.error.empty()) data.erase("reason");
  if (fails(state.state) && from == "new") data["first"] = true;  // the feed has never been reached before
  decision.commit.events.push_back({type, "updated", boost::json::serialize(data), ""});
}

}  // namespace feedmill
