// Options of each part of a running worker, derived from the configuration.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/system/result.hpp>

#include "storage/store/store.hpp"
#include "worker/api/api.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/config/config.hpp"
#include "worker/http/fetch.hpp"
#include "worker/ingest/refresh.hpp"
#include "worker/ingest/worker.hpp"
#include "worker/operations/probe.hpp"
#include "worker/operations/request_work.hpp"
#include "worker/push_out/outside.hpp"
#include "worker/push_out/push_out.hpp"
#include "worker/timelines/deliver_loop.hpp"
#include "worker/websub/callbacks.hpp"
#include "worker/websub/websub.hpp"

namespace feedmill {

/// The default policy, and those that feeds may name (SECURITY E8).
struct EgressPolicies {
  EgressPolicy standard;
  std::map<std::string, EgressPolicy, std::less<>> named;
};

/// Errors name the policy and what is wrong with it.
boost::system::result<EgressPolicies, std::string> egress_policies(const Config& config);

/// 16 hex digits, equal for equal effective values; of a secret only whether it is set counts.
std::string configuration_digest(const Config& config);

/// The configured options of the store at `url`.
StoreOptions store_options(const Config& config, std::string url);

/// Splits the available memory between documents and a private server.
MemoryPlan memory_plan(const Config& config);
/// The documents' share: the total of a MemoryBudget, without the reserve for the largest document.
std::uint64_t shared_memory(const Config& config);

/// Other partitions that each loop connects to (StorePool::call_at()). `stores`: number served by the process.
std::size_t other_partitions(const Config& config, std::size_t stores);

/// Lanes that fit into so many descriptors, with so many other_partitions(). Reserves descriptors for Redis, whose
/// connections are made on demand: without one no fetched feed could be stored.
std::size_t lanes_within(std::size_t descriptors, std::size_t others);

/// The limit of open descriptors; 0 if unknown.
std::size_t descriptor_limit();
/// Stores that a worker serves: all partitions if the configuration names none (RELIABILITY L29).
std::size_t stores_of(const Config& config);
/// Interval of polls that cost Redis commands even when idle (RELIABILITY L33): `of_most` with 256 stores, in
/// proportion with fewer, so that the total rate is constant; at least `usual`.
Milliseconds idle_pace(std::size_t stores, Milliseconds usual, Milliseconds of_most);
/// Duration of one blocking wait at the server.
Milliseconds wait_in_redis(std::size_t stores);
/// Least descriptors for a daemon: the process' own, each loop's, Redis connections and a few fetches.
std::size_t least_descriptors(const Config& config);

/// " for each of 16 partitions" if there are several `stores` or `loops`, else "".
std::string lanes_of_each(std::size_t stores, std::size_t loops);

/// Idle connections to keep in addition to so many lanes (HTTP X1).
std::size_t kept_within(std::size_t descriptors, std::size_t lanes);

/// Reading threads of each fetching loop.
std::size_t reading_threads(const Config& config, std::size_t loops);
/// Least threads and processes for a daemon; it starts more while store calls are slow.
std::size_t least_tasks(const Config& config);

/// The daemon defers what is unavailable; the other modes wait for it.
enum class RunMode { daemon, once, selected };

/// Loops of a process that fetch.
std::size_t loops_of(const Config& config, RunMode mode);

RefreshOptions refresh_options(const Config& config, RunMode mode);

/// A unique worker id: 28 random hex digits of the process and four for the loop (RELIABILITY L2).
std::string worker_id();
/// Id of another loop of the process; `first`: its first loop's id, `loop`: from 1.
std::string worker_id(const std::string& first, std::size_t loop);

/// `id`: worker_id(). `stores`: number served by the process.
WorkerOptions worker_options(const Config& config, std::string id, std::size_t lanes, std::size_t stores);

/// `token`: worker_id().
DeliverLoop::Options deliver_options(const Config& config, const std::string& token, RunMode mode, std::size_t stores);

/// `token`: worker_id().
Requests::Options request_options(const Config& config, const std::string& token);
RequestRules request_rules(const Config& config);

/// `url`: where the store is.
Api::Options api_options(const Config& config, std::string url);
/// For a listener dedicated to the API.
Listener::Places api_places();

/// Empty if WebSub is disabled.
std::optional<WebSub::Options> websub_options(const Config& config, const std::string& id, RunMode mode);

/// Empty if this process does not push out. Without the fetch options. `token`: worker_id().
std::optional<PushOut::Options> push_out_options(const Config& config, const std::string& token, RunMode mode,
                                                 std::size_t descriptors, std::size_t stores);

/// The listeners for hubs and for outside clients; call only if configured.
CallbackListener::Options callback_options(const Config& config);
OutsideListener::Options outside_options(const Config& config);

/// For one probe at a time, as in verbs and the API. `config` must come from load_config, so that its policies parse.
FetchOptions look_options(const Config& config);
ProbeOptions probe_options(const Config& config);
FetchOptions fetch_options(const Config& config, EgressPolicies egress, std::size_t lanes, RunMode mode);

}  // namespace feedmill
