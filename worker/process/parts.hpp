// What a running process is made of.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "worker/admin/admin.hpp"
#include "worker/admin/status_history.hpp"
#include "worker/admin/status_pages.hpp"
#include "worker/api/api.hpp"
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

/// What a process is to do, and with what.
struct ProcessTask {
  std::string id;  ///< worker_id(), of the first loop and of the log
  Config config;
  ConfigSources sources;  ///< where `config` was read from, and is read again on SIGHUP
  EgressPolicies egress;
  std::string redis_url;
  EmbeddedRedis* server = nullptr;  ///< null: a Redis of the operator's own; outlives the process' parts
  RunMode mode{};
  WorkerScope scope;
  std::function<void(const Report&)> tell;  ///< called after each refresh; may be empty
};

/// The parts of a running process, in the order they are built; destroyed in the reverse (RELIABILITY D3). Who drives
/// them stands beside: opening, stopping, reloading, fleet_watch, process_status.
struct ProcessParts {
  /// `log` outlives this.
  ProcessParts(ProcessTask task, Log& log);
  ~ProcessParts() { ingest.threads.pool().join(); }
  ProcessParts(const ProcessParts&) = delete;
  ProcessParts& operator=(const ProcessParts&) = delete;

  bool is_ready() const { return opened && !ingest.worker.stopping() && outages.is_up(); }
  /// What the service manager is told of us.
  std::string state() const;
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
  const std::size_t descriptors;  // that this process may have
  const std::size_t loops;        // that fetch
  const std::size_t lanes;        // of each
  const std::string configuration = configuration_digest(config);
  Metrics metrics;
  SdNotify notify = SdNotify::from_environment();
  boost::asio::io_context loop{1};
  boost::asio::steady_timer nap{loop};  // of the work itself; cancelled when it is told to stop
  boost::asio::thread_pool side{1};     // blocking odds and ends of the private server
  MemoryBudget memory;
  Outages outages{metrics, log};
  StatusHistory history{std::chrono::steady_clock::now()};
  const std::string id;
  const std::function<void(const Report&)> tell;
  IngestParts ingest;  // of the first loop, whose store all else here asks, too
  OtherLoops other_loops;
  StatusPages pages;
  DeliverLoop deliver;
  Looks looks;
  RequestLoop requests;
  Api api;
  std::unique_ptr<Listener> api_listener;  // null: the admin listener has it, or nobody
  std::unique_ptr<Admin> admin;            // null: not asked for, or not open yet
  std::unique_ptr<WebSub> websub;          // null: no hub is subscribed to
  std::unique_ptr<PushOut> push_out;       // null: others are told by another worker, or by none
  bool opened = false;                     // the store has answered and may be used
  StoreError opening_trouble{StoreError::Code::unavailable, "not connected yet"};  // why it may not yet
  Milliseconds clock_offset{};  // our clock minus Redis', as of the last look
  std::string reload_refused;   // why the last SIGHUP changed nothing; "" when it did
  std::string restart_awaited;  // keys that were changed since the start and hold from the next one on

 private:
  IngestTask ingest_task(std::string worker, EgressPolicies egress);
  std::vector<IngestTask> other_tasks(const EgressPolicies& egress);
  SharedByLoops shared_by_first();
  SharedByLoops shared_by_others();
};

}  // namespace feedmill
