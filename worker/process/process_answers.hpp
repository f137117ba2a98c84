// How a process answers HTTP clients, for one store or for all partitions of a deployment (RELIABILITY L29).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "worker/admin/admin.hpp"
#include "worker/admin/status.hpp"
#include "worker/listener/by_partition.hpp"
#include "worker/process/served_store.hpp"

namespace feedmill {

/// The stores of one process, in partition order; must outlive everything made from them.
using ServedStores = std::span<const std::unique_ptr<ServedStore>>;

/// The liveness checks of all stores; details name the partition if there are several (RELIABILITY H1).
std::vector<Check> live_checks_of(ServedStores stores);

/// Probes, metrics and pings for all stores. With several, metrics have the label `partition`. `together`: metrics of
/// the deployment-wide work, with the label "all"; or null.
Health health_of(ServedStores stores, const Metrics* together);

/// The status pages. With several stores, "/status" is the overview of all and "/p3/status" belongs to partition 3;
/// other paths without a partition redirect to the partition of the feed in the query, or else to the first.
AdminPages pages_of(ServedStores stores);

/// The endpoints for hubs and for outside clients, by partition; stores without one are omitted.
ByPartition<Callbacks> callbacks_of(ServedStores stores);
ByPartition<Outside> outside_of(ServedStores stores);

/// Connects the APIs of several stores: each forwards a call to its partition or to `of_all`, which is null without a
/// merged stream. No-op with one store.
void connect_programs(ServedStores stores, Api* of_all);

// Status of a running process for pages and the log.

/// The process as shown on the status page of one store.
ProcessStatus process_status(ServedParts& parts);

/// Logs one status line (RELIABILITY D5).
boost::asio::awaitable<void> tell_status(ServedParts& parts);

}  // namespace feedmill
