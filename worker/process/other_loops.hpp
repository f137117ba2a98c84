// The event loops of a process beside its first (worker.threads): each a thread that refreshes feeds as another worker
// would.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/observe/check.hpp"
#include "worker/process/ingest_parts.hpp"

namespace feedmill {

/// On the first loop's thread.
class OtherLoops {
 public:
  /// One for each task, each with `cpu_threads` to read with. Nothing runs yet. `config` is read now; `first` runs the
  /// first loop.
  OtherLoops(boost::asio::any_io_executor first, const Config& config, std::size_t cpu_threads,
             std::vector<IngestTask> tasks, const SharedByLoops& shared);
  /// Those that have not ended are cut off, as after an exception.
  ~OtherLoops();
  OtherLoops(const OtherLoops&) = delete;
  OtherLoops& operator=(const OtherLoops&) = delete;

  /// Starts the threads; throws std::system_error when there may be no more, and those that were started go on. On each
  /// `beside`, which does not throw, runs until the loop's worker has ended, too. `failed` is called on the first loop
  /// when one of these has ended by an exception.
  void start(const std::string& store_id, const std::function<boost::asio::awaitable<void>(IngestParts&)>& beside,
             std::function<void()> failed);
  /// Once all have ended, how: the worst of it. At once when none was started. Throws what one of them threw.
  boost::asio::awaitable<Worker::End> ended();

  /// Runs `work(IngestParts&)` on each of their threads, some time soon.
  template <class Work>
  void tell(const Work& work) {
    for (const auto& other : loops_) boost::asio::post(other->loop, [&parts = other->parts, work] { work(parts); });
  }
  /// The same with a coroutine. What it throws ends the process, as on the first loop.
  template <class Work>
  void spawn(const Work& work) {
    for (const auto& other : loops_) {
      boost::asio::co_spawn(other->loop, work(other->parts), [](const std::exception_ptr& error) {
        if (error) std::rethrow_exception(error);
      });
    }
  }

  /// Of what may be asked from any thread: all of them together.
  template <class Figure>
  auto sum(const Figure& figure) const {
    decltype(figure(std::declval<const IngestParts&>())) all{};
    for (const auto& other : loops_) all += figure(other->parts);
    return all;
  }
  /// CPU time that the thread of each has taken.
  std::vector<std::chrono::nanoseconds> cpu_times() const;
  /// Puts what fails in one of them in place of what passes in the first.
  void add_to(std::vector<Check>& checks) const;

 private:
  struct Other {
    Other(const Config& config, std::size_t cpu_threads, IngestTask task, const SharedByLoops& shared)
        : reading(cpu_threads, shared.memory), parts(loop.get_executor(), reading, config, std::move(task), shared) {}
    ~Other() { reading.pool().join(); }
    Other(const Other&) = delete;
    Other& operator=(const Other&) = delete;

    boost::asio::io_context loop{1};
    ReadingThreads reading;
    IngestParts parts;
    std::thread thread;
    bool runs = false;         ///< the first loop's thread knows
    mutable std::mutex mutex;  ///< of what follows
    std::vector<Check> checks;
    std::chrono::steady_clock::time_point checked;
  };

  static boost::asio::awaitable<Worker::End> serve(Other& other,
                                                   std::function<boost::asio::awaitable<void>(IngestParts&)> beside);
  static boost::asio::awaitable<void> check(Other& other);
  void note_end(Other& other, const std::exception_ptr& error, Worker::End end);

  boost::asio::any_io_executor first_;
  std::function<void()> failed_;
  std::vector<std::unique_ptr<Other>> loops_;
  Worker::End end_ = Worker::End::clean;
  std::exception_ptr error_;
  boost::asio::steady_timer ended_;
};

}  // namespace feedmill
