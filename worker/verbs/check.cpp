#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/feed/document_json.hpp"
#include "parsers/markup/text.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/base/redact.hpp"
#include "worker/base/system.hpp"
#include "worker/base/terminal.hpp"
#include "worker/config/config.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/http/http_fields.hpp"
#include "worker/ingest/trace_text.hpp"
#include "worker/operations/probe.hpp"
#include "worker/policy/decide.hpp"
#include "worker/process/run_options.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/table.hpp"
#include "worker/words/explanation.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::size_t shown_entries = 5;

/// The decision of a worker on the first fetch of the feed.
Decision first_decision(const Look& look, const Config& config, Milliseconds now) {
  Claim claim;
  claim.feed_url = look.request.feed_url;
  claim.now = claim.due = now;
  StoredSnapshot known;
  if (const auto* document = std::get_if<Document>(&look.reading)) known.guids.resize(document->entries.size());
  return decide(claim, Reading(look.reading), exchange_of(claim, look.request, look.fetched), known,
                refresh_options(config, RunMode::selected).policy, now);
}

struct Checked {
  const Look& look;
  const Config& config;
  Decision decision;
  Milliseconds now;

  BodyPrint print() const {
    if (const auto* document = std::get_if<Document>(&look.reading)) return document->print;
    if (const auto* unreadable = std::get_if<Unreadable>(&look.reading)) return unreadable->print;
    return {};
  }
  /// Hub links as found by a worker.
  HubLinks links() const {
    if (!look.feed || look.response() == nullptr) return {look.page.hubs, look.page.self};
    const FetchResponse& response = *look.response();
    return hub_links(joined_field(response.headers, "link"), response.url, look.feed->hubs, look.feed->self);
  }
  std::vector<std::string> hubs() const { return links().hubs; }
  std::string self() const {
    std::string topic = links().topic;
    return topic.empty() && look.feed ? look.feed->self : topic;
  }
};

/// Untrusted text for display, without secrets (SECURITY K1).
std::string told(std::string_view text) {
  return visible(redact(text));
}

json::object feed_json(const Feed& feed) {
  json::object row;
  row["format"] = format_name(feed.format);
  row["encoding"] = feed.encoding;
  row["bozo"] = text_or_null(bozo_token(feed.bozo));
  row["bozo_detail"] = text_or_null(redact(feed.bozo_detail));
  json::object& flaws = row["flaws"].emplace_object();
  for (const auto& [flaw, count] : feed.flaws) flaws[to_string(flaw)] = count;
  row["title"] = readable_text(feed.title.value, feed.title.type);
  row["link"] = redact(feed.link);
  row["entries"] = feed.entries.size();
  json::array& newest = row["first_entries"].emplace_array();
  for (std::size_t i = 0; i < std::min(shown_entries, feed.entries.size()); ++i) {
    const Text& title = feed.entries[i].title;
    newest.push_back({{"guid", redact(feed.entries[i].guid)}, {"title", readable_text(title.value, title.type)}});
  }
  return row;
}

json::object checked_json(const Checked& checked) {
  const Look& look = checked.look;
  const FeedState& state = checked.decision.commit.state;
  json::object row = json_row();
  row["url"] = look.request.url;
  row["usable"] = look.feed.has_value();
  row["trouble"] = text_or_null(told(look.trouble()));
  const Answered answered(look.fetched);
  answered.add_to(row);
  row["bytes"] = {{"wire", answered.totals().wire_bytes},
                  {"body_wire", checked.print().wire_bytes},
                  {"body", checked.print().body_bytes},
                  {"body_limit", checked.config.fetch.max_body}};
  row["etag"] = text_or_null(visible(state.validators.etag));
  row["last_modified"] = text_or_null(visible(state.validators.last_modified));
  row["feed"] = look.feed ? json::value(feed_json(*look.feed)) : json::value();
  row["page_feeds"] = json::array();
  for (const FeedCandidate& candidate : look.page.feeds) {
    row["page_feeds"].as_array().push_back({{"url", visible(candidate.url)},
                                            {"title", visible(candidate.title)},
                                            {"found_in", to_string(candidate.found_in)}});
  }
  json::array& hubs = row["hubs"].emplace_array();
  for (const std::string& hub : checked.hubs()) hubs.emplace_back(told(hub));
  row["self"] = text_or_null(told(checked.self()));
  row["would"] = {{"outcome", to_string(checked.decision.outcome)},
                  {"reason", text_or_null(to_string(checked.decision.reason))},
                  {"state", state.state},
                  {"create", checked.decision.commit.entries.size()},
                  {"next_due", rfc3339(checked.decision.commit.next_due)},
                  {"won", state.due.reason},
                  {"why", due_inputs_json(state.due.why)}};
  return row;
}

void add_feed(const Feed& feed, NamedLines& lines) {
  const std::string_view bozo = bozo_token(feed.bozo);
  lines.emplace_back("format", fmt::format("{}, {}", format_name(feed.format), feed.encoding));
  if (!bozo.empty()) lines.emplace_back("repaired", redact(fmt::format("{}: {}", bozo, feed.bozo_detail)));
  std::string flaws;
  for (const auto& [flaw, count] : feed.flaws) {
    flaws += fmt::format("{}{} {}", flaws.empty() ? "" : ", ", to_string(flaw), count);
  }
  if (!flaws.empty()) lines.emplace_back("flaws", flaws);
  lines.emplace_back("title", readable_text(feed.title.value, feed.title.type));
  lines.emplace_back("entries", std::to_string(feed.entries.size()));
  for (std::size_t i = 0; i < std::min(shown_entries, feed.entries.size()); ++i) {
    const Entry& entry = feed.entries[i];
    const std::string title = readable_text(entry.title.value, entry.title.type);
    lines.emplace_back("entry", title.empty() ? redact(entry.guid) : title);
  }
}

NamedLines checked_lines(const Checked& checked) {
  const Look& look = checked.look;
  const FeedState& state = checked.decision.commit.state;
  NamedLines lines;
  lines.emplace_back("url", look.request.url);
  const Answered answered(look.fetched);
  answered.add_to(lines);
  lines.emplace_back("size", size_text(answered.totals().wire_bytes, checked.print(), checked.config.fetch.max_body));
  if (look.feed) {
    add_feed(*look.feed, lines);
    lines.emplace_back("etag", state.validators.etag.empty() ? "none" : state.validators.etag);
    lines.emplace_back("last-modified",
                       state.validators.last_modified.empty() ? "none" : state.validators.last_modified);
  }
  for (const FeedCandidate& candidate : look.page.feeds) {
    if (candidate.found_in != FoundIn::anchor) lines.emplace_back("names a feed", candidate.url);
  }
  for (const std::string& hub : checked.hubs()) lines.emplace_back("hub", redact(hub));
  if (!checked.self().empty()) lines.emplace_back("self", redact(checked.self()));
  lines.emplace_back("a worker would", look.feed
                                           ? fmt::format("store {} entries", checked.decision.commit.entries.size())
                                           : fmt::format("note {}", to_string(checked.decision.reason)));
  lines.emplace_back("next", due_text(checked.decision.commit.next_due, checked.now, state.due.reason));
  lines.emplace_back("inputs", due_inputs_text(state.due.why));
  return lines;
}

/// Fetches the URL like a worker that sees the feed for the first time.
int check_url(const OperationValues& given, const Config& config, Terminal& terminal) {
  const std::string url = feed_url(terminal, given.text("URL"));
  note_interrupts();
  Probe probe(probe_options(config));
  const Look look = probe.look(url);
  const Milliseconds now = wall_clock();
  const Checked checked{look, config, first_decision(look, config, now), now};
  terminal.tell(checked_json(checked), checked_lines(checked), 14);
  if (look.feed) return exits::done;
  terminal.flush();
  const char* const remedy = look.is_page() ? "; it is a web page: see feedmill discover" : "";
  throw VerbFailure{exits::no,
                    fmt::format("{} is not usable as a feed: {}{}", visible(url), visible(look.trouble()), remedy)};
}

}  // namespace

VerbRow check_verb() {
  static constexpr std::array taken{fields::argument("URL", "Absolute http or https address")};
  return {.name = "check",
          .about = "Fetch a URL once, store nothing, and report all findings; no Redis",
          .example = "feedmill check https://example.org/feed.xml",
          .exits = "1 when it is not usable as a feed",
          .fields = taken,
          .run = check_url};
}

}  // namespace feedmill
