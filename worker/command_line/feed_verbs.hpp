// The verbs of feeds: what each is called, takes and needs. Its function run_verb() stands in worker/verbs.
#pragma once

#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "worker/command_line/arguments.hpp"
#include "worker/command_line/verb_row.hpp"
#include "worker/config/feed_settings.hpp"

namespace feedmill {

struct AddVerb {
  static constexpr VerbRow row{"add", "Add feeds", "feedmill add https://example.org/feed.xml --now",
                               "1 when a URL is a web page with several feeds or none; then nothing was added"};
  std::vector<std::string> urls;
  bool now = false, first = false, dry_run = false;
  std::string channel;    ///< "" = none
  FeedSettings settings;  ///< of those that are new

  void take(Arguments& line) {
    line.required("URL", urls,
                  "Absolute http or https URLs. A URL that does not look like a feed (/feed, .rss, .xml …) is fetched "
                  "first. For a web page, its feed is added; if the site cannot be reached, the URL is added "
                  "unchecked. import adds URLs without checking them");
    line.flag("--now", now, "Fetch at once and show the result");
    const auto read_channel = [this](const std::string& text) {
      check_name("channel", text, unfit_new_channel);
      channel = text;
    };
    line.value("--channel", "USER/NAME", read_channel,
               "Also add the feeds to this channel, including feeds already stored; the channel is created if it does "
               "not exist");
    line.flag("--first", first, "For a web page with several feeds, add the first");
    line.flag("--dry-run", dry_run,
              "Only show what would be added, whether it may be fetched, and which settings would apply; still starts "
              "a private server if needed");
    const auto setting = [&](const std::string& name, const char* key, const char* unit, const char* about) {
      const auto change = [this, name, key](const std::string& text) {
        const std::string remedy = change_setting(settings, fmt::format("{}={}", key, text));
        if (!remedy.empty()) refuse(fmt::format("{}: {}", name, remedy));
      };
      line.value(name, unit, change, about);
    };
    setting("--keep", "keep", "N", "Entries to keep for each feed (default: retention.entries)");
    setting("--backfill", "backfill", "N",
            "Read older pages, if the feed has any, until there are N entries, and keep that many (at most "
            "retention.hard_cap)");
    setting("--interval-min", "interval_min", "DURATION", "Never fetch more often: 15min 24h 7d");
    setting("--policy", "policy", "NAME", "The [egress.policy] of the configuration to apply");
    setting("--auth", "auth", "NAME", "The [feed_auth] of the configuration to send");
  }
  StoreUse use() const { return dry_run ? StoreUse::read : StoreUse::change; }
};
int run_verb(const AddVerb& verb, const VerbContext& context);

struct ImportVerb {
  static constexpr VerbRow row{"import", "Add feeds from an OPML file or a list of URLs, one per line",
                               "feedmill import subscriptions.opml --dry-run",
                               "65 when some rows of the list could not be used; the others were added"};
  std::string file;  ///< "-" = stdin
  bool dry_run = false;
  bool prune = false, yes = false;  ///< remove what the list does not name; without asking
  std::string user;                 ///< whose channels the folders become; "" = nobody's own

  void take(Arguments& line) {
    line.required("FILE", file, "OPML or a list of URLs; - for stdin", "FILE is missing (- for stdin)");
    line.flag("--dry-run", dry_run, "Only show what would be added or removed");
    line.flag("--prune", prune, "Then remove feeds that are not in the list, with their posts");
    line.flag("--yes", yes, "Do not ask before pruning");
    const auto read_user = [this](const std::string& text) {
      check_name("user", text, unfit_new_user);
      user = text;
    };
    line.value("--user", "USER", read_user, "Folders become channels of this user: USER/FOLDER");
  }
};
int run_verb(const ImportVerb& verb, const Config& config, Terminal& terminal);

struct RunVerb {
  static constexpr VerbRow row{"run", "Run the worker: fetch due feeds until stopped", "feedmill run --once"};
  bool once = false;

  void take(Arguments& line) { line.flag("--once", once, "Try every due feed once, then exit"); }
};
int run_verb(const RunVerb& verb, const Config& config, const ConfigSources& sources);

struct ListVerb {
  static constexpr VerbRow row{"list", "List all feeds, one per line", "feedmill list --state failing --json"};
  std::string state, host;  ///< "" = any
  bool due = false;

  void take(Arguments& line) {
    const auto read_state = [this](const std::string& text) {
      one_of("--state", text, feed_states());
      state = text;
    };
    line.value("--state", "STATE", read_state, "Only feeds in this state");
    line.among(feed_states());
    line.value("--host", "HOST", host, "Only feeds of this host");
    line.flag("--due", due, "Only due feeds");
  }
  static constexpr StoreUse use() { return StoreUse::read; }
};
int run_verb(const ListVerb& verb, std::span<const VerbContext> stores);

struct ShowVerb {
  static constexpr VerbRow row{"show", "Show everything stored about one feed",
                               "feedmill show https://example.org/feed.xml"};
  std::string url;

  void take(Arguments& line) { line.required("URL", url, "Address of a feed"); }
  static constexpr StoreUse use() { return StoreUse::read; }
};
int run_verb(const ShowVerb& verb, const VerbContext& context);

struct RefreshVerb {
  static constexpr VerbRow row{"refresh", "Fetch feeds now and show the result",
                               "feedmill refresh https://example.org/feed.xml",
                               "1 when a fetch failed or a named feed is paused, 75 when one was postponed"};
  std::vector<std::string> urls;
  bool all = false, defer = false, ignore_floor = false;

  void take(Arguments& line) {
    line.optional("URL", urls, "Addresses of feeds");
    line.flag("--all", all, "Every feed");
    line.flag("--defer", defer, "Only make them due; a running worker fetches them");
    line.flag("--ignore-floor", ignore_floor, "Even if the last fetch was very recent");
    line.check([this] {
      if (urls.empty() && !all) refuse("URL is missing (or --all)");
      if (!urls.empty() && all) refuse("URL and --all exclude each other");
    });
  }
};
int run_verb(const RefreshVerb& verb, const VerbContext& context);

struct SetVerb {
  static constexpr VerbRow row{"set", "Change settings of one feed: key=value; key= removes a setting",
                               "feedmill set https://example.org/feed.xml keep=200 interval_min=6h"};
  std::string url;
  std::vector<std::string> changes;  ///< "key=value", each by itself in order (feed_settings.hpp)
  bool dry_run = false;

  void take(Arguments& line) {
    line.required("URL", url, "Address of a feed");
    line.required("NAME=VALUE", changes, "What to change", "no change given: NAME=VALUE");
    line.among(feed_setting_keys(), "=");
    line.flag("--dry-run", dry_run, "Only show what would be set");
    line.check([this] { check_changes(changes); });
    std::vector<std::string> keys;
    for (const FeedSetting& setting : feed_setting_table()) {
      keys.push_back(fmt::format("{:<34}{}", fmt::format("{}={}", setting.key, setting.unit), setting.meaning));
    }
    keys.push_back(fmt::format("{:<34}{}", "header.NAME=text", "sent to the feed's own origin"));
    line.notes("Keys", std::move(keys));
  }
};
int run_verb(const SetVerb& verb, const VerbContext& context);

struct PauseVerb {
  static constexpr VerbRow row{"pause", "Stop fetching feeds until resumed",
                               "feedmill pause https://example.org/feed.xml"};
  static constexpr bool wants_known_feeds = true;
  std::vector<std::string> urls;
  bool dry_run = false;

  void take(Arguments& line) {
    line.required("URL", urls, "Addresses of feeds");
    line.flag("--dry-run", dry_run, "Only show what would be paused");
  }
};
int run_verb(const PauseVerb& verb, const VerbContext& context);

struct ResumeVerb {
  static constexpr VerbRow row{"resume", "Fetch paused feeds again", "feedmill resume https://example.org/feed.xml"};
  static constexpr bool wants_known_feeds = true;
  std::vector<std::string> urls;
  bool dry_run = false;

  void take(Arguments& line) {
    line.required("URL", urls, "Addresses of feeds");
    line.flag("--dry-run", dry_run, "Only show what would be resumed");
  }
};
int run_verb(const ResumeVerb& verb, const VerbContext& context);

struct MoveVerb {
  static constexpr VerbRow row{"move", "Fetch a feed from another URL; its keys and entries stay",
                               "feedmill move https://example.org/old.xml https://example.org/new.xml",
                               "75 if it was moved concurrently"};
  std::string url;
  std::string to;  ///< "" with undo
  bool undo = false;

  void take(Arguments& line) {
    line.required("URL", url, "Address of a feed, as it was added");
    line.optional("NEW", to, "URL to fetch from now on");
    line.flag("--undo", undo, "Fetch again from the URL before the last move (90 days)");
    line.check([this] {
      if (undo && !to.empty()) refuse("NEW and --undo exclude each other");
      if (!undo && to.empty()) refuse("NEW is missing (or --undo)");
    });
  }
};
int run_verb(const MoveVerb& verb, const VerbContext& context);

struct RemoveVerb {
  static constexpr VerbRow row{"remove", "Remove feeds and everything stored for them",
                               "feedmill remove https://example.org/feed.xml --yes"};
  static constexpr bool wants_known_feeds = true;
  std::vector<std::string> urls;
  bool yes = false, dry_run = false;

  void take(Arguments& line) {
    line.required("URL", urls, "Addresses of feeds");
    line.flag("--yes", yes, "Do not ask");
    line.flag("--dry-run", dry_run, "Only show what would be removed");
  }
};
int run_verb(const RemoveVerb& verb, const VerbContext& context);

struct ExportVerb {
  static constexpr VerbRow row{"export", "Write all feeds as OPML 2.0", "feedmill export > subscriptions.opml"};
  std::string user;  ///< only this one's channels; "" = all

  void take(Arguments& line) {
    const auto read_user = [this](const std::string& text) {
      check_name("user", text);
      user = text;
    };
    line.value("--user", "USER", read_user, "Only feeds in this user's channels, as folders");
  }
  static constexpr StoreUse use() { return StoreUse::read; }
};
int run_verb(const ExportVerb& verb, std::span<const VerbContext> stores);

/// In the order of the help, as in all such lists.
struct FeedVerbs {
  static constexpr std::string_view group = "Feeds";
  using List = std::tuple<AddVerb, ImportVerb, RunVerb, ListVerb, ShowVerb, RefreshVerb, SetVerb, PauseVerb, ResumeVerb,
                          MoveVerb, RemoveVerb, ExportVerb>;
};

}  // namespace feedmill
