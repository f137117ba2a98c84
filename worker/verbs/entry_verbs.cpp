#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "storage/entries/entries.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/records/entry_record.hpp"
#include "storage/timelines/stories.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/cli/verb.hpp"
#include "worker/verbs/entry_list.hpp"
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
  Fields fields = entry.fields;
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

}  // namespace

void tell_entries(const OperationValues& given, const std::string& words, Terminal& terminal, const EntryPages& pages,
                  const EntryFilter& filter) {
  Columns table(terminal, {{"TIME", 20}, {"ID", 14}, {"TITLE", 0}});
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
  terminal.note(fmt::format("older: feedmill {} --before {}:{}", words, before->score, before->id));
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
          .about = "Entries of a feed, newest first",
          .example = "feedmill entries https://example.org/feed.xml --limit 5",
          .fields = taken,
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
          .about = "One entry",
          .example = "feedmill entry Entry:17",
          .fields = taken,
          .check = check_entry_name,
          .use = reads,
          .run = show_entry};
}

}  // namespace feedmill
