#include "worker/api/asks.hpp"

#include <algorithm>
#include <chrono>
#include <random>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/records/json_member.hpp"
#include "storage/redis/test_point.hpp"
#include "worker/api/routes.hpp"
#include "worker/base/json_text.hpp"
#include "worker/base/terminal.hpp"
#include "worker/listener/query.hpp"
#include "worker/requests/read_request.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

constexpr std::uint64_t most_waiting = 100'000;  // of all programs
constexpr std::size_t most_fields = 200;         // of a request (docs/REQUESTS.md)

/// A scalar as a request has it; nothing of anything else.
std::optional<std::string> as_text(const json::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_bool()) return value.get_bool() ? "yes" : "no";
  if (value.is_null()) return std::string();
  if (value.is_number()) return json_text(value);
  return std::nullopt;
}

/// A setting, where truth is written otherwise.
std::optional<std::string> as_setting(const json::value& value) {
  return value.is_bool() ? std::string(value.get_bool() ? "true" : "false") : as_text(value);
}

/// Adds the members of a body to the fields of a request; what is wrong instead.
std::optional<ApiReply> add_members(const json::object& body, Fields& fields) {
  for (const auto& [key, value] : body) {
    const std::string name(key);
    const std::string shown = visible(name.substr(0, 100));
    if (fields.size() > most_fields) return problem("too_long", fmt::format("at most {} values", most_fields));
    if (name == "op" || name == "app" || name == "ref" || name.starts_with("set.")) {
      return problem("unknown_field", shown + " is not a member of the body");
    }
    if (value.is_null()) continue;
    if (name == "settings" && value.is_object()) {
      for (const auto& [setting, wanted] : value.get_object()) {
        const auto text = as_setting(wanted);
        if (!text) return problem("bad_value", "settings: expected strings, numbers, true, false or null");
        fields.emplace_back("set." + std::string(setting), *text);
      }
      continue;
    }
    std::optional<std::string> text = as_text(value);
    if (name == "entry" && value.is_object()) text = json::serialize(value);
    if (name == "channels" && value.is_array()) text = json::serialize(value);
    if ((name == "entries" || name == "notices") && value.is_array()) {
      text.emplace();
      for (const json::value& one : value.get_array()) {
        const auto id = one.is_string() || one.is_int64() ? as_text(one) : std::nullopt;
        if (!id || *id == "all") return problem("bad_value", shown + ": expected ids, or the string all");
        *text += (text->empty() ? "" : " ") + *id;
      }
    }
    if (!text) return problem("bad_value", shown + ": expected a string");
    fields.emplace_back(name, *text);
  }
  return std::nullopt;
}

/// All that a request says; what is wrong instead.
std::optional<ApiReply> fields_of(std::string_view op, const ApiCall& call, std::string_view body, Fields& fields) {
  for (const auto& [name, value] : call.parameters) fields.emplace_back(name, value);
  if (!call.item.empty()) fields.emplace_back("id", call.item);
  if (!body.empty()) {
    boost::system::error_code error;
    const json::value value = json::parse(body, error);
    if (error) return problem("bad_json", "the body is not valid JSON: " + error.message());
    if (!value.is_object()) return problem("bad_json", "the body is not a JSON object");
    if (auto wrong = add_members(value.get_object(), fields)) return wrong;
  }
  const std::size_t bytes = op.size() + call.app.size() + size_of(fields);
  if (bytes > longest_request - 1024 || fields.size() > most_fields - 3) {
    return problem("too_long",
                   fmt::format("a request has at most {} KiB and {} values", longest_request >> 10U, most_fields));
  }
  return std::nullopt;
}

/// The members of what was answered, behind `ref`.
json::object told(const ApiAsk& ask, const RequestStream::Answer& answer) {
  json::object object{{"ref", ask.ref}};
  const json::value data = embedded_json(answer.data);
  if (data.is_object()) object.insert(data.as_object().begin(), data.as_object().end());
  return object;
}

ApiReply reply_of(const ApiAsk& ask, const RequestStream::Answer& answer, bool repeated) {
  if (answer.hash != ask.hash) return problem("ref_reused", "this key was used before for a different request");
  json::object object = told(ask, answer);
  if (repeated) object["repeated"] = true;
  if (!answer.done) {
    const std::string reason(string_member(object, "reason")), detail(string_member(object, "detail"));
    std::string text = detail;
    if (text.empty())
      text = reason == "paused" ? "the feed is paused; resume it first" : "the request was refused: " + reason;
    ApiReply refused = problem(reason, text, object);
    const json::value* const due = object.if_contains("due");
    if (reason == "too_early" && due != nullptr && due->is_int64()) {
      using namespace std::chrono;
      const std::int64_t now = duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
      refused.headers = {{"Retry-After", std::to_string(std::max<std::int64_t>(1, due->get_int64() - now))}};
    }
    return refused;
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

namespace {

/// Carries out what one script does. A call overtaken by another with its key returns that one's answer. Empty:
/// requests wait in the stream, and the call must join them.
StoreResult<std::optional<ApiReply>> carry_out(Store& store, const Request& request, const RequestRules& rules,
                                               ApiAsk& ask) {
  Requests requests(store, {.token = "", .keep = rules.config.requests.keep});
  InParts parts;
  test_point("S17");
  const auto done = RequestActions(store, requests).carry_out(request, "", parts, rules);
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

StoreResult<std::optional<ApiReply>> begin_asking(Store& store, std::string_view op, const ApiCall& call,
                                                  std::string_view body, const std::string& key,
                                                  const RequestRules& rules, ApiAsk& ask) {
  RequestRecord record;
  record.fields = {{"op", std::string(op)}, {"app", call.app}};
  if (auto wrong = fields_of(op, call, body, record.fields)) return wrong;
  ask.app = call.app;
  ask.ref = key.empty() ? random_ref() : key;
  record.fields.emplace_back("ref", ask.ref);
  const Request request = read_request(record);
  if (request.asked.ref != ask.ref) {
    return std::optional(problem(
        "bad_key",
        "Idempotency-Key: 1 to 128 ASCII letters, digits, dots, colons, dashes and underscores, such as a UUID"));
  }
  ask.hash = request.asked.hash;
  RequestStream stream(store);
  if (!key.empty()) {
    const auto answer = stream.answer(ask.app, ask.ref);
    if (!answer) return answer.error();
    if (*answer) return std::optional(reply_of(ask, **answer, true));
  }
  if (request.problem) return std::optional(problem(request.problem->reason, request.problem->detail));
  if (is_one_step(request)) {
    auto reply = carry_out(store, request, rules, ask);
    if (!reply || *reply) return reply;
  }
  const auto id = stream.ask(record.fields, most_waiting);
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
