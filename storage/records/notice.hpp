// A notice to store.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

/// A notice for a user.
struct Notice {
  std::string user;
  std::string id;                     ///< unique per user: equal ids are the same notice
  std::string json;                   ///< JSON object, not empty; the store prepends the member "read"
  std::int64_t timestamp = 0;         ///< of its subject, unix seconds
  std::string feed_url{};             ///< feed it is about, "" = none
  std::vector<std::string> topics{};  ///< the watches that matched, "<kind> <watched>"
};

/// Why `user` cannot receive notices: its channel is reserved (DESIGN §4). "" = it can.
std::string_view objection_to_user(std::string_view user);

/// The message published for a notice (DESIGN §4).
std::string notice_message(const Notice& notice);

}  // namespace feedmill
