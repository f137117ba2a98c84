// The verbs of timelines and notices in the tree of the command line.
#include <initializer_list>

#include "storage/timelines/channels.hpp"
#include "worker/command_line/cli_values.hpp"
#include "worker/command_line/cli_verb.hpp"

namespace feedmill {
namespace {

CLI::App& add_group(CLI::App& root, const char* name, const char* about) {
  CLI::App* const group = root.add_subcommand(name, about);
  group->group("Verbs");
  group->fallthrough();
  group->require_subcommand(0, 1);
  return *group;
}

void check_name(std::string_view what, const std::string& name) {
  if (const std::string_view wrong = unfit_name(name); !wrong.empty()) {
    refuse(fmt::format("{} \"{}\" cannot be one: {}", what, visible(name), wrong));
  }
}

/// The verbs below `channel`.
class ChannelTree {
 public:
  ChannelTree(CLI::App& root, std::optional<Verb>& chosen)
      : group_(add_group(root, "channel", "Timelines gathered from feeds, for one user or all")), chosen_(chosen) {}

  void grow() {
    auto [list, listed] = verb(Does::list, "list", "All channels in their order", "feedmill channel list --user anna");
    add_user(*list, listed);

    auto [add, added] = verb(Does::add, "add", "Create channels", "feedmill channel add anna/news");
    add_channels(*add, added);

    auto [remove, removed] = verb(Does::remove, "remove", "Delete channels with their read marks and rules",
                                  "feedmill channel remove anna/news --yes");
    add_channels(*remove, removed);
    remove->add_flag("--yes", removed->yes, "Do not ask");

    auto [order, ordered] = verb(Does::order, "order", "Put channels first, in this order; the others keep theirs",
                                 "feedmill channel order anna/work anna/news");
    add_channels(*order, ordered);

    auto [feeds, edited] = verb(Does::feeds, "feeds", "The feeds of a channel, and putting feeds into it or out of it",
                                "feedmill channel feeds anna/news --add https://example.org/feed.xml");
    add_channel(*feeds, edited);
    add_texts(*feeds, "--add", edited->add_feeds, "URL", "Put this feed into it; may be repeated");
    add_texts(*feeds, "--remove", edited->remove_feeds, "URL", "Take this feed out; may be repeated");

    auto [timeline, shown] = verb(Does::timeline, "timeline", "What is unread in a channel, newest first",
                                  "feedmill channel timeline anna/news --limit 5");
    add_channel(*timeline, shown);
    add_page(*timeline, shown);

    auto [read, was_read] = verb(Does::read, "read", "Mark entries of a channel read: they leave its timeline",
                                 "feedmill channel read anna/news Entry:17");
    add_channel(*read, was_read);
    read->add_option("ID", was_read->entries, "Such as Entry:17");
    read->add_flag("--all", was_read->all, "All that is in the timeline now");

    auto [unread, was_not] = verb(Does::unread, "unread", "Mark entries of a channel unread: they come back",
                                  "feedmill channel unread anna/news Entry:17");
    add_channel(*unread, was_not);
    unread->add_option("ID", was_not->entries, "Such as Entry:17");

    auto [count, counted] = verb(Does::unread_count, "unread-count", "How many entries are unread, in each channel",
                                 "feedmill channel unread-count --user anna");
    count->add_option("CHANNEL", counted->channels, "Only these channels");
    add_user(*count, counted);
  }

 private:
  using Does = ChannelVerb::Does;
  using Arguments = std::shared_ptr<ChannelVerb>;

  std::pair<CLI::App*, Arguments> verb(Does does, const char* name, const char* about, const char* example) {
    auto made = add_verb_named<ChannelVerb>(group_, chosen_, name, about, example, check);
    made.second->does = does;
    return made;
  }

  static void check(const ChannelVerb& verb) {
    const bool any = verb.does == Does::list || verb.does == Does::unread_count;
    if (!any && verb.channels.empty()) refuse("CHANNEL is missing");
    for (const std::string& uid : verb.channels) check_name("channel", uid);
    if (verb.does == Does::read && verb.entries.empty() != verb.all) refuse("ID is missing (or --all)");
    if (verb.does == Does::unread && verb.entries.empty()) refuse("ID is missing");
  }

  static void add_channels(CLI::App& app, const Arguments& to) {
    app.add_option("CHANNEL", to->channels, "Names of channels; of a user's own USER/NAME");
  }
  static void add_channel(CLI::App& app, const Arguments& to) {
    app.add_option_function<std::string>(
        "CHANNEL", [to](const std::string& text) { to->channels = {text}; }, "Name of a channel");
  }
  static void add_user(CLI::App& app, const Arguments& to) {
    app.add_option("--user", to->user, "Only channels of this user, which are named USER/…")->type_name("USER");
  }
  static void add_texts(CLI::App& app, const char* flag, std::vector<std::string>& into, const char* type,
                        const char* about) {
    app.add_option(flag, into, about)->allow_extra_args(false)->type_name(type);
  }

  CLI::App& group_;
  std::optional<Verb>& chosen_;
};

void add_notify_verbs(CLI::App& root, std::optional<Verb>& chosen) {
  using Does = NotifyVerb::Does;
  CLI::App& group = add_group(root, "notify", "What users asked to be told of");
  const auto check = [](const NotifyVerb& verb) {
    if (verb.user.empty()) refuse("USER is missing");
    check_name("user", verb.user);
    for (const std::string& uid : verb.channels) check_name("channel", uid);
    const bool edits = verb.does == Does::read || verb.does == Does::remove;
    if (edits && verb.ids.empty() != verb.all) refuse("ID is missing (or --all)");
  };
  const auto verb = [&](Does does, const char* name, const char* about, const char* example) {
    auto made = add_verb_named<NotifyVerb>(group, chosen, name, about, example, check);
    made.second->does = does;
    made.first->add_option("USER", made.second->user, "Name of a user; operators are _operator");
    return made;
  };
  auto [rules, ruled] = verb(Does::rules, "rules", "A user's rules: a feed, a channel or words to watch",
                             "feedmill notify rules anna --words \"redis cluster\"");
  rules->add_option("--feed", ruled->feeds, "Watch this feed; may be repeated")
      ->allow_extra_args(false)
      ->type_name("URL");
  rules->add_option("--channel", ruled->channels, "Watch this channel; may be repeated")
      ->allow_extra_args(false)
      ->type_name("CHANNEL");
  rules->add_option("--words", ruled->words, "Watch for posts that hold all these words; may be repeated")
      ->allow_extra_args(false)
      ->type_name("WORDS");
  rules->add_option("--remove", ruled->remove_rules, "Drop the rule with this id; may be repeated")
      ->allow_extra_args(false)
      ->type_name("ID");
  auto [list, listed] =
      verb(Does::list, "list", "A user's notices, newest first", "feedmill notify list anna --unread");
  list->add_flag("--unread", listed->unread, "Only those not marked read");
  auto [read, was_read] = verb(Does::read, "read", "Mark notices read", "feedmill notify read anna --all");
  auto [remove, removed] = verb(Does::remove, "delete", "Delete notices", "feedmill notify delete anna --all");
  for (const auto& [app, arguments] : {std::pair(read, was_read), std::pair(remove, removed)}) {
    app->add_option("ID", arguments->ids, "As notify list tells it");
    app->add_flag("--all", arguments->all, "All of them");
  }
}

}  // namespace

void add_delivery_verbs(CLI::App& root, std::optional<Verb>& chosen) {
  ChannelTree(root, chosen).grow();
  add_notify_verbs(root, chosen);
  const auto anything = [](const auto&) {};
  auto [notices, noticed] = add_verb<NoticesVerb>(root, chosen, "What operators should know, newest first",
                                                  "feedmill notices --json", anything);
  notices->add_flag("--clear", noticed->clear, "Delete them all");
  add_verb<StatsVerb>(root, chosen, "Figures of all workers and the whole store", "feedmill stats --json", anything);
}

}  // namespace feedmill
