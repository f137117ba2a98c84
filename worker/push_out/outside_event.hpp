// Events as others may be told of them.
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
  std::string id;                     ///< its place in the stream: what receivers know it by
  std::string prev;                   ///< that of the event before it
  Event event;                        ///
  std::string json;                   ///< the event object, secrets taken out of addresses (SECURITY K1)
  bool told = false;                  ///< of a type that leaves the store; of others only the place counts
  bool is_private = false;            ///< its feed is not re-published (WEBSUB U15)
  std::vector<std::string> channels;  ///< that hold its feed
};
using OutsideEvents = std::vector<std::shared_ptr<const OutsideEvent>>;

/// What is known of a feed that decides who is told of its events.
struct FeedFacts {
  std::vector<std::string> channels;  ///< that hold it
  Republishing republishing;
};
/// In the order of `feed_urls`. Blocking.
StoreResult<std::vector<FeedFacts>> read_facts(Store& store, std::span<const std::string> feed_urls);

/// One for each record, in their order, of which nothing is known yet but what they say themselves.
class UnknownEvents {
 public:
  UnknownEvents() = default;
  explicit UnknownEvents(const std::vector<EventRecord>& records);

  /// The feeds that they are about, as far as others may be told of them, each once.
  const std::vector<std::string>& feed_urls() const { return urls_; }
  /// The events. `facts`: of feed_urls(), in that order.
  OutsideEvents with(std::span<const FeedFacts> facts) &&;

 private:
  std::vector<std::shared_ptr<OutsideEvent>> events_;
  std::vector<std::string> urls_;
  std::vector<std::size_t> of_told_;  // the place of its feed, for each that is told of
};

/// The event object without secrets in the addresses of feeds. Text that is no object comes back as it is.
std::string without_secrets(const Event& event, const std::string& json);

}  // namespace feedmill
