// Operations that programs can also request on stream:requests (docs/REQUESTS.md; RELIABILITY Q1, Q2).
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

/// The configuration of requests; replaced as a whole on reload.
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
  std::optional<OperationRefused> problem;  ///< why the request cannot be executed
};

/// Reads a record of the stream. Pure; linear in its bytes.
Request read_request(const RequestRecord& record);
/// Makes a request from an API call. `ref` must satisfy is_ref().
Request request_of(const Operation& operation, OperationValues given, const std::string& app, const std::string& ref);

/// Whether `text` has the form of a ref: 1 to 128 ASCII letters, digits and . _ : -
bool is_ref(std::string_view text);
/// Whether one script completes the request, so that it need not go through the stream (Requests::is_one_step).
bool is_one_step(const Request& request);
/// Whether the request adds the feed of a web page, which must be found first.
bool is_page(const Request& request);
/// Whether the egress policy refuses the page of such a request. Does not resolve names, which is done only when
/// fetching.
bool is_refused_page(const Request& request, const RequestRules& rules);

/// The feeds offered by a page.
struct FoundPage {
  std::vector<FoundFeed> feeds;  ///< most likely first
  std::string_view reason;       ///< reason in the answer, if there are no feeds
  std::string detail;            ///< detail in the answer, if there are no feeds
};
/// Makes a FoundPage from the results of a probe. `complete`: the probe ended before its timeout.
FoundPage found_page(const Discovery& discovery, bool complete);

/// Returns the page of an add, or null while it is being probed; then the request must not be answered yet.
using PageOf = std::function<const FoundPage*(const Request& request)>;

/// A request being executed. Everything here must outlive the call.
struct RequestCall {
  Store& store;
  Requests& requests;
  const Request& request;
  const std::string& note;  ///< the note left by an earlier try, see Begun::note
  InParts& parts;           ///< of a long request: when to stop, and whether it did
  const RequestRules& rules;
  const PageOf& page;

  const OperationValues& given() const { return request.given; }
  /// While the returned object exists, calls to the store are steps of the request. `its_note`: the note to store with
  /// the first of several steps.
  Requests::Step step(const std::string& its_note = {}) const {
    return {requests, request.asked, request.op, its_note};
  }
};

/// Executes a request and answers it. It must have been begun, or be is_one_step() and have no id. Blocking and
/// bounded: of a long request, executes only a part, as limited by `parts`.
StoreResult<void> carry_out(const RequestCall& call);

/// Throws OperationRefused if the feed is in another partition.
void refuse_elsewhere(const Store& store, const std::string& feed_url);

}  // namespace feedmill
