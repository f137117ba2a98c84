// What a probe looks at.
#pragma once

#include <string>

namespace feedmill {

/// One thing a probe depends on. `detail` is for people, shown with ?verbose.
struct Check {
  std::string name;
  bool passed = false;
  std::string detail;
};

}  // namespace feedmill
