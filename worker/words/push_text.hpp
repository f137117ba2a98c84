// A feed's subscription at its hub, as people and programs read it; its secrets are not among that (WEBSUB L6).
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

/// What the store knows of a feed's subscription; nothing when there is none.
StoreResult<std::optional<PushRecord>> subscription_of(Store& store, const FeedPushes& pushes);

/// One thing that there is to say of a subscription; not cleaned.
struct PushFact {
  std::string_view name;  ///< what it is about: "Lease"
  std::string_view lead;  ///< what stands before it in a line of them all
  std::string value;
};

/// Of the hub that is chosen: the operator's, else the document's. State, hub, what the hub said, lease, last push, who
/// was first, polling; without what is not known.
std::vector<PushFact> push_facts(const FeedRecord& record, const std::optional<PushRecord>& subscription,
                                 Milliseconds now);

/// PushStanding::state and what it means, in a few words.
struct PushStateText {
  std::string_view name, meaning;
};
/// All of them in the order to show.
std::span<const PushStateText> push_state_texts();

/// One line, "" when there is no hub; not cleaned.
std::string push_text(const FeedRecord& record, const std::optional<PushRecord>& subscription, Milliseconds now);

/// An object; null when there is no hub and none is subscribed to.
boost::json::value push_json(const FeedRecord& record, const std::optional<PushRecord>& subscription);

}  // namespace feedmill
