// The overview as JSON: /status.json (OPERATIONS §6).
#pragma once

#include <boost/json/object.hpp>

#include "worker/admin/status.hpp"

namespace feedmill {

/// Everything that the page shows, `schema` first; times in RFC 3339, durations in seconds, sizes in bytes. Store
/// values are null while the store does not answer.
boost::json::object status_json(const Status& status);

/// `value` without secrets in any string (SECURITY K1).
boost::json::value without_secrets(boost::json::value value);

}  // namespace feedmill
