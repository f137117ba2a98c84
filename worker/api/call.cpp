#include "worker/api/call.hpp"

#include <algorithm>
#include <random>

#include <boost/beast/http/status.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "parsers/text/strings.hpp"
#include "storage/records/json_members.hpp"
#include "storage/redis/test_point.hpp"
#include "storage/redis/utf8.hpp"
#include "worker/api/routes.hpp"
#include "worker/base/json_text.hpp"
#include "worker/base/terminal.hpp"
#include "worker/base/units.hpp"
#include "worker/listener/request_head.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace http = boost::beast::http;
namespace json = boost::json;

constexpr std::size_t most_parameters = 16, longest_parameter = 8192;

/// Whether `known` lists `name`, as "name" or "name!".
bool is_known(std::string_view name, std::string_view known) {
  while (!known.empty()) {
    std::string_view one = take_until(known, ' ');
    if (take_until(one, '!') == name) return true;
  }
  return false;
}

/// The first required parameter that is missing; "" if none is.
std::string_view missing(const ApiCall& call, std::string_view known) {
  while (!known.empty()) {
    std::string_view one = take_until(known, ' ');
    const bool is_required = one.ends_with('!');
    const std::string_view name = take_until(one, '!');
    if (is_required && call.get(name).empty()) return name;
  }
  return {};
}

}  // namespace

ApiReply resource(const json::object& members, unsigned status) {
  json::object object = json_row();
  for (const auto& [name, value] : members) object[name] = value;
  ApiReply reply;
  reply.status = status;
  reply.body = json_text(object) + "\n";
  return reply;
}

ApiReply problem(unsigned status, std::string_view reason, std::string_view detail, const json::object& more) {
  json::object object{{"title", http::obsolete_reason(http::int_to_status(status))},
                      {"status", status},
                      {"reason", reason},
                      {"detail", detail}};
  for (const auto& [name, value] : more) object.emplace(name, value);
  ApiReply reply;
  reply.status = status;
  reply.type = "application/problem+json";
  reply.body = json_text(object) + "\n";
  if (status == 429 || status == 503) reply.headers.emplace_back("Retry-After", status == 429 ? "1" : "5");
  return reply;
}

ApiReply problem(std::string_view reason, std::string_view detail, const json::object& more) {
  return problem(status_of(reason), reason, detail, more);
}

ApiReply problem(const OperationRefused& refused) {
  return problem(refused.reason, visible(refused.detail));
}

const std::string& ApiCall::get(std::string_view name) const {
  static const std::string none;
  const auto found = parameters.find(name);
  return found == parameters.end() ? none : found->second;
}

std::optional<ApiReply> read_parameters(ApiCall& call, std::string_view query, std::string_view known) {
  while (!query.empty()) {
    std::string_view one = take_until(query, '&');
    if (one.empty()) continue;
    const auto name = percent_decoded(take_until(one, '='), Plus::space);
    const auto value = percent_decoded(one, Plus::space);
    if (!name || !value || !is_utf8(*name) || !is_utf8(*value) || value->size() > longest_parameter) {
      return problem("bad_parameter", "the query is not percent-encoded UTF-8, or is longer than 8 KiB");
    }
    const std::string shown = visible(name->substr(0, 100));
    if (!is_known(*name, known)) {
      return problem("unknown_parameter",
                     fmt::format("unknown parameter {}; one of: {}", shown, known.empty() ? "none" : known));
    }
    if (call.parameters.size() == most_parameters || !call.parameters.emplace(*name, *value).second) {
      return problem("bad_parameter", shown + " is given twice");
    }
  }
  const std::string_view needed = missing(call, known);
  if (!needed.empty()) return problem("missing_parameter", fmt::format("give {} in the query", needed));
  return std::nullopt;
}

namespace {

constexpr std::uint64_t most_waiting = 100'000;  // from all clients
constexpr std::size_t most_fields = 200;         // in one request (docs/REQUESTS.md)

/// A JSON object of `ref` and the answer's members.
json::object told(const ApiAsk& ask, const RequestStream::Answer& answer) {
  json::object object{{"ref", ask.ref}};
  const json::value data = embedded_json(answer.data);
  if (data.is_object()) object.insert(data.as_object().begin(), data.as_object().end());
  return object;
}

/// `due`: Unix time of the earliest refresh.
ApiReply too_early(const ApiAsk& ask, std::int64_t due, const json::object& object) {
  using namespace std::chrono;
  const std::string text = fmt::format(
      "fetched on request at most every {} (schedule.manual_floor), or later if its server asks for a "
      "pause; try again at {}",
      format_duration(ask.manual_floor), rfc3339(seconds(due)));
  ApiReply refused = problem("too_early", text, object);
  const std::int64_t now = duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
  refused.headers = {{"Retry-After", std::to_string(std::max<std::int64_t>(1, due - now))}};
  return refused;
}

ApiReply reply_of(const ApiAsk& ask, const RequestStream::Answer& answer, bool repeated) {
  if (answer.hash != ask.hash) return problem("ref_reused", "this key was used before for a different request");
  json::object object = told(ask, answer);
  if (repeated) object["repeated"] = true;
  if (!answer.done) {
    const std::string reason(string_member(object, "reason")), detail(string_member(object, "detail"));
    const json::value* const due = object.if_contains("due");
    if (reason == "too_early" && due != nullptr && due->is_int64()) return too_early(ask, due->get_int64(), object);
    return problem(reason, detail.empty() ? text_of(reason) : detail, object);
  }
  const std::string_view result = string_member(object, "result");
  const bool made = result == "added" || result == "created";
  ApiReply done = resource(object, made ? 201 : 200);
  const std::string_view feed = string_member(object, "feed"), url = feed.empty() ? string_member(object, "url") : feed;
  const std::string where = result == "created" ? "/entries/" + percent_encoded(string_member(object, "id"))
                            : !url.empty()
                                ? "/feed?url=" + percent_encoded(url)
                                : "/channel/feeds?channel=" + percent_encoded(string_member(object, "channel"));
  if (made) done.headers.emplace_back("Location", std::string(api_base) + where);
  return done;
}

/// Whether the worker that takes the request must know that it comes from the token (SECURITY K7): it names a login, or
/// moves a feed that may have one.
bool may_use_login(const Request& request) {
  if (request.op == RequestOp::move) return true;
  const json::object settings = request.given.object("settings");
  return names_login(string_member(settings, "auth"));
}

/// Executes a request that one script can complete. If a concurrent call with the same key was first, returns its
/// answer. Returns nullopt if requests are waiting in the stream: this one must queue after them.
StoreResult<std::optional<ApiReply>> answer_at_once(Store& store, const Request& request, const RequestRules& rules,
                                                    ApiAsk& ask) {
  Requests requests(store, {.token = "", .keep = rules.config.requests.keep});
  InParts parts;
  test_point("S17");
  const auto done = carry_out({store, requests, request, "", parts, rules, {}});
  test_point("S18");
  ask.answered = done.has_value();
  if (!done && Requests::must_queue(done.error())) return std::optional<ApiReply>();
  if (!done && !Requests::is_in_other_hands(done.error())) return done.error();
  const auto answer = RequestStream(store).answer(ask.app, ask.ref);
  if (!answer) return answer.error();
  if (!*answer) return StoreError{StoreError::Code::bug, "the call was carried out without an answer"};
  return std::optional(reply_of(ask, **answer, !done));
}

}  // namespace

std::string key_in(std::string_view field) {
  if (field.size() >= 2 && field.front() == '"' && field.back() == '"') field = field.substr(1, field.size() - 2);
  return std::string(field);
}

std::string random_ref() {
  std::random_device random;
  std::string hex;
  while (hex.size() < 32) hex += fmt::format("{:08x}", random());
  hex[12] = '4';
  hex[16] = "89ab"[random() & 3U];
  for (const std::size_t at : {20, 16, 12, 8}) hex.insert(at, "-");
  return hex;
}

StoreResult<std::optional<ApiReply>> begin_asking(Store& store, const Request& request, bool may_be_repeated,
                                                  const RequestRules& rules, ApiAsk& ask) {
  ask = {request.asked.app, request.asked.ref, request.asked.hash, "", false, rules.config.schedule.manual_floor};
  Fields fields = request_fields(*request.operation, request.given);
  if (size_of(fields) > longest_request - 1024 || fields.size() > most_fields - 3) {
    return std::optional(problem(
        "too_long", fmt::format("a request has at most {} KiB and {} values", longest_request >> 10U, most_fields)));
  }
  RequestStream stream(store);
  if (may_be_repeated) {
    const auto answer = stream.answer(ask.app, ask.ref);
    if (!answer) return answer.error();
    if (*answer) return std::optional(reply_of(ask, **answer, true));
  }
  if (is_one_step(request)) {
    auto reply = answer_at_once(store, request, rules, ask);
    if (!reply || *reply) return reply;
  }
  if (may_use_login(request)) {
    if (const auto done = stream.vouch(request.asked, rules.config.requests.keep); !done) return done.error();
  }
  fields.insert(fields.begin(), {{"op", request.asked.op}, {"app", ask.app}, {"ref", ask.ref}});
  const auto id = stream.ask(fields, most_waiting);
  if (!id) return id.error();
  if (!*id) return std::optional(problem("queue_full", fmt::format("{} requests are already waiting", most_waiting)));
  ask.id = **id;
  return std::optional<ApiReply>();
}

StoreResult<std::optional<ApiReply>> look_for_answer(Store& store, const ApiAsk& ask) {
  const auto answer = RequestStream(store).answer(ask.app, ask.ref);
  if (!answer) return answer.error();
  if (!*answer) return std::optional<ApiReply>();
  return std::optional(reply_of(ask, **answer, false));
}

ApiReply waits_still(const ApiAsk& ask) {
  ApiReply reply = resource({{"ref", ask.ref}, {"id", ask.id}, {"state", "waiting"}}, 202);
  reply.headers.emplace_back("Location", fmt::format("{}/requests/{}?id={}", api_base, ask.ref, ask.id));
  return reply;
}

}  // namespace feedmill
