#include <algorithm>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/timelines/channels.hpp"
#include "worker/base/interrupt.hpp"
#include "worker/command_line/user_verbs.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::size_t page_size = 200;

/// Told in the name of all verbs below `channel`.
int unknown(const std::string& uid, Terminal& terminal) {
  terminal.speak_for(ChannelVerb::fails_as);
  terminal.error(fmt::format("no such channel: {} (see feedmill channel list)", visible(uid)));
  return exits::no;
}

bool is_wanted(const std::string& user, const std::string& uid) {
  return user.empty() || uid.starts_with(user + "/");
}

json::object row_of(const std::string& uid) {
  json::object row = json_row();
  row["channel"] = uid;
  return row;
}

void tell_result(std::string_view result, const std::string& uid, Terminal& terminal) {
  if (!terminal.json()) return terminal.line(fmt::format("{} {}", result, visible(uid)));
  json::object row = row_of(uid);
  row["result"] = result;
  terminal.line(row);
}

void tell_feed(const std::string& uid, std::string_view result, const std::string& url, Terminal& terminal) {
  if (!terminal.json()) {
    return terminal.line(result.empty() ? visible(url) : fmt::format("{} {}", result, visible(url)));
  }
  json::object row = row_of(uid);
  row["url"] = url;
  if (!result.empty()) row["result"] = result;
  terminal.line(row);
}

void tell_number(const std::string& uid, std::string_view name, std::uint64_t number, Terminal& terminal) {
  if (!terminal.json()) return terminal.line(fmt::format("{} {}", number, visible(uid)));
  json::object row = row_of(uid);
  row[name] = number;
  terminal.line(row);
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
  if (!terminal.json()) table.heading();
  for (const ChannelRecord& channel : all) {
    if (!is_wanted(verb.user, channel.uid)) continue;
    if (terminal.json()) {
      json::object row = row_of(channel.uid);
      row["position"] = channel.position;
      row["feeds"] = channel.feeds;
      row["unread"] = channel.unread;
      terminal.line(row);
    } else {
      table.row({std::to_string(channel.unread), std::to_string(channel.feeds), channel.uid});
    }
  }
  if (all.empty()) terminal.note("no channels yet: feedmill channel add NAME, or feedmill import FILE");
  return exits::done;
}

int run_verb(const ChannelUnreadCountVerb& verb, const VerbContext& context) {
  const auto all = or_fail(Channels(context.store).list());
  int code = exits::done;
  for (const std::string& uid : verb.channels) {
    if (!holds(all, uid)) code = unknown(uid, context.terminal);
  }
  if (code != exits::done) return code;
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
      code = unknown(uid, context.terminal);
    }
  }
  return code;
}

/// Those named first, then the others as they stand.
int run_verb(const ChannelOrderVerb& verb, const VerbContext& context) {
  const auto all = or_fail(Channels(context.store).list());
  std::vector<std::string> order;
  for (const std::string& uid : verb.channels) {
    if (!holds(all, uid)) return unknown(uid, context.terminal);
    if (!holds(order, uid)) order.push_back(uid);
  }
  for (const ChannelRecord& channel : all) {
    if (!holds(order, channel.uid)) order.push_back(channel.uid);
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
    if (!followed[i]) return unknown(uid, terminal);
    tell_feed(uid, *followed[i] ? "added" : "present", adding[i], terminal);
  }
  for (const std::string& url : removing) {
    stop_if_interrupted();
    const std::optional<bool> removed = or_fail(channels.unfollow({uid, url}));
    if (!removed) return unknown(uid, terminal);
    tell_feed(uid, *removed ? "removed" : "not in it", url, terminal);
  }
  if (!both.empty()) return exits::done;
  const auto urls = or_fail(channels.feeds(uid));
  if (!urls) return unknown(uid, terminal);
  for (const std::string& url : *urls) tell_feed(uid, "", url, terminal);
  return exits::done;
}

int run_verb(const ChannelTimelineVerb& verb, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const std::string& uid = verb.channel;
  Columns table(terminal, {{"TIME", 20}, {"ID", 14}, {"TITLE", 0}});
  std::optional<EntryCursor> before = verb.before;
  std::size_t shown = 0;
  while (shown < verb.limit) {
    stop_if_interrupted();
    const std::size_t wanted = std::min<std::size_t>(page_size, verb.limit - shown);
    const auto page = or_fail(Channels(context.store).timeline(uid, wanted, before));
    if (!page) return unknown(uid, terminal);
    if (shown == 0 && !terminal.json()) table.heading();
    for (const StoredEntry& entry : *page) {
      if (terminal.json()) {
        terminal.line(entry_json(entry));
      } else {
        table.row(entry_cells(entry));
      }
    }
    shown += page->size();
    if (!page->empty()) before = place_of(page->back());
    if (page->size() < wanted) return exits::done;
  }
  if (!terminal.json() && before) {
    terminal.flush();
    terminal.note(
        fmt::format("older: feedmill channel timeline {} --before {}:{}", visible(uid), before->score, before->id));
  }
  return exits::done;
}

int run_verb(const ChannelReadVerb& verb, const VerbContext& context) {
  Channels channels(context.store);
  const auto marked =
      or_fail(verb.all ? channels.mark_all_read(verb.channel) : channels.mark_read(verb.channel, verb.entries));
  if (!marked) return unknown(verb.channel, context.terminal);
  tell_number(verb.channel, "marked_read", *marked, context.terminal);
  return exits::done;
}

int run_verb(const ChannelUnreadVerb& verb, const VerbContext& context) {
  const auto marked = or_fail(Channels(context.store).mark_unread(verb.channel, verb.entries));
  if (!marked) return unknown(verb.channel, context.terminal);
  tell_number(verb.channel, "marked_unread", *marked, context.terminal);
  return exits::done;
}

}  // namespace feedmill
