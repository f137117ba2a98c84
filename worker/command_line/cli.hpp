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

struct RunVerb {
  bool once = false;
};
struct AddVerb {
  std::vector<std::string> urls;
  bool now = false, first = false, dry_run = false;
  FeedSettings settings;  ///< of those that are new
};
struct RemoveVerb {
  std::vector<std::string> urls;
  bool yes = false, dry_run = false;
};
struct SetVerb {
  std::string url;
  std::vector<std::string> changes;  ///< "key=value", each by itself in order (feed_settings.hpp)
  bool dry_run = false;
};
struct PauseVerb {
  std::vector<std::string> urls;
  bool dry_run = false;
};
struct ResumeVerb {
  std::vector<std::string> urls;
  bool dry_run = false;
};
struct MoveVerb {
  std::string url;
  std::string to;  ///< "" with undo
  bool undo = false;
};
struct ListVerb {
  std::string state, host;  ///< "" = any
  bool due = false;
};
struct ShowVerb {
  std::string url;
};
struct ImportVerb {
  std::string file;  ///< "-" = stdin
  bool dry_run = false;
  bool prune = false, yes = false;  ///< remove what the list does not name; without asking
  std::string user;                 ///< whose channels the folders become; "" = nobody's own
};
struct ExportVerb {
  std::string user;  ///< only this one's channels; "" = all
};
struct RefreshVerb {
  std::vector<std::string> urls;
  bool all = false, defer = false, ignore_floor = false;
};
struct TraceVerb {
  std::string url;
  bool ignore_floor = false;
  bool live = false;                                         ///< follow what workers do, in place of refreshing it here
  std::chrono::milliseconds span{std::chrono::minutes(10)};  ///< for so long
};
struct EntriesVerb {
  std::string url;
  std::uint64_t limit = 20;
  std::optional<EntryCursor> before;
};
struct EntryVerb {
  std::string id;          ///< or
  std::string feed, guid;  ///< both
};
struct EntryPutVerb {
  std::string feed, guid;  ///< "" = as the JSON says
  Fields fields;           ///< NAME=VALUE
  std::string file;        ///< JSON objects, one for each entry; "-" = stdin, "" = none
  bool replace = false;    ///< fields that are not given go
};
struct EntryRemoveVerb {
  std::vector<std::string> ids;
  bool yes = false, dry_run = false;
};
struct ExpireVerb {
  std::string url;
  Expiry expiry;
  bool yes = false, dry_run = false;
};
struct TailVerb {
  std::string from;                ///< stream id; "$" = from now on
  std::vector<std::string> types;  ///< none = all
};
struct ChannelVerb {
  enum class Does { list, add, remove, order, feeds, timeline, read, unread, unread_count };
  Does does{};
  std::vector<std::string> channels;  ///< of feeds, timeline, read and unread exactly one
  std::string user;                   ///< list, unread-count: only channels of this user
  std::vector<std::string> add_feeds, remove_feeds;
  std::vector<std::string> entries;
  bool all = false, yes = false;
  std::uint64_t limit = 20;
  std::optional<EntryCursor> before;
};
struct NotifyVerb {
  enum class Does { rules, list, read, remove };
  Does does{};
  std::string user;
  std::vector<std::string> feeds, channels, words;  ///< rules to add
  std::vector<std::string> remove_rules;            ///< ids
  std::vector<std::string> ids;                     ///< of notices
  bool all = false, unread = false;
};
struct NoticesVerb {
  bool clear = false;
};
struct StatsVerb {};
struct ParseVerb {
  std::string file;  ///< "-" = stdin
  std::string url, content_type;
  std::vector<std::pair<std::string, std::string>> headers;
  HtmlPolicy html = HtmlPolicy::strict;
  bool pipe = false, explain = false;
};
struct ExplainVerb {
  std::string url;
};
struct CheckVerb {
  std::string url;
};
struct DiscoverVerb {
  std::string url;
};
struct PlanVerb {
  unsigned days = 1;
  std::string host;   ///< "" = all
  std::string feeds;  ///< "" = the stored ones; a number; else a file, "-" = stdin
};
struct DoctorVerb {};
struct HealthVerb {
  bool ready = false;
};
struct TopVerb {
  bool once = false;
  std::optional<std::chrono::milliseconds> interval;  ///< as given
};
struct VerifyVerb {
  std::vector<std::string> feeds;  ///< only these; none = the whole store
  bool repair = false, resanitise = false;
  std::string journal;  ///< file; "" = named after the time
};
struct StoreExportVerb {
  std::string file;                ///< "-" = stdout
  std::vector<std::string> feeds;  ///< only these; none = the whole store
};
struct StoreImportVerb {
  std::string file;  ///< "-" = stdin
  bool dry_run = false, replace = false, yes = false;
};
struct ConfigShowVerb {
  bool origin = false, changed = false;
};
struct ConfigCheckVerb {};
struct VersionVerb {};
struct CompletionVerb {
  std::string shell;  ///< bash, zsh or fish
};
struct ManVerb {};

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
