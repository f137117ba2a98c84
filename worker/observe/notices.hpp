// What a notice says (RELIABILITY L16, G5). Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "storage/records/event_record.hpp"
#include "storage/records/request_figures.hpp"
#include "storage/timelines/notifications.hpp"
#include "worker/base/report.hpp"
#include "worker/observe/store_health.hpp"

namespace feedmill {

/// The notice of a new post for a user; `why` says which of their rules it fits. JSON members: id, type, entity_id,
/// feed_url, guid, title, link, timestamp, why.
Notice post_notice(const Event& event, std::string user, std::span<const std::string> why);

/// The notice that operators get of a step in a feed's life: what happened, in the log's words, and what to do about
/// it. Absent for events that are none. JSON members: id, type, feed_url, timestamp, text, remedy, and
/// those of the event's data.
std::optional<Notice> operator_notice(const Event& event);

/// What operators hear of a feed that was quarantined (SECURITY Q2), and why, which no event tells. `now`: Redis'
/// clock.
Notice quarantine_notice(const std::string& feed_url, const std::string& why, Milliseconds now);

/// What operators hear of a change of a feed's state that no event tells (HTTP §4): to degraded, and back to healthy
/// from there or from quarantine. Absent for any other report.
std::optional<Notice> state_notice(const Report& report, Milliseconds now);

/// What operators hear of a feed that would move to `to`, which is a feed already (HTTP R7); once for these two.
Notice collision_notice(const std::string& feed_url, const std::string& to, Milliseconds now);

/// What operators hear of a host whose feeds have begun to fail alike (HTTP H11).
Notice storm_notice(const std::string& host, const std::string& reason, Milliseconds now);

/// What operators hear when the store has served again since `now`, after `outage`.
Notice outage_notice(const Outage& outage, Milliseconds now);

/// What operators hear of a server that works and must not be used: it evicts keys.
Notice unfit_notice(const StoreError& error, Milliseconds now);

/// What operators hear of a feed whose subscription is now failed, denied, or healthy again (WEBSUB H1).
Notice push_notice(const std::string& feed_url, const std::string& state, const std::string& why, Milliseconds now);

/// What operators hear of a hub that five feeds or more cannot rely on (WEBSUB H3).
Notice hub_notice(const std::string& hub, Milliseconds now);

/// What operators hear of a webhook that is told of nothing any more: "webhook_suspended", until somebody resumes it,
/// or "webhook_ended".
Notice webhook_notice(const std::string& id, const std::string& url, std::string_view what, const std::string& why,
                      Milliseconds now);

/// Requests of programs pile up: told when they begin to.
Notice requests_notice(const RequestFigures& figures, Milliseconds now);

}  // namespace feedmill
