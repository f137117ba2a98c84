// What a running process is made of.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "worker/admin/admin.hpp"
#include "worker/admin/status_history.hpp"
#include "worker/admin/status_pages.hpp"
#include "worker/api/api.hpp"
#include "worker/base/log.hpp"
#include "worker/hub/push_out.hpp"
#include "worker/ingest/liveness.hpp"
#include "worker/ingest/worker.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/process/run_options.hpp"
#include "worker/process/sd_notify.hpp"
#include "worker/redis_server/private_server.hpp"
#include "worker/requests/request_loop.hpp"
#include "worker/timelines/deliver_loop.hpp"
#include "worker/websub/websub.hpp"

namespace feedmill {

/// What a process is to do, and with what.
struct ProcessTask {
  std::string id;  ///< 32 hex digits, random for each process (RELIABILITY L2)
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
  ~ProcessParts() { threads.pool().join(); }
  ProcessParts(const ProcessParts&) = delete;
  ProcessParts& operator=(const ProcessParts&) = delete;

  bool is_ready() const { return opened && !worker.stopping() && worker.store_is_usable(); }
  /// What the service manager is told of us.
  std::string state() const;
  /// Of `config` as it is now.
  FetchOptions fetch_options_with(EgressPolicies egress);
  /// The same for what pushes out: connections of its own.
  FetchOptions push_out_fetch_options(EgressPolicies egress);
  /// One line, counted.
  void report_bug(const char* part, const char* what);

  Config config;  // SIGHUP changes it
  const ConfigSources sources;
  const RunMode mode;
  Log& log;
  EmbeddedRedis* const server;
  const std::string redis_url;
  const std::size_t descriptors;  // that this process may have
  const std::size_t lanes;
  const std::string configuration = configuration_digest(config);
  Metrics metrics;
  SdNotify notify = SdNotify::from_environment();
  boost::asio::io_context loop{1};
  boost::asio::steady_timer nap{loop};  // of the work itself; cancelled when it is told to stop
  boost::asio::thread_pool side{1};     // blocking odds and ends of the private server
  MemoryBudget memory;
  ReadingThreads threads;
  Liveness liveness;
  StorePool store;
  StatusHistory history{std::chrono::steady_clock::now()};
  Fetcher fetcher;
  Refresher refresher;
  WorkerOptions options;
  Worker worker;
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
};

}  // namespace feedmill
