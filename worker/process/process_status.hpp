// How a running process says how it is: to probes, scrapes, people and the log.
#pragma once

#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "worker/admin/admin.hpp"
#include "worker/admin/status.hpp"

namespace feedmill {

struct ServedParts;

/// What fails, or passes, of what RELIABILITY H2 asks for.
std::vector<Check> ready_checks(const ServedParts& parts);

/// Known feeds are to be fetched soon, each once in five minutes (OPERATIONS §6).
boost::asio::awaitable<Pinged> ping(ServedParts& parts, std::vector<std::string> texts);

/// Brings those metrics up to now that are not counted as things happen.
void note_figures(ServedParts& parts);

/// What the status page shows of who serves this store.
ProcessStatus process_status(ServedParts& parts);

/// Writes one line of status into the log (RELIABILITY D6).
boost::asio::awaitable<void> tell_status(ServedParts& parts);

}  // namespace feedmill
