// A feed's subscription at its hub, as people and programs read it; its secrets are not among that (WEBSUB L6).
#pragma once

#include <optional>
#include <string>

#include <boost/json/value.hpp>

#include "storage/pushes.hpp"

namespace feedmill {

/// What the store knows of a feed's subscription; nothing when there is none.
StoreResult<std::optional<PushRecord>> subscription_of(Store& store, const FeedState& state);

/// One line; not cleaned.
std::string push_text(const FeedState& state, const std::optional<PushRecord>& subscription, Milliseconds now);

/// An object; null when no hub is advertised and none is subscribed to.
boost::json::value push_json(const FeedState& state, const std::optional<PushRecord>& subscription);

}  // namespace feedmill
