// The table of HTTP §4: the kind of failure of each response and its back-off. Pure.
#pragma once

#include <string_view>

#include "storage/redis/values.hpp"
#include "worker/base/report.hpp"

namespace feedmill {

/// A row of HTTP §4: back(base, cap, n). After `blocks_after` consecutive failures of the group the state is `blocked`;
/// 0: never.
struct Failure {
  Reason reason{};
  Milliseconds base{}, cap{};
  std::string_view code = "backoff";
  int blocks_after = 0;
};

/// The failure of a response without a document, by its status.
Failure failure_of_status(int status);
/// The failure of a page that requires a browser.
Failure failure_of_challenge();
/// The failure of a second 410, a day later.
Failure failure_of_the_gone();
/// The failure if the response is missing or its document unusable. `sent`: an HTTP byte was sent (HTTP P6).
Failure failure_of_error(Reason reason, bool sent);

/// Whether a storm of the whole host can cause this failure of a feed (HTTP H11).
bool is_like_a_storm(Reason reason);

/// The group of a failure. Consecutive failures are counted within a group; a failure of another group starts again at
/// 1.
std::string_view group_of(Reason reason);

/// HTTP P7: whether a response with this status may state its freshness.
bool states_freshness(int status);

}  // namespace feedmill
