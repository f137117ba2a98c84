#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/records/json_members.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/timelines/notifications.hpp"
#include "storage/timelines/timelines_of_all.hpp"
#include "worker/admin/status.hpp"
#include "worker/cli/verb.hpp"
#include "worker/timelines/notification_matcher.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/table.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

std::string text_of(const json::object& object, std::string_view name) {
  return visible(string_member(object, name));
}

bool is_read(const json::object& object) {
  const json::value* const read = object.if_contains("read");
  return read != nullptr && *read == true;
}

/// A notice as one line: time, type, subject, and reason or remedy.
std::string line_of(const StoredNotice& notice, const json::object& object) {
  std::string line = fmt::format("{}  {}  {}", rfc3339(timestamp_of(object)), visible(notice.id),
                                 is_read(object) ? "read  " : "unread");
  if (const std::string text = text_of(object, "text"); !text.empty()) {
    const std::string reason = text_of(object, "reason");
    return fmt::format("{}  {}{}  {}  ({})", line, text, reason.empty() ? "" : ": " + reason,
                       text_of(object, "feed_url"), text_of(object, "remedy"));
  }
  const std::string title = text_of(object, "title"), link = text_of(object, "link");
  line += fmt::format("  {}  {}", text_of(object, "entity_id"), title.empty() ? text_of(object, "feed_url") : title);
  return link.empty() ? line : line + "  " + link;
}

std::vector<StoredNotice> notices_of(const std::string& user, std::span<const VerbContext> stores) {
  const auto list = [&](Store& store) { return Notifications(store).list(user); };
  return notices_together(user, or_fail(deployment_of(stores).each(list)));
}

void tell_notices(const std::string& user, bool unread, std::span<const VerbContext> stores) {
  Terminal& terminal = stores.front().terminal;
  bool any = false;
  for (const StoredNotice& notice : notices_of(user, stores)) {
    // A feed's URL may hold a secret, and operators may share this output (SECURITY K1).
    json::object object = embedded_object(notice.json);
    if (user == operator_user) object = without_secrets(std::move(object)).as_object();
    if (unread && is_read(object)) continue;
    any = true;
    terminal.tell(object, line_of(notice, object));
  }
  if (!any) terminal.note(unread ? "no unread notices" : "no notices");
}

/// Changes these notices of a user, or all of the user's notices if `ids` is empty, in all partitions; prints the
/// number changed as `result`.
using Edit = StoreResult<std::size_t> (Notifications::*)(const std::string& user, std::span<const std::string> ids);
int edit(Edit how, std::string_view result, const std::string& user, const std::vector<std::string>& ids,
         std::span<const VerbContext> stores) {
  std::size_t changed = 0;
  for (const VerbContext& at : stores) changed += or_fail((Notifications(at.store).*how)(user, ids));
  stores.front().terminal.tell({{"user", user}, {result, changed}}, fmt::format("{} {}", result, changed));
  return exits::done;
}

/// The rules given on the command line.
std::vector<Watch> rules_of(const OperationValues& given, Terminal& terminal) {
  const std::string user = given.text("USER");
  std::vector<Watch> rules;
  for (const std::string& url : feed_urls(terminal, given.texts("feed"), "nothing was changed")) {
    rules.push_back({user, "", Watch::Kind::feed, url});
  }
  for (const std::string& uid : given.texts("channel")) rules.push_back({user, "", Watch::Kind::channel, uid});
  for (const std::string& words : given.texts("words")) {
    if (const std::string_view wrong = unfit_words(words); !wrong.empty()) {
      terminal.error(
          fmt::format("words \"{}\" cannot be watched: {}; nothing was changed", visible(words.substr(0, 100)), wrong));
      throw VerbFailure{exits::bad_input, ""};
    }
    rules.push_back({user, "", Watch::Kind::words, words});
  }
  return rules;
}

const VerbContext& home_of(const std::string& user, std::span<const VerbContext> stores) {
  return stores[home_of_user(user, static_cast<unsigned>(stores.size()))];
}

std::vector<unsigned> copies_of(const Watch& rule, std::span<const VerbContext> stores) {
  return copies_of_rule(rule, static_cast<unsigned>(stores.size()));
}

void remove_at(const VerbContext& at, const Watch& rule) {
  Notifications there(at.store);
  for (const Watch& one : or_fail(there.watches(rule.user))) {
    if (is_same_rule(one, rule)) or_fail(there.unwatch(rule.user, std::span(&one.id, 1)));
  }
}

/// Removes a rule's copies from their partitions.
void remove_copies(const Watch& rule, std::span<const VerbContext> stores) {
  for (const unsigned copy : copies_of(rule, stores)) remove_at(stores[copy], rule);
}

bool is_at_home(const Watch& rule, std::span<const VerbContext> stores) {
  const auto all = or_fail(Notifications(home_of(rule.user, stores).store).watches(rule.user));
  return std::ranges::any_of(all, [&](const Watch& one) { return is_same_rule(one, rule); });
}

/// False if the user has the maximum number of rules.
bool add_rule(const Watch& rule, std::span<const VerbContext> stores) {
  Notifications home(home_of(rule.user, stores).store);
  if (!or_fail(home.watch(rule))) return false;
  for (const unsigned copy : copies_of(rule, stores)) {
    if (or_fail(Notifications(stores[copy].store).watch(rule))) continue;
    remove_copies(rule, stores);
    remove_at(home_of(rule.user, stores), rule);
    return false;
  }
  // A concurrent removal may have passed the home before us and the copies after us: add it again.
  return stores.size() == 1 || or_fail(home.watch(rule));
}

/// False if there is no rule with that id. The home is last, so that an interrupted removal can be repeated.
bool remove_rule(const std::string& user, const std::string& id, std::span<const VerbContext> stores) {
  Notifications home(home_of(user, stores).store);
  const auto all = or_fail(home.watches(user));
  const auto rule = std::ranges::find(all, id, &Watch::id);
  if (rule == all.end()) return false;
  remove_copies(*rule, stores);
  const bool is_gone = or_fail(home.unwatch(user, std::span(&id, 1))) > 0;
  // A concurrent addition may have passed the home before us and the copies after us.
  if (stores.size() > 1 && !is_at_home(*rule, stores)) remove_copies(*rule, stores);
  return is_gone;
}

bool changes_rules(const OperationValues& given) {
  return given.has("feed") || given.has("channel") || given.has("words") || given.has("remove");
}

StoreUse use_of_rules(const OperationValues& given) {
  return changes_rules(given) ? StoreUse::change : StoreUse::read;
}

void check_rules(const OperationValues& given) {
  const std::string user = given.text("USER");
  const bool adds = given.has("feed") || given.has("channel") || given.has("words");
  if (const std::string_view wrong = adds ? unfit_text_name(user) : std::string_view(); !wrong.empty())
    refuse(fmt::format("invalid user name \"{}\": {}", visible(user), wrong));
  for (const std::string& uid : given.texts("channel")) {
    const std::string_view wrong = unfit_text_name(uid);
    if (!wrong.empty()) refuse(fmt::format("invalid channel name \"{}\": {}", visible(uid), wrong));
  }
  const std::string_view wrong = objection_to_user(user);
  if (!wrong.empty() && changes_rules(given))
    refuse(fmt::format("a user with notices cannot be named \"{}\": {}", visible(user), wrong));
}

int notice_rules(const OperationValues& given, std::span<const VerbContext> stores) {
  Terminal& terminal = stores.front().terminal;
  const std::string user = given.text("USER");
  for (const Watch& rule : rules_of(given, terminal)) {
    if (!add_rule(rule, stores)) {
      terminal.error(fmt::format("{} has {} rules, the maximum; --remove some", visible(user), max_watches));
      return exits::no;
    }
  }
  std::size_t unknown = 0;
  for (const std::string& id : given.texts("remove")) unknown += remove_rule(user, id, stores) ? 0 : 1;
  if (unknown > 0) {
    terminal.error(fmt::format("{} of these are not rules of {}", unknown, visible(user)));
    return exits::no;
  }
  const auto all = or_fail(Notifications(home_of(user, stores).store).watches(user));
  if (all.empty()) terminal.note(fmt::format("no rules for {}: feedmill notify rules -h", visible(user)));
  Columns table(terminal, {{"ID", 8}, {"KIND", 8}, {"WATCHED", 0}});
  table.heading();
  for (const Watch& watch : all) {
    table.row({{"user", watch.user}, {"id", watch.id}, {"kind", to_string(watch.kind)}, {"target", watch.target}},
              {watch.id, std::string(to_string(watch.kind)), watch.target});
  }
  return exits::done;
}

int show_notices(const OperationValues& given, std::span<const VerbContext> stores) {
  tell_notices(given.text("USER"), given.truth("unread"), stores);
  return exits::done;
}

int read_notices(const OperationValues& given, std::span<const VerbContext> stores) {
  return edit(&Notifications::mark_read, "marked_read", given.text("USER"), given.texts("ID"), stores);
}

int delete_notices(const OperationValues& given, std::span<const VerbContext> stores) {
  return edit(&Notifications::remove, "deleted", given.text("USER"), given.texts("ID"), stores);
}

int operator_notices(const OperationValues& given, std::span<const VerbContext> stores) {
  const std::string user(operator_user);
  if (given.truth("clear")) return edit(&Notifications::remove, "deleted", user, {}, stores);
  tell_notices(user, false, stores);
  return exits::done;
}

StoreUse use_of_notices(const OperationValues& given) {
  return given.truth("clear") ? StoreUse::change : StoreUse::read;
}

using Kind = OperationField::Kind;

constexpr OperationField notice_user = fields::argument("USER", "Name of a user; operators are _operator", Kind::user);
constexpr OperationField notice_ids =
    fields::either(fields::many(fields::argument("ID", "Notice id (see notify list)")));
constexpr OperationField all_notices = fields::either(fields::flag("--all", "All of them"));

VerbRow notify_rules() {
  static constexpr std::array taken{
      notice_user, fields::many(fields::option("--feed", "URL", "Watch this feed; may be repeated", Kind::address)),
      fields::many(fields::option("--channel", "CHANNEL", "Watch this channel; may be repeated", Kind::channel)),
      fields::many(fields::option("--words", "WORDS", "Watch for posts that contain all these words; may be repeated")),
      fields::many(fields::option("--remove", "ID", "Remove the rule with this id; may be repeated"))};
  return {.name = "notify rules",
          .about = "Show a user's rules: feeds, channels or words to watch; add or remove rules",
          .example = "feedmill notify rules anna --words \"redis cluster\"",
          .fields = taken,
          .check = check_rules,
          .use = use_of_rules,
          .run = notice_rules};
}

VerbRow notify_list() {
  static constexpr std::array taken{notice_user, fields::flag("--unread", "Only unread notices")};
  return {.name = "notify list",
          .about = "List a user's notices, newest first",
          .example = "feedmill notify list anna --unread",
          .fields = taken,
          .use = reads,
          .run = show_notices};
}

VerbRow notify_read() {
  static constexpr std::array taken{notice_user, notice_ids, all_notices};
  return {.name = "notify read",
          .about = "Mark notices read",
          .example = "feedmill notify read anna --all",
          .fields = taken,
          .run = read_notices};
}

VerbRow notify_delete() {
  static constexpr std::array taken{notice_user, notice_ids, all_notices};
  return {.name = "notify delete",
          .about = "Delete notices",
          .example = "feedmill notify delete anna --all",
          .fields = taken,
          .run = delete_notices};
}

}  // namespace

std::vector<VerbRow> notify_verbs() {
  std::vector<VerbRow> rows{
      {.name = "notify", .about = "Notices for users"}, notify_rules(), notify_list(), notify_read(), notify_delete()};
  for (VerbRow& row : rows) row.fails_as = "notify";
  return rows;
}

VerbRow notices_verb() {
  static constexpr std::array taken{fields::flag("--clear", "Delete them all")};
  return {.name = "notices",
          .about = "List notices for operators, newest first",
          .example = "feedmill notices --json",
          .fields = taken,
          .use = use_of_notices,
          .run = operator_notices};
}

}  // namespace feedmill
