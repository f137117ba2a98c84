#include "worker/ingest/refresh_observer.hpp"

#include <algorithm>
#include <variant>

#include "storage/redis/test_point.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/ingest/trace_text.hpp"

namespace feedmill {
namespace {

template <class Answer>
void note_answer(Report& report, const Answer& answer) {
  for (const Hop& hop : answer.hops) {
    report.statuses.push_back(hop.status);
    if (hop.status == 301 || hop.status == 308)
      ++report.permanent_redirects;
    else if (hop.status >= 300 && hop.status < 400 && hop.status != 304)
      ++report.temporary_redirects;
  }
  report.wire_bytes += answer.wire_bytes;
  report.connect += answer.timings.connect;
  report.first_byte = answer.timings.first_byte;
  report.connections_new += answer.connections_new;
  report.connections_reused += answer.connections_reused;
}

/// Reports that this refresh opened or closed the circuit of a host for all its feeds (HTTP H4, H5, H11).
void note_host(Report& report, const Commit& commit, const Committed& done) {
  if (done.circuit == Committed::Circuit::unchanged) return;
  report.host =
      commit.host.server.empty() ? server_of(commit.before.address.requested(commit.feed_url)) : commit.host.server;
  using Circuit = Committed::Circuit;
  report.circuit_opened = done.circuit == Circuit::opened || done.circuit == Circuit::storm;
  report.storm = done.circuit == Circuit::storm || done.circuit == Circuit::storm_over;
  report.host_cause = commit.host.cause;
  report.circuit_open_for = done.circuit_open_until - commit.decided_at();
}

}  // namespace

RefreshObserver::RefreshObserver(const Claim& claim, TraceText* trace) : claim_(claim), trace_(trace) {
  test_point("S2");
  report_.feed_url = claim.feed_url;
  report_.lateness = std::max(Milliseconds(0), claim.now - claim.due);
  if (trace_ != nullptr) trace_->claimed(claim);
}

Milliseconds RefreshObserver::now() const {
  return claim_.now + std::chrono::duration_cast<Milliseconds>(Clock::now() - began_);
}

void RefreshObserver::fetched(const FetchRequest& request, const FetchResult& fetched) {
  std::visit([this](const auto& answer) { note_answer(report_, answer); }, fetched);
  report_.ignored = request.settings.ignored;
  if (trace_ != nullptr) trace_->answered(request, fetched);
}

void RefreshObserver::read(const Reading& reading, Clock::duration took) {
  report_.parse += took;
  if (trace_ != nullptr) trace_->read(reading);
}

void RefreshObserver::attempted(const Exchange& exchange, const Reading& reading) {
  report_.unconditional = exchange.unconditional;
  report_.early = exchange.early;
  if (const auto* document = std::get_if<Document>(&reading)) {
    report_.body_bytes = document->print.body_bytes;
    report_.saved_compression =
        std::max(document->print.body_bytes, document->print.wire_bytes) - document->print.wire_bytes;
    report_.flaws = document->flaws;
  } else if (const auto* same = std::get_if<SameBody>(&reading)) {
    report_.body_bytes = same->print.body_bytes;
    report_.saved_hash = same->print.body_bytes;
  } else if (std::holds_alternative<NotModified>(reading)) {
    report_.saved_not_modified = claim_.state.document.wire_bytes;
  }
}

void RefreshObserver::decided(const StoredSnapshot& known, const Decision& decision) {
  report_.outcome = decision.outcome;
  report_.reason = decision.reason;
  report_.detail = decision.detail;
  report_.unchanged = decision.unchanged;
  report_.next_in = std::chrono::seconds(decision.retry_in_s);
  report_.due_reason = decision.commit.state.due.reason;
  report_.pushed_first = decision.pushed_first;
  report_.poll_first = decision.poll_first;
  report_.state_from = claim_.state.state;
  report_.state_to = decision.commit.state.state;
  if (trace_ != nullptr) trace_->decided(claim_, known, decision);
  test_point("S6");
  commit_from_ = Clock::now();
}

void RefreshObserver::sent(const StoreResult<Committed>& done) {
  commit_until_ = Clock::now();
  if (trace_ != nullptr) trace_->committed(done);
  if (done) test_point("S9");
}

Report RefreshObserver::deferred(Reason reason, const std::string& detail, Milliseconds next_in, bool is_back) {
  report_.outcome = Outcome::deferred;
  report_.reason = reason;
  report_.detail = detail;
  report_.state_from = report_.state_to = claim_.state.state;
  report_.next_in = next_in;
  report_.claim_release_pending = !is_back;
  return ended();
}

Report RefreshObserver::not_stored(const StoreError& error, Milliseconds next_in, bool is_back) {
  note_nothing_written();
  report_.reason = error.code == StoreError::Code::refused ? Reason::store_refused : Reason::store_unavailable;
  report_.detail = error.detail;
  report_.next_in = next_in;
  report_.claim_release_pending = !is_back;
  return ended();
}

Report RefreshObserver::committed(const Decision& decision, const Committed& done) {
  if (done.result == Committed::Result::stale) {
    note_nothing_written();
    report_.reason = Reason::store_stale;
    report_.detail = "another worker has since claimed the feed; nothing was written";
  } else {
    note_committed(decision, done);
  }
  return ended();
}

void RefreshObserver::note_committed(const Decision& decision, const Committed& done) {
  Report& report = report_;
  report.created = done.created;
  report.modified = done.modified;
  report.trimmed = done.trimmed;
  const auto count = [&report](const char* type, std::uint32_t times) {
    if (times > 0) report.events.emplace_back(type, times);
  };
  count("post_created", done.created);
  count("post_modified", done.modified);
  count("post_trimmed", done.trimmed);
  count("post_deleted", done.deleted);
  count("feed_rekeyed", done.rekeyed > 0 ? 1 : 0);
  if (done.result != Committed::Result::ok) return;
  const std::vector<Move>& moves = decision.commit.state.address.moves;
  if (moves != decision.commit.before.address.moves) {
    report.moved = !done.move_taken;
    report.move_taken = done.move_taken;
    report.moved_from = moves.back().from;
    report.moved_to = moves.back().to;
  }
  note_host(report, decision.commit, done);
  if (done.push_turned) {
    report.push_from = decision.commit.before.push.standing.state;
    report.push_to = decision.commit.push_to;
    report.push_hub = decision.commit.before.push.standing.hub;
    report.push_fell = decision.commit.before.push.standing.fell.count() != 0;
    report.hub_in_trouble = done.hub_in_trouble;
  }
  for (const FeedEvent& event : decision.commit.events) {
    if (!done.move_taken || event.type != "feed_moved") count(event.type.c_str(), 1);
  }
  report.backlog = decision.backlog;
  if (decision.commit.initial || decision.commit.healed || decision.backlog > 0) return;
  const std::int64_t stored = decision.commit.state.last.at.count() / 1000;
  for (const EntryWrite& write : decision.commit.entries) {
    const bool dated = std::any_of(write.set.begin(), write.set.end(), [](const auto& field) {
      return field.first == "date_published" || field.first == "date_updated";
    });
    if (write.id.empty() && dated) report.publish_delays.push_back(static_cast<double>(stored - write.timestamp));
  }
}

/// Corrects the report, because the decision was not written.
void RefreshObserver::note_nothing_written() {
  report_.outcome = Outcome::failed;
  report_.state_to = report_.state_from;
  report_.unchanged = 0;
  report_.pushed_first = report_.poll_first = false;
}

Report RefreshObserver::ended() {
  if (commit_from_ && commit_until_) report_.commit = *commit_until_ - *commit_from_;
  report_.took = Clock::now() - began_;
  return std::move(report_);
}

}  // namespace feedmill
