#include "worker/process/ingest_parts.hpp"

#include <utility>

namespace feedmill {

IngestParts::IngestParts(const boost::asio::any_io_executor& loop, ReadingThreads& reading, const Config& config,
                         IngestTask task, SharedByLoops shared)
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

}  // namespace feedmill
