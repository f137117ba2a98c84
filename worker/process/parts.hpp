// The parts that serve one store.
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
#include "worker/observe/metrics.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/operations/request_work.hpp"
#include "worker/process/ingest_parts.hpp"
#include "worker/process/other_loops.hpp"
#include "worker/process/run_options.hpp"
#include "worker/process/sd_notify.hpp"
#include "worker/push_out/push_out.hpp"
#include "worker/redis_server/private_server.hpp"
#include "worker/timelines/deliver_loop.hpp"
#include "worker/websub/websub.hpp"

namespace feedmill {

/// "127.0.0.1:9810", "[::1]:9810"
std::string address_text(const boost::asio::ip::tcp::endpoint& endpoint);

struct ServedParts;

/// Shared by all stores of a process; outlives their parts.
struct SharedByStores {
  boost::asio::io_context& loop;  ///< the process' first loop; everything runs on it except the other loops
  MemoryBudget& memory;
  ReadingThreads& reading;  ///< of `loop`
  Looks& looks;
  PushOut::Memory& push_out;
  SdNotify& notify;
  StoresAway& away;                    ///< which stores are unavailable
  Log& log;                            ///< for messages about all stores
  std::size_t stores = 1;              ///< number of stores
  std::function<std::string()> state;  ///< status line for the service manager
  /// Troubles of the other stores, by partition; "" if none.
  std::function<std::string(const ServedParts& mine)> trouble_beside;
  std::function<void(int code)> leave;  ///< ends the process without waiting for this store, which does not answer
};

/// Task for serving one store.
struct ServeTask {
  std::string id;  ///< worker_id(), of the first loop and of the log
  Config config;
  ConfigSources sources;  ///< where `config` was read from; SIGHUP reads it again
  EgressPolicies egress;
  std::string redis_url;
  EmbeddedRedis* server = nullptr;  ///< null: an operator's own Redis; outlives the process' parts
  RunMode mode{};
  WorkerScope scope;
  std::function<void(const Report&)> tell;  ///< called after each refresh; may be empty
  Log* log = nullptr;                       ///< outlives the parts
};

/// The parts that serve one store, in the order of construction; destroyed in reverse. Driven by
/// opening, stopping, reloading, fleet_watch and process_status.
struct ServedParts {
  ServedParts(ServeTask task, SharedByStores shared);
  ~ServedParts() { shared.reading.pool().join(); }
  ServedParts(const ServedParts&) = delete;
  ServedParts& operator=(const ServedParts&) = delete;

  bool is_ready() const { return opened && !ingest.worker.stopping() && outages.is_up(); }
  /// Level of messages that every store would log at once; with several stores the process logs them itself.
  LogLevel level_among_others() const { return shared.stores == 1 ? LogLevel::info : LogLevel::debug; }
  /// Why the store is not ready, for the service manager; "" if it is.
  std::string trouble() const;
  /// Additional remarks, each with a leading ", ": a rejected reload.
  std::string remarks() const;
  /// Sum over all loops of a figure that may be read from any thread.
  template <class Figure>
  auto of_all_loops(const Figure& figure) const {
    return figure(ingest) + other_loops.sum(figure);
  }
  /// Refreshes in flight on all loops.
  std::size_t in_flight() const {
    return of_all_loops([](const IngestParts& one) { return one.worker.in_flight(); });
  }
  std::size_t all_lanes() const { return lanes * loops; }
  std::uint64_t unanswered_bytes() const {
    return of_all_loops([](const IngestParts& one) { return one.refresher.unanswered_bytes(); });
  }
  /// Failed checks of any loop (RELIABILITY H1).
  std::vector<Check> live_checks() const;
  /// For one loop, from the current `config`.
  FetchOptions fetch_options_with(EgressPolicies egress);
  /// For pushing out, from the current `config`: its own connections.
  FetchOptions push_out_fetch_options(EgressPolicies egress);
  /// Logs one line and counts the bug.
  void report_bug(const char* part, const char* what);
  /// Runs `work(IngestParts&)` on every fetching loop: at once on this one, posted to the others.
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
  const std::size_t descriptors;  // this store's share of the process' descriptors
  const std::size_t loops;        // loops that fetch
  const std::size_t lanes;        // per loop
  const std::string configuration = configuration_digest(config);
  Metrics metrics;
  boost::asio::io_context& loop;
  boost::asio::steady_timer nap{loop};  // for waits of the work itself; a stop cancels it
  BlockingCalls side;                   // blocking calls of the private server
  MemoryBudget& memory;
  Outages outages{metrics, log, shared.away, [this] { suspect_server(); }};
  StatusHistory history{std::chrono::steady_clock::now()};
  const std::string id;
  const std::function<void(const Report&)> tell;
  IngestParts ingest;  // the first loop's; everything else here uses its store, too
  OtherLoops other_loops;
  StatusPages pages;
  DeliverLoop deliver;
  Looks& looks;
  RequestLoop requests;
  Api api;
  std::unique_ptr<WebSub> websub;        // null: no hub is subscribed to
  std::unique_ptr<PushOut> push_out;     // null: another worker pushes out, or none
  std::uint64_t requests_set_aside = 0;  // as fleet_watch last saw it
  bool opened = false;                   // the store has answered and may be used
  StoreError opening_trouble{StoreError::Code::unavailable, "not connected yet"};  // why it is not opened
  Milliseconds clock_offset{};  // our clock minus Redis' at the last check
  std::string reload_refused;   // why the last SIGHUP changed nothing; "" if it succeeded
  std::string restart_awaited;  // keys changed since the start that need a restart

 private:
  IngestTask ingest_task(std::string worker, EgressPolicies egress);
  std::vector<IngestTask> other_tasks(const EgressPolicies& egress);
  void suspect_server();
  SharedByLoops shared_by_first();
  SharedByLoops shared_by_others();
};

}  // namespace feedmill
