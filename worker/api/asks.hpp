// Calls that change something become requests (RELIABILITY Q1, Q2; OPERATIONS A2).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "storage/queues/requests.hpp"
#include "storage/store/store.hpp"
#include "worker/api/call.hpp"
#include "worker/operations/request.hpp"

namespace feedmill {

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
