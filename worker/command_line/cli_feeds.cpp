// The verbs of feeds in the tree of the command line: one, several, lists of them.
#include "worker/command_line/cli_values.hpp"
#include "worker/command_line/cli_verb.hpp"

namespace feedmill {
namespace {

void add_feeds(CLI::App& root, std::optional<Verb>& chosen) {
  const auto needs_urls = [](const auto& arguments) {
    if (arguments.urls.empty()) refuse("URL is missing");
  };
  auto [add, added] =
      add_verb<AddVerb>(root, chosen, "Add feeds", "feedmill add https://example.org/feed.xml --now", needs_urls);
  add->add_option("URL", added->urls,
                  "Absolute http or https addresses. One that does not say feed (/feed, .rss, .xml …) is looked at "
                  "first: of a web page its feed is added; what cannot be reached is added as it stands. import adds "
                  "without looking");
  add->add_flag("--now", added->now, "Fetch at once and show what came");
  add->add_flag("--first", added->first, "Of a web page with several feeds the first");
  add->add_flag("--dry-run", added->dry_run,
                "Only say what would be added, whether it may be fetched, and what would hold for it; a private server "
                "is started for that as for any verb");
  const auto setting = [&to = added, add = add](const char* flag, const std::string& key, const char* about,
                                                const char* unit) {
    add->add_option_function<std::string>(
           flag,
           [to, flag, key](const std::string& text) {
             const std::string remedy = change_setting(to->settings, key + "=" + text);
             if (!remedy.empty()) refuse(fmt::format("{}: {}", flag, remedy));
           },
           about)
        ->type_name(unit);
  };
  setting("--keep", "keep", "Entries to keep of these feeds (default: retention.entries)", "N");
  setting("--interval-min", "interval_min", "Never fetch more often: 15min 24h 7d", "DURATION");
  setting("--policy", "policy", "The [egress.policy] of the configuration that holds for them", "NAME");
  setting("--auth", "auth", "The [feed_auth] of the configuration that they send", "NAME");

  auto [remove, removed] = add_verb<RemoveVerb>(root, chosen, "Remove feeds with everything stored of them",
                                                "feedmill remove https://example.org/feed.xml --yes", needs_urls);
  remove->add_option("URL", removed->urls, "Addresses of feeds");
  remove->add_flag("--yes", removed->yes, "Do not ask");
  remove->add_flag("--dry-run", removed->dry_run, "Only say what would be removed");
  remove
      ->add_flag_function("--purge",
                          [](std::int64_t said) {
                            if (said > 0) return;
                            refuse("--purge: a feed's entries always go with it; leave it out, or see feedmill pause");
                          })
      ->group("");  // accepted and not shown: it is always so

  auto [move, moved] = add_verb<MoveVerb>(root, chosen, "Request another URL for a feed; its keys and entries stay",
                                          "feedmill move https://example.org/old.xml https://example.org/new.xml",
                                          [](const MoveVerb& arguments) {
                                            if (arguments.url.empty()) refuse("URL is missing");
                                            if (arguments.undo && !arguments.to.empty())
                                              refuse("NEW and --undo exclude each other");
                                            if (!arguments.undo && arguments.to.empty())
                                              refuse("NEW is missing (or --undo)");
                                          });
  move->add_option("URL", moved->url, "Address of a feed, as it was added");
  move->add_option("NEW", moved->to, "What to request from now on");
  move->add_flag("--undo", moved->undo, "Request again what was requested before its last move (90 days)");

  auto [refresh, refreshed] = add_verb<RefreshVerb>(
      root, chosen, "Fetch feeds now and show what came; exit 1 when a fetch failed, 75 when one was put off",
      "feedmill refresh https://example.org/feed.xml", [](const RefreshVerb& arguments) {
        if (arguments.urls.empty() && !arguments.all) refuse("URL is missing (or --all)");
        if (!arguments.urls.empty() && arguments.all) refuse("URL and --all exclude each other");
      });
  refresh->add_option("URL", refreshed->urls, "Addresses of feeds");
  refresh->add_flag("--all", refreshed->all, "Every feed");
  refresh->add_flag("--defer", refreshed->defer, "Only make them due; a running worker fetches them");
  refresh->add_flag("--ignore-floor", refreshed->ignore_floor, "Even if the last fetch was a moment ago");

  auto [show, shown] = add_verb<ShowVerb>(root, chosen, "All that is known of one feed",
                                          "feedmill show https://example.org/feed.xml", [](const ShowVerb& arguments) {
                                            if (arguments.url.empty()) refuse("URL is missing");
                                          });
  show->add_option("URL", shown->url, "Address of a feed");
}

/// Values are not repeated: one may be a secret in the wrong place.
void check_changes(const SetVerb& arguments) {
  if (arguments.url.empty()) refuse("URL is missing");
  if (arguments.changes.empty()) refuse("what to change is missing: NAME=VALUE");
  FeedSettings scratch;
  for (const std::string& change : arguments.changes) {
    const std::string remedy = change_setting(scratch, change);
    if (!remedy.empty()) refuse(fmt::format("{}: {}", visible(change.substr(0, change.find('='))), remedy));
  }
  const std::string contradiction = check_settings(scratch);
  if (!contradiction.empty()) refuse(contradiction);
}

std::string about_settings() {
  std::string text = "Keys:\n";
  const auto row = [&text](std::string_view key, std::string_view unit, std::string_view meaning) {
    text += fmt::format("  {:<34}{}\n", fmt::format("{}={}", key, unit), meaning);
  };
  for (const FeedSetting& setting : feed_setting_table()) row(setting.key, setting.unit, setting.meaning);
  row("header.NAME", "text", "sent to the feed's own origin");
  return text + "\n";
}

void add_changes(CLI::App& root, std::optional<Verb>& chosen) {
  const auto needs_urls = [](const auto& arguments) {
    if (arguments.urls.empty()) refuse("URL is missing");
  };
  auto [set, changed] = add_verb<SetVerb>(root, chosen, "Change what holds for one feed: key=value, key= takes it away",
                                          "feedmill set https://example.org/feed.xml keep=200 interval_min=6h",
                                          [](const SetVerb& arguments) { check_changes(arguments); });
  set->add_option("URL", changed->url, "Address of a feed");
  set->add_option("CHANGE", changed->changes, "What to change")->type_name("NAME=VALUE");
  set->footer(about_settings() + set->get_footer());
  set->add_flag("--dry-run", changed->dry_run, "Only say what would be set");

  auto [pause, paused] = add_verb<PauseVerb>(root, chosen, "Fetch feeds no more until they are resumed",
                                             "feedmill pause https://example.org/feed.xml", needs_urls);
  pause->add_option("URL", paused->urls, "Addresses of feeds");
  pause->add_flag("--dry-run", paused->dry_run, "Only say what would be paused");

  auto [resume, resumed] = add_verb<ResumeVerb>(root, chosen, "Fetch paused feeds again",
                                                "feedmill resume https://example.org/feed.xml", needs_urls);
  resume->add_option("URL", resumed->urls, "Addresses of feeds");
  resume->add_flag("--dry-run", resumed->dry_run, "Only say what would be resumed");
}

void add_lists(CLI::App& root, std::optional<Verb>& chosen) {
  auto [list, listed] =
      add_verb<ListVerb>(root, chosen, "All feeds, one a line", "feedmill list --state failing --json");
  list->add_option_function<std::string>(
          "--state",
          [to = listed](const std::string& text) {
            one_of("--state", text, feed_states());
            to->state = text;
          },
          "Only feeds in this state")
      ->type_name("STATE");
  list->add_option("--host", listed->host, "Only feeds of this host")->type_name("HOST");
  list->add_flag("--due", listed->due, "Only feeds that are due");

  auto [import, imported] =
      add_verb<ImportVerb>(root, chosen, "Add the feeds of an OPML file or of a list of URLs, one a line",
                           "feedmill import subscriptions.opml --dry-run", [](const ImportVerb& arguments) {
                             if (arguments.file.empty()) refuse("FILE is missing (- for stdin)");
                           });
  import->add_option("FILE", imported->file, "OPML or a list of URLs; - for stdin");
  import->add_flag("--dry-run", imported->dry_run, "Only say what would be added or removed");
  import->add_flag("--prune", imported->prune, "Then remove the feeds that the list does not name, with their posts");
  import->add_flag("--yes", imported->yes, "Do not ask before --prune");
  import->add_option("--user", imported->user, "Folders become channels of this user: USER/FOLDER")->type_name("USER");

  auto [write, written] =
      add_verb<ExportVerb>(root, chosen, "Write all feeds as OPML 2.0", "feedmill export > subscriptions.opml");
  write->add_option("--user", written->user, "Only what this user's channels hold, as folders")->type_name("USER");
}

}  // namespace

void add_feed_verbs(CLI::App& root, std::optional<Verb>& chosen) {
  add_feeds(root, chosen);
  add_changes(root, chosen);
  add_lists(root, chosen);
}

}  // namespace feedmill
