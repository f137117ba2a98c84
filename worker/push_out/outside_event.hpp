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

/// An event in the form in which it may leave the store.
struct OutsideEvent {
  std::string id;                     ///< the stream id, which receivers see
  std::string prev;                   ///< id of the preceding event
  Event event;                        ///< as parsed from the record
  std::string json;                   ///< the event object, without secrets in URLs (SECURITY K1)
  bool told = false;                  ///< events of this type leave the store; of others only `id` and `prev` count
  bool is_private = false;            ///< its feed may not be re-published (WEBSUB U15)
  std::vector<std::string> channels;  ///< channels that contain its feed
};
using OutsideEvents = std::vector<std::shared_ptr<const OutsideEvent>>;

/// The facts about a feed that decide which subscribers receive its events.
struct FeedFacts {
  std::vector<std::string> channels;  ///< channels that contain the feed
  Republishing republishing;
};
/// Reads the facts of feeds, in the order of `feed_urls`. Blocking.
StoreResult<std::vector<FeedFacts>> read_facts(Store& store, std::span<const std::string> feed_urls);

/// The events of stream records, in order, before the facts about their feeds are known.
class UnknownEvents {
 public:
  UnknownEvents() = default;
  explicit UnknownEvents(const std::vector<EventRecord>& records);

  /// Feeds of the events that may leave the store, without duplicates.
  const std::vector<std::string>& feed_urls() const { return urls_; }
  /// Completes the events. `facts`: of feed_urls(), in the same order.
  OutsideEvents with(std::span<const FeedFacts> facts) &&;

 private:
  std::vector<std::shared_ptr<OutsideEvent>> events_;
  std::vector<std::string> urls_;
  std::vector<std::size_t> of_told_;  // for each event that may leave: index of its feed in `urls_`
};

/// Removes secrets from the feed URLs in an event object. Returns text that is not an object unchanged.
std::string without_secrets(const Event& event, const std::string& json);

// Documents with new content of a topic, made once for all its subscribers.

/// Lives on the loop's thread.
class NewContent {
 public:
  /// `hub`: URL of the hub, named in documents. `memory`: counts documents while they are kept or sent; must outlive
  /// this.
  NewContent(const boost::asio::any_io_executor& executor, const StoreOptions& store, std::string hub,
             OutgoingMemory& memory)
      : store_(store), hub_(std::move(hub)), memory_(memory), making_(executor) {}

  /// The document for some posts, or why there is none.
  struct Made {
    std::size_t posts = 0;                           ///< number of requested posts that fit, starting with the first
    std::shared_ptr<const Sender::Content> content;  ///< null: all posts were removed or may not be re-published
    bool no_memory = false;                          ///< no document was made; retry later
  };
  /// A document of these posts (`Entry:<n>`, in event order) as they are now, newest first, at most 1 MiB. `version`
  /// must change whenever a post changes. `of_memory`: the share of the memory, 0 to 1, that documents may fill.
  boost::asio::awaitable<StoreResult<Made>> of(const Subscriber& subscriber, std::vector<std::string> entry_ids,
                                               std::string version, double of_memory);

 private:
  StoreCalls store_;
  const std::string hub_;
  OutgoingMemory& memory_;
  OneAtATime making_;                 // one document at a time, so that concurrent requests for it find it made
  std::map<std::string, Made> made_;  // by topic, version and posts
  std::size_t bytes_ = 0;             // total size of made_
};

}  // namespace feedmill
