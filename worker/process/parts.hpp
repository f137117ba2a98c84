// What serving a store takes.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/admin/status_history.hpp"
#include "worker/admin/status_pages.hpp"
#include "worker/api/api.hpp"
#include "worker/base/blocking_calls.hpp"
#include "worker/base/log.hpp"
#include "worker/hub/push_out.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/process/ingest_parts.hpp"
#include "worker/process/other_loops.hpp"
#include "worker/process/run_options.hpp"
#include "worker/process/sd_notify.hpp"
#include "worker/redis_server/private_server.hpp"
#include "worker/requests/request_loop.hpp"
#include "worker/timelines/deliver_loop.hpp"
#include "worker/websub/websub.hpp"

namespace feedmill {

/// "127.0.0.1:9810", "[::1]:9810"
std::string address_text(const boost::asio::ip::tcp::endpoint& endpoint);

struct ServedParts;

/// What the stores that a process serves share; outlives what serves them.
struct SharedByStores {
  boost::asio::io_context& loop;  ///< of the process, which all of it runs on but the other loops
  MemoryBudget& memory;
  ReadingThreads& reading;  ///< of `loop`
  Looks& looks;
  PushOut::Memory& push_out;
  SdNotify& notify;
  StoresAway& away;                    ///< which of the stores do not serve
  Log& log;                            ///< of what is said of all of them
  std::size_t stores = 1;              ///< how many there are
  std::function<std::string()> state;  ///< what the service manager is told of all of them
  /// What is wrong with the others, named by their partitions; "" when nothing is.
  std::function<std::string(const ServedParts& mine)> trouble_beside;
  std::function<void(int code)> leave;  ///< ends without waiting any longer for this store, which does not answer
};

/// What to do with a store, and with what.
struct ServeTask {
  std::string id;  ///< worker_id(), of the first loop and of the log
  Config config;
  ConfigSources sources;  ///< where `config` was read from, and is read again on SIGHUP
  EgressPolicies egress;
  std::string redis_url;
  EmbeddedRedis* server = nullptr;  ///< null: a Redis of the operator's own; outlives the process' parts
  RunMode mode{};
  WorkerScope scope;
  std::function<void(const Report&)> tell;  ///< called after each refresh; may be empty
  Log* log = nullptr;                       ///< outlives the parts
};

/// The parts that serve one store, in the order they are built; destroyed in the reverse (RELIABILITY D3). Who drives
/// them stands beside: opening, stopping, reloading, fleet_watch, process_status.
struct ServedParts {
  ServedParts(ServeTask task, SharedByStores shared);
  ~ServedParts() { shared.reading.pool().join(); }
  ServedParts(const ServedParts&) = delete;
  ServedParts& operator=(const ServedParts&) = delete;

  bool is_ready() const { return opened && !ingest.worker.stopping() && outages.is_up(); }
  /// Of what all stores of a process say at the same time, and the process says for them.
  LogLevel level_among_others() const { return shared.stores == 1 ? LogLevel::info : LogLevel::debug; }
  /// Why it is not ready, as the service manager is told; "" when it is.
  std::string trouble() const;
  /// What else there is to say, each behind ", ": a reload that was refused.
  std::string remarks() const;
  /// Of what may be asked from any thread: all loops together.
  template <class Figure>
  auto of_all_loops(const Figure& figure) const {
    return figure(ingest) + other_loops.sum(figure);
  }
  /// Refreshes under way on all loops, and how many there may be.
  std::size_t in_flight() const {
    return of_all_loops([](const IngestParts& one) { return one.worker.in_flight(); });
  }
  std::size_t all_lanes() const { return lanes * loops; }
  std::uint64_t unanswered_bytes() const {
    return of_all_loops([](const IngestParts& one) { return one.refresher.unanswered_bytes(); });
  }
  /// What fails in any of them (RELIABILITY H1).
  std::vector<Check> live_checks() const;
  /// Of `config` as it is now, for one loop.
  FetchOptions fetch_options_with(EgressPolicies egress);
  /// The same for what pushes out: connections of its own.
  FetchOptions push_out_fetch_options(EgressPolicies egress);
  /// One line, counted.
  void report_bug(const char* part, const char* what);
  /// Runs `work(IngestParts&)` on every loop that fetches: at once here, some time soon on the others.
  template <class Work>
  void on_each_loop(const Work& work) {
    work(ingest);
    other_loops.tell(work);
  }

  Config config;  // SIGHUP changes it
  const ConfigSources sources;
  const RunMode mode;
  Log& log;
  EmbeddedRedis* const server;
  const std::string redis_url;
  const SharedByStores shared;
  const std::size_t descriptors;  // that this store may have of the process'
  const std::size_t loops;        // that fetch
  const std::size_t lanes;        // of each
  const std::string configuration = configuration_digest(config);
  Metrics metrics;
  boost::asio::io_context& loop;
  boost::asio::steady_timer nap{loop};  // of the work itself; cancelled when it is told to stop
  BlockingCalls side;                   // blocking odds and ends of the private server
  MemoryBudget& memory;
  Outages outages{metrics, log, shared.away, [this] { suspect_server(); }};
  StatusHistory history{std::chrono::steady_clock::now()};
  const std::string id;
  const std::function<void(const Report&)> tell;
  IngestParts ingest;  // of the first loop, whose store all else here asks, too
  OtherLoops other_loops;
  StatusPages pages;
  DeliverLoop deliver;
  Looks& looks;
  RequestLoop requests;
  Api api;
  std::unique_ptr<WebSub> websub;        // null: no hub is subscribed to
  std::unique_ptr<PushOut> push_out;     // null: others are told by another worker, or by none
  std::uint64_t requests_set_aside = 0;  // as fleet_watch last saw it
  bool opened = false;                   // the store has answered and may be used
  StoreError opening_trouble{StoreError::Code::unavailable, "not connected yet"};  // why it may not yet
  Milliseconds clock_offset{};  // our clock minus Redis', as of the last look
  std::string reload_refused;   // why the last SIGHUP changed nothing; "" when it did
  std::string restart_awaited;  // keys that were changed since the start and hold from the next one on

 private:
  IngestTask ingest_task(std::string worker, EgressPolicies egress);
  std::vector<IngestTask> other_tasks(const EgressPolicies& egress);
  void suspect_server();
  SharedByLoops shared_by_first();
  SharedByLoops shared_by_others();
};

}  // namespace feedmill
