#include "worker/verbs/feeds.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/text/strings.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/redis/test_point.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/base/units.hpp"
#include "worker/cli/verb.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/config/host_rules.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/http/egress_view.hpp"
#include "worker/operations/families.hpp"
#include "worker/process/run_options.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/table.hpp"
#include "worker/words/explanation.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

/// Prints a feed and the result for it.
void tell(Terminal& terminal, std::string_view result, const std::string& url) {
  terminal.tell({{"url", url}, {"result", result}}, fmt::format("{} {}", result, visible(url)));
}

/// Prints the result for a feed that may have been put into a channel.
void tell_added(Terminal& terminal, std::string_view result, const std::string& url, const std::string& channel) {
  if (channel.empty()) return tell(terminal, result, url);
  terminal.tell({{"url", url}, {"result", result}, {"channel", channel}},
                fmt::format("{} {} in {}", result, visible(url), visible(channel)));
}

std::string counted(std::size_t number, std::string_view thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

bool is_due(const FeedRecord& record, Milliseconds now) {
  return record.due && *record.due <= now && record.claim.empty();
}

/// Options of `add` and the settings that they set for new feeds.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> settings_of_options{
    {{"keep", "keep"},
     {"backfill", "backfill"},
     {"interval-min", "interval_min"},
     {"policy", "policy"},
     {"auth", "auth"}}};

FeedSettings new_settings(const OperationValues& given) {
  FeedSettings settings;
  for (const auto& [option, key] : settings_of_options) {
    if (given.has(option)) change_setting(settings, fmt::format("{}={}", key, given.text(option)));
  }
  return settings;
}

void check_add(const OperationValues& given) {
  FeedSettings settings;
  for (const auto& [option, key] : settings_of_options) {
    if (!given.has(option)) continue;
    const std::string remedy = change_setting(settings, fmt::format("{}={}", key, given.text(option)));
    if (!remedy.empty()) refuse(fmt::format("--{}: {}", option, remedy));
  }
  if (!given.has("title")) return;
  if (!given.has("channel")) refuse("--title needs --channel: without one, a feed has its publisher's title");
  if (given.texts("URL").size() > 1) refuse("--title is for one URL");
}

int add_new_feeds(const OperationValues& given, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const FeedSettings wanted = new_settings(given);
  const std::string channel = given.text("channel");
  const auto named = feed_urls(terminal, given.texts("URL"), "nothing was added");
  std::string remedy = unusable_names(context.config, {}, wanted);
  if (remedy.empty()) remedy = missing_login(context.store, {}, wanted);
  if (!remedy.empty()) {
    throw VerbFailure{exits::usage, remedy + "; nothing was added"};
  }
  const bool dry_run = given.truth("dry-run");
  const std::vector<FeedBehind> behind = feeds_behind(named, given.truth("first"), dry_run, context);
  if (dry_run) return preview(given.texts("URL"), wanted, behind, context);
  const std::string settings = settings_json(wanted);
  std::vector<std::string> urls;
  std::vector<NewFeed> feeds;
  for (const FeedBehind& one : behind) {
    urls.push_back(one.url);
    NewFeed& feed = feeds.emplace_back();
    feed.feed_url = one.url;
    feed.settings = settings;
    if (given.has("title")) feed.title = fold_space(given.text("title"));
    if (one.not_before) {
      feed.after = std::chrono::ceil<Milliseconds>(*one.not_before - std::chrono::system_clock::now());
      feed.asked = true;
      terminal.note(fmt::format("{} is first fetched at {}", visible(one.url), format_time(*one.not_before)));
    }
  }
  refuse_elsewhere(context.store, urls, "nothing was added");
  const auto added = or_fail(Feeds(context.store).add(feeds, channel));
  std::vector<std::string> just_added;
  for (std::size_t i = 0; i < urls.size(); ++i) {
    const bool is_new = added[i];
    if (is_new) just_added.push_back(urls[i]);
    tell_added(terminal, is_new ? "added" : "present", urls[i], channel);
    if (!is_new && !settings.empty()) {
      terminal.note(fmt::format("{} existed already and keeps its settings (see feedmill set -h)", visible(urls[i])));
    }
  }
  terminal.flush();
  if (!given.truth("now")) {
    warn_of_refusals(just_added, wanted, context);
    note_without_worker(context);
    return exits::done;
  }
  test_point("S24");
  std::erase_if(urls, [&](const std::string& url) {
    const auto one = std::ranges::find(behind, url, &FeedBehind::url);
    return one != behind.end() && one->not_before;
  });
  const int code = urls.empty() ? exits::done : refresh_added(urls, just_added, context);
  return code == exits::done && urls.size() < behind.size() ? exits::unfinished : code;
}

/// Completes interrupted removals, which were confirmed before, and removes those feeds from `urls` (RELIABILITY L17).
void finish_removals_of(std::vector<std::string>& urls, const VerbContext& context) {
  const auto records = or_fail(Feeds(context.store).records(urls));
  std::vector<std::string> left;
  for (std::size_t i = 0; i < urls.size(); ++i) {
    if (!records[i] && or_fail(Feeds(context.store).remove(urls[i]))) {
      tell(context.terminal, "removed", urls[i]);
    } else {
      left.push_back(urls[i]);
    }
  }
  urls = std::move(left);
}

StoreUse use_of_add(const OperationValues& given) {
  return given.truth("dry-run") ? StoreUse::read : StoreUse::change;
}

int remove_named_feeds(const OperationValues& given, const VerbContext& context) {
  return remove_feeds(given.texts("URL"), given.truth("yes"), given.truth("dry-run"), context);
}

}  // namespace

int remove_feeds(const std::vector<std::string>& named, bool is_confirmed, bool dry_run, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  auto urls = feed_urls(terminal, named, "nothing was removed");
  if (!dry_run) {
    finish_removals_of(urls, context);
    const auto finished = or_fail(Feeds(context.store).finish_removals());
    if (finished > 0)
      terminal.note(fmt::format("completed the interrupted removal of {}", counted(finished, "removal")));
    if (urls.empty()) return exits::done;
  }
  const auto records = known_records(context, urls, "nothing was removed");
  std::uint64_t entries = 0;
  for (const FeedRecord& record : records) entries += record.entries;
  if (dry_run) {
    for (const std::string& url : urls) tell(terminal, "would remove", url);
    return exits::done;
  }
  if (!is_confirmed) confirm_removal(terminal, urls.size(), entries);
  Progress progress(terminal, "removing", urls.size());
  for (std::size_t i = 0; i < urls.size(); ++i) {
    stop_if_interrupted();
    progress.reached(i);
    const auto removed = or_fail(Feeds(context.store).remove(urls[i]));
    tell(terminal, removed ? "removed" : "already removed", urls[i]);
  }
  return exits::done;
}

namespace {

/// "fetching", "in line" or "due", else the time of the feed's next fetch.
std::string next_of(const FeedRecord& record, Milliseconds now) {
  if (!record.claim.empty()) return "fetching";
  if (!record.due) return "-";
  if (record.in_line) return "in line";
  return is_due(record, now) ? "due" : from_now(*record.due, now);
}

// A narrow terminal drops the title first, then the number of entries, then the last result; never the URL.
constexpr std::array<Columns::Column, 6> feed_columns{{{"state", 11},
                                                       {"entries", 7, true, 90},
                                                       {"next", 10},
                                                       {"last", 19, false, 76},
                                                       {"title", 28, false, 130},
                                                       {"url", 0}}};

int show_feeds(const OperationValues& given, std::span<const VerbContext> stores) {
  const std::string state = given.text("state"), host = given.text("host");
  Terminal& terminal = stores.front().terminal;
  auto columns = feed_columns;
  if (terminal.width() > 0 && terminal.width() < 110) columns[3].width = 14;
  Columns table(terminal, columns, chosen_columns(given));
  table.heading();
  bool any = false;
  std::size_t feeds = 0;
  std::int64_t left = given.number("limit", std::numeric_limits<std::int64_t>::max());
  for (const VerbContext& context : stores) {
    const auto now = or_fail(context.store.now());
    const Partition mine = context.config.partition();
    feeds += over_all_feeds(context.store, [&](const auto& page) {
      for (const std::optional<FeedRecord>& record : or_fail(Feeds(context.store).records(page))) {
        if (!record) continue;  // removed since
        if (!state.empty() && record->state.state != state) continue;
        if (!host.empty() && host_of(record->feed_url) != host) continue;
        if (given.truth("due") && !is_due(*record, now)) continue;
        if (left-- == 0) return false;
        any = true;
        boost::json::object row = list_json(*record);
        if (!mine.is_whole()) row["partition"] = mine.index;
        table.row(std::move(row),
                  {record->state.state, std::to_string(record->entries), next_of(*record, now),
                   last_result(record->state.last), readable_field(record->feed, "title"), record->feed_url});
      }
      return left > 0;
    });
    if (left <= 0) break;
  }
  if (feeds == 0) {
    const Config& config = stores.front().config;
    terminal.note(fmt::format("no feeds yet{}: feedmill add URL, or feedmill import FILE",
                              config.embedded() ? " in " + visible(config.store.data_dir.string()) : ""));
  } else if (!any) {
    terminal.note(fmt::format("none of {} feeds matches", feeds));
  }
  return exits::done;
}

int show_feed(const OperationValues& given, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const std::string url = feed_url(terminal, given.text("URL"));
  const auto now = or_fail(context.store.now());
  const std::optional<FeedRecord> record = all_records(context.store, {url}).front();
  if (!record) throw no_such_feed(context.store, url);
  const auto subscription = or_fail(subscription_of(context.store, record->state.push));
  auto row = show_json(*record);
  row["websub"] = push_json(*record, subscription);
  auto lines = show_lines(*record, now);
  const std::string pushes = push_text(*record, subscription, now);
  lines.emplace_back("websub", pushes.empty() ? "none advertised" : pushes);
  terminal.tell(std::move(row), lines, 18);
  return exits::done;
}

}  // namespace

VerbRow add_verb() {
  using Kind = OperationField::Kind;
  static constexpr std::array taken{
      fields::many(fields::argument(
          "URL",
          "Absolute http or https URLs. A URL that does not look like a feed (/feed, .rss, .xml …) is fetched first. "
          "For a web page, its feed is added; if the site cannot be reached, the URL is added unchecked. import adds "
          "URLs without checking them",
          Kind::address)),
      fields::flag("--now", "Fetch at once and show the result"),
      fields::option("--channel", "USER/NAME",
                     "Also add the feeds to this channel, including feeds already stored; the channel is created if it "
                     "does not exist",
                     Kind::new_channel),
      [] {
        OperationField title =
            fields::option("--title", "TEXT", "Title of the feed in the channel; empty: its own", Kind::text);
        title.clears = true;
        title.most = longest_title;
        return title;
      }(),
      fields::flag("--first", "For a web page with several feeds, add the first"),
      fields::flag("--dry-run",
                   "Only show what would be added, whether it may be fetched, and which settings would apply; still "
                   "starts a private server if needed"),
      fields::option("--keep", "N", "Entries to keep for each feed (default: retention.entries)"),
      fields::option(
          "--backfill", "N",
          "Read older pages, if the feed has any, until there are N entries, and keep at least that many (at most "
          "retention.hard_cap)"),
      fields::option("--interval-min", "DURATION", "Never fetch more often: 15min 24h 7d"),
      fields::option("--policy", "NAME", "The [egress.policy] of the configuration to apply"),
      fields::option("--auth", "NAME", "The [feed_auth] of the configuration to send, or a login: OWNER/NAME")};
  return {.name = "add",
          .about = "Add feeds",
          .example = "feedmill add https://example.org/feed.xml --now",
          .exits = "1 when a URL is a web page with several feeds or none; then nothing was added",
          .fields = taken,
          .check = check_add,
          .use = use_of_add,
          .fetches = true,
          .run = add_new_feeds};
}

VerbRow remove_verb() {
  static constexpr std::array taken{fields::urls, fields::yes,
                                    fields::flag("--dry-run", "Only show what would be removed")};
  return {.name = "remove",
          .about = "Remove feeds and everything stored for them",
          .example = "feedmill remove https://example.org/feed.xml --yes",
          .fields = taken,
          .wants_known_feeds = true,
          .run = remove_named_feeds};
}

VerbRow list_verb() {
  static constexpr std::array taken{
      fields::one_of(fields::option("--state", "STATE", "Only feeds in this state"), feed_state_names),
      fields::option("--host", "HOST", "Only feeds of this host"), fields::flag("--due", "Only due feeds")};
  return {.name = "list",
          .about = "List all feeds, one per line",
          .example = "feedmill list --state failing --json",
          .fields = taken,
          .columns = feed_columns,
          .use = reads,
          .run = show_feeds};
}

VerbRow show_verb() {
  static constexpr std::array taken{fields::url};
  return {.name = "show",
          .about = "Show everything stored about one feed",
          .example = "feedmill show https://example.org/feed.xml",
          .fields = taken,
          .use = reads,
          .run = show_feed};
}

namespace {

namespace json = boost::json;

constexpr std::chrono::seconds lookup_timeout{5};  // for name servers

/// A feed in the preview.
struct Previewed {
  FeedBehind behind;
  std::string given;  ///< the argument it was found from; "" if that equals the URL
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

/// The argument that `feed` was found from; "" if that adds no information.
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
