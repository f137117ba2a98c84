// How a running process says how it is: to probes, scrapes, people and the log.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "worker/admin/admin.hpp"
#include "worker/admin/status.hpp"
#include "worker/base/posix_signals.hpp"

namespace feedmill {

struct ProcessParts;

/// What the admin listener answers with; refers to `parts`.
Health health_of(ProcessParts& parts);

/// What the status page shows of this process.
ProcessStatus process_status(ProcessParts& parts);

/// Writes one line of status into the log at each of `asked` (RELIABILITY D6). Until cancelled.
boost::asio::awaitable<void> tell_status(ProcessParts& parts, BlockedPosixSignals& asked);

}  // namespace feedmill
