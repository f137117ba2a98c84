// Status of a running process for probes, scrapes, pages and the log.
#pragma once

#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "worker/admin/admin.hpp"
#include "worker/admin/status.hpp"

namespace feedmill {

struct ServedParts;

/// The checks of RELIABILITY H2, failed or passed.
std::vector<Check> ready_checks(const ServedParts& parts);

/// Schedules a fetch of the known feeds among these URLs, at most once in five minutes each (OPERATIONS §6).
boost::asio::awaitable<Pinged> ping(ServedParts& parts, std::vector<std::string> texts);

/// Updates the sampled gauges.
void note_figures(ServedParts& parts);

/// The process, as the status page shows it.
ProcessStatus process_status(ServedParts& parts);

/// Logs one status line (RELIABILITY D6).
boost::asio::awaitable<void> tell_status(ServedParts& parts);

}  // namespace feedmill
