// The parts of a process that serve one store.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
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
#include "worker/process/other_loops.hpp"
#include "worker/process/run_options.hpp"
#include "worker/process/sd_notify.hpp"
#include "worker/push_out/push_out.hpp"
#include "worker/redis_server/private_server.hpp"
#include "worker/timelines/deliver_loop.hpp"
#include "worker/websub/websub.hpp"

namespace feedmill {

/// As "127.0.0.1:9810" or "[::1]:9810".
std::string address_text(const boost::asio::ip::tcp::endpoint& endpoint);

struct ServedParts;

/// Shared by all stores of a process; must outlive their parts.
struct SharedByStores {
  boost::asio::io_context& loop;  ///< the process' first loop; runs everything except the other loops
  MemoryBudget& memory;
  ReadingThreads& reading;  ///< the threads of `loop`
  Looks& looks;
  PushOut::Memory& push_out;
  SdNotify& notify;
  StoresAway& away;                    ///< which stores are unavailable
  Log& log;                            ///< for messages about all stores
  std::size_t stores = 1;              ///< number of stores in the process
  std::function<std::string()> state;  ///< status line for the service manager
  /// The problems of all other stores, by partition; "" if there are none.
  std::function<std::string(const ServedParts& mine)> trouble_beside;
  std::function<void(int code)> leave;  ///< gives this store up, so that the process may end without it
};

/// What to serve, for one store.
struct ServeTask {
  std::string id;  ///< worker_id() of the first loop; also in the log
  Config config;
  ConfigSources sources;  ///< sources of `config`; SIGHUP reads them again
  EgressPolicies egress;
  std::string redis_url;
  EmbeddedRedis* server = nullptr;  ///< null: the store is the operator's own Redis; must outlive the parts
  RunMode mode{};
  WorkerScope scope;
  std::function<void(const Report&)> tell;  ///< called after each refresh; may be empty
  Log* log = nullptr;                       ///< must outlive the parts
};

/// The parts that serve one store, in the order of construction; destroyed in reverse.
/// served_store, stopping, fleet_watch and process_answers drive them.
struct ServedParts {
  ServedParts(ServeTask task, SharedByStores shared);
  ~ServedParts() { shared.reading.pool().join(); }
  ServedParts(const ServedParts&) = delete;
  ServedParts& operator=(const ServedParts&) = delete;

  bool is_ready() const { return opened && !ingest.worker.stopping() && outages.is_up(); }
  /// The level of messages that all stores would log at once; with several stores the process logs them instead.
  LogLevel level_among_others() const { return shared.stores == 1 ? LogLevel::info : LogLevel::debug; }
  /// Why the store is not ready, for the service manager; "" if it is ready.
  std::string trouble() const;
  /// Additions to the status line, each with a leading ", ": a rejected reload.
  std::string remarks() const;
  /// The sum over all loops of a figure that may be read from any thread.
  template <class Figure>
  auto of_all_loops(const Figure& figure) const {
    return figure(ingest) + other_loops.sum(figure);
  }
  /// Running refreshes on all loops.
  std::size_t in_flight() const {
    return of_all_loops([](const IngestParts& one) { return one.worker.in_flight(); });
  }
  std::size_t all_lanes() const { return lanes * loops; }
  std::uint64_t unanswered_bytes() const {
    return of_all_loops([](const IngestParts& one) { return one.refresher.unanswered_bytes(); });
  }
  /// The liveness checks, with the failures of any loop (RELIABILITY H1).
  std::vector<Check> live_checks() const;
  /// Fetch options for one loop, from the current `config`.
  FetchOptions fetch_options_with(EgressPolicies egress);
  /// Fetch options for pushing out, from the current `config`; it has its own connections.
  FetchOptions push_out_fetch_options(EgressPolicies egress);
  /// Logs a bug in one line and counts it.
  void report_bug(const char* part, const char* what);
  /// Runs `work(IngestParts&)` on every loop that fetches: at once on this one, posted to the others.
  template <class Work>
  void on_each_loop(const Work& work) {
    work(ingest);
    other_loops.tell(work);
  }

  Config config;  // replaced on SIGHUP
  const ConfigSources sources;
  const RunMode mode;
  Log& log;
  EmbeddedRedis* const server;
  const std::string redis_url;
  const SharedByStores shared;
  const std::size_t descriptors;  // this store's share of the process' descriptors
  const std::size_t loops;        // loops that fetch
  const std::size_t lanes;        // per loop
  std::string configuration = configuration_digest(config);
  Metrics metrics;
  boost::asio::io_context& loop;
  boost::asio::steady_timer nap{loop};  // for waits of the work itself; stop() cancels it
  BlockingCalls side;                   // for blocking calls about the private server
  MemoryBudget& memory;
  Outages outages{metrics, log, shared.away, [this] { suspect_server(); }};
  StatusHistory history{std::chrono::steady_clock::now()};
  const std::string id;
  const std::function<void(const Report&)> tell;
  IngestParts ingest;  // of the first loop; everything else here also uses its store
  OtherLoops other_loops;
  StatusPages pages;
  DeliverLoop deliver;
  Looks& looks;
  RequestLoop requests;
  Api api;
  std::unique_ptr<WebSub> websub;        // null: disabled
  std::unique_ptr<PushOut> push_out;     // null: another worker pushes out, or none does
  std::optional<FleetFigures> fleet;     // as fleet_watch read them last
  std::uint64_t requests_set_aside = 0;  // value at the last check by fleet_watch
  bool opened = false;                   // the store has answered and may be used
  StoreError opening_trouble{StoreError::Code::unavailable, "not connected yet"};  // why the store is not open yet
  Milliseconds clock_offset{};  // our clock minus Redis' at the last check
  std::string reload_refused;   // why the last SIGHUP had no effect; "" if it succeeded
  std::string restart_awaited;  // changed keys that take effect only after a restart

 private:
  IngestTask ingest_task(std::string worker, EgressPolicies egress);
  std::vector<IngestTask> other_tasks(const EgressPolicies& egress);
  void suspect_server();
  SharedByLoops shared_by_first();
  SharedByLoops shared_by_others();
};

}  // namespace feedmill
