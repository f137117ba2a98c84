// What of the store others may subscribe to, as people and programs share and see it (WEBSUB §10).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include "storage/push_out/subscribers.hpp"
#include "storage/push_out/topics.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// Where a topic is found: its documents, the hub that tells of them, its live stream. Behind push_out.public_url, or
/// as paths without one.
struct TopicUrls {
  std::string atom, json, hub, events;
};
TopicUrls topic_urls(const std::string& public_url, const std::string& token);

/// Why a topic may not be shared.
struct TopicObjection {
  std::string reason;  ///< no_such_feed, no_such_channel, not_republished
  std::string detail;  ///< for people, not cleaned
};
/// None: it may. Blocking.
StoreResult<std::optional<TopicObjection>> objection_to(Store& store, const Topic& topic);

/// Denies up to `most` of its subscribers behind `after`, in steps for who must not keep the store long; the id to go
/// on behind, "" when all are denied. Then Topics::unshare() it.
StoreResult<std::string> deny_subscribers(Store& store, const Topic& topic, const std::string& after, std::size_t most);

/// For programs: `kind`, `url` or `channel`, and where it is found. Its addresses are secrets that are shown to who may
/// see all that they lead to.
boost::json::object topic_json(const TopicAddress& address, const std::string& public_url);
/// A subscriber of the hub: no secret, and its callback without those in it (SECURITY K1).
boost::json::object hub_subscriber_json(const Subscriber& subscriber);

}  // namespace feedmill
