#include "worker/policy/decide.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "storage/records/diff.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/records/resanitise.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/policy/answers.hpp"
#include "worker/policy/decision_draft.hpp"
#include "worker/policy/feed_identity.hpp"

namespace feedmill {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;

/// In a truncated document, posts under new guids may be listed again under their old ones after its end. Postpones
/// them until a complete document arrives.
void keep_certain(EntryDiff& diff, const Document& document, const StoredSnapshot& known) {
  std::unordered_set<std::string_view> doubtful;
  for (std::size_t i = 0; i < known.guids.size() && i < document.entries.size(); ++i) {
    if (!known.guids[i].stored_guid.empty()) doubtful.insert(document.entries[i].guid);
  }
  std::erase_if(diff.writes, [&](const EntryWrite& write) { return doubtful.contains(write.guid); });
  diff.rekeys.clear();
}

/// The stored feed fields, plus new ones of a truncated document: fields it omits are unknown. A type is taken only
/// with its text, lists may be incomplete, and `san_ver` describes all posts of a document, but this one lists only
/// some.
Fields completed(const Fields& stored, const Fields& read) {
  Fields all = stored;
  for (const auto& field : read) {
    constexpr std::string_view type = "_type";
    std::string_view name = field.first;
    if (name.ends_with(type)) name.remove_suffix(type.size());
    if (name == "san_ver" || holds_json(name)) continue;
    if (find_field(stored, name) == nullptr) all.push_back(field);
  }
  return all;
}

/// Removes posts that their publisher has deleted.
void leave_out(std::vector<EntryWrite>& writes, const std::vector<std::string>& deleted) {
  const std::unordered_set<std::string_view> gone(deleted.begin(), deleted.end());
  std::erase_if(writes, [&](const EntryWrite& write) { return gone.contains(write.guid); });
}

/// Posts that a complete document deletes: `deleted`, and those neither stored nor listed, because their first push may
/// be in transit. Latest deletions last.
std::vector<std::string> taken_back(const Document& document, const StoredSnapshot& known,
                                    const std::vector<std::string>& deleted) {
  if (document.deleted.empty() || document.cut_short) return deleted;
  std::unordered_set<std::string_view> listed;
  for (const EntryRecord& record : document.entries) listed.insert(record.guid);
  const std::unordered_set<std::string_view> counts(deleted.begin(), deleted.end());
  std::vector<const Deletion*> all;
  for (std::size_t i = 0; i < document.deleted.size(); ++i) {
    const Deletion& deletion = document.deleted[i];
    const bool is_stored = i < known.deletable.size() && !known.deletable[i].empty();
    if (counts.contains(deletion.guid) || (!is_stored && !listed.contains(deletion.guid))) all.push_back(&deletion);
  }
  std::ranges::stable_sort(all, {}, [](const Deletion* deletion) { return deletion->when; });
  std::vector<std::string> guids;
  guids.reserve(all.size());
  for (const Deletion* deletion : all) guids.push_back(deletion->guid);
  return guids;
}

class Decider {
 public:
  Decider(const Claim& claim, const Exchange& exchange, const StoredSnapshot& known, const PolicyOptions& options,
          Milliseconds now)
      : claim_(claim),
        exchange_(exchange),
        known_(known),
        options_(options),
        now_(now),
        draft_(claim, exchange, options, now) {}

  void operator()(Document& document) {
    FeedState& state = draft_.state();
    state.last.status = 200;
    const bool first = state.rhythm.imported.count() == 0;
    if (first && !document.failure) {
      std::vector<std::int64_t> dates;
      for (const EntryRecord& entry : document.entries) {
        if (entry.timestamp) dates.push_back(*entry.timestamp);
      }
      state.rhythm.new_per_week = imported_rate(dates, now_);
      state.rhythm.imported = now_;
      const auto newest = std::max_element(dates.begin(), dates.end());
      state.rhythm.last_new =
          newest == dates.end() ? now_ : std::clamp(Milliseconds(*newest * 1000), Milliseconds(1), now_);
    }
    count_document(state, document, known_, now_);  // before diff_entries() consumes the fields
    EntryDiff diff =
        diff_entries(std::move(document.entries), known_, now_, options_.events.shown_up_to(), claim_.state.last.at);
    Commit& commit = draft_.commit();
    if (document.cut_short) {
      keep_certain(diff, document, known_);
      leave_out(diff.writes, withdrawn(document.deleted, known_.deletable, document.entries));  // nor create them
      std::erase_if(diff.writes, [&](const EntryWrite& write) {  // the stored version may be the complete one
        return write.guid == document.cut_post && !write.id.empty();
      });
    } else {
      commit.deleted = withdrawn(document.deleted, known_.deletable, document.entries);
      leave_out(diff.writes, commit.deleted);
    }
    remember_withdrawn(state.identity.withdrawn, taken_back(document, known_, commit.deleted), diff.writes);
    const auto created = static_cast<std::uint32_t>(std::count_if(
        diff.writes.begin(), diff.writes.end(), [](const EntryWrite& write) { return write.id.empty(); }));
    const auto is_backlog = [&](const EntryWrite& write) {
      return write.id.empty() && write.timestamp < known_.oldest;
    };
    const auto old = static_cast<std::uint32_t>(std::ranges::count_if(diff.writes, is_backlog));
    const std::uint32_t backlog = old > StoredSnapshot::usual_news ? old : 0;
    if (backlog > 0) commit.backlog_before = known_.oldest;
    draft_.decision.backlog = backlog;
    if (created > backlog && (!first || document.failure)) state.rhythm.last_new = now_;
    if (created > 0) ++state.counts.polls_with_new;
    state.counts.total_new += created;
    state.counts.total_body_bytes += document.print.body_bytes;
    if (created > 0 && !first) state.validators.broken = exchange_.unconditional == Unconditional::probe;
    state.validators.not_modified_since = Milliseconds(0);

    commit.document = true;
    // If every document is truncated, there is no complete import: posts after the first ones are new.
    commit.initial = first && !(document.failure && claim_.state.counts.total_new > 0);
    commit.entries = std::move(diff.writes);
    commit.tombs_back = known_.back;
    if (!document.cut_short) {
      commit.rekeys = std::move(diff.rekeys);
      commit.rekeys.insert(commit.rekeys.end(), known_.rekeys.begin(), known_.rekeys.end());
      if (!commit.rekeys.empty()) commit.rekeyed = rekeyed_event(commit.rekeys, document.identified_by);
      commit.tombs_new = known_.tombs_new;
      commit.tombs_left = known_.left;
    }
    const std::uint64_t listed = document.entries.size();
    // An empty document is usually a server fault: do not trim the posts of the previous one.
    state.document.listed = document.cut_short || listed == 0 ? std::max(state.document.listed, listed) : listed;
    commit.retention.listed = state.document.listed;
    state.trim.kept = commit.retention.count();
    if (!document.failure && !diff.has_more) keep_texts();
    commit.nothing_to_trim = has_nothing_to_trim();
    draft_.decision.unchanged = diff.unchanged;
    if (document.failure) {  // draw no other conclusions; the next document is read completely
      tell_feed(document, first);
      if (!diff.has_more && !was_read_alike(claim_.state)) take_print({});  // compared only once
      draft_.fail(failure_of_error(document.failure->reason, true), document.failure->detail, created);
      return;
    }
    const bool keeps_idle =
        commit.entries.empty() && !compares_all(claim_.state, claim_.now) && keep_idle(known_.feed, document.feed);
    document.has_idle = document.has_idle || keeps_idle;
    note_comparison(diff, document, first);
    // HTTP P2. A truncated document may be complete next time under the same validators; if the same bytes arrive
    // twice, it always ends there.
    const bool is_whole = !document.cut_short || !document.cut_post.empty();
    if (diff.has_more) {  // the next poll reads it again and compares it with the same items
      state.validators.etag = state.validators.last_modified = "";
    } else {
      if (is_whole) take_validators();
      take_print(document.print);
    }
    state.document.ends_early = document.cut_short && document.cut_post.empty();
    state.refused = RefusedDocument();
    if (!document.cut_short && !diff.has_more) {
      std::string items = items_text(document.context, document.entries);
      if (items != known_.items) commit.items = std::move(items);
    }
    if (std::string hints = to_text(document.hints); !document.cut_short || !hints.empty()) {
      state.document.hints = std::move(hints);
    }
    tell_feed(document, first);
    draft_.context.gap = !document.cut_short && is_gap(claim_.state, document, known_);
    if (draft_.context.gap) commit.events.push_back(gap_event(document, known_, now_));
    walk_back(document, first);
    if (!document.cut_short || !document.hubs.hubs.empty()) take_advert(document.hubs);
    draft_.overdue = has_overdue(commit.entries);
    consider_move({first || shares_guid(), names(document, exchange_.requested_url), document.new_location});
    const bool noticed = std::any_of(commit.entries.begin(), commit.entries.end(),
                                     [](const EntryWrite& write) { return !write.quiet; }) ||
                         !commit.rekeys.empty() || !commit.deleted.empty();
    draft_.succeed(noticed ? Outcome::updated : Outcome::unchanged, created - backlog, first);
  }

  void operator()(const SameBody& same) {
    FeedState& state = draft_.state();
    state.last.status = 200;
    ++state.counts.polls_same_body;
    state.counts.total_body_bytes += same.print.body_bytes;
    state.validators.not_modified_since = Milliseconds(0);
    trim_if_needed();
    take_validators();
    take_print(same.print);
    state.document.ends_early = false;
    consider_move({true, false, unretracted()});
    draft_.succeed(Outcome::unchanged, 0, false);
  }

  void operator()(const NotModified&) {
    FeedState& state = draft_.state();
    state.last.status = 304;
    ++state.counts.polls_not_modified;
    const Validators& renewed = exchange_.validators;  // HTTP P2: replace those it has, keep the others
    if (!renewed.etag.empty()) state.validators.etag = renewed.etag;
    if (!renewed.last_modified.empty()) state.validators.last_modified = renewed.last_modified;
    if (state.validators.not_modified_since.count() == 0) state.validators.not_modified_since = now_;
    trim_if_needed();
    consider_move({true, false, unretracted()});
    draft_.succeed(Outcome::not_modified, 0, false);
  }

  void operator()(const HttpStatus& answer) {
    draft_.state().last.status = answer.status;
    if (answer.status == 410 && draft_.is_confirmed_gone()) {
      draft_.end_as_gone();
      return;
    }
    if (answer.challenge) {
      draft_.fail(failure_of_challenge(), "the server requires a browser (" + std::to_string(answer.status) + ")");
      return;
    }
    if (answer.status == 403 && draft_.host_serves_others()) {  // possibly throttling, for up to three responses
      Failure forbidden = failure_of_status(403);
      ++forbidden.blocks_after;
      draft_.fail(forbidden, "the server answered 403, but serves other feeds");
      return;
    }
    std::string detail = "the server answered " + std::to_string(answer.status);
    if (answer.status == 429 && draft_.context.retry_after) {  // HTTP P10: Retry-After replaces our back-off
      draft_.fail({Reason::status_rate_limited, minutes(60), minutes(60), "rate_limited"}, detail);
      return;
    }
    if (answer.status == 304) detail += " to a request without validators";
    draft_.fail(failure_of_status(answer.status), detail);
  }

  void operator()(const FetchError& error) {
    draft_.state().last.status = error.status;
    if (error.reason == Reason::worker_host_wait) {
      draft_.put_off(error.detail);
      return;
    }
    draft_.fail(failure_of_error(error.reason, error.sent), error.detail);
  }

  void operator()(const Unreadable& unreadable) {
    FeedState& state = draft_.state();
    state.last.status = 200;
    if (to_string(unreadable.reason).starts_with("parse.") && !unreadable.print.body_hash.empty()) {
      state.refused = {unreadable.print.body_hash, std::string(to_string(unreadable.reason)), FEEDMILL_VERSION};
    }
    draft_.fail(failure_of_error(unreadable.reason, true), unreadable.detail);
  }

  /// Stores a pushed document. Statistics of polls are kept, because a push is not a response to one. It may be late or
  /// a replay, so it deletes nothing, and it creates neither posts known to be withdrawn nor posts older than
  /// tombstones are kept, which may have been trimmed. Returns the number of changes left to a fetch.
  std::uint32_t take_push(Document& document) {
    draft_.state() = claim_.state;
    EntryDiff diff = diff_entries(std::move(document.entries), known_, now_, options_.events.shown_up_to());
    std::erase_if(diff.writes, [](const EntryWrite& write) { return write.quiet; });  // left to the next poll
    for (const Rekey& rekey : diff.rekeys) {  // also left: unlisted posts may still exist
      std::erase_if(diff.writes, [&](const EntryWrite& write) { return write.guid == rekey.to; });
    }
    const std::vector<std::string> deleted = withdrawn(document.deleted, known_.deletable, document.entries);
    leave_out(diff.writes, deleted);
    const std::size_t all = diff.writes.size() + diff.rekeys.size() + count_stored(document.deleted, deleted);
    std::erase_if(diff.writes,
                  [&](const EntryWrite& write) { return write.id.empty() ? may_be_gone(write) : !is_newer(write); });
    const auto doubtful = static_cast<std::uint32_t>(all - diff.writes.size());
    const auto created = static_cast<std::uint32_t>(
        std::ranges::count_if(diff.writes, [](const EntryWrite& write) { return write.id.empty(); }));
    Commit& commit = draft_.commit();
    commit.document = true;
    commit.entries = std::move(diff.writes);
    commit.retention.listed = commit.retention.hard_cap;  // the document's own list is unknown
    draft_.decision.unchanged = diff.unchanged;
    draft_.end_push(created, !commit.entries.empty());
    return doubtful;
  }

  Decision take() {
    Commit& commit = draft_.commit();
    drop_texts(commit.entries, commit.retention.texts);
    return draft_.take();
  }

 private:
  /// Whether the update itself states a later time (WEBSUB P4), so that a replay cannot undo anything.
  static bool is_newer(const EntryWrite& write) {
    const auto value = [](const Fields& fields) {
      const auto found = std::ranges::find(fields, "date_updated", &Fields::value_type::first);
      return found == fields.end() ? std::string_view() : std::string_view(found->second);
    };
    // Both are UTC in the same format. If unchanged, neither has the field: then it is not newer.
    return value(write.set) > value(write.old);
  }

  static bool is_dated(const EntryWrite& write) {
    return std::ranges::any_of(
        write.set, [](const auto& field) { return field.first == "date_published" || field.first == "date_updated"; });
  }

  /// Whether a post that is not stored may have been stored before, and so is not new.
  bool may_be_gone(const EntryWrite& write) {
    if (was_withdrawn(claim_.state.identity.withdrawn, write.guid)) return true;
    return is_dated(write) && Milliseconds(write.timestamp * 1000) < now_ - draft_.commit().retention.grace;
  }

  /// Number of posts in `deleted` that are stored.
  std::size_t count_stored(const std::vector<Deletion>& deletions, const std::vector<std::string>& deleted) const {
    std::unordered_set<std::string_view> stored;
    for (std::size_t i = 0; i < deletions.size() && i < known_.deletable.size(); ++i) {
      if (!known_.deletable[i].empty()) stored.insert(deletions[i].guid);
    }
    return static_cast<std::size_t>(
        std::ranges::count_if(deleted, [&](const std::string& guid) { return stored.contains(guid); }));
  }

  bool shares_guid() const {
    return std::any_of(known_.guids.begin(), known_.guids.end(), [](const StoredSnapshot::Guid& guid) {
      return (guid.is == StoredSnapshot::Is::same || guid.is == StoredSnapshot::Is::different) &&
             guid.stored_guid.empty();
    });
  }

  static bool names(const Document& document, const std::string& url) {
    return document.self == url || document.prev == url;
  }

  /// A new address in the stored document still counts if the server confirms that document.
  std::string unretracted() const {
    const PendingRedirect& moving = claim_.state.address.moving;
    return moving.by_document ? moving.to : std::string();
  }

  /// HTTP R5, R8. Call after take_validators(): validators belong to the URL that sent them, whichever is requested
  /// next.
  void consider_move(const Identity& identity) {
    Commit& commit = draft_.commit();
    FeedState& state = commit.state;
    const std::string& from = exchange_.requested_url;
    Judgement judgement = judge(claim_.state.address, from, exchange_.hops, identity, now_);
    state.address.moving = std::move(judgement.moving);
    if (judgement.move_to.empty()) return;
    if (state.validators.url.empty()) state.validators.url = from;
    const Move move{now_, from, judgement.move_to};
    const bool back = move.to == claim_.feed_url;
    state.address.fetch_url = back ? "" : move.to;
    if (!back) commit.move_to = move.to;
    remember_move(state.address, move);
    commit.events.push_back(moved_event(move));
  }

  /// HTTP P2: a stored or unchanged document replaces both validators.
  void take_validators() {
    KnownValidators& known = draft_.state().validators;
    const Validators& sent = exchange_.validators;
    known.etag = sent.etag;
    known.last_modified = sent.last_modified;
    const bool any = !sent.etag.empty() || !sent.last_modified.empty();
    known.url = any && sent.url != exchange_.requested_url ? sent.url : "";
  }

  /// Stores learned volatile parts, the time of the next comparison of all values, and whether changes wait for it.
  void note_comparison(const EntryDiff& diff, const Document& document, bool first) {
    std::string learned = diff.volatile_parts.text();
    if (!document.cut_short && learned != known_.volatile_parts) draft_.commit().volatile_parts = std::move(learned);
    NewestDocument& newest = draft_.state().document;
    const bool compares = newest.compared_at.count() != 0, compared = compares_all(claim_.state, claim_.now);
    const bool may_hold_idle = compared ? diff.has_more : !first && (compares || document.has_idle);
    newest.holds_back = diff.has_stale || may_hold_idle;
    if (compared || !compares) newest.compared_at = document.has_idle || newest.holds_back ? now_ : Milliseconds(0);
  }

  /// Whether there is nothing to trim, so that a document without changes can take the short path of a 304.
  bool has_nothing_to_trim() {
    const Commit& commit = draft_.commit();
    const Retention& retention = commit.retention;
    return known_.stored <= retention.count() && retention.age.count() == 0 && retention.bytes == 0 &&
           !commit.state.trim.unfinished && has_noted_texts() &&
           (!known_.first_tomb || *known_.first_tomb + retention.grace > now_);
  }

  /// RELIABILITY L34: the document has brought back the texts that it lists, as many as are kept now.
  void keep_texts() {
    Commit& commit = draft_.commit();
    commit.retention.texts = texts_kept(options_.retention, draft_.settings);
    if (commit.retention.texts != Retention::all_texts) return;
    const auto are_back = std::ranges::count_if(known_.guids, [](const StoredSnapshot::Guid& guid) {
      return guid.wants_texts && find_field(guid.fields, saved_field) == nullptr;
    });
    // Posts that the document does not list, and those that an operator saved, wait for a later one.
    if (std::cmp_greater(known_.textless, are_back))
      commit.state.trim.texts = Retention::all_texts;
    else
      commit.state.trim.texts.reset();
  }

  /// Whether the state says already which posts have texts.
  bool has_noted_texts() {
    const Commit& commit = draft_.commit();
    return commit.retention.texts == commit.state.trim.texts.value_or(Retention::all_texts);
  }

  /// Whether posts beyond the newest ones may still have texts.
  bool has_texts_to_drop() {
    const Commit& commit = draft_.commit();
    return commit.retention.texts < commit.state.trim.texts.value_or(Retention::all_texts);
  }

  void take_print(const BodyPrint& print) {
    NewestDocument& stored = draft_.state().document;
    stored.wire_hash = print.wire_hash;
    stored.body_hash = print.body_hash;
    stored.wire_bytes = print.wire_bytes;
    stored.body_bytes = print.body_bytes;
  }

  void tell_feed(const Document& document, bool first) {
    const Fields read = document.cut_short ? completed(known_.feed, document.feed) : document.feed;
    FeedChange change = change_of(known_.feed, read, options_.events);
    // Differences caused only by this build's rules are not news.
    if (!was_read_alike(claim_.state)) {
      change.changed.clear();
    } else if (!known_.feed_mended.empty()) {
      change.changed = change_of(with_changes(known_.feed, known_.feed_mended), read, options_.events).changed;
    }
    Commit& commit = draft_.commit();
    if (first) {
      if (!document.failure) tell("feed_created", "created", feed_data_json(read), read);
    } else if (!change.changed.empty()) {
      tell("feed_modified", "updated", feed_data_json(read), read, std::move(change.changed));
    } else if (change.for_copies) {
      tell("feed_mended", "updated", mended_data_json(change.write), read);
    }
    commit.feed = std::move(change.write);
    // The stored feed was not looked up, and may have a title set by a client.
    if (first && !document.failure && known_.feed.empty() && find_field(read, "title") == nullptr)
      commit.feed.emplace_back("title", "");
  }

  void tell(const char* type, const char* action, std::string data, const Fields& record, std::string changed = {}) {
    draft_.commit().events.push_back(
        {type, action, std::move(data), std::move(changed), feed_record_json(record, options_.events)});
  }

  /// Without a document, trimming is needed only if the last trim was unfinished, fewer posts are to be kept than
  /// before, or age or bytes are limited; most polls skip it.
  void trim_if_needed() {
    Commit& commit = draft_.commit();
    FeedState& state = commit.state;
    if (state.trim.kept == 0) return;  // the document's own list is unknown
    commit.retention.listed = state.document.listed;
    const std::uint64_t kept = commit.retention.count();
    commit.trim = state.trim.unfinished || kept < state.trim.kept || commit.retention.age.count() != 0 ||
                  commit.retention.bytes != 0 || has_texts_to_drop();
    state.trim.kept = kept;
  }

  /// HTTP P16.
  void walk_back(const Document& document, bool first) {
    OlderPosts& older = draft_.state().older;
    const std::string& url = exchange_.requested_url;
    const bool backfills =
        first && !document.cut_short && document.entries.size() < draft_.settings.backfill.value_or(0);
    if (backfills)
      begin_walk(older, PageWalk::For::backfill, document, url, 0, now_);
    else if (draft_.context.gap && options_.gap_pages > 0)
      begin_walk(older, PageWalk::For::gap, document, url, known_.newest, now_);
  }

  /// WEBSUB §2, D5.
  void take_advert(const HubLinks& links) {
    HubAdvert& advert = draft_.state().push.advert;
    if (!links.hubs.empty())
      advert = {links.topic, links.hubs, 0};
    else if (!advert.hubs.empty() && advert.missing < 3)
      ++advert.missing;
  }

  /// Whether a push should have delivered one of the new posts: old enough, but newer than the subscription and the
  /// last poll.
  bool has_overdue(const std::vector<EntryWrite>& writes) const {
    const Milliseconds from = std::max(claim_.state.push.standing.verified, claim_.state.last.at);
    return std::ranges::any_of(writes, [&](const EntryWrite& write) {
      const Milliseconds at(write.timestamp * 1000);
      return write.id.empty() && is_dated(write) && at > from && now_ - at > push_patience;
    });
  }

  const Claim& claim_;
  const Exchange& exchange_;
  const StoredSnapshot& known_;
  const PolicyOptions& options_;
  const Milliseconds now_;
  DecisionDraft draft_;
};

}  // namespace

bool compares_all(const FeedState& state, Milliseconds now) {
  return state.document.compared_at.count() != 0 && now - state.document.compared_at >= hours(24);
}

bool takes_held_back(const FeedState& state, Milliseconds now) {
  return state.document.holds_back && compares_all(state, now);
}

bool wants_probe(const FeedState& state, Milliseconds now) {
  const KnownValidators& known = state.validators;
  if (known.etag.empty() && known.last_modified.empty()) return false;
  if (known.last_probe.count() != 0 && now - known.last_probe < hours(24)) return false;
  if (known.broken) return true;
  if (state.push.empty_in_a_row > 0 && known.not_modified_since.count() != 0 && is_by_push(state)) return true;
  return known.not_modified_since.count() != 0 && now - known.not_modified_since >= days(14) &&
         state.rhythm.new_per_week > 2;
}

Decision decide(const Claim& claim, Reading&& reading, const Exchange& exchange, const StoredSnapshot& known,
                const PolicyOptions& options, Milliseconds now) {
  Decider decider(claim, exchange, known, options, now);
  std::visit(decider, reading);
  return decider.take();
}

PushDecision decide_push(const Claim& claim, Document&& document, const StoredSnapshot& known,
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
