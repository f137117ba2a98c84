// The command line as a value: which verb with which arguments (OPERATIONS §1). Reads arguments and nothing else.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <boost/system/result.hpp>

#include "parsers/feed/read_feed.hpp"
#include "storage/records/stored_entry.hpp"
#include "storage/redis/values.hpp"
#include "worker/base/exits.hpp"
#include "worker/base/terminal.hpp"
#include "worker/command_line/command_tree.hpp"
#include "worker/config/feed_settings.hpp"

namespace feedmill {

/// What a verb does with the store.
enum class StoreUse {
  change,   ///< writes; an empty store becomes one of ours: a key is written
  inspect,  ///< runs scripts, but leaves an empty store empty
  read,     ///< reads plain keys and needs no other right (SECURITY §10)
};

// A verb: what it is called, its arguments, and use() when it does less with the store than to change it.

struct RunVerb {
  static constexpr std::string_view name = "run";
  bool once = false;
};
struct AddVerb {
  static constexpr std::string_view name = "add";
  std::vector<std::string> urls;
  bool now = false, first = false, dry_run = false;
  FeedSettings settings;  ///< of those that are new
  StoreUse use() const { return dry_run ? StoreUse::read : StoreUse::change; }
};
struct RemoveVerb {
  static constexpr std::string_view name = "remove";
  std::vector<std::string> urls;
  bool yes = false, dry_run = false;
};
struct SetVerb {
  static constexpr std::string_view name = "set";
  std::string url;
  std::vector<std::string> changes;  ///< "key=value", each by itself in order (feed_settings.hpp)
  bool dry_run = false;
};
struct PauseVerb {
  static constexpr std::string_view name = "pause";
  std::vector<std::string> urls;
  bool dry_run = false;
};
struct ResumeVerb {
  static constexpr std::string_view name = "resume";
  std::vector<std::string> urls;
  bool dry_run = false;
};
struct MoveVerb {
  static constexpr std::string_view name = "move";
  std::string url;
  std::string to;  ///< "" with undo
  bool undo = false;
};
struct ListVerb {
  static constexpr std::string_view name = "list";
  std::string state, host;  ///< "" = any
  bool due = false;
  static constexpr StoreUse use() { return StoreUse::read; }
};
struct ShowVerb {
  static constexpr std::string_view name = "show";
  std::string url;
  static constexpr StoreUse use() { return StoreUse::read; }
};
struct ImportVerb {
  static constexpr std::string_view name = "import";
  std::string file;  ///< "-" = stdin
  bool dry_run = false;
  bool prune = false, yes = false;  ///< remove what the list does not name; without asking
  std::string user;                 ///< whose channels the folders become; "" = nobody's own
};
struct ExportVerb {
  static constexpr std::string_view name = "export";
  std::string user;  ///< only this one's channels; "" = all
  static constexpr StoreUse use() { return StoreUse::read; }
};
struct RefreshVerb {
  static constexpr std::string_view name = "refresh";
  std::vector<std::string> urls;
  bool all = false, defer = false, ignore_floor = false;
};
struct TraceVerb {
  static constexpr std::string_view name = "trace";
  std::string url;
  bool ignore_floor = false;
  bool live = false;                                         ///< follow what workers do, in place of refreshing it here
  std::chrono::milliseconds span{std::chrono::minutes(10)};  ///< for so long
};
struct EntriesVerb {
  static constexpr std::string_view name = "entries";
  std::string url;
  std::uint64_t limit = 20;
  std::optional<EntryCursor> before;
  static constexpr StoreUse use() { return StoreUse::read; }
};
struct EntryVerb {
  static constexpr std::string_view name = "entry";
  std::string id;          ///< or
  std::string feed, guid;  ///< both
  static constexpr StoreUse use() { return StoreUse::read; }
};
struct EntryPutVerb {
  static constexpr std::string_view name = "entry put";
  std::string feed, guid;  ///< "" = as the JSON says
  Fields fields;           ///< NAME=VALUE
  std::string file;        ///< JSON objects, one for each entry; "-" = stdin, "" = none
  bool replace = false;    ///< fields that are not given go
};
struct EntryRemoveVerb {
  static constexpr std::string_view name = "entry remove";
  std::vector<std::string> ids;
  bool yes = false, dry_run = false;
};
struct ExpireVerb {
  static constexpr std::string_view name = "expire";
  std::string url;
  Expiry expiry;
  bool yes = false, dry_run = false;
};
struct TailVerb {
  static constexpr std::string_view name = "tail";
  std::string from;                ///< stream id; "$" = from now on
  std::vector<std::string> types;  ///< none = all
  static constexpr StoreUse use() { return StoreUse::read; }
};
struct ChannelVerb {
  static constexpr std::string_view name = "channel";
  enum class Does { list, add, remove, order, feeds, timeline, read, unread, unread_count };
  Does does{};
  std::vector<std::string> channels;  ///< of feeds, timeline, read and unread exactly one
  std::string user;                   ///< list, unread-count: only channels of this user
  std::vector<std::string> add_feeds, remove_feeds;
  std::vector<std::string> entries;
  bool all = false, yes = false;
  std::uint64_t limit = 20;
  std::optional<EntryCursor> before;
  StoreUse use() const {
    const bool asks = does == Does::list || does == Does::timeline || does == Does::unread_count ||
                      (does == Does::feeds && add_feeds.empty() && remove_feeds.empty());
    return asks ? StoreUse::read : StoreUse::change;
  }
};
struct NotifyVerb {
  static constexpr std::string_view name = "notify";
  enum class Does { rules, list, read, remove };
  Does does{};
  std::string user;
  std::vector<std::string> feeds, channels, words;  ///< rules to add
  std::vector<std::string> remove_rules;            ///< ids
  std::vector<std::string> ids;                     ///< of notices
  bool all = false, unread = false;
  StoreUse use() const {
    const bool asks = feeds.empty() && channels.empty() && words.empty() && remove_rules.empty();
    return does == Does::list || (does == Does::rules && asks) ? StoreUse::read : StoreUse::change;
  }
};
struct NoticesVerb {
  static constexpr std::string_view name = "notices";
  bool clear = false;
  StoreUse use() const { return clear ? StoreUse::change : StoreUse::read; }
};
struct StatsVerb {
  static constexpr std::string_view name = "stats";
  static constexpr StoreUse use() { return StoreUse::read; }
};
struct ParseVerb {
  static constexpr std::string_view name = "parse";
  std::string file;  ///< "-" = stdin
  std::string url, content_type;
  std::vector<std::pair<std::string, std::string>> headers;
  HtmlPolicy html = HtmlPolicy::strict;
  bool pipe = false, explain = false;
};
struct ExplainVerb {
  static constexpr std::string_view name = "explain";
  std::string url;
  static constexpr StoreUse use() { return StoreUse::read; }
};
struct CheckVerb {
  static constexpr std::string_view name = "check";
  std::string url;
};
struct DiscoverVerb {
  static constexpr std::string_view name = "discover";
  std::string url;
};
struct PlanVerb {
  static constexpr std::string_view name = "plan";
  unsigned days = 1;
  std::string host;   ///< "" = all
  std::string feeds;  ///< "" = the stored ones; a number; else a file, "-" = stdin
};
struct DoctorVerb {
  static constexpr std::string_view name = "doctor";
};
struct HealthVerb {
  static constexpr std::string_view name = "health";
  bool ready = false;
};
struct TopVerb {
  static constexpr std::string_view name = "top";
  bool once = false;
  std::optional<std::chrono::milliseconds> interval;  ///< as given
};
struct VerifyVerb {
  static constexpr std::string_view name = "verify";
  std::vector<std::string> feeds;  ///< only these; none = the whole store
  bool repair = false, resanitise = false;
  std::string journal;  ///< file; "" = named after the time
  static constexpr StoreUse use() { return StoreUse::inspect; }
};
struct StoreExportVerb {
  static constexpr std::string_view name = "store export";
  std::string file;                ///< "-" = stdout
  std::vector<std::string> feeds;  ///< only these; none = the whole store
  static constexpr StoreUse use() { return StoreUse::inspect; }
};
struct StoreImportVerb {
  static constexpr std::string_view name = "store import";
  std::string file;  ///< "-" = stdin
  bool dry_run = false, replace = false, yes = false;
};
struct ConfigShowVerb {
  static constexpr std::string_view name = "config show";
  bool origin = false, changed = false;
};
struct ConfigCheckVerb {
  static constexpr std::string_view name = "config check";
};
struct VersionVerb {};
struct CompletionVerb {
  static constexpr std::string_view name = "completion";
  std::string shell;  ///< bash, zsh or fish
};
struct ManVerb {
  static constexpr std::string_view name = "man";
};

using Verb =
    std::variant<RunVerb, AddVerb, RemoveVerb, MoveVerb, SetVerb, PauseVerb, ResumeVerb, ListVerb, ShowVerb, ImportVerb,
                 ExportVerb, RefreshVerb, TraceVerb, EntriesVerb, EntryVerb, EntryPutVerb, EntryRemoveVerb, ExpireVerb,
                 TailVerb, ChannelVerb, NotifyVerb, NoticesVerb, StatsVerb, ParseVerb, ExplainVerb, CheckVerb,
                 DiscoverVerb, PlanVerb, DoctorVerb, HealthVerb, TopVerb, VerifyVerb, StoreExportVerb, StoreImportVerb,
                 ConfigShowVerb, ConfigCheckVerb, VersionVerb, CompletionVerb, ManVerb>;

struct CommandLine {
  Verb verb;
  TerminalOptions terminal;
  std::filesystem::path config_file;                      ///< --config, "" when not given
  std::map<std::string, std::string, std::less<>> flags;  ///< configuration key → text, for load_config
};

/// Nothing to carry out: help was asked for (exit 0, `text` is data), or the command line is wrong (exit 64).
struct NoCommand {
  int exit = exits::usage;
  std::string text;  ///< help, or one line that says what is wrong and what to do
  bool help = false;
};

/// Reads the arguments after the program's name. Pure.
boost::system::result<CommandLine, NoCommand> read_command_line(const std::vector<std::string>& arguments);

/// The tree of verbs as a value: what completions and the manual are made from (OPERATIONS U7).
CommandNode command_tree();

/// The states of a feed, and the types of signals that exist (HTTP §4, DESIGN §4).
std::span<const std::string_view> feed_states();
std::span<const std::string_view> signal_types();

}  // namespace feedmill
