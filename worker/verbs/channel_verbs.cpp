#include <algorithm>
#include <set>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/entries/entries.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/timelines/stories.hpp"
#include "worker/base/interrupt.hpp"
#include "worker/command_line/user_verbs.hpp"
#include "worker/verbs/entry_list.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

VerbFailure no_such_channel(const std::string& uid) {
  return {exits::no, fmt::format("no such channel: {} (see feedmill channel list)", visible(uid))};
}

/// Where several may be missing. In the name of all verbs below `channel`, as it is where one ends a verb.
int tell_missing(const std::string& uid, Terminal& terminal) {
  terminal.speak_for(ChannelVerb::fails_as);
  const VerbFailure missing = no_such_channel(uid);
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

/// The keys of entries that may be given as numbers.
std::vector<std::string> keys_of(std::vector<std::string> ids, Store& store) {
  for (std::string& id : ids) id = Entries(store).id_of(id);
  return ids;
}

bool holds(const std::vector<std::string>& uids, const std::string& uid) {
  return std::find(uids.begin(), uids.end(), uid) != uids.end();
}

bool holds(const std::vector<ChannelRecord>& channels, const std::string& uid) {
  return std::ranges::find(channels, uid, &ChannelRecord::uid) != channels.end();
}

}  // namespace

int run_verb(const ChannelListVerb& verb, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const auto all = or_fail(Channels(context.store).list());
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
  if (all.empty()) terminal.note("no channels yet: feedmill channel add NAME, or feedmill import FILE");
  return exits::done;
}

int run_verb(const ChannelUnreadCountVerb& verb, const VerbContext& context) {
  const auto all = or_fail(Channels(context.store).list());
  int code = exits::done;
  for (const std::string& uid : verb.channels) {
    if (!holds(all, uid)) code = tell_missing(uid, context.terminal);
  }
  if (code != exits::done) return code;
  if (all.empty()) context.terminal.note("no channels yet: feedmill channel add NAME, or feedmill import FILE");
  for (const ChannelRecord& channel : all) {
    const bool asked_for = verb.channels.empty() || holds(verb.channels, channel.uid);
    if (asked_for && is_wanted(verb.user, channel.uid)) {
      tell_number(channel.uid, "unread", channel.unread, context.terminal);
    }
  }
  return code;
}

int run_verb(const ChannelAddVerb& verb, const VerbContext& context) {
  const auto added = or_fail(Channels(context.store).add(verb.channels));
  for (std::size_t i = 0; i < added.size(); ++i) {
    tell_result(added[i] ? "added" : "present", verb.channels[i], context.terminal);
  }
  return exits::done;
}

int run_verb(const ChannelRemoveVerb& verb, const VerbContext& context) {
  if (!verb.yes) {
    const std::size_t number = verb.channels.size();
    confirm(context.terminal, fmt::format("Delete {} channel{}?", number, number == 1 ? "" : "s"),
            "this deletes channels and what was marked read in them; say --yes", "nothing was deleted");
  }
  int code = exits::done;
  for (const std::string& uid : verb.channels) {
    stop_if_interrupted();
    if (or_fail(Channels(context.store).remove(uid))) {
      tell_result("removed", uid, context.terminal);
    } else {
      code = tell_missing(uid, context.terminal);
    }
  }
  return code;
}

/// Those named first, then the others as they stand.
int run_verb(const ChannelOrderVerb& verb, const VerbContext& context) {
  const auto all = or_fail(Channels(context.store).list());
  std::vector<std::string> order;
  for (const std::string& uid : verb.channels) {
    if (!holds(all, uid)) throw no_such_channel(uid);
    if (!holds(order, uid)) order.push_back(uid);
  }
  const std::set<std::string> named(order.begin(), order.end());
  for (const ChannelRecord& channel : all) {
    if (!named.contains(channel.uid)) order.push_back(channel.uid);
  }
  or_fail(Channels(context.store).order(order));
  return exits::done;
}

int run_verb(const ChannelFeedsVerb& verb, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  Channels channels(context.store);
  const std::string& uid = verb.channel;
  std::vector<std::string> both = verb.add;
  both.insert(both.end(), verb.remove.begin(), verb.remove.end());
  feed_urls(terminal, both, "nothing was changed");
  const auto adding = feed_urls(terminal, verb.add, ""), removing = feed_urls(terminal, verb.remove, "");
  const auto records = all_records(context.store, adding);
  std::vector<Membership> memberships;
  for (std::size_t i = 0; i < adding.size(); ++i) {
    if (!records[i]) {
      terminal.error(fmt::format("no such feed: {}; add it first: feedmill add URL", visible(adding[i])));
      return exits::no;
    }
    memberships.push_back({uid, adding[i]});
  }
  const auto followed = or_fail(channels.follow(memberships));
  for (std::size_t i = 0; i < followed.size(); ++i) {
    if (!followed[i]) throw no_such_channel(uid);
    tell_feed(uid, *followed[i] ? "added" : "present", adding[i], terminal);
  }
  for (const std::string& url : removing) {
    stop_if_interrupted();
    const std::optional<bool> removed = or_fail(channels.unfollow({uid, url}));
    if (!removed) throw no_such_channel(uid);
    tell_feed(uid, *removed ? "removed" : "not in it", url, terminal);
  }
  if (!both.empty()) return exits::done;
  if (!or_fail(channels.is_known(uid))) throw no_such_channel(uid);
  constexpr std::size_t stretch = 50'000;  // each look goes over all feeds of the channel
  std::string after;
  for (std::size_t found = stretch; found == stretch;) {
    stop_if_interrupted();
    const auto urls = or_fail(channels.feeds_after(uid, after, stretch));
    for (const std::string& url : urls) terminal.tell({{"channel", uid}, {"url", url}}, visible(url));
    found = urls.size();
    if (found > 0) after = urls.back();
  }
  return exits::done;
}

int run_verb(const ChannelTimelineVerb& verb, const VerbContext& context) {
  const std::string& uid = verb.channel;
  Channels channels(context.store);
  tell_entries(
      verb, "channel timeline " + visible(uid) + (verb.all ? " --all" : "") + (verb.once ? " --once" : ""),
      context.terminal,
      [&](std::size_t most, const std::optional<EntryCursor>& before) {
        auto page = or_fail(verb.all ? channels.posts(uid, most, before) : channels.timeline(uid, most, before));
        if (!page) throw no_such_channel(uid);
        return std::move(*page);
      },
      verb.once ? EntryFilter([&](const std::vector<StoredEntry>& page) {
        return or_fail(Stories(context.store).is_first_told(uid, verb.all, ids_of(page)));
      })
                : EntryFilter());
  return exits::done;
}

int run_verb(const ChannelReadVerb& verb, const VerbContext& context) {
  Channels channels(context.store);
  const auto marked = or_fail(verb.all ? channels.mark_all_read(verb.channel)
                                       : channels.mark_read(verb.channel, keys_of(verb.entries, context.store)));
  if (!marked) throw no_such_channel(verb.channel);
  tell_number(verb.channel, "marked_read", *marked, context.terminal);
  return exits::done;
}

int run_verb(const ChannelUnreadVerb& verb, const VerbContext& context) {
  const auto marked = or_fail(Channels(context.store).mark_unread(verb.channel, keys_of(verb.entries, context.store)));
  if (!marked) throw no_such_channel(verb.channel);
  tell_number(verb.channel, "marked_unread", *marked, context.terminal);
  return exits::done;
}

}  // namespace feedmill
