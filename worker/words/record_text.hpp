// Formats records of the store for people and programs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "storage/queues/pushes.hpp"
#include "storage/records/feed_state.hpp"
#include "storage/records/fleet_records.hpp"
#include "storage/records/stored_entry.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

struct SubscriberCounts;

/// RFC 3339, or null for time zero.
boost::json::value time_json(Milliseconds time);
/// Numbers of webhooks and hub subscribers by state, and how many are due.
boost::json::object subscriber_counts_json(const SubscriberCounts& counts);

/// `text` parsed as JSON; a string if it is not JSON, null if it is "".
boost::json::value embedded_json(std::string_view text);

/// `text` parsed as a JSON object; empty if it is not one.
boost::json::object embedded_object(std::string_view text);

/// `text` as a JSON string; null if it is "".
boost::json::value text_or_null(std::string_view text);

/// The value of a record's field, "" if absent.
std::string_view field_of(const Fields& fields, std::string_view name);

/// The text of the field `name` for people, without markup; its type is in the field `name`_type. Not cleaned.
std::string readable_field(const Fields& fields, const std::string& name);

/// A line of `list --json`.
boost::json::object list_json(const FeedRecord& record);

/// The complete record: `show --json`.
boost::json::object show_json(const FeedRecord& record);

/// The record for people: names and values in display order.
std::vector<std::pair<std::string, std::string>> show_lines(const FeedRecord& record, Milliseconds now);

/// A stored post: `schema`, `id`, `cursor` (for --before) and its fields; JSON text as JSON, times as RFC 3339.
boost::json::object entry_json(const StoredEntry& entry);
/// A stored post with `same_as` and `same_count`, if other posts tell its story.
boost::json::object entry_json(const StoredEntry& entry, const std::vector<std::string>& same_as);

/// "SCORE:ID": the entry's position in its feed's order, for `entries --before`.
std::string cursor_of(const StoredEntry& entry);
/// The entry's position as a value.
EntryCursor place_of(const StoredEntry& entry);
/// Reads what cursor_of() writes.
std::optional<EntryCursor> read_cursor(std::string_view text);
/// TIME, ID and TITLE of an entry in a list.
std::vector<std::string> entry_cells(const StoredEntry& entry);

/// The reason code or HTTP status of a feed's last refresh, for a column: "200", "http.timeout", "-".
std::string last_result(const LastRefresh& last);

/// Describes the data of a feed's event for people: "state never_read, reason status.gone". Not cleaned.
std::string event_words(const boost::json::object& data);

// Formats a feed's subscription for people and programs, without its secrets (WEBSUB §4).

/// The stored subscription of a feed; empty if there is none.
StoreResult<std::optional<PushRecord>> subscription_of(Store& store, const FeedPushes& pushes);

/// A fact about a subscription; not cleaned.
struct PushFact {
  std::string_view name;  ///< its label: "Lease"
  std::string_view lead;  ///< text before it in a line of all facts
  std::string value;
};

/// Facts about the chosen hub (the operator's, else the document's): state, hub, the hub's message, lease, last push,
/// first deliverer, polling. Omits unknown ones.
std::vector<PushFact> push_facts(const FeedRecord& record, const std::optional<PushRecord>& subscription,
                                 Milliseconds now);

/// A PushStanding::state and its meaning in a few words.
struct PushStateText {
  std::string_view name, meaning;
};
/// All states in display order.
std::span<const PushStateText> push_state_texts();

/// The subscription in one line; "" without a hub. Not cleaned.
std::string push_text(const FeedRecord& record, const std::optional<PushRecord>& subscription, Milliseconds now);

/// JSON object; null without hub and subscription.
boost::json::value push_json(const FeedRecord& record, const std::optional<PushRecord>& subscription);

}  // namespace feedmill
