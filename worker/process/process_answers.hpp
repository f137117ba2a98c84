// Answers of a process to HTTP clients, for one store or for all partitions of a deployment (RELIABILITY L29).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "worker/admin/admin.hpp"
#include "worker/listener/by_partition.hpp"
#include "worker/process/served_store.hpp"

namespace feedmill {

/// The stores of one process, in partition order. Outlive the values made from them.
using ServedStores = std::span<const std::unique_ptr<ServedStore>>;

/// Failed checks of all stores, named by partition if there are several (RELIABILITY H1).
std::vector<Check> live_checks_of(ServedStores stores);

/// Probes, metrics and pings for all stores. With several, metrics carry the label `partition`; `together`, labelled
/// "all", has those of the deployment-wide work, or is null.
Health health_of(ServedStores stores, const Metrics* together);

/// Status pages. With several stores, "/p3/status" is partition 3's; a path without a partition redirects to the feed's
/// partition, else to the first.
AdminPages pages_of(ServedStores stores);

/// Endpoints for hubs and for outside clients, by partition, where present.
ByPartition<Callbacks> callbacks_of(ServedStores stores);
ByPartition<Outside> outside_of(ServedStores stores);

/// Connects the APIs of several stores: each forwards a call to its partition, or to `of_all`, null without a merged
/// stream. No-op for one store.
void connect_programs(ServedStores stores, Api* of_all);

}  // namespace feedmill
