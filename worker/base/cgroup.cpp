#include "worker/base/cgroup.hpp"

#include <algorithm>
#include <fstream>

#include "parsers/text/strings.hpp"

namespace feedmill {

namespace fs = std::filesystem;

std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::string text;
  std::uint64_t number = 0;
  if (!(in >> text)) return std::nullopt;
  if (!read_number(text, number)) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> cgroup_limit(const std::string& file, const fs::path& root) {
  std::optional<std::uint64_t> least;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::")) continue;  // cgroup v2
    fs::path group = fs::path(line.substr(3)).relative_path();
    for (;; group = group.parent_path()) {
      if (const auto number = number_in(root / "sys/fs/cgroup" / group / file))
        least = std::min(least.value_or(*number), *number);
      if (group.empty()) break;
    }
  }
  return least;
}

}  // namespace feedmill
