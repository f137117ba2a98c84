#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/events/traces.hpp"
#include "storage/feeds/feeds.hpp"
#include "worker/admin/status.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/base/redact.hpp"
#include "worker/cli/verb.hpp"
#include "worker/config/host_rules.hpp"
#include "worker/ingest/trace_text.hpp"
#include "worker/process/run.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/table.hpp"
#include "worker/words/explanation.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

constexpr Milliseconds trace_block{500};        // lets Ctrl-C take effect soon
constexpr Milliseconds mark{30'000};            // expiry after a killed follower
constexpr std::chrono::minutes usual_span{10};  // of --live
constexpr std::size_t lines_per_read = 500;

/// Prints each step as a name with one or more lines, or as one JSON object per line.
class Printer {
 public:
  explicit Printer(Terminal& terminal) : terminal_(terminal) {}

  void tell(std::int64_t ms, std::string_view step, const std::string& text) {
    terminal_.tell({{"ms", ms}, {"step", step}, {"text", text}},
                   fmt::format("{:>7} ms  {:<9}{}", ms, step == last_step_ ? "" : step, text));
    last_step_ = step;
    terminal_.flush();
  }

 private:
  Terminal& terminal_;
  std::string last_step_;
};

/// Prints the current state of the host's gate.
void tell_host(const FeedRecord& record, Milliseconds now, const VerbContext& context, TraceText& trace) {
  const auto host = or_fail(read_host(context.store, HostRules(context.config), record));
  trace.tell("host", host_text(host, now));
}

/// Mark that makes workers trace a feed's refreshes; the destructor removes it.
class Mark {
 public:
  Mark(Traces& traces, const std::string& url, std::chrono::steady_clock::time_point end)
      : traces_(traces), url_(url), end_(end) {}
  ~Mark() {
    try {
      if (until_) static_cast<void>(traces_.leave(url_, *until_));  // else it expires
    } catch (const std::bad_alloc&) {
    }
  }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

  /// Extends the mark; false if the feed was removed.
  bool renew() {
    const auto left = std::chrono::ceil<Milliseconds>(end_ - std::chrono::steady_clock::now());
    const auto until = or_fail(traces_.follow(url_, std::clamp(left, Milliseconds(1), mark)));
    if (until) until_ = std::max(until_.value_or(*until), *until);  // the store keeps the later one
    return until.has_value();
  }

 private:
  Traces& traces_;
  const std::string& url_;
  std::chrono::steady_clock::time_point end_;
  std::optional<Milliseconds> until_;
};

/// Prints the feed's refreshes by any worker until `span` has passed.
int follow(Milliseconds span, const FeedRecord& record, Milliseconds now, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const std::string& url = record.feed_url;
  Traces traces(context.store);
  std::string last = or_fail(traces.last(url));
  const auto end = std::chrono::steady_clock::now() + span;
  Mark followed(traces, url, end);
  terminal.note(fmt::format("feedmill: {}: following {} until {}; {} (feedmill refresh URL --defer: now)",
                            terminal.verb(), visible(url), rfc3339(now + span),
                            record.due ? "it is due " + from_now(*record.due, now) : "it is not scheduled"));
  Printer printer(terminal);
  bool told = false;
  while (std::chrono::steady_clock::now() < end) {
    stop_if_interrupted();
    terminal.flush();  // throws if the output is closed
    if (!followed.renew()) throw VerbFailure{exits::no, fmt::format("{} has been removed", visible(url))};
    const auto records =
        or_fail(traces.read(url, last, lines_per_read, std::min(trace_block, context.config.redis.timeout / 2)));
    for (const TraceRecord& written : records) {
      last = written.id;
      printer.tell(written.line.ms, visible(written.line.step), visible(written.line.text));
      told = true;
    }
  }
  if (told) return exits::done;
  throw VerbFailure{exits::no, fmt::format("no worker refreshed {} in this time", visible(url))};
}

bool is_live(const OperationValues& given) {
  return given.truth("live") || given.has("for");
}

void check_live(const OperationValues& given) {
  if (is_live(given) && given.truth("ignore-floor")) refuse("--live and --ignore-floor exclude each other");
}

int trace_refresh(const OperationValues& given, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const std::string url = feed_url(terminal, given.text("URL"));
  const auto now = or_fail(context.store.now());
  const std::optional<FeedRecord> record = all_records(context.store, {url}).front();
  if (!record) {
    throw VerbFailure{exits::no, fmt::format("no such feed: {} (add it, or see feedmill check)", visible(url))};
  }
  if (is_live(given)) return follow(given.duration("for", usual_span), *record, now, context);
  const Wake wake =
      or_fail(Feeds(context.store)
                  .wake(std::span(&url, 1), context.config.schedule.manual_floor, given.truth("ignore-floor")))
          .front();
  if (wake.result == Wake::Result::too_early) {
    throw VerbFailure{
        exits::no, fmt::format("{} may be fetched {}, at {} (--ignore-floor: sooner, unless the server set the time)",
                               visible(url), from_now(wake.at, now), rfc3339(wake.at))};
  }
  if (wake.result == Wake::Result::paused) {
    throw VerbFailure{exits::no, fmt::format("{} is paused (resume with feedmill resume)", visible(url))};
  }
  Printer printer(terminal);
  bool closed = false;
  TraceText trace(context.config.fetch.max_body, [&](std::int64_t ms, std::string_view step, const std::string& text) {
    if (closed) return;
    try {
      printer.tell(ms, step, text);
    } catch (const OutputClosed&) {
      closed = true;  // the reader of the output has left; the refresh continues
    }
  });
  tell_host(*record, now, context, trace);
  const int code = refresh_in_process(
      context.config, {url}, [](const Report&) {}, &trace);
  if (code != exits::done || trace.began()) return code;
  throw VerbFailure{exits::unfinished,
                    fmt::format("a worker is fetching {} now; it is due again right after", visible(url))};
}

int explain_feed(const OperationValues& given, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const std::string url = feed_url(terminal, given.text("URL"));
  const auto explained = or_fail(read_explained(context.store, HostRules(context.config), url));
  if (!explained) throw no_such_feed(context.store, url);
  if (terminal.json()) {
    boost::json::object row = without_secrets(explain_json(*explained)).as_object();  // SECURITY K1
    row["url"] = url;
    terminal.line(row);
    return exits::done;
  }
  for (const auto& [name, value] : explain_lines(*explained, terminal.verbose())) {
    terminal.line(fmt::format("{:<9}{}", name, visible(redact(value))));
  }
  return exits::done;
}

}  // namespace

VerbRow trace_verb() {
  static constexpr std::array taken{
      fields::url, fields::flag("--ignore-floor", "Even if the last fetch was very recent"),
      fields::flag("--live", "Do not fetch: show what workers do with this feed, refresh by refresh"),
      fields::duration("--for", "With --live: how long to follow (10min)", std::chrono::seconds(1),
                       std::chrono::days(7))};
  return {.name = "trace",
          .about = "Trace a refresh step by step, run here or by any worker",
          .example = "feedmill trace https://example.org/feed.xml --live --for 1h",
          .exits =
              "0: fetched, whatever the answer; 1: not allowed now, or no worker fetched it; 75: a worker is "
              "fetching it",
          .fields = taken,
          .check = check_live,
          .fetches = true,
          .run = trace_refresh};
}

VerbRow explain_verb() {
  static constexpr std::array taken{fields::url};
  return {.name = "explain",
          .about = "Explain why a feed is due when it is, with all inputs",
          .example = "feedmill explain https://example.org/feed.xml",
          .fields = taken,
          .use = reads,
          .run = explain_feed};
}

}  // namespace feedmill
