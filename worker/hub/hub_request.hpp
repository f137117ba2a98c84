// What a subscriber asks the hub for (WEBSUB U2, U3, U8). Pure.
#pragma once

#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include "storage/redis/values.hpp"

namespace feedmill {

struct HubRequest {
  std::string mode;      ///< subscribe, unsubscribe
  std::string callback;  ///< canonical; its query is kept
  std::string topic;     ///< as it was sent
  std::string secret;    ///< below 200 bytes, "" = none
  Milliseconds lease{};  ///< 1 h to 30 d; 10 d where none was asked for
};

/// The form of a request, application/x-www-form-urlencoded, decoded once. Parameters that nobody knows are passed
/// over; of those that are known none may stand twice. The error says what is wrong, in plain text for the subscriber.
boost::system::result<HubRequest, std::string> read_hub_request(std::string_view form);

}  // namespace feedmill
