// Threads that read documents: queue order, memory, and liveness (SECURITY M2, M3, RELIABILITY H1).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/base/blocking_calls.hpp"
#include "worker/base/coroutines.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/observe/store_health.hpp"

namespace feedmill {

/// Each thread reads one document at a time. One host's documents get at most half of the threads, and hosts take
/// turns: the host served longest ago is next. All members are called on the loop's thread. Must outlive all running
/// read() calls.
class ReadingThreads {
 public:
  /// `memory` must outlive this.
  ReadingThreads(std::size_t threads, MemoryBudget& memory);
  ~ReadingThreads();
  ReadingThreads(const ReadingThreads&) = delete;
  ReadingThreads& operator=(const ReadingThreads&) = delete;

  /// Waits for a thread and for the memory to read a document of `document_bytes`, which `share` then holds, and runs
  /// `work` on the thread. Returns false without running it if there was a thread but no memory for `longest`.
  /// Cancellation unwinds with operation_aborted during the wait and has no effect later.
  template <class Work>
  boost::asio::awaitable<bool> read(std::string host, MemoryBudget::Share& share, std::uint64_t document_bytes,
                                    std::chrono::milliseconds longest, Work work) {
    Document document(std::move(host), share, document_bytes, longest);
    const bool entered = co_await enter(document);
    if (!entered) co_return false;
    const Leaving leaving(*this, document);
    co_await run_on(pool_, std::move(work));
    co_return true;
  }

  /// Limits bursts on the loop (documents to read, store responses): returns when the loop has been busy for less than
  /// 2 ms since it last polled for events. However many calls are ready, timers and sockets wait no longer than that.
  boost::asio::awaitable<void> turn_of_loop();

  /// Executor for small jobs that bypass the host queue.
  Threads& pool() { return pool_; }

  using Clock = std::chrono::steady_clock;
  struct Progress {
    std::size_t threads = 0, busy = 0, waiting = 0;  ///< `waiting` counts documents
    std::uint64_t read = 0;                          ///< documents read since the start
    Clock::duration longest{};                       ///< age of the oldest running read
    bool stuck = false;                              ///< a read takes longer than a document's step limit allows
  };
  Progress progress(Clock::time_point now = Clock::now()) const;

 private:
  struct Document;
  /// A host with documents that are waiting or being read.
  struct Host {
    std::list<Document*> waiting;
    std::list<std::map<std::string, Host>::iterator>::iterator turn;  ///< its entry in line_, while documents wait
    std::size_t busy = 0;                                             ///< threads reading its documents
  };
  using Hosts = std::map<std::string, Host>;

  struct Document {
    Document(std::string its_host, MemoryBudget::Share& its_share, std::uint64_t its_bytes,
             std::chrono::milliseconds longest_wait)
        : name(std::move(its_host)), share(its_share), bytes(its_bytes), longest(longest_wait) {}

    std::string name;  ///< name of the host
    MemoryBudget::Share& share;
    std::uint64_t bytes;
    std::chrono::milliseconds longest;
    boost::asio::steady_timer* wake = nullptr;  ///< set while waiting
    bool refused = false;                       ///< there was a thread, but no memory
    Hosts::iterator host;
    std::list<Document*>::iterator place;  ///< position in the host's `waiting`, then in reading_
    Clock::time_point begun;               ///< when the read began
  };
  /// Frees the thread of a document at the end of a scope.
  class Leaving {
   public:
    Leaving(ReadingThreads& threads, Document& document) : threads_(threads), document_(document) {}
    ~Leaving() { threads_.leave(document_); }
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;

   private:
    ReadingThreads& threads_;
    Document& document_;
  };

  boost::asio::awaitable<bool> enter(Document& document);
  void admit();
  bool admit_one();
  bool finds_memory(const Document& document);
  void want_no_memory();
  void leave(Document& document);
  void leave_line(Document& document);

  const std::size_t threads_, most_of_one_host_;
  MemoryBudget& memory_;
  LoopCall released_;  ///< registered with the budget while a document waits for memory
  Hosts hosts_;
  std::list<Hosts::iterator> line_;  ///< hosts with waiting documents; the one served longest ago first
  std::list<Document*> reading_;     ///< oldest first
  std::size_t waiting_ = 0;
  std::uint64_t read_ = 0;
  std::shared_ptr<bool> in_turn_ =
      std::make_shared<bool>(false);  ///< set during a turn; shared with posted callbacks, which may outlive this
  Clock::time_point turn_began_;
  Threads pool_;
};

// Whether the loop and the reading threads make progress, for /livez and the watchdog (RELIABILITY H1, N1).

/// Ignores the threads that call Redis: a hanging store must not cause restarts of workers. Lives on the loop;
/// `reading` must outlive this.
class Liveness {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Liveness(const ReadingThreads& reading) : reading_(reading) {}

  /// Ticks once a second on the loop, until cancelled.
  boost::asio::awaitable<void> tick();

  /// The check "loop" passes if the last tick was at most 10 s ago. "threads" fails if a thread has been reading one
  /// document for longer than any document can take; busy threads pass.
  std::vector<Check> checks(Clock::time_point now = Clock::now()) const;
  bool alive() const;

 private:
  const ReadingThreads& reading_;
  Clock::time_point looped_ = Clock::now();
};

}  // namespace feedmill
