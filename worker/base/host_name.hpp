// This machine's name, shown to other workers and to users.
#pragma once

#include <string>

#include <unistd.h>

namespace feedmill {

/// The hostname reported by the system.
inline std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace feedmill
