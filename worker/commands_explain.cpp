#include "worker/commands_explain.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "worker/commands_records.hpp"
#include "worker/due_text.hpp"
#include "worker/host_rules.hpp"
#include "worker/moments.hpp"
#include "worker/push_text.hpp"
#include "worker/web_url.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

std::uint32_t free_slots(const HostView& host) {
  return host.limits.concurrency - std::min(host.limits.concurrency, host.state.in_flight);
}

/// When a request to the host may start (HTTP H1, H5), slots apart.
Milliseconds next_start(const HostView& host) {
  return std::max(host.state.last_start + host.limits.spacing * host.state.slow, host.state.not_before);
}

std::string state_text(const FeedRecord& record, Milliseconds now) {
  const FeedState& state = record.state;
  if (state.last_at.count() == 0) return state.state + "; never fetched";
  std::string text = state.state + "; last ";
  if (state.last_status != 0) {
    text +=
        fmt::format("{} ({}) ", state.last_status, state.last_error.empty() ? state.last_outcome : state.last_error);
  } else {
    text += fmt::format("{} ", state.last_error.empty() ? state.last_outcome : state.last_error);
  }
  text += from_now(state.last_at, now);
  if (state.failures > 0) {
    text += fmt::format(", {} failure{} in a row since {}", state.failures, state.failures == 1 ? "" : "s",
                        rfc3339(state.failing_since));
  }
  text += fmt::format(", {} failure{} ever", state.polls_failed, state.polls_failed == 1 ? "" : "s");
  if (state.polls > 0) {
    text += fmt::format(", hit rate {} % of {} poll{}", (state.polls_with_new * 100 + state.polls / 2) / state.polls,
                        state.polls, state.polls == 1 ? "" : "s");
  }
  return text;
}

std::string next_text(const FeedRecord& record, Milliseconds now) {
  if (!record.claim.empty() && record.due && *record.due > now) {  // while the lease runs
    return "being fetched now, by " + record.claim.substr(0, record.claim.find(':'));
  }
  if (!record.due) return "never: it is not in the schedule";
  return due_text(*record.due, now, record.state.won);
}

std::string host_text(const HostView& host, Milliseconds now) {
  const Milliseconds start = next_start(host);
  std::string text = fmt::format("{}: {} of {} slots free, next start {}", host.name, free_slots(host),
                                 host.limits.concurrency, start <= now ? "now" : from_now(start, now));
  if (host.state.slow > 1) text += fmt::format(" ({} times its usual spacing)", host.state.slow);
  if (host.state.tail > now) text += fmt::format(", starts reserved up to {}", rfc3339(host.state.tail));
  return text + (host.state.not_before > now ? fmt::format(", back-off until {}, {}", rfc3339(host.state.not_before),
                                                           from_now(host.state.not_before, now))
                                             : ", no back-off");
}

std::string validators_text(const FeedState& state) {
  if (state.etag.empty() && state.last_modified.empty()) return "none: the server sent no ETag and no Last-Modified";
  std::string text;
  if (!state.etag.empty()) text += "ETag " + state.etag;
  if (!state.last_modified.empty()) text += (text.empty() ? "" : ", ") + ("Last-Modified " + state.last_modified);
  return text + (state.validators_url.empty() ? "" : ", of " + state.validators_url);
}

json::object host_json(const HostView& host, Milliseconds now) {
  json::object row;
  row["name"] = host.name;
  row["slots"] = host.limits.concurrency;
  row["slow"] = host.state.slow;
  row["slots_free"] = free_slots(host);
  row["last_start"] = time_json(host.state.last_start);
  row["next_start"] = rfc3339(std::max(next_start(host), now));
  row["reserved_until"] = host.state.tail > now ? time_json(host.state.tail) : json::value();
  row["not_before"] = host.state.not_before > now ? time_json(host.state.not_before) : json::value();
  json::object& other = row["other"].emplace_object();
  for (const auto& [name, value] : host.state.other) other[name] = value;
  return row;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> explain_lines(const FeedRecord& record, const HostView& host,
                                                               Milliseconds now,
                                                               const std::optional<PushRecord>& subscription) {
  const FeedState& state = record.state;
  std::vector<std::pair<std::string, std::string>> lines;
  lines.emplace_back("state", state_text(record, now));
  if (!state.last_detail.empty()) lines.emplace_back("detail", state.last_detail);
  lines.emplace_back("next", next_text(record, now));
  const std::string inputs = due_inputs_text(state.why);
  if (!inputs.empty()) lines.emplace_back("inputs", inputs);
  if (state.not_before > now) {
    lines.emplace_back("held", fmt::format("Retry-After holds until {}, {}", rfc3339(state.not_before),
                                           from_now(state.not_before, now)));
  }
  lines.emplace_back("host", host_text(host, now));
  lines.emplace_back("websub", push_text(state, subscription, now));
  lines.emplace_back("cache", validators_text(state));
  lines.emplace_back("identity", "guid, else link, else digest, as each entry has it");
  if (!state.fetch_url.empty()) lines.emplace_back("fetched", "from " + state.fetch_url);
  lines.emplace_back("settings", state.settings.empty() ? "none" : state.settings);
  return lines;
}

int carry_out(const ExplainVerb& verb, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const auto urls = feed_urls(terminal, "explain", {verb.url}, "give an absolute http or https URL");
  if (!urls) return exits::bad_input;
  const auto now = context.store.now();
  if (now.has_error()) return fail(terminal, "explain", now.error());
  const auto records = context.store.feed_records(*urls);
  if (records.has_error()) return fail(terminal, "explain", records.error());
  const std::optional<FeedRecord>& record = records->front();
  if (!record) {
    terminal.error(fmt::format("explain: no such feed: {} (see feedmill list)", visible(urls->front())));
    return exits::no;
  }
  HostView host;
  host.name = host_of(record->state.fetch_url.empty() ? record->feed_url : record->state.fetch_url);
  const HostRule rule = HostRules(context.config).of(host.name);
  host.limits = rule.limits;
  const auto state = context.store.host(rule.gate);
  if (state.has_error()) return fail(terminal, "explain", state.error());
  host.state = *state;
  const auto subscription = subscription_of(context.store, record->state);
  if (subscription.has_error()) return fail(terminal, "explain", subscription.error());
  if (terminal.json()) {
    json::object row = show_json(*record);
    row["now"] = rfc3339(*now);
    row["host"] = host_json(host, *now);
    row["websub"] = push_json(record->state, *subscription);
    terminal.line(row);
    return exits::done;
  }
  for (const auto& [name, value] : explain_lines(*record, host, *now, *subscription)) {
    terminal.line(fmt::format("{:<9}{}", name, visible(value)));
  }
  return exits::done;
}

}  // namespace feedmill
