// A subscriber's request to the hub (WEBSUB U2, U3, U8). Pure.
#pragma once

#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include "storage/redis/values.hpp"

namespace feedmill {

struct HubRequest {
  std::string mode;      ///< subscribe, unsubscribe
  std::string callback;  ///< canonical; its query is kept
  std::string topic;     ///< as received
  std::string secret;    ///< less than 200 bytes, "" = none
  Milliseconds lease{};  ///< 1 h to 30 d; default 10 d
};

/// Parses a request (application/x-www-form-urlencoded, decoded once). Ignores unknown parameters; known ones must not
/// repeat. The error is plain text for the subscriber.
boost::system::result<HubRequest, std::string> read_hub_request(std::string_view form);

}  // namespace feedmill
