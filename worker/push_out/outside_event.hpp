// Events in the form that may leave the store.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/records/event_record.hpp"
#include "storage/store/store.hpp"
#include "worker/republish/republishing.hpp"

namespace feedmill {

/// An event as it may leave the store.
struct OutsideEvent {
  std::string id;                     ///< its stream id, the id that receivers see
  std::string prev;                   ///< id of the event before it
  Event event;                        ///
  std::string json;                   ///< the event object, without secrets in URLs (SECURITY K1)
  bool told = false;                  ///< its type leaves the store; of other types only the id counts
  bool is_private = false;            ///< its feed is not re-published (WEBSUB U15)
  std::vector<std::string> channels;  ///< that hold its feed
};
using OutsideEvents = std::vector<std::shared_ptr<const OutsideEvent>>;

/// Facts about a feed that decide which subscribers receive its events.
struct FeedFacts {
  std::vector<std::string> channels;  ///< channels that hold it
  Republishing republishing;
};
/// In the order of `feed_urls`. Blocking.
StoreResult<std::vector<FeedFacts>> read_facts(Store& store, std::span<const std::string> feed_urls);

/// Events of these records, in order, before the facts of their feeds are known.
class UnknownEvents {
 public:
  UnknownEvents() = default;
  explicit UnknownEvents(const std::vector<EventRecord>& records);

  /// Feeds of those events that may leave the store, without duplicates.
  const std::vector<std::string>& feed_urls() const { return urls_; }
  /// The events. `facts`: of feed_urls(), in that order.
  OutsideEvents with(std::span<const FeedFacts> facts) &&;

 private:
  std::vector<std::shared_ptr<OutsideEvent>> events_;
  std::vector<std::string> urls_;
  std::vector<std::size_t> of_told_;  // index of the feed, for each event that may leave
};

/// The event object without secrets in feed URLs. Text that is not an object is returned unchanged.
std::string without_secrets(const Event& event, const std::string& json);

}  // namespace feedmill
