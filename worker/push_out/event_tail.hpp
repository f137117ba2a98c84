// The newest events as push-out may send them: read once per process, bounded in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "storage/store/store.hpp"
#include "worker/base/blocking_calls.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/push_out/feed_homes.hpp"
#include "worker/push_out/outside_event.hpp"

namespace feedmill {

/// All members are called on the loop's thread.
class EventTail {
 public:
  struct Options {
    std::size_t records = 10'000;  ///< most events held
    std::size_t bytes = std::size_t{16} << 20U;
    std::size_t page_bytes = std::size_t{256} << 10U;  ///< a call stops after so many
    std::chrono::seconds age{30};    ///< older events are read again: a feed may have become private (WEBSUB U15)
    Milliseconds block{2'000};       ///< longest wait in Redis for an event
    Milliseconds look_again{1'000};  ///< retry delay after an error
  };

  /// `homes`: the stores of the events' feeds. `homes` and `memory` outlive this.
  EventTail(const boost::asio::any_io_executor& executor, const StoreOptions& store, const FeedHomes& homes,
            MemoryBudget& memory, Options options);
  EventTail(const EventTail&) = delete;
  EventTail& operator=(const EventTail&) = delete;

  /// Reads until stop(), from the end of the stream on.
  boost::asio::awaitable<void> run();
  void stop();

  /// Called on the loop after events were added. Must not throw; must outlive this or call forget().
  using Listener = std::list<std::function<void()>>::iterator;
  Listener listen(std::function<void()> added);
  void forget(Listener listener);

  /// Id of the newest event held; "" before run() has connected.
  const std::string& newest() const { return newest_; }
  /// Counts events while they are referenced.
  MemoryBudget& budget() const { return memory_; }
  /// The held events after `after`, at most `most` and Options::page_bytes; empty optional if some of them are not
  /// held, or if `after` is past the newest event.
  std::optional<OutsideEvents> held(const std::string& after, std::size_t most) const;
  /// Result of since() and next().
  struct Since {
    OutsideEvents events;
    bool missed = false;  ///< some events after `after` have been trimmed, or `after` is past the store's newest
    std::string oldest, before_oldest;  ///< if missed; see EventStream::Since
  };
  boost::asio::awaitable<StoreResult<Since>> since(std::string after, std::size_t most);
  /// held(), or since() where that has not all.
  boost::asio::awaitable<StoreResult<Since>> next(std::string after, std::size_t most);

 private:
  /// An event and the time it was read.
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
