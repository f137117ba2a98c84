#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "worker/base/units.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/config/host_rules.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/http/egress_view.hpp"
#include "worker/process/run_options.hpp"
#include "worker/verbs/feeds.hpp"
#include "worker/words/plain_words.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {

namespace {

namespace json = boost::json;

constexpr std::chrono::seconds lookup_timeout{5};  // for name servers

/// A feed in the preview.
struct Previewed {
  FeedBehind behind;
  std::string given;  ///< the argument that led to it; "" if it equals the URL
  bool present = false;
  FeedSettings settings;  ///< current settings, or those it would get
  EgressView egress;
  HostRule host;
};

json::object preview_json(const Previewed& feed) {
  json::object row = json_row();
  row["url"] = feed.behind.url;
  row["result"] = feed.present ? "present" : "would add";
  row["given"] = feed.given.empty() ? json::value(feed.behind.url) : json::value(visible(feed.given));
  row["page"] = text_or_null(feed.behind.page);
  row["looked_at"] = json::value();
  if (const auto& found = feed.behind.found) {
    json::object& looked_at = row["looked_at"].emplace_object();
    looked_at["format"] = found->format;
    looked_at["entries"] = found->entries;
    looked_at["title"] = visible(found->title);
  } else if (!feed.behind.trouble.empty()) {
    row["looked_at"].emplace_object()["trouble"] = visible(feed.behind.trouble);
  }
  json::object& egress = row["egress"].emplace_object();
  egress["verdict"] = to_string(feed.egress.verdict);
  egress["policy"] = text_or_null(feed.settings.policy);
  json::array& addresses = egress["addresses"].emplace_array();
  for (const std::string& address : feed.egress.addresses) addresses.emplace_back(address);
  egress["reason"] = text_or_null(feed.egress.reason);
  egress["detail"] = text_or_null(visible(feed.egress.detail));
  row["host"] = {{"gate", feed.host.gate},
                 {"concurrency", feed.host.limits.concurrency},
                 {"spacing", static_cast<double>(feed.host.limits.spacing.count()) / 1000.0},
                 {"min_interval", static_cast<double>(feed.host.min_interval.count()) / 1000.0}};
  row["settings"] = embedded_json(settings_json(feed.settings));
  return row;
}

std::string egress_text(const EgressView& view) {
  std::string text(to_string(view.verdict));
  if (view.verdict == EgressView::Verdict::proxied) return text + ": the proxy resolves the name and decides";
  for (std::size_t i = 0; i < view.addresses.size() && view.verdict == EgressView::Verdict::allowed; ++i) {
    text += (i == 0 ? ": " : ", ") + view.addresses[i];
  }
  if (!view.reason.empty()) text += fmt::format(": {}: {}", view.reason, visible(view.detail));
  return text;
}

void tell_words(Terminal& terminal, const Previewed& feed) {
  terminal.line(fmt::format("{} {}", feed.present ? "present" : "would add", visible(feed.behind.url)));
  const auto row = [&](std::string_view name, const std::string& text) {
    if (!text.empty()) terminal.line(fmt::format("  {:<10}{}", name, text));
  };
  row("given as", visible(feed.given));
  row("page", visible(feed.behind.page));
  if (const auto& found = feed.behind.found) {
    row("feed", fmt::format("{}, {} entries: {}", found->format, found->entries, visible(found->title)));
  } else if (!feed.behind.trouble.empty()) {
    row("feed", "could not be checked: " + visible(feed.behind.trouble));
  }
  row("egress", egress_text(feed.egress));
  row("host",
      fmt::format("{} at a time, {} apart{}{}", feed.host.limits.concurrency, format_duration(feed.host.limits.spacing),
                  feed.host.min_interval.count() == 0
                      ? ""
                      : ", each feed every " + format_duration(feed.host.min_interval) + " at most",
                  feed.host.gate.starts_with("group:") ? " (" + visible(feed.host.gate) + ")" : ""));
  std::string settings;
  for (const std::string& text : setting_texts(feed.settings))
    settings += (settings.empty() ? "" : " ") + visible(text);
  row("settings", settings);
}

/// The argument that led to `feed`; "" if that is not new information.
std::string argument_of(const FeedBehind& feed, const std::vector<std::string>& arguments) {
  const std::string& wanted = feed.page.empty() ? feed.url : feed.page;
  for (const std::string& argument : arguments) {
    const auto canonical = canonical_feed_url(argument);
    if (canonical && *canonical == wanted) return argument == feed.url ? "" : argument;
  }
  return {};
}

}  // namespace

int preview(const std::vector<std::string>& arguments, const FeedSettings& wanted, const std::vector<FeedBehind>& feeds,
            const VerbContext& context) {
  std::vector<std::string> urls;
  urls.reserve(feeds.size());
  for (const FeedBehind& feed : feeds) urls.push_back(feed.url);
  const auto records = all_records(context.store, urls);
  std::vector<EgressQuestion> questions;
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const std::optional<FeedRecord>& record = records[i];
    questions.push_back({urls[i], record ? read_settings(record->state.settings) : wanted});
  }
  const std::vector<EgressView> views = EgressViewer(look_options(context.config)).of(questions, lookup_timeout);
  const HostRules hosts(context.config);
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const bool present = records[i].has_value();
    const Previewed feed{feeds[i], argument_of(feeds[i], arguments), present, questions[i].settings,
                         views[i], hosts.of(server_of(urls[i]))};
    if (context.terminal.json()) {
      context.terminal.line(preview_json(feed));
    } else {
      tell_words(context.terminal, feed);
    }
    if (present && !settings_json(wanted).empty()) {
      context.terminal.note(
          fmt::format("{} exists already and would keep its settings (see feedmill set -h)", visible(urls[i])));
    }
  }
  return exits::done;
}

void warn_of_refusals(const std::vector<std::string>& urls, const FeedSettings& settings, const VerbContext& context) {
  constexpr std::size_t most_lookups = 20;
  constexpr std::chrono::seconds patience{2};
  const EgressViewer viewer(look_options(context.config));
  std::vector<EgressQuestion> questions;
  questions.reserve(urls.size());
  for (const std::string& url : urls) questions.push_back({url, settings});
  std::vector<EgressView> views;
  if (questions.size() <= most_lookups) {
    views = viewer.of(questions, patience);
  } else {
    for (const EgressQuestion& question : questions) views.push_back(viewer.of_text(question));
  }
  for (std::size_t i = 0; i < urls.size(); ++i) {
    if (views[i].verdict != EgressView::Verdict::refused) continue;
    context.terminal.error(fmt::format("{} will not be fetched: {}: {}. {}", visible(urls[i]), views[i].reason,
                                       visible(views[i].detail), visible(remedy_words(views[i].reason, urls[i]))));
  }
}

}  // namespace feedmill
