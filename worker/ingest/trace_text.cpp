#include "worker/ingest/trace_text.hpp"

#include <algorithm>
#include <array>
#include <variant>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "parsers/markup/text.hpp"
#include "worker/base/redact.hpp"
#include "worker/base/system.hpp"
#include "worker/base/terminal.hpp"
#include "worker/base/units.hpp"
#include "worker/words/explanation.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

constexpr std::size_t shown_entries = 10;
constexpr std::size_t most_lines = 500;  // a document may have a thousand headers

std::string plural(std::uint64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string title_of(const EntryWrite& write) {
  const auto value = [&write](std::string_view name) {
    const std::string_view set = field_of(write.set, name);
    return set.empty() ? field_of(write.shown, name) : set;
  };
  const std::string title = readable_text(value("title"), value("title_type"));
  return title.empty() ? write.guid : title;
}

/// Names of the fields that a modification writes or removes, except the worker's own fields.
std::string changed_fields(const EntryWrite& write) {
  std::string names;
  const auto add = [&names](const std::string& name) {
    if (name != "rev" && name != "last_changed") names += (names.empty() ? "" : ", ") + name;
  };
  for (const auto& [name, value] : write.set) add(name);
  for (const std::string& name : write.unset) add(name);
  return names;
}

}  // namespace

void TraceText::tell(std::string_view step, const std::string& outside) {
  const auto passed = std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - started_);
  tell_(passed.count(), step, visible(redact(outside)));
}

void TraceText::claimed(const Claim& claim) {
  began_ = true;
  const FeedState& state = claim.state;
  const Milliseconds late = claim.now - claim.due;
  tell("claim", fmt::format("{}; it was due {}{}", claim.id, rfc3339(claim.due),
                            late.count() >= 1000 ? fmt::format(", {} s ago", grouped(late.count() / 1000))
                            : late.count() < 0   ? std::string(", which is not yet")
                                                 : std::string()));
  tell("claim", fmt::format("state {}, {} so far, {} in a row failed", state.state, plural(state.counts.polls, "poll"),
                            state.failures.count));
  if (claim.alone) tell("claim", "alone: an earlier attempt did not finish (SECURITY Q2)");
}

void TraceText::answered(const FetchRequest& request, const FetchResult& fetched) {
  tell_request(request);
  NamedLines lines;
  Answered(fetched).add_to(lines);
  for (const auto& [name, value] : lines) tell(name, value);
  if (const auto* error = std::get_if<FetchError>(&fetched)) {
    tell("failed",
         fmt::format("{}: {}{}", to_string(error->reason), error->detail, error->sent ? "" : "; nothing was sent"));
  }
  wire_bytes_ = Answered(fetched).totals().wire_bytes;
}

void TraceText::read(const Reading& reading) {
  std::visit([this](const auto& is) { tell_reading(is); }, reading);
}

void TraceText::decided(const Claim& claim, const StoredSnapshot& known, const Decision& decision) {
  const Commit& commit = decision.commit;
  if (commit.document) tell_known(known);
  for (std::size_t i = 0; i < std::min(shown_entries, commit.entries.size()); ++i) {
    const EntryWrite& write = commit.entries[commit.entries.size() - 1 - i];  // newest first
    tell("entry", write.id.empty()
                      ? fmt::format("new: {}", title_of(write))
                      : fmt::format("{} changed ({}): {}", write.id, changed_fields(write), title_of(write)));
  }
  if (commit.entries.size() > shown_entries) {
    tell("entry", fmt::format("and {} more", commit.entries.size() - shown_entries));
  }
  for (const FeedEvent& event : commit.events) tell("signal", event.type);
  tell("decide",
       fmt::format("{}{}{}; state {} -> {}", to_string(decision.outcome), decision.reason == Reason::none ? "" : " ",
                   to_string(decision.reason), claim.state.state, commit.state.state));
  tell("next", due_text(commit.next_due, commit.state.last.at, commit.state.due.reason));
  tell("next", "made of " + due_inputs_text(commit.state.due.why));
}

void TraceText::committed(const StoreResult<Committed>& done) {
  if (!done) {
    tell("commit", "not yet: " + done.error().detail);
  } else if (done->result == Committed::Result::stale) {
    tell("commit", "refused: another process has since claimed the feed; nothing was written");
  } else {
    tell("commit", fmt::format("{}: {} created, {} modified, {} trimmed, {}",
                               done->result == Committed::Result::dup ? "had already been committed" : "stored",
                               done->created, done->modified, done->trimmed, plural(done->events, "signal")));
    if (done->move_taken) tell("commit", "not moved: the new address is a feed of its own");
    if (done->circuit == Committed::Circuit::opened) {
      tell("commit", "its host is backing off until " + rfc3339(done->circuit_open_until));
    }
  }
}

void TraceText::tell_request(const FetchRequest& request) {
  tell("request", "GET " + request.url);
  const Validators& validators = request.validators;
  if (validators.etag.empty() && validators.last_modified.empty()) {
    tell("request", "unconditional: no validators are known, or a probe omits them");
  } else {
    if (!validators.etag.empty()) tell("request", "If-None-Match: " + validators.etag);
    if (!validators.last_modified.empty()) tell("request", "If-Modified-Since: " + validators.last_modified);
    if (validators.url != request.url) tell("request", "conditions are sent to " + validators.url + " alone");
  }
  if (request.identity) tell("request", "no content coding: this host mishandles it");
  if (request.http1) tell("request", "HTTP/1.1: this host mishandles HTTP/2");
  for (const std::string& setting : setting_texts(request.settings)) tell("request", "set for this feed: " + setting);
}

void TraceText::tell_reading(const Document& document) {
  tell("read", size_text(wire_bytes_, document.print, max_body_bytes_));
  tell("read", plural(document.entries.size(), "post"));
  for (const auto& [flaw, count] : document.flaws) tell("read", fmt::format("flaw {}: {}", to_string(flaw), count));
  if (document.failure) {
    tell("read", fmt::format("{}: {}; the complete part is used", to_string(document.failure->reason),
                             document.failure->detail));
  }
}

void TraceText::tell_reading(const SameBody& same) {
  tell("read", size_text(wire_bytes_, same.print, max_body_bytes_));
  tell("read", "identical to the stored bytes: not parsed");
}

void TraceText::tell_reading(const NotModified&) {
  tell("read", "not modified");
}
void TraceText::tell_reading(const HttpStatus& answer) {
  tell("read", fmt::format("status {}{}", answer.status, answer.challenge ? ", a page for browsers" : ""));
}

void TraceText::tell_reading(const FetchError&) {}  // reported with the response
void TraceText::tell_reading(const Unreadable& unreadable) {
  tell("read", size_text(wire_bytes_, unreadable.print, max_body_bytes_));
  tell("read", fmt::format("{}: {}", to_string(unreadable.reason), unreadable.detail));
}

void TraceText::tell_known(const StoredSnapshot& known) {
  std::array<std::size_t, 4> counts{};
  for (const StoredSnapshot::Guid& guid : known.guids) ++counts[static_cast<std::size_t>(guid.is)];
  tell("compare", fmt::format("{} unknown, {} trimmed before, {} the same, {} different", counts[0], counts[1],
                              counts[2], counts[3]));
}

const FetchTotals& Answered::totals() const {
  return response() != nullptr ? static_cast<const FetchTotals&>(*response()) : error();
}

const std::vector<Header>& Answered::headers() const {
  return response() != nullptr ? response()->headers : error().headers;
}

std::string_view Answered::egress() const {
  if (response() != nullptr) return response()->opened_by_allow ? "opened by egress.allow" : "public";
  return error().reason == Reason::egress_blocked || error().reason == Reason::egress_port ? "refused" : "unknown";
}

std::string Answered::peer() const {
  if (response() == nullptr) return {};
  const std::string& address = response()->peer;
  const bool v6 = address.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", v6 ? "[" : "", address, v6 ? "]" : "", response()->peer_port);
}

void Answered::add_to(NamedLines& lines) const {
  for (const Hop& hop : totals().hops) {
    lines.emplace_back("answer", redact(fmt::format("{} {}{}{}", hop.status, hop.url,
                                                    hop.location.empty() ? "" : " -> ", hop.location)));
  }
  for (const auto& [name, value] : headers()) lines.emplace_back("header", redact(fmt::format("{}: {}", name, value)));
  lines.emplace_back("egress", peer().empty() ? std::string(egress()) : fmt::format("{}, {}", peer(), egress()));
  lines.emplace_back(
      "time", fmt::format("{:.3f} s, first byte after {:.3f} s, connecting {:.3f} s", totals().timings.total.count(),
                          totals().timings.first_byte.count(), totals().timings.connect.count()));
}

void Answered::add_to(boost::json::object& row) const {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? boost::json::value() : boost::json::value(text);
  };
  boost::json::array& answers = row["hops"].emplace_array();
  for (const Hop& hop : totals().hops) {
    answers.push_back(
        {{"url", redact(hop.url)}, {"status", hop.status}, {"location", text_or_null(redact(hop.location))}});
  }
  boost::json::array& fields = row["headers"].emplace_array();
  for (const auto& [name, value] : headers()) {
    const std::string safe = redact(fmt::format("{}:{}", name, value)).substr(name.size() + 1);
    fields.push_back({{"name", visible(name)}, {"value", visible(safe)}});
  }
  row["egress"] = {{"decision", egress()}, {"peer", text_or_null(peer())}};
  row["seconds"] = {{"connect", in_seconds(totals().timings.connect)},
                    {"first_byte", in_seconds(totals().timings.first_byte)},
                    {"total", in_seconds(totals().timings.total)}};
}

std::string size_text(std::uint64_t wire_bytes, const BodyPrint& print, std::uint64_t most) {
  const auto count = [](std::uint64_t bytes) { return grouped(static_cast<std::int64_t>(bytes)); };
  return fmt::format("{} bytes received; body {} on the wire, {} decoded of at most {}", count(wire_bytes),
                     count(print.wire_bytes), count(print.body_bytes), count(most));
}

FollowedRefresh::FollowedRefresh(const Claim& claim, std::uint64_t max_body_bytes)
    : feed_url_(claim.feed_url),
      text_(max_body_bytes, [this](std::int64_t ms, std::string_view step, const std::string& text) {
        if (lines_.size() < most_lines || step == "end") lines_.push_back({ms, std::string(step), text});
      }) {
  text_.tell("worker", fmt::format("process {} on {}, since {}", ::getpid(), host_name(), rfc3339(claim.now)));
}

void FollowedRefresh::ended(const Report& report) {
  std::string text(to_string(report.outcome));
  if (report.reason != Reason::none) text.append(" ").append(to_string(report.reason));
  if (!report.detail.empty()) text.append(": ").append(report.detail);
  text_.tell("end", text);
}

void FollowedRefresh::failed(std::string_view what) {
  text_.tell("end", fmt::format("failed {}: {}", to_string(Reason::worker_bug), what));
}

}  // namespace feedmill
