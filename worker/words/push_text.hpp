// Formats a feed's subscription for people and programs, without its secrets (WEBSUB L6).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "storage/records/feed_record.hpp"
#include "storage/websub/pushes.hpp"

namespace feedmill {

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

/// One line, "" if there is no hub; not cleaned.
std::string push_text(const FeedRecord& record, const std::optional<PushRecord>& subscription, Milliseconds now);

/// JSON object; null without hub and subscription.
boost::json::value push_json(const FeedRecord& record, const std::optional<PushRecord>& subscription);

}  // namespace feedmill
