// Heartbeats, fleet figures, and the upkeep that one worker does for its partition.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "storage/records/fleet_records.hpp"
#include "storage/store/store.hpp"
#include "worker/process/parts.hpp"

namespace feedmill {

/// Sends the heartbeat of this loop's worker to one partition every few seconds, less often if the process serves many
/// `stores`. Runs on that loop after the store was opened, until cancelled.
boost::asio::awaitable<void> beat(IngestParts& loop, const Partition& partition, std::size_t stores, Metrics& metrics);

/// Pauses and removes orphaned feeds (feeds.orphan_after; RELIABILITY L19) in steps, so that other calls to the store
/// run in between.
boost::asio::awaitable<void> look_after_orphans(ServedParts& parts);

/// How long the figures stay valid: 0 if feeds are due or claimed, requests are waiting or the index is incomplete;
/// otherwise until the next feed is due, at most `longest`.
Milliseconds quiet_for(const FleetFigures& figures, const RequestFigures& requests, Milliseconds longest);

/// Updates the fleet and stream figures for metrics and pacing, and checks Redis' eviction policy. The worker with the
/// lead lease also does the partition's upkeep (RELIABILITY L23). Runs until cancelled.
boost::asio::awaitable<void> watch_fleet(ServedParts& parts);

// Finds the oldest last success among all feeds, in small steps, again and again.

/// Walks the index of feeds repeatedly. A step covers about 2,000 feeds, so that it never blocks the store for long; a
/// million feeds take 500 steps.
class StalenessScan {
 public:
  /// Runs a step; blocking. Call only if FleetFigures::is_indexed. At the end of a round, returns the oldest last
  /// success of any healthy feed (OPERATIONS §3), 0 if there is none. Otherwise empty, also if the store fails; the
  /// round then restarts.
  std::optional<Milliseconds> step(Store& store);

 private:
  std::string after_;
  std::optional<Milliseconds> oldest_;
};

}  // namespace feedmill
