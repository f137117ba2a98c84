// The verbs that say why and what if: what each is called, takes and needs.
#pragma once

#include <array>
#include <chrono>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "parsers/feed/read_feed.hpp"
#include "worker/command_line/arguments.hpp"
#include "worker/command_line/verb_row.hpp"

namespace feedmill {

struct ExplainVerb {
  static constexpr VerbRow row{"explain", "Explain why a feed is due when it is, with all inputs",
                               "feedmill explain https://example.org/feed.xml"};
  std::string url;

  void take(Arguments& line) { line.required("URL", url, "Address of a feed"); }
  static constexpr StoreUse use() { return StoreUse::read; }
};
int run_verb(const ExplainVerb& verb, const VerbContext& context);

struct TraceVerb {
  static constexpr VerbRow row{
      "trace", "Trace a refresh step by step, run here or by any worker",
      "feedmill trace https://example.org/feed.xml --live --for 1h",
      "0: fetched, whatever the answer; 1: not allowed now, or no worker fetched it; 75: a worker is fetching it"};
  std::string url;
  bool ignore_floor = false;
  bool live = false;                                         ///< follow what workers do, in place of refreshing it here
  std::chrono::milliseconds span{std::chrono::minutes(10)};  ///< for so long

  void take(Arguments& line) {
    line.required("URL", url, "Address of a feed");
    line.flag("--ignore-floor", ignore_floor, "Even if the last fetch was very recent");
    line.flag("--live", live, "Do not fetch: show what workers do with this feed, refresh by refresh");
    const auto read_span = [this](const std::string& text) {
      span = duration("--for", text, std::chrono::seconds(1), std::chrono::hours(7 * 24), "1h");
      live = true;
    };
    line.value("--for", "DURATION", read_span, "With --live: how long to follow (10min)");
    line.check([this] {
      if (live && ignore_floor) refuse("--live and --ignore-floor exclude each other");
    });
  }
};
int run_verb(const TraceVerb& verb, const VerbContext& context);

struct CheckVerb {
  static constexpr VerbRow row{"check", "Fetch a URL once, store nothing, and report all findings; no Redis",
                               "feedmill check https://example.org/feed.xml", "1 when it is not usable as a feed"};
  std::string url;

  void take(Arguments& line) { line.required("URL", url, "Absolute http or https address"); }
};
/// Fetches as a worker does that sees the feed for the first time.
int run_verb(const CheckVerb& verb, const Config& config, Terminal& terminal);

struct DiscoverVerb {
  static constexpr VerbRow row{"discover", "List the feeds that a web page offers; no Redis",
                               "feedmill discover https://example.org/", "1 when there is none"};
  std::string url;

  void take(Arguments& line) { line.required("URL", url, "Address of a page"); }
};
int run_verb(const DiscoverVerb& verb, const Config& config, Terminal& terminal);

struct ParseVerb {
  static constexpr VerbRow row{"parse",
                               "Read a feed document and print it as JSON, or explain it; no Redis, no network",
                               "feedmill parse --explain --url https://example.org/feed.xml feed.xml"};
  static constexpr std::array<std::string_view, 2> html_policies = {"strict", "classic"};
  std::string file;  ///< "-" = stdin
  std::string url, content_type;
  std::vector<std::pair<std::string, std::string>> headers;
  bool raw_html = false;
  std::string html_policy;  ///< "strict", "classic" or "", which is strict
  bool pipe = false, explain = false;

  void take(Arguments& line) {
    line.optional("FILE", file, "Response body; - for stdin");
    line.value("--url", "URL", url, "URL it was fetched from; relative links are resolved against it");
    line.value("--content-type", "TYPE", content_type, "Its Content-Type header");
    const auto read_header = [this](const std::string& text) { headers.push_back(header(text)); };
    line.values("--header", "\"NAME: VALUE\"", read_header, "Another response header; may be repeated");
    line.flag("--raw-html", raw_html, "Leave markup unchanged");
    const auto read_policy = [this](const std::string& text) {
      one_of("--html-policy", text, html_policies);
      html_policy = text;
    };
    line.value("--html-policy", "POLICY", read_policy,
               "strict (default); classic: as feedparser sanitises, only to compare parsers");
    line.among(html_policies);
    line.flag("--explain", explain, "Explain repairs and decisions in words instead of printing the document");
    line.flag("--pipe", pipe, "Answer JSON requests from stdin, one per line");
    line.check([this] {
      if (raw_html && !html_policy.empty()) refuse("--raw-html excludes --html-policy");
      if (file.empty() && !pipe) refuse("FILE is missing (- for stdin)");
      if (!file.empty() && pipe) refuse("FILE and --pipe exclude each other");
    });
  }
  HtmlPolicy html() const {
    if (raw_html) return HtmlPolicy::raw;
    return html_policy == "classic" ? HtmlPolicy::classic : HtmlPolicy::strict;
  }
};
int run_verb(const ParseVerb& verb, Terminal& terminal);

struct PlanVerb {
  static constexpr VerbRow row{
      "plan", "Simulate the schedule: requests per hour, busiest hosts, hosts with more feeds than fit",
      "feedmill plan --days 7 --feeds 100000"};
  unsigned days = 1;
  std::string host;   ///< "" = all
  std::string feeds;  ///< "" = the stored ones; a number; else a file, "-" = stdin

  void take(Arguments& line) {
    const auto read_days = [this](const std::string& text) {
      days = static_cast<unsigned>(number("--days", text, 1, 365));
    };
    line.value("--days", "N", read_days, "Days to simulate (1)");
    line.value("--host", "HOST", host, "Only feeds of this host");
    line.value("--feeds", "N|FILE", feeds,
               "Instead of the stored feeds: N made-up feeds, or those of an OPML file or list of URLs");
  }
};
/// Reads only, and Redis only for the feeds that are stored.
int run_verb(const PlanVerb& verb, const Config& config, Terminal& terminal);

struct QuestionVerbs {
  static constexpr std::string_view group = "Why and what if";
  using List = std::tuple<ExplainVerb, TraceVerb, CheckVerb, DiscoverVerb, ParseVerb, PlanVerb>;
};

}  // namespace feedmill
