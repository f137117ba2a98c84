#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/timelines/channels.hpp"
#include "storage/timelines/timelines_of_all.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/cli/verb.hpp"
#include "worker/verbs/entry_verbs.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/table.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::string_view channel_word = "channel";  // names these verbs in errors

/// Names the partition in errors: it knows only the channels of its own feeds. "" if all are searched.
std::string which_alone(std::span<const VerbContext> stores) {
  const Partition mine = stores.front().config.partition();
  return stores.size() > 1 || mine.is_whole() ? "" : fmt::format(" in partition {}", mine.index);
}

VerbFailure no_such_channel(const std::string& uid, std::span<const VerbContext> stores) {
  const bool is_feed = uid.find("://") != std::string::npos;
  return {exits::no,
          fmt::format("no such channel{}: {} ({})", which_alone(stores), visible(uid),
                      is_feed ? "to take a feed out of a channel, use feedmill channel feeds CHANNEL --remove URL"
                              : "see feedmill channel list")};
}

void tell_no_channels(std::span<const VerbContext> stores) {
  const std::string which = which_alone(stores);
  stores.front().terminal.note(
      which.empty() ? "no channels yet: feedmill channel add NAME, or feedmill import FILE"
                    : fmt::format("no channels{}; without --partition, those of all partitions are listed", which));
}

/// For verbs that continue after a missing channel. Prints the error under `channel`, like the verbs below that name.
int tell_missing(const std::string& uid, std::span<const VerbContext> stores) {
  Terminal& terminal = stores.front().terminal;
  terminal.speak_for(channel_word);
  const VerbFailure missing = no_such_channel(uid, stores);
  terminal.error(missing.text);
  return missing.exit;
}

bool is_wanted(const std::string& user, const std::string& uid) {
  return user.empty() || uid.starts_with(user + "/");
}

void tell_result(std::string_view result, const std::string& uid, Terminal& terminal) {
  terminal.tell({{"channel", uid}, {"result", result}}, fmt::format("{} {}", result, visible(uid)));
}

void tell_feed(const std::string& uid, std::string_view result, const std::string& url, Terminal& terminal) {
  terminal.tell({{"channel", uid}, {"url", url}, {"result", result}}, fmt::format("{} {}", result, visible(url)));
}

void tell_number(const std::string& uid, std::string_view name, std::uint64_t number, Terminal& terminal) {
  terminal.tell({{"channel", uid}, {name, number}}, fmt::format("{} {}", number, visible(uid)));
}

bool holds(const std::vector<std::string>& uids, const std::string& uid) {
  return std::find(uids.begin(), uids.end(), uid) != uids.end();
}

bool holds(const std::vector<ChannelRecord>& channels, const std::string& uid) {
  return std::ranges::find(channels, uid, &ChannelRecord::uid) != channels.end();
}

constexpr std::array<Columns::Column, 3> channel_columns{{{"unread", 8, true}, {"feeds", 7, true}, {"channel", 0}}};

int show_channels(const OperationValues& given, std::span<const VerbContext> stores) {
  Terminal& terminal = stores.front().terminal;
  const auto all = ChannelsOfAll(deployment_of(stores)).list();
  Columns table(terminal, channel_columns, chosen_columns(given));
  table.heading();
  std::int64_t left = given.number("limit", std::numeric_limits<std::int64_t>::max());
  for (const ChannelRecord& channel : all) {
    if (!is_wanted(given.text("user"), channel.uid)) continue;
    if (left-- == 0) break;
    table.row({{"channel", channel.uid},
               {"position", channel.position},
               {"feeds", channel.feeds},
               {"unread", channel.unread}},
              {std::to_string(channel.unread), std::to_string(channel.feeds), channel.uid});
  }
  if (all.empty()) tell_no_channels(stores);
  return exits::done;
}

int count_unread(const OperationValues& given, std::span<const VerbContext> stores) {
  const std::vector<std::string> channels = given.texts("CHANNEL");
  Terminal& terminal = stores.front().terminal;
  const auto all = ChannelsOfAll(deployment_of(stores)).list();
  int code = exits::done;
  for (const std::string& uid : channels) {
    if (!holds(all, uid)) code = tell_missing(uid, stores);
  }
  if (code != exits::done) return code;
  if (all.empty()) tell_no_channels(stores);
  for (const ChannelRecord& channel : all) {
    const bool asked_for = channels.empty() || holds(channels, channel.uid);
    if (asked_for && is_wanted(given.text("user"), channel.uid))
      tell_number(channel.uid, "unread", channel.unread, terminal);
  }
  return code;
}

int add_channels(const OperationValues& given, std::span<const VerbContext> stores) {
  for (const std::string& uid : given.texts("CHANNEL")) {
    stop_if_interrupted();
    tell_result(ChannelsOfAll(deployment_of(stores)).add(uid) ? "added" : "present", uid, stores.front().terminal);
  }
  return exits::done;
}

int remove_channels(const OperationValues& given, std::span<const VerbContext> stores) {
  Terminal& terminal = stores.front().terminal;
  const Deployment deployment = deployment_of(stores);
  const ChannelsOfAll of_all(deployment);
  const std::vector<std::string> channels = given.texts("CHANNEL");
  int code = exits::done;
  for (const std::string& uid : channels) {
    // An unknown name alone is tried: an interrupted deletion may have left data, which a repeated one removes.
    if (channels.size() > 1 && !of_all.is_known(uid)) code = tell_missing(uid, stores);
  }
  if (code != exits::done) {
    terminal.note("nothing was deleted");
    return code;
  }
  if (!given.truth("yes")) {
    const std::size_t number = channels.size();
    confirm(terminal, fmt::format("Delete {} channel{}?", number, number == 1 ? "" : "s"),
            "this deletes channels and their read marks; use --yes", "nothing was deleted");
  }
  for (const std::string& uid : channels) {
    stop_if_interrupted();
    if (of_all.remove(uid)) {
      tell_result("removed", uid, terminal);
    } else {
      code = tell_missing(uid, stores);
    }
  }
  return code;
}

/// Orders the named channels first, then the others as before.
int order_channels(const OperationValues& given, std::span<const VerbContext> stores) {
  const Deployment deployment = deployment_of(stores);
  const ChannelsOfAll channels(deployment);
  const auto all = channels.list();
  std::vector<std::string> wanted;
  for (const std::string& uid : given.texts("CHANNEL")) {
    if (!holds(all, uid)) throw no_such_channel(uid, stores);
    if (!holds(wanted, uid)) wanted.push_back(uid);
  }
  const std::set<std::string> named(wanted.begin(), wanted.end());
  for (const ChannelRecord& channel : all) {
    if (!named.contains(channel.uid)) wanted.push_back(channel.uid);
  }
  channels.order(wanted);
  return exits::done;
}

/// Puts feeds into a channel, unless any is unknown; returns the exit code.
int add_feeds(const std::string& uid, const std::vector<std::string>& urls, std::span<const VerbContext> stores) {
  Terminal& terminal = stores.front().terminal;
  const Deployment deployment = deployment_of(stores);
  const ChannelsOfAll channels(deployment);
  const auto known = or_fail(deployment.of_feeds(urls, [](Store& store, const std::vector<std::string>& own) {
    return StoreResult<std::vector<std::optional<FeedRecord>>>(all_records(store, own));
  }));
  if (const auto unknown = std::ranges::find_if(known, [](const auto& one) { return !one; }); unknown != known.end()) {
    const std::string& url = urls[static_cast<std::size_t>(unknown - known.begin())];
    terminal.error(fmt::format("no such feed: {}; add it first: feedmill add URL", visible(url)));
    return exits::no;
  }
  const auto followed = channels.follow(uid, urls);
  for (std::size_t i = 0; i < urls.size(); ++i) {
    if (!followed[i]) throw no_such_channel(uid, stores);
    tell_feed(uid, *followed[i] ? "added" : "present", urls[i], terminal);
  }
  return exits::done;
}

StoreUse use_of_feeds(const OperationValues& given) {
  return given.has("add") || given.has("remove") ? StoreUse::change : StoreUse::read;
}

void check_channel_feeds(const OperationValues& given) {
  const std::string uid = given.text("CHANNEL");
  const std::string_view wrong = given.has("add") ? unfit_text_name(uid) : std::string_view();
  if (!wrong.empty()) refuse(fmt::format("invalid channel name \"{}\": {}", visible(uid), wrong));
}

int channel_feeds(const OperationValues& given, std::span<const VerbContext> stores) {
  Terminal& terminal = stores.front().terminal;
  const Deployment deployment = deployment_of(stores);
  const ChannelsOfAll channels(deployment);
  const std::string uid = given.text("CHANNEL");
  const std::vector<std::string> added = given.texts("add"), removed = given.texts("remove");
  std::vector<std::string> both = added;
  both.insert(both.end(), removed.begin(), removed.end());
  feed_urls(terminal, both, "nothing was changed");
  if (!channels.is_known(uid)) throw no_such_channel(uid, stores);
  const int code = add_feeds(uid, feed_urls(terminal, added, ""), stores);
  if (code != exits::done) return code;
  for (const std::string& url : feed_urls(terminal, removed, "")) {
    stop_if_interrupted();
    tell_feed(uid, channels.unfollow({uid, url}) ? "removed" : "not in the channel", url, terminal);
  }
  if (!both.empty()) return exits::done;
  constexpr std::size_t stretch = 50'000;  // each call scans all feeds of the channel
  std::string after;
  for (std::size_t found = stretch; found == stretch;) {
    stop_if_interrupted();
    const auto urls = channels.feeds_after(uid, after, stretch);
    for (const std::string& url : urls) terminal.tell({{"channel", uid}, {"url", url}}, visible(url));
    found = urls.size();
    if (found > 0) after = urls.back();
  }
  return exits::done;
}

int channel_timeline(const OperationValues& given, std::span<const VerbContext> stores) {
  const std::string uid = given.text("CHANNEL");
  const bool all = given.truth("all"), once = given.truth("once");
  const Deployment deployment = deployment_of(stores);
  const ChannelsOfAll channels(deployment);
  const Channels::Of which = all ? Channels::Of::all : Channels::Of::unread;
  if (!channels.is_known(uid)) throw no_such_channel(uid, stores);
  tell_entries(
      given, "channel timeline " + visible(uid) + (all ? " --all" : "") + (once ? " --once" : ""),
      stores.front().terminal,
      [&](std::size_t most, const std::optional<EntryCursor>& before) {
        return channels.entries(uid, which, most, before);
      },
      once
          ? EntryFilter([&](const std::vector<StoredEntry>& page) { return channels.are_first_told(uid, which, page); })
          : EntryFilter());
  return exits::done;
}

int mark_read(const OperationValues& given, std::span<const VerbContext> stores) {
  const Deployment deployment = deployment_of(stores);
  const ChannelsOfAll channels(deployment);
  const std::string uid = given.text("CHANNEL");
  if (!channels.is_known(uid)) throw no_such_channel(uid, stores);
  const std::size_t marked =
      given.truth("all") ? channels.mark_all_read(uid) : channels.mark(uid, ChannelsOfAll::As::read, given.texts("ID"));
  tell_number(uid, "marked_read", marked, stores.front().terminal);
  return exits::done;
}

int mark_unread(const OperationValues& given, std::span<const VerbContext> stores) {
  const Deployment deployment = deployment_of(stores);
  const ChannelsOfAll channels(deployment);
  const std::string uid = given.text("CHANNEL");
  if (!channels.is_known(uid)) throw no_such_channel(uid, stores);
  tell_number(uid, "marked_unread", channels.mark(uid, ChannelsOfAll::As::unread, given.texts("ID")),
              stores.front().terminal);
  return exits::done;
}

using Kind = OperationField::Kind;

constexpr OperationField one_channel = fields::argument("CHANNEL", "Name of a channel", Kind::channel);
constexpr OperationField many_channels =
    fields::many(fields::argument("CHANNEL", "Names of channels; a user's own channel is USER/NAME", Kind::channel));
constexpr OperationField of_user =
    fields::option("--user", "USER", "Only channels of this user, named USER/…", Kind::user);
constexpr OperationField entry_ids = fields::many(fields::argument("ID", "Such as Entry:17", Kind::entry));

VerbRow channel_list() {
  static constexpr std::array taken{of_user};
  return {.name = "channel list",
          .about = "List all channels in order",
          .example = "feedmill channel list --user anna",
          .fields = taken,
          .columns = channel_columns,
          .use = reads,
          .run = show_channels};
}

VerbRow channel_add() {
  static constexpr std::array taken{fields::many(
      fields::argument("CHANNEL", "Names of channels; a user's own channel is USER/NAME", Kind::new_channel))};
  return {.name = "channel add",
          .about = "Create channels",
          .example = "feedmill channel add anna/news",
          .fields = taken,
          .run = add_channels};
}

VerbRow channel_remove() {
  static constexpr std::array taken{many_channels, fields::yes};
  return {.name = "channel remove",
          .about = "Delete channels with their read marks and rules",
          .example = "feedmill channel remove anna/news --yes",
          .fields = taken,
          .run = remove_channels};
}

VerbRow channel_order() {
  static constexpr std::array taken{many_channels};
  return {.name = "channel order",
          .about = "Put channels first, in this order; the others keep their order",
          .example = "feedmill channel order anna/work anna/news",
          .fields = taken,
          .run = order_channels};
}

VerbRow channel_feeds_row() {
  static constexpr std::array taken{
      one_channel, fields::many(fields::option("--add", "URL", "Add this feed; may be repeated", Kind::address)),
      fields::many(fields::option("--remove", "URL", "Remove this feed; may be repeated", Kind::address))};
  return {.name = "channel feeds",
          .about = "Show the feeds of a channel; add or remove feeds",
          .example = "feedmill channel feeds anna/news --add https://example.org/feed.xml",
          .fields = taken,
          .check = check_channel_feeds,
          .use = use_of_feeds,
          .run = channel_feeds};
}

VerbRow channel_timeline_row() {
  static constexpr std::array taken{
      one_channel, fields::flag("--all", "Include posts that were read"),
      fields::flag("--once", "Only one post per story reported by several feeds (signals.same_as)"), fields::limit,
      fields::before};
  return {.name = "channel timeline",
          .about = "Show unread posts of a channel, newest first",
          .example = "feedmill channel timeline anna/news --limit 5",
          .fields = taken,
          .columns = entry_columns,
          .use = reads,
          .run = channel_timeline};
}

VerbRow channel_read() {
  static constexpr std::array taken{one_channel, fields::either(entry_ids),
                                    fields::either(fields::flag("--all", "All entries in the timeline now"))};
  return {.name = "channel read",
          .about = "Mark entries of a channel read: they leave its timeline",
          .example = "feedmill channel read anna/news Entry:17",
          .fields = taken,
          .run = mark_read};
}

VerbRow channel_unread() {
  static constexpr std::array taken{one_channel, entry_ids};
  return {.name = "channel unread",
          .about = "Mark entries of a channel unread: they come back",
          .example = "feedmill channel unread anna/news Entry:17",
          .fields = taken,
          .run = mark_unread};
}

VerbRow channel_unread_count() {
  static constexpr std::array taken{
      fields::optional(fields::many(fields::argument("CHANNEL", "Only these channels", Kind::channel))), of_user};
  return {.name = "channel unread-count",
          .about = "Count the unread entries of each channel",
          .example = "feedmill channel unread-count --user anna",
          .fields = taken,
          .use = reads,
          .run = count_unread};
}

}  // namespace

std::vector<VerbRow> channel_verbs() {
  std::vector<VerbRow> rows{{.name = channel_word, .about = "Timelines gathered from feeds, for one user or all"},
                            channel_list(),
                            channel_add(),
                            channel_remove(),
                            channel_order(),
                            channel_feeds_row(),
                            channel_timeline_row(),
                            channel_read(),
                            channel_unread(),
                            channel_unread_count()};
  for (VerbRow& row : rows) row.fails_as = channel_word;
  return rows;
}

}  // namespace feedmill
