// A notice on its way into the store.
#pragma once

#include <string>

namespace feedmill {

/// A notice on its way to a user.
struct Notice {
  std::string user;
  std::string id;    ///< unique for the user: an equal one is the same notice
  std::string json;  ///< JSON object, not empty; the store puts the member "read" in front
};

}  // namespace feedmill
