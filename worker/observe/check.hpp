// Parts of a probe.
#pragma once

#include <string>

namespace feedmill {

/// A condition of a probe. `detail` is for people, shown with ?verbose.
struct Check {
  std::string name;
  bool passed = false;
  std::string detail;
};

}  // namespace feedmill
