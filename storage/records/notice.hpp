// A notice on its way into the store.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

/// A notice on its way to a user.
struct Notice {
  std::string user;
  std::string id;                     ///< unique for the user: an equal one is the same notice
  std::string json;                   ///< JSON object, not empty; the store puts the member "read" in front
  std::int64_t timestamp = 0;         ///< of what it tells, unix seconds
  std::string feed_url{};             ///< of what it tells, "" = of no feed
  std::vector<std::string> topics{};  ///< the watches that asked for it, "<kind> <watched>"
};

/// Names of users under which nobody is told of anything: their channels are others' (DESIGN §4). What is wrong with
/// such a name, "" when nothing.
std::string_view objection_to_user(std::string_view user);

/// What is published of a notice (DESIGN §4).
std::string notice_message(const Notice& notice);

}  // namespace feedmill
