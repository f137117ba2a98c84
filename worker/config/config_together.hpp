// Checks consistency between options.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "worker/config/config.hpp"

namespace feedmill {

/// The state of options, by key, for the checks and their results.
struct Verdicts {
  std::function<bool(std::initializer_list<std::string_view> keys)> sound;  ///< none of them has a problem
  std::function<void(std::string_view key, std::string remedy)> add;        ///< adds a problem
};

/// Compares only options that are valid by themselves. May check files that options name.
void check_together(const Config& config, bool in_kubernetes, const Verdicts& verdicts);

}  // namespace feedmill
