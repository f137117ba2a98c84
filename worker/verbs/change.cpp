#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "storage/feeds/feeds.hpp"
#include "storage/feeds/logins.hpp"
#include "storage/store/partition.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/cli/verb.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/operations/families.hpp"
#include "worker/verbs/feeds.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/table.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

/// Prints a note if the secret is bound to another origin: usually a mistake, but the feed may redirect there.
void note_other_origin(const std::string& url, const FeedSettings& settings, const VerbContext& context) {
  std::string origin;
  if (names_login(settings.auth)) {
    if (const auto login = or_fail(Logins(context.store).find(settings.auth))) origin = login->origin;
  } else if (const auto auth = context.config.feed_auth.find(settings.auth); auth != context.config.feed_auth.end()) {
    origin = auth->second.origin;
  }
  if (origin.empty() || origin_of(origin) == origin_of(url)) return;
  context.terminal.note(
      fmt::format("auth={} may be sent only to {}, but {} has another origin", settings.auth, origin, visible(url)));
}

void tell_settings(Terminal& terminal, std::string_view result, const std::string& url, const FeedSettings& settings) {
  std::string line = fmt::format("{} {}", result, visible(url));
  for (const std::string& text : setting_texts(settings)) line += " " + visible(text);
  terminal.tell({{"url", url}, {"result", result}, {"settings", embedded_json(settings_json(settings))}}, line);
}

void tell_feed(Terminal& terminal, std::string_view result, const std::string& url, Milliseconds due,
               Milliseconds now) {
  const bool when = due.count() != 0;
  terminal.tell({{"url", url}, {"result", result}, {"due", time_json(due)}},
                fmt::format("{} {}{}", result, visible(url), when ? ", due " + from_now(std::max(due, now), now) : ""));
}

/// Checks each "key=value", and their combination. Errors do not repeat values: one may be a misplaced secret.
void check_changes(const OperationValues& given) {
  FeedSettings scratch;
  for (const std::string& change : given.texts("NAME=VALUE")) {
    const std::string remedy = change_setting(scratch, change);
    if (remedy.empty()) continue;
    const std::string key = visible(change.substr(0, change.find('=')));
    // Quoted, so that the text after "header.Cookie" is not redacted as the value of a cookie.
    const bool quoted = key.starts_with("header.") && key.find(':') == std::string::npos;
    refuse(fmt::format("{}{}{}: {}", quoted ? "\"" : "", key, quoted ? "\"" : "", remedy));
  }
  const std::string contradiction = check_settings(scratch);
  if (!contradiction.empty()) refuse(contradiction);
}

CommandNotes setting_notes() {
  std::vector<std::string> keys;
  for (const FeedSetting& setting : feed_setting_table()) {
    keys.push_back(fmt::format("{:<34}{}", fmt::format("{}={}", setting.key, setting.unit), setting.meaning));
  }
  keys.push_back(fmt::format("{:<34}{}", "header.NAME=text", "sent to the feed's own origin"));
  return {"Keys", std::move(keys)};
}

std::vector<std::string_view> setting_keys() {
  std::vector<std::string_view> keys;
  for (const FeedSetting& setting : feed_setting_table()) keys.push_back(setting.key);
  return keys;
}

int set_settings(const OperationValues& given, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const std::string url = feed_url(terminal, given.text("URL"), "nothing was set");
  for (;;) {  // retry if the settings changed concurrently
    stop_if_interrupted();
    const auto records = known_records(context, {url}, "nothing was set");
    const std::string& stored = records.front().state.settings;
    const FeedSettings before = read_settings(stored);
    FeedSettings settings = before;
    for (const std::string& change : given.texts("NAME=VALUE")) change_setting(settings, change);
    std::string remedy = check_settings(settings);
    if (remedy.empty()) remedy = unusable_names(context.config, before, settings);
    if (remedy.empty()) remedy = missing_login(context.store, before, settings);
    if (!remedy.empty()) throw VerbFailure{exits::usage, remedy + "; nothing was set"};
    if (given.truth("dry-run")) {
      tell_settings(terminal, "would set", url, settings);
      return exits::done;
    }
    const auto changed = or_fail(
        Feeds(context.store).change_settings(url, stored, settings_json(settings), changes_hub(before, settings)));
    if (changed != SettingsChange::done) continue;
    tell_settings(terminal, "set", url, settings);
    if (settings.auth != before.auth) note_other_origin(url, settings, context);
    if (settings.ca_file != before.ca_file && !settings.ca_file.empty() &&
        ::access(settings.ca_file.c_str(), R_OK) != 0)
      terminal.note(
          fmt::format("{} cannot be read here; the workers must find it on their machines", visible(settings.ca_file)));
    return exits::done;
  }
}

int pause_feeds(const OperationValues& given, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const auto urls = feed_urls(terminal, given.texts("URL"), "nothing was paused");
  const auto records = known_records(context, urls, "nothing was paused");
  if (given.truth("dry-run")) {
    for (const FeedRecord& record : records) {
      const bool already = record.state.state == "paused";
      tell_feed(terminal, already ? "paused already" : "would pause", record.feed_url, {}, {});
    }
    return exits::done;
  }
  in_parts(urls, [&](const auto& part) {
    const auto paused = or_fail(Feeds(context.store).pause(part));
    for (std::size_t i = 0; i < part.size(); ++i) {
      const Paused result = paused[i];
      tell_feed(terminal,
                result == Paused::paused    ? "paused"
                : result == Paused::already ? "paused already"
                                            : "already removed",
                part[i], {}, {});
    }
  });
  return exits::done;
}

int resume_feeds(const OperationValues& given, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const auto urls = feed_urls(terminal, given.texts("URL"), "nothing was resumed");
  const auto records = known_records(context, urls, "nothing was resumed");
  const auto now = or_fail(context.store.now());
  std::vector<ResumedFeed> feeds;
  for (const FeedRecord& record : records) {
    if (record.state.state != "paused") {
      tell_feed(terminal, "not paused", record.feed_url, record.due.value_or(Milliseconds(0)), now);
    } else if (given.truth("dry-run")) {
      tell_feed(terminal, "would resume", record.feed_url, {}, now);
    } else {  // spread many feeds as an import does (HTTP P12)
      const std::uint64_t rate = context.config.schedule.import_rate;
      const std::uint64_t wait = rate == 0 ? 0 : feeds.size() * 1000 / rate;
      feeds.push_back({record.feed_url, Milliseconds(static_cast<std::int64_t>(wait))});
    }
  }
  in_parts(feeds, [&](const auto& part) {
    const auto resumed = or_fail(Feeds(context.store).resume(part, context.config.schedule.floor));
    for (std::size_t i = 0; i < part.size(); ++i) {
      const bool gone = resumed[i].result == Resumed::Result::unknown;
      tell_feed(terminal, gone ? "already removed" : "resumed", part[i].feed_url, resumed[i].due, now);
    }
  });
  return exits::done;
}

}  // namespace

VerbRow set_verb() {
  static const auto keys = setting_keys();
  static const std::array taken{fields::url,
                                fields::many(fields::completed(fields::argument("NAME=VALUE", "What to change"), keys)),
                                fields::flag("--dry-run", "Only show what would be set")};
  return {.name = "set",
          .about = "Change settings of one feed: key=value; key= removes a setting",
          .example = "feedmill set https://example.org/feed.xml keep=200 interval_min=6h",
          .fields = taken,
          .check = check_changes,
          .notes = setting_notes,
          .run = set_settings};
}

VerbRow pause_verb() {
  static constexpr std::array taken{fields::urls, fields::flag("--dry-run", "Only show what would be paused")};
  return {.name = "pause",
          .about = "Stop fetching feeds until resumed",
          .example = "feedmill pause https://example.org/feed.xml",
          .fields = taken,
          .wants_known_feeds = true,
          .run = pause_feeds};
}

VerbRow resume_verb() {
  static constexpr std::array taken{fields::urls, fields::flag("--dry-run", "Only show what would be resumed")};
  return {.name = "resume",
          .about = "Fetch paused feeds again",
          .example = "feedmill resume https://example.org/feed.xml",
          .fields = taken,
          .wants_known_feeds = true,
          .run = resume_feeds};
}

namespace {

void tell_moved(const std::string& url, const VerbContext& context) {
  const std::optional<FeedRecord> record = all_records(context.store, {url}).front();
  if (!record || record->state.address.moves.empty()) throw no_such_feed(context.store, url);  // removed concurrently
  const Move& move = record->state.address.moves.back();
  context.terminal.tell({{"url", url},
                         {"result", "moved"},
                         {"from", move.from},
                         {"to", move.to},
                         {"due", time_json(record->due.value_or(Milliseconds(0)))}},
                        fmt::format("moved {}: fetching {} from now on instead of {}", visible(url), visible(move.to),
                                    visible(move.from)));
  warn_of_refusals({move.to}, read_settings(record->state.settings), context);
}

/// Whether another partition has the feed: the store would not notice that a move turns two feeds into one.
bool is_feed_elsewhere(const std::string& url, const Config& config) {
  const unsigned its = partition_of(url, config.redis.partitions);
  return its != config.partition().index && has_all(config, its, {url});
}

void check_move(const OperationValues& given) {
  if (given.truth("undo") && given.has("NEW")) refuse("NEW and --undo exclude each other");
  if (!given.truth("undo") && !given.has("NEW")) refuse("NEW is missing (or --undo)");
}

int move_feed(const OperationValues& given, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const bool undo = given.truth("undo");
  const std::string url = feed_url(terminal, given.text("URL"), "nothing was moved");
  const std::string to = undo ? "" : feed_url(terminal, given.text("NEW"), "nothing was moved");
  const bool taken = !undo && is_feed_elsewhere(to, context.config);
  const auto result = taken ? MoveResult::taken
                            : or_fail(undo ? Feeds(context.store).undo_move(url) : Feeds(context.store).move(url, to));
  switch (result) {
    case MoveResult::moved:
      tell_moved(url, context);
      return exits::done;
    case MoveResult::same:
      terminal.tell({{"url", url}, {"result", "same"}, {"to", to}},
                    fmt::format("same {}: already fetching {}", visible(url), visible(to)));
      return exits::done;
    case MoveResult::unknown:
      throw no_such_feed(context.store, url);
    case MoveResult::taken:
      throw VerbFailure{exits::no,
                        fmt::format("{} is already a feed, and feeds are not merged; remove one of the two first",
                                    to.empty() ? "the URL it was moved from" : visible(to))};
    case MoveResult::nothing:
      throw VerbFailure{
          exits::no, fmt::format("{0} was not moved within the last 90 days; give the new URL: feedmill move {0} NEW",
                                 visible(url))};
    case MoveResult::busy:
      throw VerbFailure{exits::unfinished,
                        fmt::format("{} was moved concurrently; check it (feedmill show) and try again", visible(url))};
  }
  return exits::bug;
}

}  // namespace

VerbRow move_verb() {
  using Kind = OperationField::Kind;
  static constexpr std::array taken{
      fields::argument("URL", "Address of a feed, as it was added", Kind::address),
      fields::optional(fields::argument("NEW", "URL to fetch from now on", Kind::address)),
      fields::flag("--undo", "Fetch again from the URL before the last move (90 days)")};
  return {.name = "move",
          .about = "Fetch a feed from another URL; its keys and entries stay",
          .example = "feedmill move https://example.org/old.xml https://example.org/new.xml",
          .exits = "75 if it was moved concurrently",
          .fields = taken,
          .check = check_move,
          .run = move_feed};
}

}  // namespace feedmill
