#include "worker/command_line/values.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "worker/config/config.hpp"

namespace feedmill {

std::string did_you_mean(std::string_view name, std::span<const std::string_view> names) {
  const std::string_view nearest = nearest_name(name, names);
  return nearest.empty() ? std::string() : fmt::format(", did you mean {}?", nearest);
}

void refuse(std::string text) {
  throw CLI::ValidationError(std::move(text));
}

}  // namespace feedmill
