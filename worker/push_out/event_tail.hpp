// The newest events in the form that may be pushed out: read once per process, bounded in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "storage/store/partition.hpp"
#include "storage/store/store.hpp"
#include "worker/base/blocking_calls.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/push_out/outside_event.hpp"
#include "worker/store/store_calls.hpp"

namespace feedmill {

// Where to look up the feeds of an event stream: in the stream's own store or, for the merged stream of all partitions
// (RELIABILITY L28), in each feed's partition.

/// Access to the stores with the feeds of an event stream.
struct FeedHomes {
  unsigned partitions = 1;
  /// Runs `work(store)` on a partition's store, off the loop; ends within the store's timeout.
  std::function<boost::asio::awaitable<void>(unsigned partition, std::function<void(Store&)> work)> at;

  /// Calls `read(store, urls)` for the feeds of each partition. Returns all values in the order of `urls`, or the first
  /// error.
  template <class Read, class Values = std::invoke_result_t<Read, Store&, std::span<const std::string>>>
  boost::asio::awaitable<Values> of_feeds(std::vector<std::string> urls, Read read) const {
    const auto shares = shares_of(urls, partitions);
    typename Values::value_type all(urls.size());
    for (const auto& [partition, places] : shares) {
      std::vector<std::string> share;
      for (const std::size_t place : places) share.push_back(urls[place]);
      Values found = typename Values::value_type();
      co_await at(partition, [&](Store& store) { found = read(store, share); });
      if (!found) co_return found.error();
      for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = std::move((*found)[i]);
    }
    co_return all;
  }
};

/// For a stream with all its feeds in the store of `calls`, which must outlive the result.
inline FeedHomes all_in(StoreCalls& calls) {
  FeedHomes homes;
  homes.at = [&calls](unsigned, std::function<void(Store&)> work) { return calls.call(std::move(work)); };
  return homes;
}

/// All members are called on the loop's thread.
class EventTail {
 public:
  struct Options {
    std::size_t records = 10'000;  ///< maximum of events held
    std::size_t bytes = std::size_t{16} << 20U;
    std::size_t page_bytes = std::size_t{256} << 10U;  ///< a call stops after this many bytes
    std::chrono::seconds age{30};    ///< older events are read again: a feed may have become private (WEBSUB U15)
    Milliseconds block{2'000};       ///< longest wait in Redis for an event
    Milliseconds look_again{1'000};  ///< retry delay after an error
  };

  /// `homes`: the stores of the events' feeds. `homes` and `memory` must outlive this.
  EventTail(const boost::asio::any_io_executor& executor, const StoreOptions& store, const FeedHomes& homes,
            MemoryBudget& memory, Options options);
  EventTail(const EventTail&) = delete;
  EventTail& operator=(const EventTail&) = delete;

  /// Reads new events, starting at the end of the stream, until stop().
  boost::asio::awaitable<void> run();
  void stop();

  /// `added` is called on the loop after events were added; it must not throw. Call forget() before anything that it
  /// uses is destroyed, unless that outlives this.
  using Listener = std::list<std::function<void()>>::iterator;
  Listener listen(std::function<void()> added);
  void forget(Listener listener);

  /// Id of the newest event read; "" before run() has connected.
  const std::string& newest() const { return newest_; }
  /// The budget that counts events while they are referenced.
  MemoryBudget& budget() const { return memory_; }
  /// The held events after `after`, at most `most` and Options::page_bytes. Empty optional if not all events after
  /// `after` are held, or if `after` is past the newest event.
  std::optional<OutsideEvents> held(const std::string& after, std::size_t most) const;
  /// The result of since() and next().
  struct Since {
    OutsideEvents events;
    bool missed = false;  ///< events after `after` were trimmed, or `after` is past the newest event in the store
    std::string oldest, before_oldest;  ///< if missed; see EventStream::Since
  };
  boost::asio::awaitable<StoreResult<Since>> since(std::string after, std::size_t most);
  /// Like since(), but uses held() if that has all events.
  boost::asio::awaitable<StoreResult<Since>> next(std::string after, std::size_t most);

 private:
  /// An event and when it was read.
  struct Held {
    std::shared_ptr<const OutsideEvent> event;
    std::chrono::steady_clock::time_point read;
  };

  boost::asio::awaitable<StoreResult<UnknownEvents>> wait();
  boost::asio::awaitable<StoreResult<OutsideEvents>> known(UnknownEvents events);
  void add(OutsideEvents events);
  bool is_old(const Held& held) const;
  void drop_old();

  const FeedHomes& homes_;
  Options options_;
  StoreCalls tail_, store_;  // the wait for new events has its own connection
  std::deque<Held> held_;
  std::size_t bytes_ = 0;
  MemoryBudget& memory_;
  std::string newest_;
  std::list<std::function<void()>> listeners_;
  boost::asio::steady_timer pause_;
  bool stopping_ = false;
};

}  // namespace feedmill
