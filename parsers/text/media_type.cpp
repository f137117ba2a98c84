#include "parsers/text/media_type.hpp"

#include <algorithm>

#include "parsers/text/limits.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill {

std::string media_type(std::string_view declared) {
  const auto is_name = [](std::string_view name) {
    const auto fits = [](char c) { return is_alnum(c) || std::string_view("!#$&-^_.+").find(c) != npos; };
    return !name.empty() && is_alnum(name.front()) && std::ranges::all_of(name, fits);
  };
  const std::string_view type = trim(declared.substr(0, declared.find_first_of(";,")));
  const std::size_t slash = type.find('/');
  if (slash == npos || type.size() > limits::word || !is_name(type.substr(0, slash)) ||
      !is_name(type.substr(slash + 1)))
    return {};
  return lower(type);
}

}  // namespace feedmill
