// The parts that refresh feeds on one event loop.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include <boost/asio/any_io_executor.hpp>

#include "worker/base/log.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/config/config.hpp"
#include "worker/http/fetch.hpp"
#include "worker/ingest/liveness.hpp"
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

}  // namespace feedmill
