// Threads that read documents: their order, their memory, and whether they make progress (SECURITY M2, M3, RELIABILITY
// H1).
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

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/base/blocking_calls.hpp"
#include "worker/base/coroutines.hpp"
#include "worker/base/memory_budget.hpp"

namespace feedmill {

/// Each thread reads one document at a time. A host's documents get at most half of the threads, and hosts take turns:
/// the one served longest ago is next. All members on the loop's thread; must outlive all running read() calls.
class ReadingThreads {
 public:
  /// `memory` must outlive this.
  ReadingThreads(std::size_t threads, MemoryBudget& memory);
  ~ReadingThreads();
  ReadingThreads(const ReadingThreads&) = delete;
  ReadingThreads& operator=(const ReadingThreads&) = delete;

  /// Waits for a thread and for the memory to read a document of `document_bytes`, which `share` holds from then on;
  /// then runs `work` on the thread. Returns false without running it if there was a thread but no memory for
  /// `longest`. While waiting, cancellation unwinds with operation_aborted; later it has no effect.
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

  /// Limits bursts on the loop (documents to read, store responses): returns once the loop has been busy for less than
  /// 2 ms since it last polled for events. Timers and sockets wait no longer than that, however many calls are ready.
  boost::asio::awaitable<void> turn_of_loop();

  /// Executor for small jobs that bypass the host queue.
  Threads& pool() { return pool_; }

  using Clock = std::chrono::steady_clock;
  struct Progress {
    std::size_t threads = 0, busy = 0, waiting = 0;  ///< waiting: documents
    std::uint64_t read = 0;                          ///< documents, since the start
    Clock::duration longest{};                       ///< age of the oldest running read
    bool stuck = false;                              ///< one takes longer than the limit of a document's steps allows
  };
  Progress progress(Clock::time_point now = Clock::now()) const;

 private:
  struct Document;
  /// A host with documents waiting or being read.
  struct Host {
    std::list<Document*> waiting;
    std::list<std::map<std::string, Host>::iterator>::iterator turn;  ///< in line_, if any wait
    std::size_t busy = 0;                                             ///< threads
  };
  using Hosts = std::map<std::string, Host>;

  struct Document {
    Document(std::string its_host, MemoryBudget::Share& its_share, std::uint64_t its_bytes,
             std::chrono::milliseconds longest_wait)
        : name(std::move(its_host)), share(its_share), bytes(its_bytes), longest(longest_wait) {}

    std::string name;  ///< of its host
    MemoryBudget::Share& share;
    std::uint64_t bytes;
    std::chrono::milliseconds longest;
    boost::asio::steady_timer* wake = nullptr;  ///< while waiting
    bool refused = false;                       ///< got a thread, but no memory
    Hosts::iterator host;
    std::list<Document*>::iterator place;  ///< in `waiting` of the host, then in reading_
    Clock::time_point begun;               ///< when reading began
  };
  /// Frees the thread.
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
  std::list<Hosts::iterator> line_;  ///< hosts with waiting documents, served longest ago first
  std::list<Document*> reading_;     ///< oldest first
  std::size_t waiting_ = 0;
  std::uint64_t read_ = 0;
  std::shared_ptr<bool> in_turn_ =
      std::make_shared<bool>(false);  ///< of the loop; shared with posted callbacks, which may outlive this
  Clock::time_point turn_began_;
  Threads pool_;
};

}  // namespace feedmill
