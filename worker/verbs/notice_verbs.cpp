#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/records/json_member.hpp"
#include "storage/timelines/notice_parts.hpp"
#include "storage/timelines/notifications.hpp"
#include "worker/admin/status_json.hpp"
#include "worker/command_line/operation_verbs.hpp"
#include "worker/command_line/user_verbs.hpp"
#include "worker/timelines/notification_matcher.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

json::object object_of(const StoredNotice& notice) {
  json::value value = embedded_json(notice.json);
  return value.is_object() ? std::move(value.as_object()) : json::object();
}

std::string text_of(const json::object& object, std::string_view name) {
  return visible(string_member(object, name));
}

bool is_read(const json::object& object) {
  const json::value* const read = object.if_contains("read");
  return read != nullptr && *read == true;
}

/// One line: time, type, subject, and reason or remedy.
std::string line_of(const StoredNotice& notice, const json::object& object) {
  Milliseconds time{};
  if (const json::value* const seconds = object.if_contains("timestamp"); seconds != nullptr && seconds->is_int64()) {
    time = Milliseconds(seconds->as_int64() * 1000);
  }
  std::string line =
      fmt::format("{}  {}  {}", rfc3339(time), visible(notice.id), is_read(object) ? "read  " : "unread");
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
  std::vector<std::vector<StoredNotice>> parts;
  for (const VerbContext& at : stores) parts.push_back(or_fail(Notifications(at.store).list(user)));
  return notices_together(parts);
}

void tell_notices(const std::string& user, bool unread, std::span<const VerbContext> stores) {
  Terminal& terminal = stores.front().terminal;
  bool any = false;
  for (const StoredNotice& notice : notices_of(user, stores)) {
    // A feed's URL may hold a secret, and operators may share this output (SECURITY K1).
    const json::object object =
        user == operator_user ? without_secrets(object_of(notice)).as_object() : object_of(notice);
    if (unread && is_read(object)) continue;
    any = true;
    terminal.tell(object, line_of(notice, object));
  }
  if (!any) terminal.note(unread ? "no unread notices" : "no notices");
}

/// Changes these notices of a user, or all if `ids` is empty, in all partitions; returns the number changed.
using Edit = StoreResult<std::size_t> (Notifications::*)(const std::string& user, std::span<const std::string> ids);
std::size_t edit(Edit how, const std::string& user, const std::vector<std::string>& ids,
                 std::span<const VerbContext> stores) {
  std::size_t changed = 0;
  for (const VerbContext& at : stores) changed += or_fail((Notifications(at.store).*how)(user, ids));
  return changed;
}

void tell_count(Terminal& terminal, const std::string& user, std::string_view name, std::size_t number) {
  terminal.tell({{"user", user}, {name, number}}, fmt::format("{} {}", name, number));
}

/// The rules of a command line.
std::vector<Watch> rules_of(const NotifyRulesVerb& verb, Terminal& terminal) {
  std::vector<Watch> rules;
  for (const std::string& url : feed_urls(terminal, verb.feeds, "nothing was changed")) {
    rules.push_back({verb.user, "", Watch::Kind::feed, url});
  }
  for (const std::string& uid : verb.channels) rules.push_back({verb.user, "", Watch::Kind::channel, uid});
  for (const std::string& words : verb.words) {
    if (const std::string_view wrong = unfit_words(words); !wrong.empty()) {
      terminal.error(
          fmt::format("words \"{}\" cannot be watched: {}; nothing was changed", visible(words.substr(0, 100)), wrong));
      throw VerbFailure{exits::bad_input, ""};
    }
    rules.push_back({verb.user, "", Watch::Kind::words, words});
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

}  // namespace

int run_verb(const NotifyRulesVerb& verb, std::span<const VerbContext> stores) {
  Terminal& terminal = stores.front().terminal;
  for (const Watch& rule : rules_of(verb, terminal)) {
    if (!add_rule(rule, stores)) {
      terminal.error(fmt::format("{} has {} rules, the maximum; --remove some", visible(verb.user), max_watches));
      return exits::no;
    }
  }
  std::size_t unknown = 0;
  for (const std::string& id : verb.remove) unknown += remove_rule(verb.user, id, stores) ? 0 : 1;
  if (unknown > 0) {
    terminal.error(fmt::format("{} of these are not rules of {}", unknown, visible(verb.user)));
    return exits::no;
  }
  const auto all = or_fail(Notifications(home_of(verb.user, stores).store).watches(verb.user));
  if (all.empty()) terminal.note(fmt::format("no rules for {}: feedmill notify rules -h", visible(verb.user)));
  Columns table(terminal, {{"ID", 8}, {"KIND", 8}, {"WATCHED", 0}});
  table.heading();
  for (const Watch& watch : all) {
    table.row({{"user", watch.user}, {"id", watch.id}, {"kind", to_string(watch.kind)}, {"target", watch.target}},
              {watch.id, std::string(to_string(watch.kind)), watch.target});
  }
  return exits::done;
}

int run_verb(const NotifyListVerb& verb, std::span<const VerbContext> stores) {
  tell_notices(verb.user, verb.unread, stores);
  return exits::done;
}

int run_verb(const NotifyReadVerb& verb, std::span<const VerbContext> stores) {
  tell_count(stores.front().terminal, verb.user, "marked_read",
             edit(&Notifications::mark_read, verb.user, verb.ids, stores));
  return exits::done;
}

int run_verb(const NotifyDeleteVerb& verb, std::span<const VerbContext> stores) {
  tell_count(stores.front().terminal, verb.user, "deleted", edit(&Notifications::remove, verb.user, verb.ids, stores));
  return exits::done;
}

int run_verb(const NoticesVerb& verb, std::span<const VerbContext> stores) {
  const std::string user(operator_user);
  if (!verb.clear) {
    tell_notices(user, false, stores);
    return exits::done;
  }
  tell_count(stores.front().terminal, user, "deleted", edit(&Notifications::remove, user, {}, stores));
  return exits::done;
}

}  // namespace feedmill
