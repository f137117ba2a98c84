#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/records/json_member.hpp"
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

/// One line for people: when, which, what of, and why or what to do.
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

void tell_notices(Notifications& notifications, const std::string& user, bool unread, Terminal& terminal) {
  const auto notices = or_fail(notifications.list(user));
  bool any = false;
  for (const StoredNotice& notice : notices) {
    // A feed's address may hold a secret, and operators read this aloud (SECURITY K1).
    const json::object object =
        user == operator_user ? without_secrets(object_of(notice)).as_object() : object_of(notice);
    if (unread && is_read(object)) continue;
    any = true;
    terminal.tell(object, line_of(notice, object));
  }
  if (!any) terminal.note(unread ? "no unread notices" : "no notices");
}

void tell_count(Terminal& terminal, const std::string& user, std::string_view name, std::size_t number) {
  terminal.tell({{"user", user}, {name, number}}, fmt::format("{} {}", name, number));
}

/// The rules a command line asks for.
std::vector<Watch> rules_of(const NotifyRulesVerb& verb, Terminal& terminal) {
  std::vector<Watch> rules;
  for (const std::string& url : feed_urls(terminal, verb.feeds, "nothing was changed")) {
    rules.push_back({verb.user, "", Watch::Kind::feed, url});
  }
  for (const std::string& uid : verb.channels) rules.push_back({verb.user, "", Watch::Kind::channel, uid});
  for (const std::string& words : verb.words) {
    if (const std::string_view wrong = unfit_words(words); !wrong.empty()) {
      terminal.error(
          fmt::format("words \"{}\" are none: {}; nothing was changed", visible(words.substr(0, 100)), wrong));
      throw VerbFailure{exits::bad_input, ""};
    }
    rules.push_back({verb.user, "", Watch::Kind::words, words});
  }
  return rules;
}

}  // namespace

int run_verb(const NotifyRulesVerb& verb, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  Notifications notifications(context.store);
  for (const Watch& watch : rules_of(verb, terminal)) {
    if (!or_fail(notifications.watch(watch))) {
      terminal.error(fmt::format("{} has {} rules, which is as many as there may be; --remove some", visible(verb.user),
                                 max_watches));
      return exits::no;
    }
  }
  if (!verb.remove.empty()) {
    const auto gone = or_fail(notifications.unwatch(verb.user, verb.remove));
    if (gone < verb.remove.size()) {
      terminal.error(fmt::format("{} of these are no rules of {}", verb.remove.size() - gone, visible(verb.user)));
      return exits::no;
    }
  }
  const auto all = or_fail(notifications.watches(verb.user));
  if (all.empty()) terminal.note(fmt::format("no rules of {}: feedmill notify rules -h", visible(verb.user)));
  Columns table(terminal, {{"ID", 8}, {"KIND", 8}, {"WATCHED", 0}});
  table.heading();
  for (const Watch& watch : all) {
    table.row({{"user", watch.user}, {"id", watch.id}, {"kind", to_string(watch.kind)}, {"target", watch.target}},
              {watch.id, std::string(to_string(watch.kind)), watch.target});
  }
  return exits::done;
}

int run_verb(const NotifyListVerb& verb, const VerbContext& context) {
  Notifications notifications(context.store);
  tell_notices(notifications, verb.user, verb.unread, context.terminal);
  return exits::done;
}

int run_verb(const NotifyReadVerb& verb, const VerbContext& context) {
  const std::size_t marked = or_fail(Notifications(context.store).mark_read(verb.user, verb.ids));
  tell_count(context.terminal, verb.user, "marked_read", marked);
  return exits::done;
}

int run_verb(const NotifyDeleteVerb& verb, const VerbContext& context) {
  const std::size_t deleted = or_fail(Notifications(context.store).remove(verb.user, verb.ids));
  tell_count(context.terminal, verb.user, "deleted", deleted);
  return exits::done;
}

int run_verb(const NoticesVerb& verb, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  Notifications notifications(context.store);
  const std::string user(operator_user);
  if (verb.clear) {
    tell_count(terminal, user, "deleted", or_fail(notifications.remove(user)));
    return exits::done;
  }
  tell_notices(notifications, user, false, terminal);
  return exits::done;
}

}  // namespace feedmill
