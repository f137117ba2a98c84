// Operations over HTTP. They change the store directly: secrets and unguessable URLs must not appear in
// stream:requests, which every program can read (OPERATIONS A2, B4).
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "worker/api/api.hpp"
#include "worker/base/terminal.hpp"
#include "worker/operations/operation.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr std::size_t calls_per_ask = 5;  // charged for a request to another server

/// Takes the values from the query and the path. Returns the problem, if any.
std::optional<ApiReply> take_query(const Operation& operation, const ApiCall& call, OperationValues& given) {
  const auto take = [&](const OperationField& field) -> std::optional<ApiReply> {
    const auto named = call.parameters.find(field.name);
    const bool in_path = is_in_path(operation, field);
    if (!in_path && named == call.parameters.end()) return std::nullopt;
    const std::string wrong = given.take_text(field, in_path ? call.item : named->second);
    if (wrong.empty()) return std::nullopt;
    return problem(operation.is_request() ? "bad_value" : "bad_parameter",
                   visible(fmt::format("{}: {}", field.name, wrong)));
  };
  for (const OperationField& field : operation.fields) {
    if (is_in_body(operation, field)) continue;
    if (auto wrong = take(field)) return wrong;
  }
  if (!operation.is_list()) return std::nullopt;
  for (const OperationField& field : page_fields()) {
    if (auto wrong = take(field)) return wrong;
  }
  return std::nullopt;
}

std::optional<ApiReply> take_body(const Operation& operation, const json::object& body, OperationValues& given) {
  for (const auto& [member, value] : body) {
    const std::string_view name = member;
    const auto field = std::ranges::find(operation.fields, name, &OperationField::name);
    if (field == operation.fields.end() || !is_in_body(operation, *field)) {
      return problem("unknown_field", visible(fmt::format("{} is not a member of the body", name.substr(0, 100))));
    }
    const bool is_empty = value.is_null() || (value.is_string() && value.get_string().empty());
    const bool is_left_out = is_empty && operation.is_request() && !field->clears && !field->narrows;
    if (is_left_out) continue;  // requests treat an empty value as absent
    const std::string wrong = given.take_json(*field, is_empty && field->clears ? json::value("") : value);
    if (!wrong.empty()) return problem("bad_value", visible(fmt::format("{}: {}", name, wrong)));
  }
  return std::nullopt;
}

std::optional<ApiReply> take(const Operation& operation, const ApiCall& call, const json::object& body,
                             OperationValues& given) {
  if (auto wrong = take_query(operation, call, given)) return wrong;
  if (auto wrong = take_body(operation, body, given)) return wrong;
  const OperationObjection objection = objection_to(operation.fields, given);
  if (objection.text.empty()) return std::nullopt;
  if (operation.is_request()) return problem("missing_field", objection.text);
  const bool in_query = std::ranges::all_of(
      operation.fields, [&](const OperationField& field) { return !field.required || !is_in_body(operation, field); });
  const std::string_view missing = in_query ? "missing_parameter" : "missing_field";
  return problem(objection.is_missing ? missing : in_query ? "bad_parameter" : "bad_value", objection.text);
}

ApiReply reply_of(const Operation& operation, const OperationOutcome& outcome) {
  if (operation.is_list()) {
    const json::value next = outcome.next.empty() ? json::value() : json::value(json::string(outcome.next));
    return resource({{operation.rows, json::array(outcome.rows.begin(), outcome.rows.end())}, {"next", next}});
  }
  json::object object;
  if (!outcome.result.empty()) object["result"] = outcome.result;
  for (const auto& [member, value] : outcome.rows.front()) object[member] = value;
  if (!outcome.notes.empty()) {
    json::array& notes = object["notes"].emplace_array();
    for (const std::string& note : outcome.notes) notes.emplace_back(json::string(visible(note)));
  }
  ApiReply reply = resource(object, outcome.made.empty() ? 200 : 201);
  if (!outcome.made.empty()) reply.headers.emplace_back("Location", std::string(api_base) + outcome.made);
  return reply;
}

}  // namespace

asio::awaitable<std::optional<ApiReply>> Api::read_values(const Operation& operation, const ApiCall& call, Visit& visit,
                                                          OperationValues& given) {
  json::object body;
  if (operation.method != "GET") {
    if (auto refused = co_await read_object(visit, body)) co_return *refused;
  }
  if (visit.gone()) co_return ApiReply();
  if (auto wrong = take(operation, call, body, given)) co_return *wrong;
  try {
    if (operation.check != nullptr) operation.check(given);
  } catch (const OperationRefused& refused) {
    co_return problem(refused);
  }
  co_return std::nullopt;
}

asio::awaitable<ApiReply> Api::operate(const Operation& operation, const ApiCall& call, const OperationValues& given) {
  std::optional<Looking> asking;
  if (operation.access == Operation::Access::ask) {
    if (looking_.size() >= most_looks || looking_.contains(call.app)) {
      co_return problem("busy", "too many URLs are being tested");
    }
    asking.emplace(*this, call.app);
  }
  const FetchOptions fetching = looks_.fetching();  // a reload may replace the options
  const std::string public_url = public_url_;
  const std::chrono::milliseconds patience = receiver_patience_;
  OperationOutcome outcome;
  std::optional<OperationRefused> refused;
  do {  // other calls run between two parts
    const auto run = [&](Store& store) -> StoreResult<OperationOutcome> {
      try {
        return operation.run({store, fetching, public_url, patience, outcome.progress, call.app}, given);
      } catch (const OperationRefused& why) {
        refused = why;
        return OperationOutcome();
      }
    };
    auto part = co_await with_store(call.app, run);
    if (!part) co_return store_is_away(part.error());
    if (refused) co_return problem(*refused);
    outcome = std::move(*part);
  } while (!outcome.progress.empty());
  if (outcome.then) {
    Fetcher fetcher(executor_, fetching);
    OperationOutcome answer = co_await outcome.then(fetcher);
    charge(call.app, static_cast<std::int64_t>(calls_per_ask) * options_.call_time);
    co_return reply_of(operation, answer);
  }
  co_return reply_of(operation, outcome);
}

}  // namespace feedmill
