#include "worker/decide.hpp"

#include <algorithm>
#include <unordered_set>

#include <boost/json.hpp>

#include "storage/diff.hpp"
#include "storage/feed_fields.hpp"
#include "storage/fields.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/http/answers.hpp"
#include "worker/http/web_url.hpp"
#include "worker/identity.hpp"
#include "worker/probation.hpp"
#include "worker/withdrawal.hpp"

namespace feedmill {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;

/// At most `most` bytes, cut between characters.
std::string_view cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return text.substr(0, most);
}

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

/// Of a document that ends in the middle: what it lists under new guids may be listed under the old ones behind its
/// end. Such posts wait for a whole one.
void keep_certain(EntryDiff& diff, const Document& document, const Known& known) {
  std::unordered_set<std::string_view> doubtful;
  for (std::size_t i = 0; i < known.guids.size() && i < document.entries.size(); ++i) {
    if (!known.guids[i].stored_guid.empty()) doubtful.insert(document.entries[i].guid);
  }
  std::erase_if(diff.writes, [&](const EntryWrite& write) { return doubtful.contains(write.guid); });
  diff.rekeys.clear();
}

/// What is known of the feed, and what the document says besides: of what it does not say nothing is known.
Fields completed(const Fields& stored, const Fields& read) {
  Fields all = stored;
  for (const auto& field : read) {
    if (find_field(stored, field.first) == nullptr) all.push_back(field);
  }
  return all;
}

/// What their publisher has deleted.
void leave_out(std::vector<EntryWrite>& writes, const std::vector<std::string>& deleted) {
  const std::unordered_set<std::string_view> gone(deleted.begin(), deleted.end());
  std::erase_if(writes, [&](const EntryWrite& write) { return gone.contains(write.guid); });
}

class Decider {
 public:
  Decider(const Claim& claim, const Exchange& exchange, const Known& known, const PolicyOptions& options,
          Milliseconds now)
      : claim_(claim),
        exchange_(exchange),
        known_(known),
        options_(options),
        now_(now),
        settings_(read_settings(claim.state.settings)) {
    Commit& commit = decision_.commit;
    commit.feed_url = claim.feed_url;
    commit.claim = claim.id;
    commit.before = commit.state = claim.state;
    commit.retention = retention_of(options.retention, settings_);
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
    context_.feed_url = claim.feed_url;
    context_.now = now;
    context_.retry_after = retry_after(exchange.headers, wall_clock(now));
    context_.fresh = freshness(exchange.headers, wall_clock(now));
    context_.opened_by_allow = exchange.opened_by_allow;
    context_.interval_min = least_interval();
    if (settings_.interval_max) context_.interval_max = std::chrono::seconds(*settings_.interval_max);
    context_.not_before = state.not_before;
    if (context_.retry_after && context_.retry_after->wait.count() > 0) {
      state.not_before = std::max(state.not_before, now + Milliseconds(context_.retry_after->wait));
    }
  }

  void operator()(const Document& document) {
    FeedState& state = decision_.commit.state;
    state.last_status = 200;
    const bool first = state.imported.count() == 0;
    EntryDiff diff = diff_entries(document.entries, known_, now_);
    Commit& commit = decision_.commit;
    if (document.cut_short) {
      keep_certain(diff, document, known_);
    } else {
      commit.deleted = withdrawn(document.deleted, known_.deletable, document.entries);
      leave_out(diff.writes, commit.deleted);
    }
    const auto created = static_cast<std::uint32_t>(std::count_if(
        diff.writes.begin(), diff.writes.end(), [](const EntryWrite& write) { return write.id.empty(); }));
    if (first && !document.failure) {
      std::vector<std::int64_t> dates;
      for (const EntryRecord& entry : document.entries) {
        if (entry.timestamp) dates.push_back(*entry.timestamp);
      }
      state.new_per_week = imported_rate(dates, now_);
      state.imported = now_;
      const auto newest = std::max_element(dates.begin(), dates.end());
      state.last_new = newest == dates.end() ? now_ : std::clamp(Milliseconds(*newest * 1000), Milliseconds(1), now_);
    } else {
      if (created > 0) state.last_new = now_;
    }
    if (created > 0) ++state.polls_with_new;
    state.total_new += created;
    state.total_body_bytes += document.print.body_bytes;
    if (created > 0 && !first) state.validators_broken = exchange_.unconditional == Unconditional::probe;
    state.not_modified_since = Milliseconds(0);

    commit.document = true;
    commit.initial = first;
    commit.entries = std::move(diff.writes);
    commit.tombs_back = known_.back;
    if (!document.cut_short) {
      commit.rekeys = std::move(diff.rekeys);
      commit.rekeys.insert(commit.rekeys.end(), known_.rekeys.begin(), known_.rekeys.end());
      if (!commit.rekeys.empty()) commit.rekeyed = rekeyed_signal(commit.rekeys, document.identified_by);
      commit.tombs_new = known_.tombs_new;
      commit.tombs_left = known_.left;
    }
    const std::uint64_t listed = document.entries.size();
    // An empty document is mostly a server's trouble: the posts of the one before it are not trimmed for it.
    state.listed = document.cut_short || listed == 0 ? std::max(state.listed, listed) : listed;
    commit.retention.listed = state.listed;
    state.kept = commit.retention.count();
    decision_.unchanged = diff.unchanged;
    if (!document.cut_short || document.identified_by != claim_.state.identified_by) {
      count_document(state, document, known_, now_);
    }
    if (document.failure) {  // nothing else is concluded from it, and the next document is read whole
      commit.feed = change_of(known_.feed, completed(known_.feed, document.feed)).write;
      fail(failure_of_error(document.failure->reason, true), document.failure->detail, created);
      return;
    }
    // HTTP P2. One that ends in the middle may be whole the next time, under the same validators; when it comes again
    // byte for byte it is all there is.
    if (!document.cut_short) take_validators();
    take_print(document.print);
    state.refused_hash.clear();
    state.refused_reason.clear();
    state.refused_by.clear();
    if (std::string hints = to_text(document.hints); !document.cut_short || !hints.empty()) {
      state.hints = std::move(hints);
    }
    tell_feed(document, first);
    context_.gap = !document.cut_short && is_gap(claim_.state, document, known_);
    if (context_.gap) commit.signals.push_back(gap_signal(document, known_, now_));
    if (!document.cut_short || !document.hubs.hubs.empty()) take_advert(document.hubs);
    overdue_ = has_overdue(commit.entries);
    consider_move({first || shares_guid(), names(document, exchange_.requested_url), document.new_location});
    const bool noticed = std::any_of(commit.entries.begin(), commit.entries.end(),
                                     [](const EntryWrite& write) { return !write.quiet; }) ||
                         !commit.rekeys.empty() || !commit.deleted.empty();
    succeed(noticed ? Outcome::updated : Outcome::unchanged, created, first);
  }

  void operator()(const SameBody& same) {
    FeedState& state = decision_.commit.state;
    state.last_status = 200;
    ++state.polls_same_body;
    state.total_body_bytes += same.print.body_bytes;
    state.not_modified_since = Milliseconds(0);
    trim_if_needed();
    take_validators();
    take_print(same.print);
    consider_move({true, false, unretracted()});
    succeed(Outcome::unchanged, 0, false);
  }

  void operator()(const NotModified&) {
    FeedState& state = decision_.commit.state;
    state.last_status = 304;
    ++state.polls_not_modified;
    const Validators& renewed = exchange_.validators;  // HTTP P2: those it carries, the rest stays
    if (!renewed.etag.empty()) state.etag = renewed.etag;
    if (!renewed.last_modified.empty()) state.last_modified = renewed.last_modified;
    if (state.not_modified_since.count() == 0) state.not_modified_since = now_;
    trim_if_needed();
    consider_move({true, false, unretracted()});
    succeed(Outcome::not_modified, 0, false);
  }

  void operator()(const HttpStatus& answer) {
    decision_.commit.state.last_status = answer.status;
    if (answer.status == 410 && is_confirmed_gone()) {
      set_state("gone");
      fail(failure_of_the_gone(), "the server says the feed is gone (410) for good");
      return;
    }
    if (answer.challenge) {
      fail(failure_of_challenge(), "the server wants to see a browser (" + std::to_string(answer.status) + ")");
      return;
    }
    if (answer.status == 403 && host_serves_others()) {  // throttling, perhaps: for three answers it is taken for that
      Failure forbidden = failure_of_status(403);
      ++forbidden.blocks_after;
      fail(forbidden, "the server answered 403, and serves others of its feeds");
      return;
    }
    std::string detail = "the server answered " + std::to_string(answer.status);
    if (answer.status == 429 && context_.retry_after) {  // HTTP P10: what it says takes the place of our back-off
      fail({Reason::status_rate_limited, minutes(60), minutes(60), "rate_limited"}, detail);
      return;
    }
    if (answer.status == 304) detail += " to a request without validators";
    fail(failure_of_status(answer.status), detail);
  }

  void operator()(const FetchError& error) {
    decision_.commit.state.last_status = error.status;
    if (error.reason == Reason::worker_host_wait) {
      put_off(error.detail);
      return;
    }
    fail(failure_of_error(error.reason, error.sent), error.detail);
  }

  void operator()(const Unreadable& unreadable) {
    FeedState& state = decision_.commit.state;
    state.last_status = 200;
    if (to_string(unreadable.reason).starts_with("parse.") && !unreadable.print.body_hash.empty()) {
      state.refused_hash = unreadable.print.body_hash;
      state.refused_reason = to_string(unreadable.reason);
      state.refused_by = FEEDMILL_VERSION;
    }
    fail(failure_of_error(unreadable.reason, true), unreadable.detail);
  }

  /// What was pushed, in place of an answer. Its time is no answer's: what was counted and noted of one stays.
  std::uint32_t take_push(const Document& document) {
    FeedState& state = decision_.commit.state;
    const Milliseconds at = state.last_at;
    state = claim_.state;
    EntryDiff diff = diff_entries(document.entries, known_, now_);
    std::erase_if(diff.writes, [](const EntryWrite& write) { return write.quiet; });  // the next poll's
    const std::size_t all = diff.writes.size() + diff.rekeys.size();
    std::erase_if(diff.writes, [&](const EntryWrite& write) { return !write.id.empty() && !is_newer(write); });
    const auto doubtful = static_cast<std::uint32_t>(all - diff.writes.size());
    const auto created = static_cast<std::uint32_t>(
        std::ranges::count_if(diff.writes, [](const EntryWrite& write) { return write.id.empty(); }));
    Commit& commit = decision_.commit;
    commit.document = true;
    commit.entries = std::move(diff.writes);
    commit.retention.listed = commit.retention.hard_cap;  // what the document itself lists is not known
    decision_.unchanged = diff.unchanged;
    decision_.outcome = commit.entries.empty() ? Outcome::unchanged : Outcome::updated;
    state.total_new += created;
    if (created > 0) state.last_new = now_;
    state.new_per_week = decayed_rate(state.new_per_week, now_ - claim_.state.last_at, created);
    state.last_at = at;
    watch(created, commit.entries.empty(), true);
    commit.next_due = claim_.due;
    if (state.state == "healthy") {
      context_.last_new = state.last_new;
      plan(due_after_success(options_.schedule, context_, state.new_per_week, read_schedule_hints(state.hints)));
      // Sooner than the last answer has asked for it is not: what that was is not known any more.
      if (commit.next_due < claim_.due) commit.next_due = claim_.due;
    }
    return doubtful;
  }

  Decision take() {
    const FeedState& state = decision_.commit.state;
    if (state.state != claim_.state.state) tell_transition();
    tell_host();
    decision_.retry_in_s = std::chrono::duration_cast<std::chrono::seconds>(decision_.commit.next_due - now_).count();
    return std::move(decision_);
  }

 private:
  /// Whether a change says itself that it is one of later (WEBSUB P4): what is replayed must not undo anything.
  static bool is_newer(const EntryWrite& write) {
    const auto value = [](const Fields& fields) {
      const auto found = std::ranges::find(fields, "date_updated", &Fields::value_type::first);
      return found == fields.end() ? std::string_view() : std::string_view(found->second);
    };
    // Both UTC in one spelling. What was not changed is in neither: then it is as old as what is stored.
    return value(write.set) > value(write.old);
  }

  /// The operator's for this feed, or for its host if that is longer (HTTP F8, H7).
  std::optional<Milliseconds> least_interval() const {
    std::optional<Milliseconds> least;
    if (settings_.interval_min) least = std::chrono::seconds(*settings_.interval_min);
    if (options_.host_min_interval.empty()) return least;
    const auto host = options_.host_min_interval.find(host_of(exchange_.requested_url));
    if (host != options_.host_min_interval.end()) least = std::max(least.value_or(host->second), host->second);
    return least;
  }

  /// HTTP P4, P24.
  void count_unconditional() {
    FeedState& state = decision_.commit.state;
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

  bool shares_guid() const {
    return std::any_of(known_.guids.begin(), known_.guids.end(), [](const Known::Guid& guid) {
      return (guid.is == Known::Is::same || guid.is == Known::Is::different) && guid.stored_guid.empty();
    });
  }

  static bool names(const Document& document, const std::string& url) {
    return document.self == url || document.prev == url;
  }

  /// What the stored document said of a new address still holds when it is served again.
  std::string unretracted() const { return claim_.state.moving.by_document ? claim_.state.moving.to : std::string(); }

  /// HTTP R5–R9. After take_validators(): those belong to the URL that sent them, whatever is requested next.
  void consider_move(const Identity& identity) {
    Commit& commit = decision_.commit;
    FeedState& state = commit.state;
    const std::string& from = exchange_.requested_url;
    Judgement judgement = judge(claim_.state, from, exchange_.hops, identity, now_);
    state.moving = std::move(judgement.moving);
    if (judgement.move_to.empty()) return;
    if (state.validators_url.empty()) state.validators_url = from;
    const Move move{now_, from, judgement.move_to};
    const bool back = move.to == claim_.feed_url;
    state.fetch_url = back ? "" : move.to;
    if (!back) commit.move_to = move.to;
    remember_move(state, move);
    commit.signals.push_back(moved_signal(move));
  }

  /// The host that answered last, "" when it is the one that was asked first.
  std::string led_to() const {
    if (exchange_.hops.size() < 2) return "";
    std::string last = host_of(exchange_.hops.back().url);
    return last == host_of(exchange_.requested_url) ? "" : last;
  }

  /// HTTP §4, row 403: it gave some feed a 200 within 7 days.
  bool host_serves_others() const {
    return claim_.host_served_at.count() != 0 && now_ - claim_.host_served_at <= days(7) && led_to().empty();
  }

  /// What the answer says of the host, for all its feeds (HTTP H3–H5).
  void tell_host() {
    const FeedState& state = decision_.commit.state;
    HostAnswer& host = decision_.commit.host;
    host.host = led_to();
    host.document = state.last_status == 200;
    host.needs_identity = exchange_.identity && decision_.outcome != Outcome::failed;
    host.needs_http1 = exchange_.fell_back;
    const bool throttled =
        state.last_error == to_string(Reason::status_forbidden) && host_serves_others() && state.failures <= 3;
    const bool told_when = context_.retry_after && context_.retry_after->wait.count() > 0;
    if (state.last_status == 429 || state.last_status == 503 || throttled || told_when) {
      host.is = HostAnswer::Is::refused;
      host.cause = state.last_status == 429 ? "rate_limited" : throttled ? "forbidden" : "unavailable";
      if (told_when) host.retry_at = now_ + Milliseconds(context_.retry_after->wait);
    } else if (state.last_status >= 200 && state.last_status < 500) {
      host.is = HostAnswer::Is::served;
    }
  }

  /// HTTP H6: the chain led to a host that may not be asked now. Nobody's failure; the first hop was asked all the
  /// same.
  void put_off(std::string detail) {
    FeedState& state = decision_.commit.state;
    decision_.outcome = Outcome::deferred;
    decision_.reason = Reason::worker_host_wait;
    state.last_outcome = to_string(Outcome::deferred);
    state.last_error = to_string(Reason::worker_host_wait);
    state.last_detail = cut(detail, 200);
    decision_.detail = std::move(detail);
    context_.last_new = state.last_new;
    const Milliseconds floor = shortest_floor(options_.schedule, context_);
    plan(due_after_failure(context_, floor, floor, 1, "host_spacing"));
  }

  /// HTTP P2: a stored or equal document replaces both validators.
  void take_validators() {
    FeedState& state = decision_.commit.state;
    const Validators& sent = exchange_.validators;
    state.etag = sent.etag;
    state.last_modified = sent.last_modified;
    const bool any = !sent.etag.empty() || !sent.last_modified.empty();
    state.validators_url = any && sent.url != exchange_.requested_url ? sent.url : "";
  }

  void take_print(const BodyPrint& print) {
    FeedState& state = decision_.commit.state;
    state.wire_hash = print.wire_hash;
    state.body_hash = print.body_hash;
    state.wire_bytes = print.wire_bytes;
    state.body_bytes = print.body_bytes;
  }

  void tell_feed(const Document& document, bool first) {
    FeedChange change =
        change_of(known_.feed, document.cut_short ? completed(known_.feed, document.feed) : document.feed);
    Commit& commit = decision_.commit;
    if (first) {
      commit.signals.push_back({"feed_created", "created", feed_data_json(document.feed), ""});
    } else if (!change.changed.empty()) {
      commit.signals.push_back({"feed_modified", "updated", feed_data_json(document.feed), std::move(change.changed)});
    }
    commit.feed = std::move(change.write);
  }

  /// Without a document retention has work only when the last trim left some, when fewer posts are to be kept than
  /// before, and where age or bytes count: most polls pay nothing for it.
  void trim_if_needed() {
    Commit& commit = decision_.commit;
    FeedState& state = commit.state;
    if (state.kept == 0) return;  // what the document lists is not known
    commit.retention.listed = state.listed;
    const std::uint64_t kept = commit.retention.count();
    commit.trim =
        state.untrimmed || kept < state.kept || commit.retention.age.count() != 0 || commit.retention.bytes != 0;
    state.kept = kept;
  }

  void succeed(Outcome outcome, std::uint32_t new_entries, bool first) {
    FeedState& state = decision_.commit.state;
    decision_.outcome = outcome;
    state.last_outcome = to_string(outcome);
    state.last_success = now_;
    state.failures = 0;
    state.failure_group.clear();
    state.failing_since = Milliseconds(0);
    state.group_since = Milliseconds(0);
    if (!first) {
      state.new_per_week = decayed_rate(state.new_per_week, now_ - claim_.state.last_at, new_entries);
    }
    set_state("healthy");
    context_.last_new = state.last_new;
    watch(new_entries, decision_.commit.entries.empty(), false);
    plan(due_after_success(options_.schedule, context_, state.new_per_week, read_schedule_hints(state.hints)));
  }

  /// WEBSUB D1, D5.
  void take_advert(const HubLinks& links) {
    HubAdvert& advert = decision_.commit.state.advert;
    if (!links.hubs.empty())
      advert = {links.topic, links.hubs, 0};
    else if (!advert.hubs.empty() && advert.missing < 3)
      ++advert.missing;
  }

  /// Whether a push should have brought one of the new posts: it is old enough, but not older than what could be.
  bool has_overdue(const std::vector<EntryWrite>& writes) const {
    const Milliseconds from = std::max(claim_.state.push.verified, claim_.state.last_at);
    return std::ranges::any_of(writes, [&](const EntryWrite& write) {
      const bool dated = std::ranges::any_of(write.set, [](const auto& field) {
        return field.first == "date_published" || field.first == "date_updated";
      });
      const Milliseconds at(write.timestamp * 1000);
      return write.id.empty() && dated && at > from && now_ - at > push_patience;
    });
  }

  /// WEBSUB §5, and whether the subscription is to be looked after. `barren`: nothing was written.
  void watch(std::uint32_t created, bool barren, bool payload) {
    if (!options_.push.on) return;
    Commit& commit = decision_.commit;
    FeedState& state = commit.state;
    if (payload || is_by_push(claim_.state)) state.push_barren = barren ? std::min(state.push_barren + 1, 1000U) : 0;
    const bool first = claim_.state.imported.count() == 0;
    const PushSight sight{now_, claim_.state.last_at, payload, first ? 0 : created, overdue_, state.new_per_week};
    PushVerdict verdict = watch_push(state.push, state.push_health, sight, options_.push);
    state.push_health = verdict.health;
    decision_.pushed_first = verdict.pushed_first;
    decision_.poll_first = verdict.poll_first;
    if (verdict.state == "healthy") context_.push_fallback = verdict.health.fallback;
    if (verdict.state != state.push.state) commit.push_to = verdict.state;

    const HubAdvert& advert = state.advert;
    const bool wanted = !advert.hubs.empty() && advert.missing < 3 && settings_.websub != "off";
    const bool subscribed = !state.push.state.empty();
    const bool changed = wanted && advert != claim_.state.advert && advert.missing == claim_.state.advert.missing;
    if (wanted != subscribed || changed)
      commit.push_ask = now_;
    else if (commit.push_to == "failed")
      commit.push_ask = now_ + push_retry_after(state.push.tries);
  }

  /// `created`: posts of a document that broke off.
  void fail(const Failure& failure, std::string detail, std::uint32_t created = 0) {
    FeedState& state = decision_.commit.state;
    context_.last_new = state.last_new;
    decision_.outcome = Outcome::failed;
    decision_.reason = failure.reason;
    state.last_outcome = to_string(Outcome::failed);
    state.last_error = to_string(failure.reason);
    state.last_detail = cut(detail, 200);
    decision_.detail = std::move(detail);
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
    set_state(failing_state(failure));
    if (!states_freshness(state.last_status)) context_.fresh = Freshness();
    plan(due_after_failure(context_, failure.base, failure.cap, state.failures, failure.code));
  }

  std::string_view failing_state(const Failure& failure) const {
    const FeedState& state = decision_.commit.state;
    if (state.state == "gone" || state.state == "quarantined") return state.state;  // only a success ends these
    if (failure.blocks_after > 0 && state.failures >= failure.blocks_after) return "blocked";
    if (now_ - state.failing_since >= days(7)) return "failing";
    if (state.failures >= 3 && (state.state == "healthy" || state.state == "new")) return "degraded";
    return state.state;
  }

  /// A second 410 at least 24 h after the first of them.
  bool is_confirmed_gone() const {
    const FeedState& before = claim_.state;
    return before.state == "gone" || (before.failure_group == "status.gone" && now_ - before.group_since >= hours(24));
  }

  void set_state(std::string_view name) {
    FeedState& state = decision_.commit.state;
    if (state.state == name) return;
    state.state = name;
    state.state_since = now_;
  }

  void plan(const NextDue& next) {
    decision_.commit.next_due = next.due;
    decision_.commit.state.won = next.won;
    decision_.commit.state.why = why_json(next.inputs);
  }

  /// HTTP §4: to failing or blocked feed_failing, to gone feed_gone, from these back to healthy feed_recovered.
  void tell_transition() {
    const std::string& from = claim_.state.state;
    const FeedState& state = decision_.commit.state;
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
    decision_.commit.signals.push_back({type, "updated", boost::json::serialize(data), ""});
  }

  const Claim& claim_;
  const Exchange& exchange_;
  const Known& known_;
  const PolicyOptions& options_;
  Milliseconds now_;
  FeedSettings settings_;
  DueContext context_;
  bool overdue_ = false;  // see has_overdue()
  Decision decision_;
};

}  // namespace

bool wants_probe(const FeedState& state, Milliseconds now) {
  if (state.etag.empty() && state.last_modified.empty()) return false;
  if (state.last_probe.count() != 0 && now - state.last_probe < hours(24)) return false;
  if (state.validators_broken) return true;
  if (state.push_barren > 0 && state.not_modified_since.count() != 0 && is_by_push(state)) return true;
  return state.not_modified_since.count() != 0 && now - state.not_modified_since >= days(14) && state.new_per_week > 2;
}

Decision decide(const Claim& claim, const Reading& reading, const Exchange& exchange, const Known& known,
                const PolicyOptions& options, Milliseconds now) {
  Decider decider(claim, exchange, known, options, now);
  std::visit(decider, reading);
  return decider.take();
}

PushDecision decide_push(const Claim& claim, const Document& document, const Known& known,
                         const PolicyOptions& options) {
  const Exchange none;
  Decider decider(claim, none, known, options, claim.now);
  PushDecision pushed;
  pushed.doubtful = decider.take_push(document);
  pushed.decision = decider.take();
  pushed.decision.commit.host = HostAnswer();
  return pushed;
}

}  // namespace feedmill
