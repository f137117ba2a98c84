// Users' notices, and the rules that cause them (docs/REQUESTS.md).
#include <array>
#include <span>
#include <string>

#include <fmt/format.h>

#include "storage/timelines/notifications.hpp"
#include "worker/operations/families.hpp"
#include "worker/operations/request.hpp"
#include "worker/timelines/notification_matcher.hpp"

namespace feedmill {
namespace user_operations {
namespace {

using Kind = OperationField::Kind;

constexpr OperationField user{.name = "user",
                              .kind = Kind::user,
                              .unit = "USER",
                              .about = "Name of a user",
                              .required = true,
                              .is_key = true,
                              .told = true};
constexpr OperationField watching_user = [] {
  OperationField field = user;
  field.kind = Kind::new_user;
  return field;
}();
constexpr std::array of_notices{user, as_field,
                                OperationField{.name = "notices",
                                               .kind = Kind::notices,
                                               .unit = "IDS",
                                               .about = "Ids of notices; all, to mark all read",
                                               .required = true,
                                               .most = 500}};
constexpr OperationField watched(const OperationField& field, std::string_view about) {
  OperationField one = in_body(field, about);
  one.either = true;
  return one;
}
constexpr std::array of_rule{watching_user, watched(feed_field, "Watch this feed"),
                             watched(channel_field, "Watch this channel"),
                             OperationField{.name = "words",
                                            .kind = Kind::opaque,
                                            .unit = "WORDS",
                                            .about = "Watch for posts that contain all these words",
                                            .required = true,
                                            .either = true,
                                            .told = true,
                                            .most = longest_request}};
constexpr std::array of_removal{user, OperationField{.name = "id",
                                                     .kind = Kind::number,
                                                     .unit = "ID",
                                                     .about = "Id of a rule",
                                                     .required = true,
                                                     .most = std::int64_t{1} << 53U}};

void mark(const RequestCall& call) {
  Notifications notifications(call.store);
  const std::string name = call.given().text("user");
  const auto ids = call.given().texts("notices");
  const auto step = call.step();
  answered(call.given().text("as") == "unread" ? notifications.mark_unread(name, ids)
                                               : notifications.mark_read(name, ids));
}

void check_rule(const OperationValues& given) {
  const std::string words = given.text("words");
  const std::string_view wrong = words.empty() ? std::string_view() : unfit_words(words);
  if (!wrong.empty()) throw OperationRefused{"bad_value", fmt::format("words: {}", wrong)};
}

void add(const RequestCall& call) {
  const auto step = call.step();
  answered(Notifications(call.store).watch(rule_of(call.given())));
}

void remove(const RequestCall& call) {
  const auto step = call.step();
  const std::string id = std::to_string(call.given().number("id", 0));
  answered(Notifications(call.store).unwatch(call.given().text("user"), std::span(&id, 1)));
}

constexpr std::array operations = {
    request(RequestOp::notice_mark, "POST", "/notices/marks", "Mark a user's notices read or unread", of_notices, mark,
            check_marks),
    request(RequestOp::watch_add, "POST", "/rules", "Add a rule: what a user wants notices about", of_rule, add,
            check_rule),
    request(RequestOp::watch_remove, "DELETE", "/rules/{id}", "Remove a user's rule", of_removal, remove),
};

}  // namespace
}  // namespace user_operations

Watch rule_of(const OperationValues& given) {
  Watch rule{given.text("user"), "", Watch::Kind::words, given.text("words")};
  if (given.has("url")) rule = {rule.user, "", Watch::Kind::feed, given.text("url")};
  if (given.has("channel")) rule = {rule.user, "", Watch::Kind::channel, given.text("channel")};
  return rule;
}

OperationFamily user_family() {
  return {.operations = user_operations::operations};
}

}  // namespace feedmill
