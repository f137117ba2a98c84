// Who we say we are to other workers and to people.
#pragma once

#include <string>

#include <unistd.h>

namespace feedmill {

/// What this machine calls itself.
inline std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace feedmill
