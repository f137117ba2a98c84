// What people hear of a subscription that changes its state: one log line, a count, and notices of what matters (WEBSUB
// H1, H3).
#pragma once

#include <string>
#include <vector>

#include "storage/timelines/notifications.hpp"
#include "worker/base/log.hpp"
#include "worker/base/report.hpp"
#include "worker/observe/metrics.hpp"

namespace feedmill {

/// A feed's subscription was in state `from` and is in `to` ("" = none); no secret is among it.
struct PushNews {
  std::string feed_url, from, to;
  std::string why;  ///< "" when there is nothing to say
  std::string hub;
  bool hub_in_trouble = false;
  bool fell = false;  ///< it has failed or was denied since it was last healthy, and people have heard of that
};

/// What a refresh has changed.
PushNews push_news(const Report& report);

/// Logs and counts it; nothing when nothing has changed.
void note_turn(Log& log, Metrics& metrics, const PushNews& news);

/// To failed, denied and back to healthy, be it by another subscription; of a hub once a day. `now`: Redis' clock.
std::vector<Notice> turn_notices(const PushNews& news, Milliseconds now);

}  // namespace feedmill
