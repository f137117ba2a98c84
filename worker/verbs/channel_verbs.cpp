#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/timelines/channels.hpp"
#include "worker/base/interrupt.hpp"
#include "worker/command_line/user_verbs.hpp"
#include "worker/verbs/channels_of_all.hpp"
#include "worker/verbs/entry_list.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

/// A single partition knows only the channels of its own feeds.
std::string which_alone(std::span<const VerbContext> stores) {
  const Partition mine = stores.front().config.partition();
  return stores.size() > 1 || mine.is_whole() ? "" : fmt::format(" in partition {}", mine.index);
}

VerbFailure no_such_channel(const std::string& uid, std::span<const VerbContext> stores) {
  return {exits::no,
          fmt::format("no such channel{}: {} (see feedmill channel list)", which_alone(stores), visible(uid))};
}

void tell_no_channels(std::span<const VerbContext> stores) {
  const std::string which = which_alone(stores);
  stores.front().terminal.note(
      which.empty() ? "no channels yet: feedmill channel add NAME, or feedmill import FILE"
                    : fmt::format("no channels{}; without --partition, those of all partitions are listed", which));
}

/// For verbs that may miss several channels. Reports under `channel`, as the verbs below do.
int tell_missing(const std::string& uid, std::span<const VerbContext> stores) {
  Terminal& terminal = stores.front().terminal;
  terminal.speak_for(ChannelVerb::fails_as);
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

}  // namespace

int run_verb(const ChannelListVerb& verb, std::span<const VerbContext> stores) {
  Terminal& terminal = stores.front().terminal;
  const auto all = ChannelsOfAll(stores).list();
  Columns table(terminal, {{"UNREAD", 8, true}, {"FEEDS", 7, true}, {"CHANNEL", 0}});
  table.heading();
  for (const ChannelRecord& channel : all) {
    if (!is_wanted(verb.user, channel.uid)) continue;
    table.row({{"channel", channel.uid},
               {"position", channel.position},
               {"feeds", channel.feeds},
               {"unread", channel.unread}},
              {std::to_string(channel.unread), std::to_string(channel.feeds), channel.uid});
  }
  if (all.empty()) tell_no_channels(stores);
  return exits::done;
}

int run_verb(const ChannelUnreadCountVerb& verb, std::span<const VerbContext> stores) {
  Terminal& terminal = stores.front().terminal;
  const auto all = ChannelsOfAll(stores).list();
  int code = exits::done;
  for (const std::string& uid : verb.channels) {
    if (!holds(all, uid)) code = tell_missing(uid, stores);
  }
  if (code != exits::done) return code;
  if (all.empty()) tell_no_channels(stores);
  for (const ChannelRecord& channel : all) {
    const bool asked_for = verb.channels.empty() || holds(verb.channels, channel.uid);
    if (asked_for && is_wanted(verb.user, channel.uid)) tell_number(channel.uid, "unread", channel.unread, terminal);
  }
  return code;
}

int run_verb(const ChannelAddVerb& verb, std::span<const VerbContext> stores) {
  for (const std::string& uid : verb.channels) {
    stop_if_interrupted();
    tell_result(ChannelsOfAll(stores).add(uid) ? "added" : "present", uid, stores.front().terminal);
  }
  return exits::done;
}

int run_verb(const ChannelRemoveVerb& verb, std::span<const VerbContext> stores) {
  Terminal& terminal = stores.front().terminal;
  if (!verb.yes) {
    const std::size_t number = verb.channels.size();
    confirm(terminal, fmt::format("Delete {} channel{}?", number, number == 1 ? "" : "s"),
            "this deletes channels and their read marks; use --yes", "nothing was deleted");
  }
  int code = exits::done;
  for (const std::string& uid : verb.channels) {
    stop_if_interrupted();
    if (ChannelsOfAll(stores).remove(uid)) {
      tell_result("removed", uid, terminal);
    } else {
      code = tell_missing(uid, stores);
    }
  }
  return code;
}

/// The named channels first, then the others in their order.
int run_verb(const ChannelOrderVerb& verb, std::span<const VerbContext> stores) {
  const ChannelsOfAll channels(stores);
  const auto all = channels.list();
  std::vector<std::string> order;
  for (const std::string& uid : verb.channels) {
    if (!holds(all, uid)) throw no_such_channel(uid, stores);
    if (!holds(order, uid)) order.push_back(uid);
  }
  const std::set<std::string> named(order.begin(), order.end());
  for (const ChannelRecord& channel : all) {
    if (!named.contains(channel.uid)) order.push_back(channel.uid);
  }
  channels.order(order);
  return exits::done;
}

namespace {

/// Puts feeds into a channel, unless any is unknown; returns the exit code.
int add_feeds(const std::string& uid, const std::vector<std::string>& urls, std::span<const VerbContext> stores) {
  Terminal& terminal = stores.front().terminal;
  const ChannelsOfAll channels(stores);
  if (const auto unknown = channels.unknown_feed(urls)) {
    terminal.error(fmt::format("no such feed: {}; add it first: feedmill add URL", visible(*unknown)));
    return exits::no;
  }
  const auto followed = channels.follow(uid, urls);
  for (std::size_t i = 0; i < urls.size(); ++i) {
    if (!followed[i]) throw no_such_channel(uid, stores);
    tell_feed(uid, *followed[i] ? "added" : "present", urls[i], terminal);
  }
  return exits::done;
}

}  // namespace

int run_verb(const ChannelFeedsVerb& verb, std::span<const VerbContext> stores) {
  Terminal& terminal = stores.front().terminal;
  const ChannelsOfAll channels(stores);
  const std::string& uid = verb.channel;
  std::vector<std::string> both = verb.add;
  both.insert(both.end(), verb.remove.begin(), verb.remove.end());
  feed_urls(terminal, both, "nothing was changed");
  if (!channels.is_known(uid)) throw no_such_channel(uid, stores);
  const int code = add_feeds(uid, feed_urls(terminal, verb.add, ""), stores);
  if (code != exits::done) return code;
  for (const std::string& url : feed_urls(terminal, verb.remove, "")) {
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

int run_verb(const ChannelTimelineVerb& verb, std::span<const VerbContext> stores) {
  const std::string& uid = verb.channel;
  const ChannelsOfAll channels(stores);
  const Channels::Of which = verb.all ? Channels::Of::all : Channels::Of::unread;
  if (!channels.is_known(uid)) throw no_such_channel(uid, stores);
  tell_entries(
      verb, "channel timeline " + visible(uid) + (verb.all ? " --all" : "") + (verb.once ? " --once" : ""),
      stores.front().terminal,
      [&](std::size_t most, const std::optional<EntryCursor>& before) {
        return channels.entries(uid, which, most, before);
      },
      verb.once
          ? EntryFilter([&](const std::vector<StoredEntry>& page) { return channels.are_first_told(uid, which, page); })
          : EntryFilter());
  return exits::done;
}

int run_verb(const ChannelReadVerb& verb, std::span<const VerbContext> stores) {
  const ChannelsOfAll channels(stores);
  if (!channels.is_known(verb.channel)) throw no_such_channel(verb.channel, stores);
  const std::size_t marked = verb.all ? channels.mark_all_read(verb.channel)
                                      : channels.mark(verb.channel, ChannelsOfAll::As::read, verb.entries);
  tell_number(verb.channel, "marked_read", marked, stores.front().terminal);
  return exits::done;
}

int run_verb(const ChannelUnreadVerb& verb, std::span<const VerbContext> stores) {
  const ChannelsOfAll channels(stores);
  if (!channels.is_known(verb.channel)) throw no_such_channel(verb.channel, stores);
  tell_number(verb.channel, "marked_unread", channels.mark(verb.channel, ChannelsOfAll::As::unread, verb.entries),
              stores.front().terminal);
  return exits::done;
}

}  // namespace feedmill
