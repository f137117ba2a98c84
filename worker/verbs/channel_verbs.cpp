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

class ChannelCarrier {
 public:
  explicit ChannelCarrier(const VerbContext& context)
      : store_(context.store), channels_(context.store), terminal_(context.terminal) {}

  int carry_out(const ChannelListVerb& verb) {
    const auto all = channels_.list();
    if (all.has_error()) return fail(all.error());
    Columns table(terminal_, {{"UNREAD", 8, true}, {"FEEDS", 7, true}, {"CHANNEL", 0}});
    if (!terminal_.json()) table.heading();
    for (const ChannelRecord& channel : *all) {
      if (!is_wanted(verb.user, channel.uid)) continue;
      if (terminal_.json()) {
        json::object row = row_of(channel.uid);
        row["position"] = channel.position;
        row["feeds"] = channel.feeds;
        row["unread"] = channel.unread;
        terminal_.line(row);
      } else {
        table.row({std::to_string(channel.unread), std::to_string(channel.feeds), channel.uid});
      }
    }
    if (all->empty()) terminal_.note("no channels yet: feedmill channel add NAME, or feedmill import FILE");
    return exits::done;
  }

  int carry_out(const ChannelUnreadCountVerb& verb) {
    const auto all = channels_.list();
    if (all.has_error()) return fail(all.error());
    bool all_known = true;
    for (const std::string& uid : verb.channels) {
      const auto known = std::find_if(all->begin(), all->end(), [&](const auto& one) { return one.uid == uid; });
      if (known != all->end()) continue;
      unknown(uid);
      all_known = false;
    }
    if (!all_known) return exits::no;
    for (const ChannelRecord& channel : *all) {
      const auto& only = verb.channels;
      if (!only.empty() && std::find(only.begin(), only.end(), channel.uid) == only.end()) continue;
      if (is_wanted(verb.user, channel.uid)) tell(channel.uid, "unread", channel.unread);
    }
    return exits::done;
  }

  int carry_out(const ChannelAddVerb& verb) {
    const auto added = channels_.add(verb.channels);
    if (added.has_error()) return fail(added.error());
    for (std::size_t i = 0; i < added->size(); ++i) {
      tell_result((*added)[i] ? "added" : "present", verb.channels[i]);
    }
    return exits::done;
  }

  int carry_out(const ChannelRemoveVerb& verb) {
    if (!verb.yes) {
      if (!terminal_.can_ask()) {
        terminal_.error("channel remove: this deletes channels and what was marked read in them; say --yes");
        return exits::usage;
      }
      if (!terminal_.confirm(
              fmt::format("Delete {} channel{}?", verb.channels.size(), verb.channels.size() == 1 ? "" : "s"))) {
        terminal_.note("nothing was deleted");
        return exits::no;
      }
    }
    bool all_known = true;
    for (const std::string& uid : verb.channels) {
      stop_if_interrupted();
      const auto removed = channels_.remove(uid);
      if (removed.has_error()) return fail(removed.error());
      if (*removed) {
        tell_result("removed", uid);
      } else {
        unknown(uid);
        all_known = false;
      }
    }
    return all_known ? exits::done : exits::no;
  }

  /// Those named first, then the others as they stand.
  int carry_out(const ChannelOrderVerb& verb) {
    const auto all = channels_.list();
    if (all.has_error()) return fail(all.error());
    std::vector<std::string> order;
    for (const std::string& uid : verb.channels) {
      const auto known = std::find_if(all->begin(), all->end(), [&](const auto& one) { return one.uid == uid; });
      if (known == all->end()) return unknown(uid);
      if (std::find(order.begin(), order.end(), uid) == order.end()) order.push_back(uid);
    }
    for (const ChannelRecord& channel : *all) {
      if (std::find(order.begin(), order.end(), channel.uid) == order.end()) order.push_back(channel.uid);
    }
    if (const auto done = channels_.order(order); done.has_error()) return fail(done.error());
    return exits::done;
  }

  int carry_out(const ChannelFeedsVerb& verb) {
    const std::string& uid = verb.channel;
    const auto adding = feed_urls(terminal_, "channel feeds", verb.add, "nothing was changed");
    const auto removing = feed_urls(terminal_, "channel feeds", verb.remove, "nothing was changed");
    if (!adding || !removing) return exits::bad_input;
    const auto records = all_records(store_, *adding);
    if (records.has_error()) return fail(records.error());
    for (std::size_t i = 0; i < adding->size(); ++i) {
      if ((*records)[i]) continue;
      terminal_.error(
          fmt::format("channel feeds: no such feed: {}; add it first: feedmill add URL", visible((*adding)[i])));
      return exits::no;
    }
    std::vector<Membership> memberships;
    for (const std::string& url : *adding) memberships.push_back({uid, url});
    const auto followed = channels_.follow(memberships);
    if (followed.has_error()) return fail(followed.error());
    for (std::size_t i = 0; i < followed->size(); ++i) {
      if (!(*followed)[i]) return unknown(uid);
      tell_feed(uid, *(*followed)[i] ? "added" : "present", (*adding)[i]);
    }
    for (const std::string& url : *removing) {
      stop_if_interrupted();
      const auto removed = channels_.unfollow({uid, url});
      if (removed.has_error()) return fail(removed.error());
      if (!*removed) return unknown(uid);
      tell_feed(uid, **removed ? "removed" : "not in it", url);
    }
    if (!adding->empty() || !removing->empty()) return exits::done;
    const auto urls = channels_.feeds(uid);
    if (urls.has_error()) return fail(urls.error());
    if (!*urls) return unknown(uid);
    for (const std::string& url : **urls) tell_feed(uid, "", url);
    return exits::done;
  }

  int carry_out(const ChannelTimelineVerb& verb) {
    const std::string& uid = verb.channel;
    Columns table(terminal_, {{"TIME", 20}, {"ID", 14}, {"TITLE", 0}});
    std::optional<EntryCursor> before = verb.before;
    std::size_t shown = 0;
    while (shown < verb.limit) {
      stop_if_interrupted();
      const std::size_t wanted = std::min<std::size_t>(page_size, verb.limit - shown);
      const auto page = channels_.timeline(uid, wanted, before);
      if (page.has_error()) return fail(page.error());
      if (!*page) return unknown(uid);
      if (shown == 0 && !terminal_.json()) table.heading();
      for (const StoredEntry& entry : **page) {
        if (terminal_.json())
          terminal_.line(entry_json(entry));
        else
          table.row(entry_cells(entry));
      }
      shown += (*page)->size();
      if (!(*page)->empty()) before = place_of((*page)->back());
      if ((*page)->size() < wanted) return exits::done;
    }
    if (!terminal_.json() && before) {
      terminal_.flush();
      terminal_.note(
          fmt::format("older: feedmill channel timeline {} --before {}:{}", visible(uid), before->score, before->id));
    }
    return exits::done;
  }

  int carry_out(const ChannelReadVerb& verb) {
    return tell_marked(
        verb.channel, "marked_read",
        verb.all ? channels_.mark_all_read(verb.channel) : channels_.mark_read(verb.channel, verb.entries));
  }

  int carry_out(const ChannelUnreadVerb& verb) {
    return tell_marked(verb.channel, "marked_unread", channels_.mark_unread(verb.channel, verb.entries));
  }

 private:
  int fail(const StoreError& error) { return feedmill::fail(terminal_, "channel", error); }

  int unknown(const std::string& uid) {
    terminal_.error(fmt::format("channel: no such channel: {} (see feedmill channel list)", visible(uid)));
    return exits::no;
  }

  static bool is_wanted(const std::string& user, const std::string& uid) {
    return user.empty() || uid.starts_with(user + "/");
  }

  int tell_marked(const std::string& uid, std::string_view name,
                  const StoreResult<std::optional<std::uint64_t>>& changed) {
    if (changed.has_error()) return fail(changed.error());
    if (!*changed) return unknown(uid);
    tell(uid, name, **changed);
    return exits::done;
  }

  static json::object row_of(const std::string& uid) {
    json::object row = json_row();
    row["channel"] = uid;
    return row;
  }

  void tell_result(std::string_view result, const std::string& uid) {
    if (!terminal_.json()) return terminal_.line(fmt::format("{} {}", result, visible(uid)));
    json::object row = row_of(uid);
    row["result"] = result;
    terminal_.line(row);
  }

  void tell_feed(const std::string& uid, std::string_view result, const std::string& url) {
    if (!terminal_.json()) {
      return terminal_.line(result.empty() ? visible(url) : fmt::format("{} {}", result, visible(url)));
    }
    json::object row = row_of(uid);
    row["url"] = url;
    if (!result.empty()) row["result"] = result;
    terminal_.line(row);
  }

  void tell(const std::string& uid, std::string_view name, std::uint64_t number) {
    if (!terminal_.json()) return terminal_.line(fmt::format("{} {}", number, visible(uid)));
    json::object row = row_of(uid);
    row[name] = number;
    terminal_.line(row);
  }

  Store& store_;
  Channels channels_;
  Terminal& terminal_;
};

}  // namespace

int run_verb(const ChannelListVerb& verb, const VerbContext& context) {
  return ChannelCarrier(context).carry_out(verb);
}
int run_verb(const ChannelAddVerb& verb, const VerbContext& context) {
  return ChannelCarrier(context).carry_out(verb);
}
int run_verb(const ChannelRemoveVerb& verb, const VerbContext& context) {
  return ChannelCarrier(context).carry_out(verb);
}
int run_verb(const ChannelOrderVerb& verb, const VerbContext& context) {
  return ChannelCarrier(context).carry_out(verb);
}
int run_verb(const ChannelFeedsVerb& verb, const VerbContext& context) {
  return ChannelCarrier(context).carry_out(verb);
}
int run_verb(const ChannelTimelineVerb& verb, const VerbContext& context) {
  return ChannelCarrier(context).carry_out(verb);
}
int run_verb(const ChannelReadVerb& verb, const VerbContext& context) {
  return ChannelCarrier(context).carry_out(verb);
}
int run_verb(const ChannelUnreadVerb& verb, const VerbContext& context) {
  return ChannelCarrier(context).carry_out(verb);
}
int run_verb(const ChannelUnreadCountVerb& verb, const VerbContext& context) {
  return ChannelCarrier(context).carry_out(verb);
}

}  // namespace feedmill
