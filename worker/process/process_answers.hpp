// What a process answers those who ask it: for one store, or for all partitions of a deployment (RELIABILITY L29).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "worker/admin/admin.hpp"
#include "worker/listener/by_partition.hpp"
#include "worker/process/served_store.hpp"

namespace feedmill {

/// Of one process, in the order of their partitions. What is made of them refers to them.
using ServedStores = std::span<const std::unique_ptr<ServedStore>>;

/// What fails for any of them, named by its partition where there are several (RELIABILITY H1).
std::vector<Check> live_checks_of(ServedStores stores);

/// Probes, metrics and pings: for all of them. Metrics of several have the label `partition`; `together`: those of what
/// is done for all, with "all" there. Null: there are none.
Health health_of(ServedStores stores, const Metrics* together);

/// Their pages. Of several, "/p3/status" is the one of partition 3, and what names neither leads to the first or, where
/// it names a feed, to the one that has it.
AdminPages pages_of(ServedStores stores);

/// Who answers hubs, and who others outside, for each of them that has it.
ByPartition<Callbacks> callbacks_of(ServedStores stores);
ByPartition<Outside> outside_of(ServedStores stores);

/// From now on the API of each of several leads a call to the partition that it is for, or to `of_all`, which is null
/// where there is no one stream of all. Nothing where there is one.
void connect_programs(ServedStores stores, Api* of_all);

}  // namespace feedmill
