// Reloads the configuration (RELIABILITY D5, HTTP D8).
#pragma once

#include <boost/asio/awaitable.hpp>

#include "worker/process/parts.hpp"

namespace feedmill {

/// Applies the keys that may change at runtime and logs the others. A rejected configuration changes nothing.
boost::asio::awaitable<void> reload(ServedParts& parts);

}  // namespace feedmill
