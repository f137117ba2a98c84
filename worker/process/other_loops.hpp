// The parts that refresh feeds on one event loop, and the additional loops of a process (worker.threads). Each of these
// has a thread and refreshes feeds as a separate worker.
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

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/base/log.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/config/config.hpp"
#include "worker/http/fetch.hpp"
#include "worker/ingest/reading_threads.hpp"
#include "worker/ingest/refresh.hpp"
#include "worker/ingest/worker.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/process/run_options.hpp"
#include "worker/store/store_pool.hpp"

namespace feedmill {

/// Shared by all loops of a process and outlives them (DESIGN §6). May be called from any thread.
struct SharedByLoops {
  MemoryBudget& memory;
  Metrics& metrics;
  Log& log;
  Outages& outages;
  std::function<void(const Report&)> ended;  ///< called after each refresh
  std::function<void(bool)> committed;       ///< called after each commit; true: it was stored
};

/// What the IngestParts of one loop are made from.
struct IngestTask {
  RunMode mode{};
  std::string redis_url;
  FetchOptions fetch;
  WorkerOptions worker;
  WorkerScope scope;
};

/// Used on the loop's thread, except where a member allows any thread. Destroyed after the loop has ended.
struct IngestParts {
  /// `reading`: this loop's threads; must outlive this.
  IngestParts(const boost::asio::any_io_executor& loop, ReadingThreads& reading, const Config& config, IngestTask task,
              SharedByLoops shared)
      : threads(reading),
        liveness(threads),
        store(loop, store_options(config, task.redis_url), config.store.connections),
        fetcher(loop, std::move(task.fetch)),
        refresher(fetcher, threads, store, shared.memory, refresh_options(config, task.mode),
                  [this, shared](const StoreResult<Committed>& result, std::chrono::duration<double> took) {
                    shared.metrics.committed(result);
                    worker.note_commit(result, took);
                    shared.committed(result.has_value());
                  }),
        worker(loop, refresher, store, shared.metrics, shared.log, shared.outages, std::move(task.worker), task.scope,
               std::move(shared.ended)),
        does(roles_text(config)),
        configuration(common_digests(config)) {}

  ReadingThreads& threads;
  Liveness liveness;
  StorePool store;
  Fetcher fetcher;
  Refresher refresher;
  Worker worker;
  std::uint64_t alive = 0;    ///< workers in the partition as of the last heartbeat; 0: no heartbeat yet
  const std::string does;     ///< roles_text()
  std::string configuration;  ///< common_digests() of the current configuration
};

/// Used on the first loop's thread.
class OtherLoops {
 public:
  /// Creates one loop per task, each with `cpu_threads` reading threads; start() runs them. `config` is only read by
  /// the constructor. `first`: the first loop's executor.
  OtherLoops(boost::asio::any_io_executor first, const Config& config, std::size_t cpu_threads,
             std::vector<IngestTask> tasks, const SharedByLoops& shared);
  /// Stops loops that still run, without a drain; needed only after an exception.
  ~OtherLoops();
  OtherLoops(const OtherLoops&) = delete;
  OtherLoops& operator=(const OtherLoops&) = delete;

  /// Starts the threads. Throws std::system_error if the system refuses one; threads already started continue. The
  /// second argument is a coroutine that each loop runs until its worker has ended; it must not throw. `failed` is
  /// called on the first loop when another loop has ended with an exception.
  void start(const std::string& store_id, const std::function<boost::asio::awaitable<void>(IngestParts&)>& beside,
             std::function<void()> failed);
  /// Waits until all loops have ended; at once if none was started. Returns the worst result, or rethrows a loop's
  /// exception.
  boost::asio::awaitable<Worker::End> ended();

  /// Posts `work(IngestParts&)` to each thread.
  template <class Work>
  void tell(const Work& work) {
    for (const auto& other : loops_) boost::asio::post(other->loop, [&parts = other->parts, work] { work(parts); });
  }
  /// Spawns the coroutine `work(IngestParts&)` on each thread. An exception ends the process, as on the first loop.
  template <class Work>
  void spawn(const Work& work) {
    for (const auto& other : loops_) {
      boost::asio::co_spawn(other->loop, work(other->parts), [](const std::exception_ptr& error) {
        if (error) std::rethrow_exception(error);
      });
    }
  }

  /// The sum over these loops of a figure that may be read from any thread.
  template <class Figure>
  auto sum(const Figure& figure) const {
    decltype(figure(std::declval<const IngestParts&>())) all{};
    for (const auto& other : loops_) all += figure(other->parts);
    return all;
  }
  /// CPU time used by each thread.
  std::vector<std::chrono::nanoseconds> cpu_times() const;
  /// Replaces passed checks by failed ones of these loops.
  void add_to(std::vector<Check>& checks) const;

 private:
  /// One additional loop with its thread and parts.
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
    bool runs = false;         ///< accessed only on the first loop's thread
    mutable std::mutex mutex;  ///< guards the members below
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
