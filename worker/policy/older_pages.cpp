#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "storage/records/diff.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/policy/answers.hpp"
#include "worker/policy/decision_draft.hpp"
#include "worker/policy/feed_identity.hpp"

namespace feedmill {
namespace {

constexpr Milliseconds pace = std::chrono::seconds(1);  // between pages, without other delays
constexpr Milliseconds first_wait = std::chrono::minutes(15);
constexpr std::uint32_t most_failures = 3;           // consecutive, including deaths of workers (HTTP G6)
constexpr std::uint32_t most_backfill_pages = 1000;  // each with new posts

/// HTTP G3: a page on the feed's server, not less secure than the feed's URL.
bool may_be_page(const std::string& page, const std::string& url) {
  if (page.empty() || page == url || server_of(page) != server_of(url)) return false;
  return !(url.starts_with("https:") && page.starts_with("http:"));
}

/// A page number in WordPress' form.
std::string numbered_page(const std::string& url, std::uint32_t number) {
  std::string page = fmt::format("{}{}paged={}", url, url.find('?') == std::string::npos ? '?' : '&', number);
  return page.size() > max_url_bytes ? std::string() : page;
}

void plan_page(Commit& commit, Milliseconds due, Milliseconds now) {
  const PageWalk& walk = commit.state.older.walk;
  plan_at(commit, std::max(due, commit.state.due.not_before), "pages", std::to_string(walk.pages) + " read", now);
}

bool is_transient(const HttpStatus& answer) {
  return answer.status == 408 || answer.status == 429 || answer.status >= 500;
}

bool is_transient(const FetchError& error) {
  const std::string_view name = to_string(error.reason);
  return !name.starts_with("redirect.") && !name.starts_with("egress.") && !name.starts_with("url.") &&
         !name.starts_with("limit.");
}

class PageDecider {
 public:
  PageDecider(const Claim& claim, const Exchange& exchange, const StoredSnapshot& known, const PolicyOptions& options,
              Milliseconds now)
      : claim_(claim),
        exchange_(exchange),
        known_(known),
        options_(options),
        settings_(read_settings(claim.state.settings)),
        now_(now),
        walk_(decision_.commit.state.older.walk) {
    Commit& commit = decision_.commit;
    commit.feed_url = claim.feed_url;
    commit.claim = claim.id;
    commit.before = commit.state = claim.state;
    commit.at = now;
    commit.state.counts.total_wire_bytes += exchange.wire_bytes;
    commit.state.exposure = std::max(commit.state.exposure, exchange.exposure);
    decision_.outcome = Outcome::unchanged;
    walk_.last = now;
    tell_host();
  }

  void operator()(Document& document) {
    const std::string& answered = exchange_.hops.empty() ? walk_.next : exchange_.hops.back().url;
    const bool as_ever =
        document.identified_by == claim_.state.identity.by && is_told_apart_as_ever(claim_.state.identity, known_);
    if (document.failure) {
      fail(document.failure->reason, document.failure->detail);
    } else if (server_of(answered) != server_of(claim_.address())) {
      end("it is on another server");
    } else if (!as_ever) {
      end("its posts are identified differently");
    } else {
      take(document);
    }
  }
  void operator()(const HttpStatus& answer) {
    const std::string detail = fmt::format("the server answered {}", answer.status);
    if (is_transient(answer)) {
      fail(answer.status == 429 ? Reason::status_rate_limited : Reason::status_server, detail);
    } else {
      refuse_numbers();
      end(detail);
    }
  }
  void operator()(const FetchError& error) {
    if (is_transient(error))
      fail(error.reason, error.detail);
    else
      end(error.detail);
  }
  void operator()(const Unreadable& unreadable) {
    if (unreadable.reason == Reason::worker_memory) {
      fail(unreadable.reason, unreadable.detail);
    } else {
      refuse_numbers();
      end(unreadable.detail);
    }
  }
  void operator()(const SameBody&) { end("it has no posts of its own"); }
  void operator()(const NotModified&) { end("it has no posts of its own"); }

  Decision take_decision() {
    decision_.retry_in_s = (decision_.commit.next_due - now_).count() / 1000;
    return std::move(decision_);
  }

 private:
  void take(Document& document) {
    Commit& commit = decision_.commit;
    OlderPosts& older = commit.state.older;
    const bool heals = walk_.purpose == PageWalk::For::gap;
    const std::size_t all = document.entries.size(), end_of_gap = heals ? first_from_before(document) : all;
    const bool met = end_of_gap < all;
    const std::unordered_set<std::string> undated = undated_from(end_of_gap, document);
    // Posts older than the gap are not missing: they may have been trimmed long ago.
    const std::int64_t oldest = heals ? walk_.back_to : std::numeric_limits<std::int64_t>::min();
    date(document.entries, heals ? walk_.back_to : 0);
    EntryDiff diff = diff_entries(std::move(document.entries), known_, now_, options_.events.shown_up_to());
    std::erase_if(diff.writes, [&](const EntryWrite& write) {
      return !write.id.empty() || undated.contains(write.guid) || write.timestamp < oldest ||
             was_withdrawn(claim_.state.identity.withdrawn, write.guid);
    });
    const auto created = diff.writes.size();
    decision_.unchanged = diff.unchanged;
    commit.document = true;
    commit.entries = std::move(diff.writes);
    commit.initial = !heals;
    commit.healed = heals;
    commit.retention = retention_of(options_.retention, settings_, claim_.state.trim);
    drop_texts(commit.entries, commit.retention.texts);
    if (heals) commit.state.document.listed += created;
    commit.retention.listed = commit.state.document.listed;
    commit.state.trim.kept = commit.retention.count();
    commit.state.counts.total_new += created;
    commit.state.counts.total_body_bytes += document.print.body_bytes;
    ++walk_.pages;
    walk_.posts += created;
    walk_.failures = 0;
    if (created > 0) decision_.outcome = Outcome::updated;
    if (walk_.by == PageWalk::By::archive && walk_.pages == 1) older.newest_archive = mark_of(walk_.next);
    if (walk_.by == PageWalk::By::number && walk_.pages == 1) {
      older.numbers = created > 0 || met ? OlderPosts::Numbers::work : OlderPosts::Numbers::fail;
    }
    if (met || created == 0 || !has_room() || !next_page(document.older)) return end("");
    plan_page(commit, now_ + std::max(pace, own_quota(claim_, exchange_, now_).wait), now_);
  }

  /// The position of the first post that was stored before the gap, or the number of posts if there is none. Newer
  /// known posts were stored since the gap and pushed to this page by new ones. Skipped items are in the feed's newest
  /// document.
  std::size_t first_from_before(const Document& document) const {
    std::size_t place = 0;
    for (; place < document.entries.size(); ++place) {
      const EntryRecord& entry = document.entries[place];
      const bool known = place < known_.guids.size() && known_.guids[place].is != StoredSnapshot::Is::unknown;
      if (known && !entry.passed_over && entry.timestamp.value_or(0) <= walk_.back_to) break;
    }
    return place;
  }

  /// Guids of undated posts from `place` on.
  static std::unordered_set<std::string> undated_from(std::size_t place, const Document& document) {
    std::unordered_set<std::string> guids;
    for (; place < document.entries.size(); ++place) {
      const EntryRecord& entry = document.entries[place];
      if (!entry.timestamp) guids.insert(entry.guid);
    }
    return guids;
  }

  /// Dates undated posts after those of earlier pages (DESIGN §5), but not before `oldest`.
  void date(std::vector<EntryRecord>& entries, std::int64_t oldest) const {
    constexpr std::int64_t page_s = 1000;
    std::int64_t at = walk_.since.count() / 1000 - page_s * (walk_.pages + 1);
    for (EntryRecord& entry : entries) {
      if (!entry.timestamp) entry.timestamp = std::max(at, oldest);
      --at;
    }
  }

  /// HTTP G2: whether more pages may be read and more posts kept.
  bool has_room() const {
    const Commit& commit = decision_.commit;
    if (walk_.purpose == PageWalk::For::backfill) {
      const std::uint64_t wanted = std::min(settings_.backfill.value_or(0), commit.retention.hard_cap);
      return known_.stored + commit.entries.size() < wanted && walk_.pages < most_backfill_pages;
    }
    const std::uint64_t most = commit.retention.strict ? commit.retention.entries : commit.retention.hard_cap;
    return walk_.pages < options_.gap_pages && commit.state.document.listed < most;
  }

  /// Moves to the next page; returns false if there is none or it has been read.
  bool next_page(const OlderLinks& links) {
    std::string next;
    switch (walk_.by) {
      case PageWalk::By::archive:
        next = links.archive;
        if (!next.empty() && mark_of(next) == walk_.known_archive) return false;
        break;
      case PageWalk::By::next:
        next = links.next;
        break;
      case PageWalk::By::number:
        next = numbered_page(claim_.address(), walk_.pages + 2);
        break;
    }
    if (next == walk_.next || !may_be_page(next, claim_.address())) return false;
    walk_.next = std::move(next);
    return true;
  }

  /// The first numbered page does not exist: the server does not support them (HTTP G3).
  void refuse_numbers() {
    if (walk_.by != PageWalk::By::number || walk_.pages > 0) return;
    decision_.commit.state.older.numbers = OlderPosts::Numbers::fail;
  }

  void end(std::string detail) {
    Commit& commit = decision_.commit;
    decision_.detail = std::move(detail);
    const Milliseconds due = std::max({walk_.poll_due, now_ + pace, commit.state.due.not_before});
    const std::string code = walk_.poll_reason.empty() ? "floor" : walk_.poll_reason;
    plan_at(commit, due, code, "", now_);
    commit.state.older.walk = PageWalk();
  }

  void fail(Reason reason, std::string detail) {
    decision_.outcome = Outcome::failed;
    decision_.reason = reason;
    if (++walk_.failures >= most_failures) return end(std::move(detail));
    decision_.detail = std::move(detail);
    plan_page(decision_.commit, now_ + first_wait * (1 << (walk_.failures - 1)), now_);
    if (walk_.poll_due >= decision_.commit.next_due) return;
    const Milliseconds due = std::max({walk_.poll_due, now_ + pace, decision_.commit.state.due.not_before});
    plan_at(decision_.commit, due, walk_.poll_reason, "", now_);
  }

  /// Records what the response shows about its server, for all feeds on it (HTTP H3–H5).
  void tell_host() {
    if (exchange_.hops.empty()) return;
    Commit& commit = decision_.commit;
    const int status = exchange_.hops.back().status;
    commit.host = host_answer(claim_, exchange_, status, Forbidden::for_good, true, now_);
    if (const auto wait = retry_after(exchange_.headers, whole_seconds(now_)); wait && wait->wait.count() > 0) {
      commit.state.due.not_before = std::max(commit.state.due.not_before, now_ + Milliseconds(wait->wait));
    }
    // A missing page does not show whether its host's storm is over (H11).
    const bool is_served = commit.host.is == HostAnswer::Is::served && !is_of_another_site(claim_, exchange_);
    if (claim_.host_storm.count() != 0 && is_served && status != 200)
      commit.host.cause = to_string(Reason::status_not_found);
  }

  const Claim& claim_;
  const Exchange& exchange_;
  const StoredSnapshot& known_;
  const PolicyOptions& options_;
  const FeedSettings settings_;
  const Milliseconds now_;
  Decision decision_;
  PageWalk& walk_;  // part of the commit
};

}  // namespace

void begin_walk(OlderPosts& older, PageWalk::For purpose, const Document& document, const std::string& url,
                std::int64_t back_to, Milliseconds now) {
  PageWalk walk;
  walk.since = now;
  walk.purpose = purpose;
  walk.back_to = back_to;
  const OlderLinks& links = document.older;
  if (may_be_page(links.archive, url)) {
    walk.known_archive = older.newest_archive;
    walk.by = PageWalk::By::archive;
    // An archive never changes, so it is read once (HTTP G3).
    if (mark_of(links.archive) != older.newest_archive) walk.next = links.archive;
  } else if (may_be_page(links.next, url)) {
    walk.by = PageWalk::By::next;
    walk.next = links.next;
  } else if (links.numbered && older.numbers != OlderPosts::Numbers::fail) {
    walk.by = PageWalk::By::number;
    walk.next = numbered_page(url, 2);
  }
  older.walk = walk.next.empty() ? PageWalk() : std::move(walk);
}

bool is_for_page(const Claim& claim) {
  const FeedState& state = claim.state;
  const PageWalk& walk = state.older.walk;
  if (walk.next.empty() || state.state != "healthy" || claim.alone || state.quarantine.strikes > 1) return false;
  const bool wanted = state.due.reason == "manual" || state.push.hinted;
  const bool turn_of_feed = walk.poll_due <= claim.now && walk.last > state.last.at;
  return !wanted && !turn_of_feed && may_be_page(walk.next, claim.address());
}

void go_on_with_pages(Commit& commit, const Claim& claim, bool failed, Milliseconds now) {
  PageWalk& walk = commit.state.older.walk;
  if (walk.next.empty()) return;
  // The worker that died during the previous claim may have been killed by a page.
  if (claim.state.quarantine.strikes > 1) ++walk.failures;
  if (walk.failures >= most_failures || !may_be_page(walk.next, commit.state.address.requested(commit.feed_url))) {
    walk = PageWalk();
    return;
  }
  walk.poll_due = commit.next_due;
  walk.poll_reason = commit.state.due.reason;
  if (!failed && now + pace < commit.next_due) plan_page(commit, now + pace, now);
}

Decision decide_page(const Claim& claim, Reading&& reading, const Exchange& exchange, const StoredSnapshot& known,
                     const PolicyOptions& options, Milliseconds now) {
  PageDecider decider(claim, exchange, known, options, now);
  std::visit(decider, reading);
  return decider.take_decision();
}

}  // namespace feedmill
