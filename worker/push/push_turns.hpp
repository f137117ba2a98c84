// What people hear of a subscription that changes its state: one log line, and notices of what matters (WEBSUB H1, H3).
#pragma once

#include <string>
#include <vector>

#include "storage/notifications.hpp"
#include "worker/log.hpp"

namespace feedmill {

/// A feed's subscription was in state `from` and is in `to` ("" = none); no secret is among it.
struct PushNews {
  std::string feed_url, from, to;
  std::string why;  ///< "" when there is nothing to say
  std::string hub;
  bool hub_in_trouble = false;
};

/// Nothing when nothing has changed.
void log_turn(Log& log, const PushNews& news);

/// To failed, denied and back to healthy; of a hub once a day. `now`: Redis' clock.
std::vector<Notice> turn_notices(const PushNews& news, Milliseconds now);

}  // namespace feedmill
