// The verbs of users, timelines and notices of theirs: what each is called, takes and needs.
#pragma once

#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "storage/records/notice.hpp"
#include "worker/command_line/arguments.hpp"
#include "worker/command_line/post_verbs.hpp"
#include "worker/command_line/verb_row.hpp"

namespace feedmill {

struct ChannelVerb {
  static constexpr VerbRow family{"channel", "Timelines gathered from feeds, for one user or all", ""};
  static constexpr std::string_view fails_as = family.name;

 protected:
  static void take_channel(Arguments& line, std::string& channel) {
    line.required("CHANNEL", channel, "Name of a channel");
    line.among_channels();
    line.check([&channel] { check_name("channel", channel); });
  }
  static void take_channels(Arguments& line, std::vector<std::string>& channels) {
    line.required("CHANNEL", channels, "Names of channels; a user's own channel is USER/NAME");
    line.among_channels();
    line.check([&channels] { check_names(channels); });
  }
  static void take_user(Arguments& line, std::string& user) {
    const auto read_user = [&user](const std::string& text) {
      check_name("user", text);
      user = text;
    };
    line.value("--user", "USER", read_user, "Only channels of this user, named USER/…");
  }
  static void check_names(const std::vector<std::string>& channels) {
    for (const std::string& uid : channels) check_name("channel", uid);
  }
};

struct ChannelListVerb : ChannelVerb {
  static constexpr VerbRow row{"channel list", "List all channels in order", "feedmill channel list --user anna"};
  std::string user;  ///< only channels of this user; "" = of all

  void take(Arguments& line) { take_user(line, user); }
  static constexpr StoreUse use() { return StoreUse::read; }
};
int run_verb(const ChannelListVerb& verb, std::span<const VerbContext> stores);

struct ChannelAddVerb : ChannelVerb {
  static constexpr VerbRow row{"channel add", "Create channels", "feedmill channel add anna/news"};
  std::vector<std::string> channels;

  void take(Arguments& line) {
    take_channels(line, channels);
    line.check([this] {
      for (const std::string& uid : channels) check_name("channel", uid, unfit_new_channel);
    });
  }
};
int run_verb(const ChannelAddVerb& verb, std::span<const VerbContext> stores);

struct ChannelRemoveVerb : ChannelVerb {
  static constexpr VerbRow row{"channel remove", "Delete channels with their read marks and rules",
                               "feedmill channel remove anna/news --yes"};
  std::vector<std::string> channels;
  bool yes = false;

  void take(Arguments& line) {
    take_channels(line, channels);
    line.flag("--yes", yes, "Do not ask");
  }
};
int run_verb(const ChannelRemoveVerb& verb, std::span<const VerbContext> stores);

struct ChannelOrderVerb : ChannelVerb {
  static constexpr VerbRow row{"channel order", "Put channels first, in this order; the others keep their order",
                               "feedmill channel order anna/work anna/news"};
  std::vector<std::string> channels;

  void take(Arguments& line) { take_channels(line, channels); }
};
int run_verb(const ChannelOrderVerb& verb, std::span<const VerbContext> stores);

struct ChannelFeedsVerb : ChannelVerb {
  static constexpr VerbRow row{"channel feeds", "Show the feeds of a channel; add or remove feeds",
                               "feedmill channel feeds anna/news --add https://example.org/feed.xml"};
  std::string channel;
  std::vector<std::string> add, remove;

  void take(Arguments& line) {
    take_channel(line, channel);
    line.values("--add", "URL", add, "Add this feed; may be repeated");
    line.values("--remove", "URL", remove, "Remove this feed; may be repeated");
    line.check([this] {
      if (!add.empty()) check_name("channel", channel, unfit_text_name);
    });
  }
  StoreUse use() const { return add.empty() && remove.empty() ? StoreUse::read : StoreUse::change; }
};
int run_verb(const ChannelFeedsVerb& verb, std::span<const VerbContext> stores);

struct ChannelTimelineVerb : ChannelVerb, EntryPage {
  static constexpr VerbRow row{"channel timeline", "Show unread posts of a channel, newest first",
                               "feedmill channel timeline anna/news --limit 5"};
  std::string channel;
  bool all = false, once = false;

  void take(Arguments& line) {
    take_channel(line, channel);
    line.flag("--all", all, "Include posts that were read");
    line.flag("--once", once, "Only one post per story reported by several feeds (signals.same_as)");
    take_page(line);
  }
  static constexpr StoreUse use() { return StoreUse::read; }
};
int run_verb(const ChannelTimelineVerb& verb, std::span<const VerbContext> stores);

struct ChannelReadVerb : ChannelVerb {
  static constexpr VerbRow row{"channel read", "Mark entries of a channel read: they leave its timeline",
                               "feedmill channel read anna/news Entry:17"};
  std::string channel;
  std::vector<std::string> entries;
  bool all = false;

  void take(Arguments& line) {
    take_channel(line, channel);
    line.optional("ID", entries, "Such as Entry:17");
    line.flag("--all", all, "All entries in the timeline now");
    line.check([this] {
      if (entries.empty() != all) refuse("ID is missing (or --all)");
      check_entries(entries);
    });
  }
};
int run_verb(const ChannelReadVerb& verb, std::span<const VerbContext> stores);

struct ChannelUnreadVerb : ChannelVerb {
  static constexpr VerbRow row{"channel unread", "Mark entries of a channel unread: they come back",
                               "feedmill channel unread anna/news Entry:17"};
  std::string channel;
  std::vector<std::string> entries;

  void take(Arguments& line) {
    take_channel(line, channel);
    line.required("ID", entries, "Such as Entry:17");
    line.check([this] { check_entries(entries); });
  }
};
int run_verb(const ChannelUnreadVerb& verb, std::span<const VerbContext> stores);

struct ChannelUnreadCountVerb : ChannelVerb {
  static constexpr VerbRow row{"channel unread-count", "Count the unread entries of each channel",
                               "feedmill channel unread-count --user anna"};
  std::vector<std::string> channels;  ///< only these; none = all
  std::string user;                   ///< only channels of this user; "" = of all

  void take(Arguments& line) {
    line.optional("CHANNEL", channels, "Only these channels");
    line.among_channels();
    take_user(line, user);
    line.check([this] { check_names(channels); });
  }
  static constexpr StoreUse use() { return StoreUse::read; }
};
int run_verb(const ChannelUnreadCountVerb& verb, std::span<const VerbContext> stores);

struct NotifyVerb {
  static constexpr VerbRow family{"notify", "Notices for users", ""};
  static constexpr std::string_view fails_as = family.name;
  std::string user;

 protected:
  void take_user(Arguments& line) {
    line.required("USER", user, "Name of a user; operators are _operator");
    line.check([this] { check_name("user", user); });
  }
  static void take_ids(Arguments& line, std::vector<std::string>& ids, bool& all) {
    line.optional("ID", ids, "Notice id (see notify list)");
    line.flag("--all", all, "All of them");
    line.check([&ids, &all] {
      if (ids.empty() != all) refuse("ID is missing (or --all)");
    });
  }
};

struct NotifyRulesVerb : NotifyVerb {
  static constexpr VerbRow row{"notify rules", "A user's rules: a feed, a channel or words to watch",
                               "feedmill notify rules anna --words \"redis cluster\""};
  std::vector<std::string> feeds, channels, words;  ///< rules to add
  std::vector<std::string> remove;                  ///< ids

  void take(Arguments& line) {
    take_user(line);
    line.values("--feed", "URL", feeds, "Watch this feed; may be repeated");
    line.values("--channel", "CHANNEL", channels, "Watch this channel; may be repeated");
    line.among_channels();
    line.values("--words", "WORDS", words, "Watch for posts that contain all these words; may be repeated");
    line.values("--remove", "ID", remove, "Remove the rule with this id; may be repeated");
    line.check([this] {
      for (const std::string& uid : channels) check_name("channel", uid, unfit_text_name);
      if (!feeds.empty() || !channels.empty() || !words.empty()) check_name("user", user, unfit_text_name);
      const std::string_view wrong = objection_to_user(user);
      if (!wrong.empty() && use() == StoreUse::change) {
        refuse("a user with notices cannot be named \"" + user + "\": " + std::string(wrong));
      }
    });
  }
  StoreUse use() const {
    const bool asks = feeds.empty() && channels.empty() && words.empty() && remove.empty();
    return asks ? StoreUse::read : StoreUse::change;
  }
};
int run_verb(const NotifyRulesVerb& verb, std::span<const VerbContext> stores);

struct NotifyListVerb : NotifyVerb {
  static constexpr VerbRow row{"notify list", "A user's notices, newest first", "feedmill notify list anna --unread"};
  bool unread = false;

  void take(Arguments& line) {
    take_user(line);
    line.flag("--unread", unread, "Only unread notices");
  }
  static constexpr StoreUse use() { return StoreUse::read; }
};
int run_verb(const NotifyListVerb& verb, std::span<const VerbContext> stores);

struct NotifyReadVerb : NotifyVerb {
  static constexpr VerbRow row{"notify read", "Mark notices read", "feedmill notify read anna --all"};
  std::vector<std::string> ids;
  bool all = false;

  void take(Arguments& line) {
    take_user(line);
    take_ids(line, ids, all);
  }
};
int run_verb(const NotifyReadVerb& verb, std::span<const VerbContext> stores);

struct NotifyDeleteVerb : NotifyVerb {
  static constexpr VerbRow row{"notify delete", "Delete notices", "feedmill notify delete anna --all"};
  std::vector<std::string> ids;
  bool all = false;

  void take(Arguments& line) {
    take_user(line);
    take_ids(line, ids, all);
  }
};
int run_verb(const NotifyDeleteVerb& verb, std::span<const VerbContext> stores);

struct UserVerbs {
  static constexpr std::string_view group = "Users";
  using List = std::tuple<ChannelListVerb, ChannelAddVerb, ChannelRemoveVerb, ChannelOrderVerb, ChannelFeedsVerb,
                          ChannelTimelineVerb, ChannelReadVerb, ChannelUnreadVerb, ChannelUnreadCountVerb,
                          NotifyRulesVerb, NotifyListVerb, NotifyReadVerb, NotifyDeleteVerb>;
};

}  // namespace feedmill
