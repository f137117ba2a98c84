// What refreshes feeds on one event loop.
#pragma once

#include <functional>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "worker/base/log.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/config/config.hpp"
#include "worker/http/fetch.hpp"
#include "worker/ingest/liveness.hpp"
#include "worker/ingest/reading_threads.hpp"
#include "worker/ingest/refresh.hpp"
#include "worker/ingest/store_pool.hpp"
#include "worker/ingest/worker.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/process/run_options.hpp"

namespace feedmill {

/// What the loops of a process share, and nothing else (DESIGN §6); all of it takes calls from any thread. Outlives
/// them.
struct SharedByLoops {
  MemoryBudget& memory;
  Metrics& metrics;
  Log& log;
  Outages& outages;
  std::function<void(const Report&)> ended;  ///< a refresh did
  std::function<void(bool)> committed;       ///< a commit was answered: whether it was stored
};

/// How one of them is set up.
struct IngestTask {
  RunMode mode{};
  std::string redis_url;
  FetchOptions fetch;
  WorkerOptions worker;
  WorkerScope scope;
};

/// Used on the loop's thread, but for what is said to take calls from others. Destroyed once the loop has ended.
struct IngestParts {
  /// `reading`: of this loop; outlives this.
  IngestParts(const boost::asio::any_io_executor& loop, ReadingThreads& reading, const Config& config, IngestTask task,
              SharedByLoops shared);

  ReadingThreads& threads;
  Liveness liveness;
  StorePool store;
  Fetcher fetcher;
  Refresher refresher;
  Worker worker;
  std::uint64_t alive = 0;  ///< workers in the partition, as of the last heartbeat; 0: there was none
};

}  // namespace feedmill
