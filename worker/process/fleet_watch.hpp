// What a worker tells the others, and what it hears of them.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "storage/records/fleet_figures.hpp"
#include "storage/records/request_figures.hpp"
#include "worker/process/parts.hpp"

namespace feedmill {

/// Says every few seconds in a partition, one of so many stores that the process serves, that a loop's worker lives, on
/// that loop, once the store was opened. Until cancelled.
boost::asio::awaitable<void> beat(IngestParts& loop, const Partition& partition, std::size_t stores, Metrics& metrics);

/// Pauses and removes feeds that nobody follows (feeds.orphan_after; RELIABILITY L19), in steps: others' calls of the
/// store come between.
boost::asio::awaitable<void> look_after_orphans(ServedParts& parts);

/// How long figures hold that nothing is due, under way or asked for by then: until a feed is due, `longest` at most.
Milliseconds quiet_for(const FleetFigures& figures, const RequestFigures& requests, Milliseconds longest);

/// Figures of the fleet and of the stream for metrics and pacing, whether the server still keeps what it is given; and
/// what one worker does for all, on a lease (RELIABILITY L23). Until cancelled.
boost::asio::awaitable<void> watch_fleet(ServedParts& parts);

}  // namespace feedmill
