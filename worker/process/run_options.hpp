// Derives the options of each part of a running worker from the configuration.
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

/// The default policy, and those that feeds may select by name (SECURITY E8).
struct EgressPolicies {
  EgressPolicy standard;
  std::map<std::string, EgressPolicy, std::less<>> named;
};

/// Parses all policies. An error names the policy and the problem.
boost::system::result<EgressPolicies, std::string> egress_policies(const Config& config);

/// A digest of the effective values, 16 hex digits. For a secret, only whether it is set counts.
std::string configuration_digest(const Config& config);

/// What the worker does: "fetch deliver push_out", without the parts that another worker does.
std::string roles_text(const Config& config);

/// Digests of common_values(), for comparing workers (differing_options()): "egress.allow=1a2b3c4d host=…".
std::string common_digests(const Config& config);

/// The configured options of the store at `url`.
StoreOptions store_options(const Config& config, std::string url);

/// How to split the available memory between documents and a private server.
MemoryPlan memory_plan(const Config& config);
/// The total of a MemoryBudget: the documents' share without the reserve for the largest document.
std::uint64_t shared_memory(const Config& config);

/// The number of other partitions that each loop connects to (StorePool::call_at()). `stores`: number served by the
/// process.
std::size_t other_partitions(const Config& config, std::size_t stores);

/// The number of lanes that `descriptors` allow, with `others` from other_partitions(). Reserves descriptors for Redis
/// because its connections are opened on demand: without them, fetched feeds could not be stored.
std::size_t lanes_within(std::size_t descriptors, std::size_t others);

/// The hard limit of open descriptors; 0 if unknown.
std::size_t descriptor_limit();
/// The number of stores that a worker serves: all partitions, unless the configuration names one (RELIABILITY L29).
std::size_t stores_of(const Config& config);
/// Interval of polls that cost Redis commands even when idle (RELIABILITY L33). `of_most` applies to 256 stores; with
/// fewer it is proportionally shorter, so that the total rate is constant, but at least `usual`.
Milliseconds idle_pace(std::size_t stores, Milliseconds usual, Milliseconds of_most);
/// The duration of one blocking wait in Redis.
Milliseconds wait_in_redis(std::size_t stores);
/// The minimum of descriptors for a daemon: its own, each loop's, Redis connections and a few fetches.
std::size_t least_descriptors(const Config& config);

/// " for each of 16 partitions" or " for each of 4 loops" if there are several; else "".
std::string lanes_of_each(std::size_t stores, std::size_t loops);

/// The number of idle connections to keep in addition to `lanes` (HTTP X1).
std::size_t kept_within(std::size_t descriptors, std::size_t lanes);

/// The number of reading threads of each loop that fetches.
std::size_t reading_threads(const Config& config, std::size_t loops);
/// The minimum of threads and processes for a daemon; it starts more while store calls are slow.
std::size_t least_tasks(const Config& config);

/// A daemon defers feeds when a resource is unavailable; the other modes wait for it.
enum class RunMode { daemon, once, selected };

/// The number of loops of a process that fetch.
std::size_t loops_of(const Config& config, RunMode mode);

RefreshOptions refresh_options(const Config& config, RunMode mode);

/// A unique worker id: 28 random hex digits for the process and four for the loop (RELIABILITY L2).
std::string worker_id();
/// The worker id of another loop of a process. `first`: the id of its first loop; `loop`: from 1.
std::string worker_id(const std::string& first, std::size_t loop);

/// `id`: from worker_id(). `stores`: number served by the process.
WorkerOptions worker_options(const Config& config, std::string id, std::size_t lanes, std::size_t stores);

/// `token`: from worker_id().
DeliverLoop::Options deliver_options(const Config& config, const std::string& token, RunMode mode, std::size_t stores);

RequestRules request_rules(const Config& config);

/// `url`: the store's address.
Api::Options api_options(const Config& config, std::string url);

/// Empty if WebSub is disabled in this process.
std::optional<WebSub::Options> websub_options(const Config& config, const std::string& id, RunMode mode);

/// Options without the fetch options; empty if this process does not push out. `token`: from worker_id().
std::optional<PushOut::Options> push_out_options(const Config& config, const std::string& token, RunMode mode,
                                                 std::size_t descriptors, std::size_t stores);

/// Options of the listeners for hubs and for outside clients; call only if they are configured.
CallbackListener::Options callback_options(const Config& config);
OutsideListener::Options outside_options(const Config& config);

/// Fetch options for one probe at a time, for verbs and the API. `config` must come from load_config(), so that its
/// policies parse.
FetchOptions look_options(const Config& config);
ProbeOptions probe_options(const Config& config);
FetchOptions fetch_options(const Config& config, EgressPolicies egress, std::size_t lanes, RunMode mode);

}  // namespace feedmill
