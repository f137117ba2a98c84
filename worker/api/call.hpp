// Calls of the API and their replies as values (OPERATIONS A1–A6).
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include "storage/store/store.hpp"
#include "worker/operations/request.hpp"

namespace feedmill {

/// A reply before it is converted to an HttpReply.
struct ApiReply {
  unsigned status = 200;
  std::string type = "application/json", body;
  std::vector<std::pair<std::string, std::string>> headers{};
};

/// A reply with a JSON object of `schema` and `members`.
ApiReply resource(const boost::json::object& members, unsigned status = 200);

/// An error reply (RFC 9457); clients rely on `reason`. `more`: additional members.
ApiReply problem(unsigned status, std::string_view reason, std::string_view detail,
                 const boost::json::object& more = {});
/// An error reply with the status that `reason` always has, including the reasons of requests (docs/REQUESTS.md).
ApiReply problem(std::string_view reason, std::string_view detail, const boost::json::object& more = {});
ApiReply problem(const OperationRefused& refused);

/// An authenticated call; all texts are UTF-8.
struct ApiCall {
  std::string app;                                             ///< the token's name
  std::string item;                                            ///< the value of {…} in the path
  std::map<std::string, std::string, std::less<>> parameters;  ///< those given in the query

  /// The value of a query parameter; "" if it is absent.
  const std::string& get(std::string_view name) const;
};

/// Parses the query into `call.parameters`. `known`: the names allowed, separated by spaces; "!" after a name makes it
/// required. Returns the problem, if any.
std::optional<ApiReply> read_parameters(ApiCall& call, std::string_view query, std::string_view known);

// Calls that change something become requests (RELIABILITY Q1, Q2; OPERATIONS A2).

/// The request made by a call, identified by the token's name and a ref.
struct ApiAsk {
  std::string app, ref;
  std::string hash;                          ///< of the request's content
  std::string id;                            ///< in the request stream; "" if it is not queued
  bool answered = false;                     ///< the call executed the request itself
  std::chrono::milliseconds manual_floor{};  ///< schedule.manual_floor
};

/// The value of an Idempotency-Key field, without quotes if it is quoted.
std::string key_in(std::string_view field);

/// A ref for a request without Idempotency-Key: a random UUID.
std::string random_ref();

/// Executes a request made by request_of() if one script can, and returns its reply; also if it was answered before.
/// Otherwise appends it to stream:requests, sets `ask.id` and returns nullopt. `may_be_repeated`: the client chose the
/// ref and may have used it before. Blocking; linear in the size of the request.
StoreResult<std::optional<ApiReply>> begin_asking(Store& store, const Request& request, bool may_be_repeated,
                                                  const RequestRules& rules, ApiAsk& ask);

/// The reply to an answered request; nullopt while it is waiting. Blocking.
StoreResult<std::optional<ApiReply>> look_for_answer(Store& store, const ApiAsk& ask);

/// The 202 reply for a request that is still waiting, with the URL to poll as Location.
ApiReply waits_still(const ApiAsk& ask);

}  // namespace feedmill
