// Answers of a process to HTTP clients, for one store or for all partitions of a deployment (RELIABILITY L29).
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

// Status of a running process for probes, scrapes, pages and the log.

struct ServedParts;

/// The checks of RELIABILITY H2, failed or passed.
std::vector<Check> ready_checks(const ServedParts& parts);

/// Schedules a fetch of the known feeds among these URLs, at most once in five minutes each (OPERATIONS §6).
boost::asio::awaitable<Pinged> ping(ServedParts& parts, std::vector<std::string> texts);

/// Updates the sampled gauges.
void note_figures(ServedParts& parts);

/// The process, as the status page shows it.
ProcessStatus process_status(ServedParts& parts);

/// Logs one status line (RELIABILITY D5).
boost::asio::awaitable<void> tell_status(ServedParts& parts);

}  // namespace feedmill
