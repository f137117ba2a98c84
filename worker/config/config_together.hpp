// What must hold between options.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "worker/config/config.hpp"

namespace feedmill {

/// What is known of options, by their keys, and what comes of the checks.
struct Verdicts {
  std::function<bool(std::initializer_list<std::string_view> keys)> sound;  ///< nothing is wrong with any of them
  std::function<void(std::string_view key, std::string remedy)> add;        ///< something is
};

/// Compares those alone that are sound by themselves. May look for files that options name.
void check_together(const Config& config, bool in_kubernetes, const Verdicts& verdicts);

}  // namespace feedmill
