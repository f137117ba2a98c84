// The newest events as all who push out see them: read once for the whole process, held within bounds.
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
    std::size_t records = 10'000;  ///< held at most
    std::size_t bytes = std::size_t{16} << 20U;
    std::size_t page_bytes = std::size_t{256} << 10U;  ///< a call stops after so many
    std::chrono::seconds age{30};    ///< what is older is read again, with what may be told of it by then (WEBSUB U15)
    Milliseconds block{2'000};       ///< longest wait in Redis for an event
    Milliseconds look_again{1'000};  ///< after an error
  };

  /// `homes`: where the feeds are that the events are about. It and `memory` outlive this.
  EventTail(const boost::asio::any_io_executor& executor, const StoreOptions& store, const FeedHomes& homes,
            MemoryBudget& memory, Options options);
  EventTail(const EventTail&) = delete;
  EventTail& operator=(const EventTail&) = delete;

  /// Reads on until stop(). Begins at the end of the stream.
  boost::asio::awaitable<void> run();
  void stop();

  /// Called on the loop after events have been added. It must not throw, and outlives this or forgets itself.
  using Listener = std::list<std::function<void()>>::iterator;
  Listener listen(std::function<void()> added);
  void forget(Listener listener);

  /// Of the newest that is held, "" before run() has connected.
  const std::string& newest() const { return newest_; }
  /// Counts events while anything holds them.
  MemoryBudget& budget() const { return memory_; }
  /// Those behind `after`, at most `most` and Options::page_bytes, that are held; absent: some behind it are not.
  /// `after` of a stream that is further than this one: absent as well.
  std::optional<OutsideEvents> held(const std::string& after, std::size_t most) const;
  /// The same, from Redis where they are not held.
  struct Since {
    OutsideEvents events;
    bool missed = false;  ///< some behind `after` have been trimmed away, or the store has not come so far
    std::string oldest, before_oldest;  ///< of missed, as of EventStream::Since
  };
  boost::asio::awaitable<StoreResult<Since>> since(std::string after, std::size_t most);
  /// The one where it does, the other where not.
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
  Store tail_store_, store_;  // who waits for the next event has a connection of its own
  std::deque<Held> held_;
  std::size_t bytes_ = 0;
  MemoryBudget& memory_;
  std::string newest_;
  std::list<std::function<void()>> listeners_;
  boost::asio::steady_timer pause_;
  bool stopping_ = false;
  BlockingCalls tail_calls_, calls_;
};

}  // namespace feedmill
