// HTTP §4 as a table: what kind of failure each answer is, and how that kind is waited out. Pure.
#pragma once

#include <string_view>

#include "storage/redis/values.hpp"
#include "worker/base/report.hpp"

namespace feedmill {

/// A row of HTTP §4: back(base, cap, n); `blocks_after` failures of the group in a row the state is `blocked`, 0 =
/// never.
struct Failure {
  Reason reason{};
  Milliseconds base{}, cap{};
  std::string_view code = "backoff";
  int blocks_after = 0;
};

/// An answer whose status says that there is no document.
Failure failure_of_status(int status);
/// A page that wants to see a browser instead of the feed.
Failure failure_of_challenge();
/// 410 again, a day later.
Failure failure_of_the_gone();
/// No answer, or a document of no use. `sent`: an HTTP byte got out (HTTP P6).
Failure failure_of_error(Reason reason, bool sent);

/// Whether a host's own trouble may look like this failure of one of its feeds (HTTP H11).
bool is_like_a_storm(Reason reason);

/// Failures of one group count in a row; a failure of another kind starts again at 1.
std::string_view group_of(Reason reason);

/// HTTP P7: the answers whose freshness counts.
bool states_freshness(int status);

}  // namespace feedmill
