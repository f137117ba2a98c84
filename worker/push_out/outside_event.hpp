// Events as others may be told of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/records/event_record.hpp"
#include "storage/store/store.hpp"

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

/// One for each record, in their order. Blocking: asks once for all feeds that they are about.
StoreResult<OutsideEvents> read_outside(Store& store, const std::vector<EventRecord>& records);

/// The event object without secrets in the addresses of feeds. Text that is no object comes back as it is.
std::string without_secrets(const Event& event, const std::string& json);

}  // namespace feedmill
