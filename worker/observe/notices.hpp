// Contents of notices (RELIABILITY L16, G5).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/event_record.hpp"
#include "storage/records/fleet_records.hpp"
#include "storage/timelines/notifications.hpp"
#include "worker/base/log.hpp"
#include "worker/base/report.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/observe/store_health.hpp"

namespace feedmill {

/// The notice of a new post for a user; `why` lists the matching rules. JSON members: id, type, entity_id, feed_url,
/// guid, title, link, timestamp, why.
Notice post_notice(const Event& event, std::string user, std::span<const std::string> why);

/// The operators' notice of a feed's life-cycle event: what happened, in the log's words, and the remedy. Empty for
/// other events. JSON members: id, type, feed_url, timestamp, text, remedy, and those of the event's data.
std::optional<Notice> operator_notice(const Event& event);

/// Operators' notice: a feed was quarantined (SECURITY Q2), and why; there is no event for it. `now`: Redis' time.
Notice quarantine_notice(const std::string& feed_url, const std::string& why, Milliseconds now);

/// Operators' notice of a state change without an event (HTTP §4): to degraded, and from degraded or quarantine back to
/// healthy. Empty for any other report.
std::optional<Notice> state_notice(const Report& report, Milliseconds now);

/// Operators' notice: a feed would move to `to`, which is already a feed (HTTP R8); once per pair.
Notice collision_notice(const std::string& feed_url, const std::string& to, Milliseconds now);

/// Operators' notice: a host's feeds have begun to fail alike (HTTP H11).
Notice storm_notice(const std::string& host, const std::string& reason, Milliseconds now);

/// Operators' notice: the store has been serving again since `now`, after `outage`.
Notice outage_notice(const Outage& outage, Milliseconds now);

/// Operators' notice: the server works but must not be used, because it evicts keys.
Notice unfit_notice(const StoreError& error, Milliseconds now);

/// Operators' notice: a webhook no longer receives events: "webhook_suspended" (until an operator resumes it) or
/// "webhook_ended".
Notice webhook_notice(const std::string& id, const std::string& url, std::string_view what, const std::string& why,
                      Milliseconds now);

/// Operators' notice: requests of applications have begun to pile up.
Notice requests_notice(const RequestFigures& figures, Milliseconds now);

// A subscription's state changes: a log line, a count, and notices of the important ones (WEBSUB H1, H3).

/// A feed's subscription changed from state `from` to `to` ("" = none); contains no secrets.
struct PushNews {
  std::string feed_url, from, to;
  std::string why;  ///< "" = unknown
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
