// Operations that programs also ask for on stream:requests (docs/REQUESTS.md; RELIABILITY Q1, Q2).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "storage/queues/requests.hpp"
#include "storage/store/store.hpp"
#include "storage/timelines/in_parts.hpp"
#include "worker/config/config.hpp"
#include "worker/http/egress_view.hpp"
#include "worker/operations/discover.hpp"
#include "worker/operations/operation.hpp"

namespace feedmill {

/// The configuration of requests, replaced as a whole on reload.
struct RequestRules {
  Config config;
  EgressViewer egress;
};

/// A request with checked values.
struct Request {
  Asked asked;
  RequestOp op{};
  const Operation* operation = nullptr;  ///< null: unknown
  OperationValues given;
  std::optional<OperationRefused> problem;  ///< why it cannot be carried out
};

/// Reads a record of the stream. Pure; linear in its bytes.
Request read_request(const RequestRecord& record);
/// A request made from a call. `ref` must be is_ref().
Request request_of(const Operation& operation, OperationValues given, const std::string& app, const std::string& ref);

/// Whether the text may be a ref: 1 to 128 ASCII letters, digits and . _ : -
bool is_ref(std::string_view text);
/// Whether one script carries the request out, so that it need not go through the stream (Requests::is_one_step).
bool is_one_step(const Request& request);
/// Whether it adds the feed of a web page, which must be found first.
bool is_page(const Request& request);
/// Whether the egress policy refuses the page of such a request. Names are resolved when they are fetched, not here.
bool is_refused_page(const Request& request, const RequestRules& rules);

/// The feeds that a page offers.
struct FoundPage {
  std::vector<FoundFeed> feeds;  ///< most likely first
  std::string_view reason;       ///< of the answer if there are none
  std::string detail;            ///< likewise
};
/// `complete`: the probe ended before its timeout.
FoundPage found_page(const Discovery& discovery, bool complete);

/// The page of an add; null while it is being probed: the request is not answered then.
using PageOf = std::function<const FoundPage*(const Request& request)>;

/// A request being carried out. All of it outlives the call.
struct RequestCall {
  Store& store;
  Requests& requests;
  const Request& request;
  const std::string& note;  ///< Begun::note
  InParts& parts;           ///< of a long request: where it stops, and whether it did
  const RequestRules& rules;
  const PageOf& page;

  const OperationValues& given() const { return request.given; }
  /// While it lives, the store's calls are steps of the request. `its_note`: what the first of several steps leaves.
  Requests::Step step(const std::string& its_note = {}) const {
    return {requests, request.asked, request.op, its_note};
  }
};

/// Carries out a request that was begun, or one that is_one_step() and has no id, and answers it. Blocking and bounded:
/// of a long one a part, as `parts` has it.
StoreResult<void> carry_out(const RequestCall& call);

/// Refuses a feed of another partition. Throws OperationRefused.
void refuse_elsewhere(const Store& store, const std::string& feed_url);

}  // namespace feedmill
