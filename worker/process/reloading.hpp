// The configuration, read again (RELIABILITY D5, HTTP D8).
#pragma once

#include <boost/asio/awaitable.hpp>

#include "worker/base/posix_signals.hpp"
#include "worker/process/parts.hpp"

namespace feedmill {

/// Takes over what may change in the middle, at each of `hang_ups`. Until cancelled.
boost::asio::awaitable<void> obey_hang_ups(ProcessParts& parts, BlockedPosixSignals& hang_ups);

}  // namespace feedmill
