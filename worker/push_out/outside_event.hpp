// Events in the form that may leave the store.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "storage/queues/subscribers.hpp"
#include "storage/records/event_record.hpp"
#include "storage/store/store.hpp"
#include "worker/base/coroutines.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/push_out/sender.hpp"
#include "worker/republish/topic_page.hpp"
#include "worker/store/store_calls.hpp"

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

// New content of a topic as its subscribers receive it: made once for all of them.

/// Lives on the loop's thread.
class NewContent {
 public:
  /// `hub`: the hub's URL, named in documents. `memory` counts documents while they are kept or sent; outlives this.
  NewContent(const boost::asio::any_io_executor& executor, const StoreOptions& store, std::string hub,
             OutgoingMemory& memory)
      : store_(store), hub_(std::move(hub)), memory_(memory), making_(executor) {}

  struct Made {
    std::size_t posts = 0;                           ///< requested posts that fit, from the first on
    std::shared_ptr<const Sender::Content> content;  ///< null: all posts were removed or may not be re-published
    bool no_memory = false;                          ///< nothing was made; retry later
  };
  /// A current document of these posts (`Entry:<n>`, in event order), newest first, at most 1 MiB. `version` must
  /// change whenever a post changes. `of_memory`: the share of the memory (0 to 1) that the document may fill.
  boost::asio::awaitable<StoreResult<Made>> of(const Subscriber& subscriber, std::vector<std::string> entry_ids,
                                               std::string version, double of_memory);

 private:
  StoreCalls store_;
  const std::string hub_;
  OutgoingMemory& memory_;
  OneAtATime making_;                 // a document: concurrent requests for one find it made
  std::map<std::string, Made> made_;  // by topic, version and posts
  std::size_t bytes_ = 0;             // bytes of made_
};

}  // namespace feedmill
