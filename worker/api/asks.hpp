// What changes something: a call becomes one request of a program (RELIABILITY Q1, Q2; OPERATIONS A2).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "storage/queues/requests.hpp"
#include "storage/store/store.hpp"
#include "worker/api/call.hpp"
#include "worker/operations/request.hpp"

namespace feedmill {

/// A call that asks for something.
struct ApiAsk {
  std::string app, ref;
  std::string hash;       ///< of its content
  std::string id;         ///< of the request in its stream, "" if there is none
  bool answered = false;  ///< the call carried it out
};

/// An Idempotency-Key as it stands, or as a string in quotes.
std::string key_in(std::string_view field);

/// A name for a request whose program gives none: a UUID.
std::string random_ref();

/// Carries out a request (request_of) if one script does it; the reply, also if it was answered before. Else appends it
/// to stream:requests: absent, and `ask.id` is set. Blocking; linear in the request. `may_be_repeated`: its ref is the
/// client's.
StoreResult<std::optional<ApiReply>> begin_asking(Store& store, const Request& request, bool may_be_repeated,
                                                  const RequestRules& rules, ApiAsk& ask);

/// What became of it; absent while it waits. Blocking.
StoreResult<std::optional<ApiReply>> look_for_answer(Store& store, const ApiAsk& ask);

/// It waits still, and where to ask again.
ApiReply waits_still(const ApiAsk& ask);

}  // namespace feedmill
