#include "worker/ingest/refresh_notes.hpp"

#include <algorithm>
#include <variant>

#include "worker/egress/web_url.hpp"

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

/// A host that this refresh has closed or opened for all its feeds (HTTP H4, H5).
void note_host(Report& report, const Commit& commit, const Committed& done) {
  if (done.circuit == Committed::Circuit::unchanged) return;
  const std::string& requested = commit.before.fetch_url.empty() ? commit.feed_url : commit.before.fetch_url;
  report.host = commit.host.host.empty() ? host_of(requested) : commit.host.host;
  report.circuit_opened = done.circuit == Committed::Circuit::opened;
  report.host_cause = commit.host.cause;
  report.circuit_open_for = done.circuit_open_until - commit.state.last_at;
}

}  // namespace

void note_fetched(Report& report, const FetchResult& fetched) {
  std::visit([&report](const auto& answer) { note_answer(report, answer); }, fetched);
}

void note_reading(Report& report, const Claim& claim, const Reading& reading) {
  if (const auto* document = std::get_if<Document>(&reading)) {
    report.body_bytes = document->print.body_bytes;
    report.saved_compression =
        std::max(document->print.body_bytes, document->print.wire_bytes) - document->print.wire_bytes;
    report.flaws = document->flaws;
  } else if (const auto* same = std::get_if<SameBody>(&reading)) {
    report.body_bytes = same->print.body_bytes;
    report.saved_hash = same->print.body_bytes;
  } else if (std::holds_alternative<NotModified>(reading)) {
    report.saved_not_modified = claim.state.wire_bytes;
  }
}

void note_decision(Report& report, const Claim& claim, const Decision& decision) {
  report.outcome = decision.outcome;
  report.reason = decision.reason;
  report.detail = decision.detail;
  report.unchanged = decision.unchanged;
  report.next_in = std::chrono::seconds(decision.retry_in_s);
  report.due_reason = decision.commit.state.due_reason;
  report.pushed_first = decision.pushed_first;
  report.poll_first = decision.poll_first;
  report.state_from = claim.state.state;
  report.state_to = decision.commit.state.state;
}

void note_committed(Report& report, const Decision& decision, const Committed& done) {
  report.created = done.created;
  report.modified = done.modified;
  report.trimmed = done.trimmed;
  const auto count = [&report](const char* type, std::uint32_t times) {
    if (times > 0) report.signals.emplace_back(type, times);
  };
  count("post_created", done.created);
  count("post_modified", done.modified);
  count("post_trimmed", done.trimmed);
  count("post_deleted", done.deleted);
  count("feed_rekeyed", done.rekeyed > 0 ? 1 : 0);
  if (done.result != Committed::Result::ok) return;
  const std::vector<Move>& moves = decision.commit.state.moves;
  if (moves != decision.commit.before.moves) {
    report.moved = !done.move_taken;
    report.move_taken = done.move_taken;
    report.moved_from = moves.back().from;
    report.moved_to = moves.back().to;
  }
  note_host(report, decision.commit, done);
  if (done.push_turned) {
    report.push_from = decision.commit.before.push.state;
    report.push_to = decision.commit.push_to;
    report.push_hub = decision.commit.before.push.hub;
    report.push_fell = decision.commit.before.push.fell.count() != 0;
    report.hub_in_trouble = done.hub_in_trouble;
  }
  for (const FeedEvent& signal : decision.commit.signals) {
    if (!done.move_taken || signal.type != "feed_moved") count(signal.type.c_str(), 1);
  }
  if (decision.commit.initial) return;
  const std::int64_t stored = decision.commit.state.last_at.count() / 1000;
  for (const EntryWrite& write : decision.commit.entries) {
    const bool dated = std::any_of(write.set.begin(), write.set.end(), [](const auto& field) {
      return field.first == "date_published" || field.first == "date_updated";
    });
    if (write.id.empty() && dated) report.publish_delays.push_back(static_cast<double>(stored - write.timestamp));
  }
}

void note_nothing_written(Report& report) {
  report.outcome = Outcome::failed;
  report.state_to = report.state_from;
  report.unchanged = 0;
  report.pushed_first = report.poll_first = false;
}

void note_store_error(Report& report, const StoreError& error) {
  note_nothing_written(report);
  report.reason = error.code == StoreError::Code::refused ? Reason::store_refused : Reason::store_unavailable;
  report.detail = error.detail;
}

}  // namespace feedmill
