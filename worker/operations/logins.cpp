// Logins that programs store for their feeds (SECURITY K7).
#include "storage/feeds/logins.hpp"

#include <array>
#include <string>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "worker/config/config_named.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/operations/families.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace login_operations {
namespace {

namespace json = boost::json;
using Access = Operation::Access;
using Kind = OperationField::Kind;

constexpr OperationField name{.name = "name",
                              .unit = "NAME",
                              .about =
                                  "Name of a login: OWNER/NAME on the command line, where OWNER is the API token "
                                  "that may use it; over HTTP the token's own, without OWNER",
                              .required = true,
                              .is_key = true,
                              .most = 129};
constexpr std::array of_one{name};
constexpr std::array of_new{
    name,
    OperationField{.name = "origin",
                   .flag = "--origin",
                   .unit = "URL",
                   .about = "The only origin to send it to: scheme://host[:port]",
                   .required = true,
                   .most = 2048},
    OperationField{.name = "user",
                   .flag = "--user",
                   .unit = "USER",
                   .about = "User name of HTTP Basic; the secret is the password",
                   .required = true,
                   .either = true,
                   .most = 256},
    OperationField{.name = "header",
                   .flag = "--header",
                   .unit = "HEADER",
                   .about = "Or the name of a header, such as Authorization; the secret is its value",
                   .required = true,
                   .either = true,
                   .most = 256},
    OperationField{.name = "secret",
                   .kind = Kind::secret,
                   .flag = "--file",
                   .unit = "FILE",
                   .about = "The secret, one line of at most 4096 bytes; on the command line the file that holds it",
                   .required = true,
                   .most = 4096}};
constexpr std::array columns{OperationColumn{"name", 24}, OperationColumn{"origin", 32}, OperationColumn{"by", 12},
                             OperationColumn{"at", 20},   OperationColumn{"user", 12},   OperationColumn{"header", 0}};

/// The full name of the login in the arguments: a token's calls cannot name those of another owner.
std::string full_name(const OperationContext& context, const OperationValues& given) {
  const bool by_operator = context.app.empty();
  std::string full = by_operator ? given.text("name") : fmt::format("{}/{}", context.app, given.text("name"));
  for (const std::string_view part : {owner_of_login(full), own_name_of_login(full)}) {
    const bool is_dots = part == "." || part == "..";  // clients resolve them in a path
    const std::string wrong = is_dots ? "letters or digits are missing" : check_plain_name(std::string(part));
    if (wrong.empty()) continue;
    throw OperationRefused{"bad_value", fmt::format("name: write {}; {}", by_operator ? "OWNER/NAME" : "NAME", wrong)};
  }
  return full;
}

/// A login without its secret.
json::object row_of(const FeedLogin& login) {
  return {{"name", login.name},
          {"origin", login.origin},
          {"user", text_or_null(login.user)},
          {"header", text_or_null(login.header)},
          {"by", login.by},
          {"at", time_json(login.at)}};
}

OperationOutcome set(const OperationContext& context, const OperationValues& given) {
  FeedAuth auth;
  auth.user = given.text("user");
  auth.header = given.text("header");
  auth.origin = given.text("origin");
  if (const std::string wrong = complete(auth, given.text("secret")); !wrong.empty())
    throw OperationRefused{"bad_value", wrong};
  FeedLogin login{.name = full_name(context, given),
                  .origin = *canonical_feed_url(auth.origin),
                  .user = auth.user,
                  .header = auth.header,
                  .by = context.app.empty() ? "operator" : std::string(context.app),
                  .at = answered(context.store.now()),
                  .header_line = auth.header_line};
  login.origin.pop_back();  // the slash
  if (!answered(Logins(context.store).put(login))) {
    throw OperationRefused{"too_many", fmt::format("{} has {} logins: remove one first", owner_of_login(login.name),
                                                   Logins::most_of_owner)};
  }
  OperationOutcome outcome{.result = "set", .rows = {row_of(login)}, .shown = {"origin"}};
  if (login.origin.starts_with("http:"))
    outcome.notes.emplace_back("the origin is not https: the secret is sent in clear text");
  return outcome;
}

OperationOutcome list(const OperationContext& context, const OperationValues& given) {
  const auto most = static_cast<std::size_t>(given.number("limit", usual_page));
  const auto logins = answered(Logins(context.store).list(std::string(context.app), given.text("after"), most));
  OperationOutcome outcome;
  for (const FeedLogin& login : logins) outcome.rows.push_back(row_of(login));
  if (logins.size() == most) outcome.next = logins.back().name;
  return outcome;
}

OperationOutcome remove(const OperationContext& context, const OperationValues& given) {
  const std::string full = full_name(context, given);
  if (!answered(Logins(context.store).remove(full))) throw OperationRefused{"no_such_login", "no such login: " + full};
  return {.result = "removed", .rows = {{{"name", full}}}};
}

constexpr Operation operations[] = {
    {.verb = "login set",
     .method = "PUT",
     .path = "/logins/{name}",
     .about = "Store a login for feeds with auth=OWNER/NAME, or replace its secret",
     .example = "feedmill login set reader/paper --origin https://paper.example --user me --file password.txt",
     .access = Access::change,
     .fields = of_new,
     .run = set},
    {.verb = "login list",
     .method = "GET",
     .path = "/logins",
     .about = "List logins without their secrets",
     .example = "feedmill login list",
     .access = Access::read,
     .run = list,
     .rows = "logins",
     .columns = columns,
     .none = "no logins yet: feedmill login set"},
    {.verb = "login remove",
     .method = "DELETE",
     .path = "/logins/{name}",
     .about = "Remove a login",
     .example = "feedmill login remove reader/paper --yes",
     .access = Access::change,
     .fields = of_one,
     .run = remove,
     .question = "Remove login {}?",
     .unasked = "feeds that name it can no longer be fetched"}};

}  // namespace
}  // namespace login_operations

std::string missing_login(Store& store, const FeedSettings& before, const FeedSettings& settings) {
  if (!names_login(settings.auth) || settings.auth == before.auth) return {};
  if (answered(Logins(store).find(settings.auth))) return {};
  return fmt::format("auth: no login {0} is stored: feedmill login set {0}, or PUT /api/v1/logins/{1}", settings.auth,
                     own_name_of_login(settings.auth));
}

OperationFamily login_family() {
  return {.verb = "login",
          .about = "Secrets for feeds that need a login",
          .group = "Feeds",
          .of_deployment = true,
          .operations = login_operations::operations};
}

}  // namespace feedmill
