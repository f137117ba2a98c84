// The overview for programs: /status.json (OPERATIONS §6).
#pragma once

#include <boost/json/object.hpp>

#include "worker/admin/status.hpp"

namespace feedmill {

/// All that the page shows, `schema` first; times RFC 3339, durations in seconds, sizes in bytes. What the store would
/// say is null while it does not answer.
boost::json::object status_json(const Status& status);

/// The same without secrets in any text (SECURITY K1).
boost::json::value without_secrets(boost::json::value value);

}  // namespace feedmill
