// Reports a subscription's state changes: a log line, a count, and notices of the important ones (WEBSUB H1, H3).
#pragma once

#include <string>
#include <vector>

#include "storage/timelines/notifications.hpp"
#include "worker/base/log.hpp"
#include "worker/base/report.hpp"
#include "worker/observe/metrics.hpp"

namespace feedmill {

/// A feed's subscription changed from state `from` to `to` ("" = none); contains no secrets.
struct PushNews {
  std::string feed_url, from, to;
  std::string why;  ///< "" if there is no reason to give
  std::string hub;
  bool hub_in_trouble = false;
  bool fell = false;  ///< failed or denied since it was last healthy, and reported as such
};

/// The change made by a refresh.
PushNews push_news(const Report& report);

/// Logs and counts a change; no-op if the state is the same.
void note_turn(Log& log, Metrics& metrics, const PushNews& news);

/// Notices of changes to failed and denied and of the recovery, even by another subscription; a notice of the hub if it
/// is in trouble. `now`: Redis' time.
std::vector<Notice> turn_notices(const PushNews& news, Milliseconds now);

}  // namespace feedmill
