#include "worker/operations/reasons.hpp"

#include <algorithm>
#include <array>

#include "worker/base/exits.hpp"

namespace feedmill {
namespace {

struct ReasonStatus {
  std::string_view reason;
  unsigned status;
};

constexpr std::array reason_statuses{
    ReasonStatus{"bad_parameter", 400},
    ReasonStatus{"missing_parameter", 400},
    ReasonStatus{"unknown_parameter", 400},
    ReasonStatus{"bad_json", 400},
    ReasonStatus{"bad_key", 400},
    ReasonStatus{"unauthorized", 401},
    ReasonStatus{"read_only", 403},
    ReasonStatus{"no_such_resource", 404},
    ReasonStatus{"no_such_feed", 404},
    ReasonStatus{"no_such_channel", 404},
    ReasonStatus{"no_such_entry", 404},
    ReasonStatus{"no_such_request", 404},
    ReasonStatus{"no_such_rule", 404},
    ReasonStatus{"no_such_webhook", 404},
    ReasonStatus{"no_such_topic", 404},
    ReasonStatus{"method_not_allowed", 405},
    ReasonStatus{"paused", 409},
    ReasonStatus{"taken", 409},
    ReasonStatus{"too_many", 409},
    ReasonStatus{"not_moved", 409},
    ReasonStatus{"not_republished", 409},
    ReasonStatus{"too_old", 410},
    ReasonStatus{"too_long", 413},
    ReasonStatus{"unsupported_media_type", 415},
    ReasonStatus{"unknown_op", 422},
    ReasonStatus{"unknown_field", 422},
    ReasonStatus{"missing_field", 422},
    ReasonStatus{"bad_value", 422},
    ReasonStatus{"refused_address", 422},
    ReasonStatus{"no_feed", 422},
    ReasonStatus{"many_feeds", 422},
    ReasonStatus{"unreachable", 422},
    ReasonStatus{"ref_reused", 422},
    ReasonStatus{"too_early", 429},
    ReasonStatus{"too_fast", 429},
    ReasonStatus{"busy", 429},
    ReasonStatus{"queue_full", 429},
    ReasonStatus{"store_away", 503},
};

}  // namespace

unsigned status_of(std::string_view reason) {
  const auto row = std::ranges::find(reason_statuses, reason, &ReasonStatus::reason);
  return row == reason_statuses.end() ? 500 : row->status;
}

int exit_of(std::string_view reason) {
  switch (status_of(reason)) {
    case 404:
    case 409:
    case 410:
      return exits::no;
    case 429:
      return exits::unfinished;
    case 500:
      return exits::bug;
    case 503:
      return exits::unavailable;
    default:
      return exits::bad_input;
  }
}

}  // namespace feedmill
