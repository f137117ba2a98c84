#include "worker/verbs/entry_verbs.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/text/strings.hpp"
#include "storage/entries/entries.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/records/given_entry.hpp"
#include "storage/timelines/stories.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/base/units.hpp"
#include "worker/cli/verb.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/verbs/input_file.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/table.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

constexpr std::int64_t usual_limit = 20;
constexpr std::size_t page_size = 200;  // entries per store call: each may take 2 MiB

/// Escapes text but keeps its line breaks.
std::string visible_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out += visible(text.substr(0, end));
    if (end == std::string_view::npos) break;
    out += "\n  ";
    text.remove_prefix(end + 1);
  }
  return out;
}

/// Display order of a field: the subject first, long texts last.
std::size_t rank(std::string_view name) {
  constexpr std::array<std::string_view, 5> first = {"title", "link", "author", "date_published", "date_updated"};
  constexpr std::array<std::string_view, 2> last = {"summary", "content"};
  const auto place = [&](const auto& names) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  const bool is_last = place(last) < last.size();
  return is_last ? first.size() + 1 + place(last) : place(first);
}

/// Fields that hold unix times (DESIGN §3).
bool is_time(std::string_view name) {
  return name == "timestamp" || name == "first_seen" || name == "last_changed" || name == "saved";
}

void tell(Terminal& terminal, const StoredEntry& entry, const std::vector<std::string>& same_as) {
  if (terminal.json()) return terminal.line(entry_json(entry, same_as));
  terminal.line(terminal.bold(visible(entry.id)));
  Fields fields = with_implied(entry.fields);
  std::erase_if(fields, [](const auto& field) { return field.first == "title_type"; });  // shown without markup
  std::sort(fields.begin(), fields.end(),
            [](const auto& a, const auto& b) { return std::pair(rank(a.first), a) < std::pair(rank(b.first), b); });
  for (const auto& [name, value] : fields) {
    const std::string text = name == "title" ? readable_field(entry.fields, name)
                             : is_time(name) ? unix_time_text(value)
                                             : value;
    terminal.line(fmt::format("{}: {}", visible(name), visible_lines(text)));
  }
  if (same_as.empty()) return;
  const std::size_t more = same_as.size() - std::min(same_as.size(), most_same_as);
  terminal.line(fmt::format(
      "same_as: {}{}",
      visible(fmt::format("{}", fmt::join(same_as.begin(), same_as.end() - static_cast<std::ptrdiff_t>(more), " "))),
      more > 0 ? fmt::format(" and {} more", more) : ""));
}

/// The flags of a list that the command for its next page repeats.
std::string repeated_flags(const OperationValues& given) {
  std::string flags = given.has("limit") ? fmt::format(" --limit {}", given.number("limit", 0)) : "";
  if (given.has("columns")) flags += fmt::format(" --columns {}", fmt::join(given.texts("columns"), ","));
  return flags + (given.truth("header") ? " --header" : "");
}

}  // namespace

void tell_entries(const OperationValues& given, const std::string& words, Terminal& terminal, const EntryPages& pages,
                  const EntryFilter& filter) {
  Columns table(terminal, entry_columns, chosen_columns(given));
  std::optional<EntryCursor> before = given.place("before");
  const auto limit = static_cast<std::size_t>(given.number("limit", usual_limit));
  for (std::size_t shown = 0; shown < limit;) {
    stop_if_interrupted();
    const std::size_t most = std::min<std::size_t>(page_size, limit - shown);
    const std::vector<StoredEntry> page = pages(most, before);
    const std::vector<bool> wanted = filter ? filter(page) : std::vector<bool>(page.size(), true);
    if (shown == 0 && page.empty()) terminal.note(fmt::format("no entries{}", before ? " after that one" : ""));
    if (shown == 0) table.heading();
    for (std::size_t i = 0; i < page.size(); ++i) {
      if (!wanted[i]) continue;
      const StoredEntry& entry = page[i];
      ++shown;
      if (terminal.json()) {  // much longer than the cells
        terminal.line(entry_json(entry));
      } else {
        table.row(entry_cells(entry));
      }
    }
    if (!page.empty()) before = place_of(page.back());
    if (page.size() < most) return;
  }
  if (terminal.json() || !before) return;
  terminal.flush();
  terminal.note(
      fmt::format("older: feedmill {}{} --before {}:{}", words, repeated_flags(given), before->score, before->id));
}

namespace {

int list_entries(const OperationValues& given, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const std::string url = feed_url(terminal, given.text("URL"));
  if (!or_fail(Feeds(context.store).is_registered(url))) throw no_such_feed(context.store, url);
  tell_entries(given, "entries " + visible(url), terminal,
               [&](std::size_t most, const std::optional<EntryCursor>& before) {
                 return or_fail(Entries(context.store).all_by_order(url, most, before));
               });
  return exits::done;
}

void check_entry_name(const OperationValues& given) {
  const bool id = given.has("ID"), feed = given.has("feed"), guid = given.has("guid");
  if (!id && !feed && !guid) refuse("ID is missing (or --feed and --guid)");
  if (!id && (!feed || !guid)) refuse("--feed and --guid must be given together");
  if (id && (feed || guid)) refuse("ID and --guid exclude each other");
}

int show_entry(const OperationValues& given, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  std::optional<StoredEntry> found;
  std::string what = visible(given.text("ID"));
  if (given.has("ID")) {
    found = or_fail(Entries(context.store).get(Entries(context.store).id_of(given.text("ID"))));
  } else {
    const std::string url = feed_url(terminal, given.text("feed"));
    found = or_fail(Entries(context.store).get_by_guid(url, given.text("guid")));
    what = fmt::format("guid \"{}\" in {}", visible(given.text("guid")), visible(url));
  }
  if (!found) throw VerbFailure{exits::no, fmt::format("no such entry: {} (see feedmill entries URL)", what)};
  if (given.truth("text")) found->fields.emplace_back("content_text", content_text(found->fields));
  const auto same_as = or_fail(Stories(context.store).same_as(std::span(&found->id, 1)));
  tell(terminal, *found, same_as.front());
  return exits::done;
}

}  // namespace

VerbRow entries_verb() {
  static constexpr std::array taken{fields::url, fields::limit, fields::before};
  return {.name = "entries",
          .about = "List the entries of a feed, newest first",
          .example = "feedmill entries https://example.org/feed.xml --limit 5",
          .fields = taken,
          .columns = entry_columns,
          .use = reads,
          .run = list_entries};
}

VerbRow entry_verb() {
  using Kind = OperationField::Kind;
  static constexpr std::array taken{fields::optional(fields::argument("ID", "Such as Entry:17, or 17", Kind::entry)),
                                    fields::option("--feed", "URL", "Address of its feed", Kind::address),
                                    fields::option("--guid", "GUID", "Its identifier within its feed"),
                                    fields::flag("--text", "Also its whole text without markup, as content_text")};
  return {.name = "entry",
          .about = "Show one entry",
          .example = "feedmill entry Entry:17",
          .fields = taken,
          .check = check_entry_name,
          .use = reads,
          .run = show_entry};
}

namespace {

namespace json = boost::json;

constexpr std::size_t longest_input = std::size_t{64} << 20;
constexpr std::size_t change_page = 200;  // entries per store call: each may take 2 MiB

std::string counted(std::uint64_t number, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

constexpr std::string_view not_asked =
    "this deletes entries permanently; use --yes, or --dry-run to see what would be deleted";
constexpr std::string_view nothing_removed = "nothing was removed";

/// The fields of NAME=VALUE. Refuses unknown names: a list with a mistake stores nothing.
Fields assigned(const OperationValues& given) {
  const auto known = given_fields();
  Fields fields;
  for (const std::string& text : given.texts("NAME=VALUE")) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) refuse("write NAME=VALUE, or NAME= to remove a field");
    const std::string name = text.substr(0, equals);
    if (std::ranges::find(known, name) == known.end())
      refuse(fmt::format("unknown field \"{}\"{}", visible(name), did_you_mean(name, known)));
    fields.emplace_back(name, text.substr(equals + 1));
  }
  return fields;
}

void check_put(const OperationValues& given) {
  const bool from_file = given.has("file"), feed = given.has("feed"), guid = given.has("guid");
  const bool has_fields = !assigned(given).empty();
  if (!from_file && (!feed || !guid)) {
    refuse(fmt::format("{} missing (or --file)", feed ? "--guid is" : guid ? "--feed is" : "--feed and --guid are"));
  }
  if (!from_file && !has_fields) refuse("nothing to store: give NAME=VALUE (or --file)");
  if (from_file && has_fields) refuse("NAME=VALUE and --file exclude each other");
}

std::vector<GivenEntry> read_entries(const OperationValues& given) {
  const std::string file = given.text("file"), feed = given.text("feed"), guid = given.text("guid");
  if (file.empty()) return {{feed, guid, assigned(given)}};
  std::vector<GivenEntry> entries;
  const std::string input = read_input(file, longest_input, "; nothing was stored");
  json::stream_parser parser;
  const auto problem = [&](const std::string& what) {
    return VerbFailure{exits::bad_input, fmt::format("object {} of {}: {}; nothing was stored", entries.size() + 1,
                                                     file == "-" ? "stdin" : visible(file), what)};
  };
  for (std::string_view rest = input;;) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n"), rest.size()));
    if (rest.empty()) break;
    boost::system::error_code error;
    rest.remove_prefix(parser.write_some(rest.data(), rest.size(), error));
    if (!error && !parser.done()) parser.finish(error);
    if (error) throw problem("invalid JSON: " + error.message());
    auto entry = read_given_entry(parser.release(), feed, guid);
    if (entry.has_error()) throw problem(visible(entry.error()));
    entries.push_back(std::move(*entry));
    parser.reset();
  }
  if (entries.empty()) throw VerbFailure{exits::bad_input, "no entry given; nothing was stored"};
  return entries;
}

void tell(Terminal& terminal, const GivenEntry& entry, const Saved& saved) {
  const std::string_view result = saved.result == Saved::Result::created    ? "created"
                                  : saved.result == Saved::Result::modified ? "modified"
                                                                            : "unchanged";
  terminal.tell(
      {{"id", saved.id}, {"result", result}, {"rev", saved.rev}, {"feed_url", entry.feed_url}, {"guid", entry.guid}},
      fmt::format("{} {}, rev {}", result, visible(saved.id), saved.rev));
}

std::uint64_t bytes_of(const StoredEntry& entry) {
  return leading_number<std::uint64_t>(entry.get("bytes"));
}

/// Number of entries that an expiry would remove from a feed: applies the store's rule, newest first.
std::uint64_t would_go(Store& store, const std::string& url, const Expiry& expiry) {
  const auto now = or_fail(store.now());
  const std::int64_t oldest = expiry.age ? (now - *expiry.age).count() / 1000 : 0;
  std::uint64_t stay = 0, seen = 0, bytes = 0;
  bool full = false;
  for (std::optional<EntryCursor> before;;) {
    stop_if_interrupted();
    const auto page = or_fail(Entries(store).all_by_order(url, change_page, before));
    for (const StoredEntry& entry : page) {
      ++seen;
      before = place_of(entry);
      bytes += bytes_of(entry);
      full = full || (expiry.limit && seen > *expiry.limit) || (expiry.age && before->score < oldest) ||
             (expiry.bytes && bytes > *expiry.bytes && seen > 1);
      if (!full) ++stay;
    }
    if (page.size() < change_page) return seen - stay;
  }
}

std::string what_stays(const Expiry& expiry) {
  std::string text;
  const auto add = [&](const std::string& limit) { text += (text.empty() ? "" : ", ") + limit; };
  if (expiry.limit) add(counted(*expiry.limit, "entry", "entries"));
  if (expiry.age) add("entries newer than " + format_duration(*expiry.age));
  if (expiry.bytes) add(format_size(*expiry.bytes));
  return text;
}

int put_entries(const OperationValues& given, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const int unfit = given.has("file") ? exits::bad_input : exits::usage;
  std::vector<GivenEntry> entries = read_entries(given);
  std::map<std::string, GivenMarkup> markups;  // by feed
  for (GivenEntry& entry : entries) {
    entry.feed_url = feed_url(terminal, entry.feed_url, "nothing was stored");
    const auto known = markups.find(entry.feed_url);
    if (known == markups.end()) {
      const auto records = known_records(context, {entry.feed_url}, "nothing was stored");
      const auto policy = read_settings(records.front().state.settings).html_policy;
      markups[entry.feed_url] = {policy.value_or(context.config.html.policy), context.config.html.keep_class};
    }
    const auto record = given_record(entry, {}, true, markups[entry.feed_url]);
    if (record.has_error()) {
      throw VerbFailure{unfit, fmt::format("{}: {}; nothing was stored", visible(entry.guid), visible(record.error()))};
    }
  }
  for (const GivenEntry& entry : entries) {
    stop_if_interrupted();
    const GivenMarkup& markup = markups[entry.feed_url];
    const auto saved = or_fail(given.truth("replace") ? Entries(context.store).save(entry, markup)
                                                      : Entries(context.store).update_or_create(entry, markup));
    if (saved.result == Saved::Result::unknown_feed) throw no_such_feed(context.store, entry.feed_url);
    if (saved.result == Saved::Result::unfit) {
      throw VerbFailure{unfit, fmt::format("{}: {}", visible(entry.guid), visible(saved.detail))};
    }
    tell(terminal, entry, saved);
  }
  return exits::done;
}

CommandNotes put_notes() {
  return {"Fields",
          {fmt::format("{}", fmt::join(given_fields(), " ")),
           "Dates as 2026-03-01T12:00:00Z; types text/plain (the default for titles) or text/html; authors, categories "
           "and enclosures are JSON.",
           "Values are sanitised and truncated like those of fetched documents."}};
}

int remove_entries(const OperationValues& given, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  std::vector<std::string> ids = given.texts("ID");
  for (std::string& id : ids) id = Entries(context.store).id_of(id);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  const auto tell_id = [&](std::string_view result, const std::string& id) {
    terminal.tell({{"id", id}, {"result", result}}, fmt::format("{} {}", result, visible(id)));
  };
  bool missing = false;
  for (const std::string& id : ids) {
    const auto entry = or_fail(Entries(context.store).get(id));
    if (entry) continue;
    terminal.error(fmt::format("no such entry: {}; nothing was removed (see feedmill entries URL)", visible(id)));
    missing = true;
  }
  if (missing) return exits::no;
  if (given.truth("dry-run")) {
    for (const std::string& id : ids) tell_id("would remove", id);
    return exits::done;
  }
  if (!given.truth("yes")) {
    confirm(terminal,
            fmt::format("Remove {}? This cannot be undone.", counted(ids.size(), "stored entry", "stored entries")),
            not_asked, nothing_removed);
  }
  for (const std::string& id : ids) {
    stop_if_interrupted();
    const auto removed = or_fail(Entries(context.store).remove(id));
    tell_id(removed ? "removed" : "already removed", id);
  }
  return exits::done;
}

Expiry expiry_of(const OperationValues& given) {
  Expiry expiry;
  if (given.has("limit")) expiry.limit = static_cast<std::uint64_t>(given.number("limit", 0));
  if (given.has("age")) expiry.age = given.duration("age", {});
  expiry.bytes = given.bytes("bytes");
  if (!expiry.limit && !expiry.age && !expiry.bytes) expiry.limit = 50;
  return expiry;
}

int expire_entries(const OperationValues& given, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const Expiry expiry = expiry_of(given);
  const std::string url = feed_url(terminal, given.text("URL"), nothing_removed);
  known_records(context, {url}, nothing_removed);
  const auto tell_trimmed = [&](std::string_view result, std::uint64_t trimmed) {
    terminal.tell({{"url", url}, {"result", result}, {"entries", trimmed}},
                  fmt::format("{} {} of {}", result, counted(trimmed, "entry", "entries"), visible(url)));
  };
  if (given.truth("dry-run")) {
    tell_trimmed("would trim", would_go(context.store, url, expiry));
    return exits::done;
  }
  if (!given.truth("yes")) {
    confirm(terminal,
            fmt::format("Trim {} to {}? Removed entries cannot be restored.", visible(url), what_stays(expiry)),
            not_asked, nothing_removed);
  }
  const auto trimmed = or_fail(Entries(context.store).expire(url, expiry));
  if (!trimmed) throw no_such_feed(context.store, url);
  tell_trimmed("trimmed", *trimmed);
  return exits::done;
}

}  // namespace

VerbRow entry_put_verb() {
  using Kind = OperationField::Kind;
  static const std::array taken{
      fields::optional(fields::many(
          fields::completed(fields::argument("NAME=VALUE", "Fields to set; NAME= removes a field"), given_fields()))),
      fields::option("--feed", "URL", "Address of its feed", Kind::address),
      fields::option("--guid", "GUID", "What identifies it inside its feed"),
      fields::option("--file", "FILE",
                     "JSON objects with the fields, as printed by entry --json; they may include feed_url and guid; - "
                     "for stdin"),
      fields::flag("--replace", "Remove fields that are not given")};
  return {.name = "entry put",
          .about = "Create an entry of a feed, or change its fields",
          .example =
              "feedmill entry put --feed https://example.org/feed.xml --guid note-1 title=Note "
              "link=https://example.org/1",
          .fields = taken,
          .check = check_put,
          .notes = put_notes,
          .run = put_entries};
}

VerbRow entry_remove_verb() {
  static constexpr std::array taken{
      fields::many(fields::argument("ID", "Such as Entry:17, or 17", OperationField::Kind::entry)), fields::yes,
      fields::flag("--dry-run", "Only show what would be removed")};
  return {.name = "entry remove",
          .about = "Delete entries; they do not come back while their feeds list them",
          .example = "feedmill entry remove Entry:17 --yes",
          .fields = taken,
          .run = remove_entries};
}

VerbRow expire_verb() {
  using Kind = OperationField::Kind;
  static constexpr std::array taken{
      fields::url,
      fields::number("--limit", "N", "Keep the N newest", 0, 1'000'000'000),
      fields::duration("--age", "Delete older entries", {}, std::chrono::days(36'500)),
      fields::option("--bytes", "SIZE", "Keep this many bytes; the newest entry stays whatever its size", Kind::size),
      fields::yes,
      fields::flag("--dry-run", "Only show how many would be deleted")};
  return {.name = "expire",
          .about = "Trim a feed now: by number (default: 50), by age, by bytes",
          .example = "feedmill expire https://example.org/feed.xml --age 90d --yes",
          .fields = taken,
          .run = expire_entries};
}

}  // namespace feedmill
