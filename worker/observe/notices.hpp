// Contents of notices (RELIABILITY L16, G5). Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "storage/records/event_record.hpp"
#include "storage/records/fleet_records.hpp"
#include "storage/timelines/notifications.hpp"
#include "worker/base/report.hpp"
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

/// Operators' notice: a feed's subscription is now failed, denied, or healthy again (WEBSUB H1).
Notice push_notice(const std::string& feed_url, const std::string& state, const std::string& why, Milliseconds now);

/// Operators' notice: five feeds or more cannot rely on a hub (WEBSUB H3).
Notice hub_notice(const std::string& hub, Milliseconds now);

/// Operators' notice: a webhook no longer receives events: "webhook_suspended" (until an operator resumes it) or
/// "webhook_ended".
Notice webhook_notice(const std::string& id, const std::string& url, std::string_view what, const std::string& why,
                      Milliseconds now);

/// Operators' notice: requests of applications have begun to pile up.
Notice requests_notice(const RequestFigures& figures, Milliseconds now);

}  // namespace feedmill
