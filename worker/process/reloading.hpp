// The configuration, read again (RELIABILITY D5, HTTP D8).
#pragma once

#include <boost/asio/awaitable.hpp>

#include "worker/process/parts.hpp"

namespace feedmill {

/// Takes over what may change in the middle, the rest is named. A configuration that is refused changes nothing.
boost::asio::awaitable<void> reload(ServedParts& parts);

}  // namespace feedmill
