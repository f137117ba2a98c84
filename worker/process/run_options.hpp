// What each part of a running worker is told of the configuration.
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
#include "worker/discovery/probe.hpp"
#include "worker/http/fetch.hpp"
#include "worker/hub/outside_listener.hpp"
#include "worker/hub/push_out.hpp"
#include "worker/ingest/refresh.hpp"
#include "worker/ingest/worker.hpp"
#include "worker/requests/request_work.hpp"
#include "worker/timelines/deliver_loop.hpp"
#include "worker/websub/callback_listener.hpp"
#include "worker/websub/websub.hpp"

namespace feedmill {

/// The policy of all feeds that name none, and those that may be named (SECURITY E8).
struct EgressPolicies {
  EgressPolicy standard;
  std::map<std::string, EgressPolicy, std::less<>> named;
};

/// The error says what is wrong with which.
boost::system::result<EgressPolicies, std::string> egress_policies(const Config& config);

/// 16 hex digits that are equal for equal effective values; secrets count as set or not.
std::string configuration_digest(const Config& config);

/// The store's options as the configuration says them; `url` is where it is reached.
StoreOptions store_options(const Config& config, std::string url);

/// How documents and a private server share the memory that there is.
MemoryPlan memory_plan(const Config& config);
/// What of it all documents share: the total of a MemoryBudget. What the largest one may need is set aside.
std::uint64_t shared_memory(const Config& config);

/// Partitions that each loop of a process is connected to besides the one that it serves, as StorePool::call_at() has
/// it. `stores`: that the process serves.
std::size_t other_partitions(const Config& config, std::size_t stores);

/// How many lanes so many descriptors carry, with so many other_partitions(). Connections to Redis are made when
/// needed: were all descriptors taken by those to publishers, nothing fetched could be stored.
std::size_t lanes_within(std::size_t descriptors, std::size_t others);

/// How many there may be at most; 0: it is not known.
std::size_t descriptor_limit();
/// How many stores a worker of this configuration serves: all partitions where none is named (RELIABILITY L29).
std::size_t stores_of(const Config& config);
/// How often a process that serves so many stores asks each of them for what it costs commands to know even where
/// nothing happens (RELIABILITY L33): each `of_most` where it serves 256, of fewer in proportion, so that all together
/// are asked for as much, but no more often than each `usual`.
Milliseconds idle_pace(std::size_t stores, Milliseconds usual, Milliseconds of_most);
/// How long one wait at the server for something to happen lasts.
Milliseconds wait_in_redis(std::size_t stores);
/// With fewer a daemon cannot work: what the process has open, each loop, its connections to Redis, and a few fetches.
std::size_t least_descriptors(const Config& config);

/// Whose lanes they are where `stores` or `loops` are more than one: " for each of 16 partitions", else "".
std::string lanes_of_each(std::size_t stores, std::size_t loops);

/// How many connections may wait for their next use beside so many lanes (HTTP X1).
std::size_t kept_within(std::size_t descriptors, std::size_t lanes);

/// How many threads each of the loops that fetch reads documents with.
std::size_t reading_threads(const Config& config, std::size_t loops);
/// With fewer threads and processes a daemon cannot work; it begins more while its calls to the store take long.
std::size_t least_tasks(const Config& config);

/// What a process of ours is for: the daemon puts off what cannot be had now, the others wait for it.
enum class RunMode { daemon, once, selected };

/// How many loops of a process fetch.
std::size_t loops_of(const Config& config, RunMode mode);

RefreshOptions refresh_options(const Config& config, RunMode mode);

/// 32 hex digits that no other worker has: random for each process, but for the last four, which say which of its loops
/// it is (RELIABILITY L2).
std::string worker_id();
/// Of another loop of the process whose first has `first`; `loop`: from 1 on.
std::string worker_id(const std::string& first, std::size_t loop);

/// `id`: worker_id(). `stores`: that the process serves.
WorkerOptions worker_options(const Config& config, std::string id, std::size_t lanes, std::size_t stores);

/// `token`: as the id of WorkerOptions.
DeliverLoop::Options deliver_options(const Config& config, const std::string& token, RunMode mode, std::size_t stores);

/// `token`: as the id of WorkerOptions.
Requests::Options request_options(const Config& config, const std::string& token);
RequestRules request_rules(const Config& config);

/// `url`: where the store is reached.
Api::Options api_options(const Config& config, std::string url);
/// Of a listener of the API's own.
Listener::Places api_places();

/// Nothing when hubs are not to be subscribed to.
std::optional<WebSub::Options> websub_options(const Config& config, const std::string& id, RunMode mode);

/// Nothing when this process is not to tell others. Without how receivers are reached. `token`: as the id of
/// WorkerOptions.
std::optional<PushOut::Options> push_out_options(const Config& config, const std::string& token, RunMode mode,
                                                 std::size_t descriptors, std::size_t stores);

/// Of the listeners that hubs and others outside reach, where the configuration has them.
CallbackListener::Options callback_options(const Config& config);
OutsideListener::Options outside_options(const Config& config);

/// For one look at an address at a time, as verbs and programs have it. `config` as load_config gives it: its policies
/// can be read.
FetchOptions look_options(const Config& config);
ProbeOptions probe_options(const Config& config);
FetchOptions fetch_options(const Config& config, EgressPolicies egress, std::size_t lanes, RunMode mode);

}  // namespace feedmill
