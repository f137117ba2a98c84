#include "worker/listener/by_partition.hpp"

#include "parsers/text/strings.hpp"

namespace feedmill {

std::string path_of_partition(std::size_t partition) {
  return "/p" + std::to_string(partition);
}

std::optional<std::pair<std::size_t, std::string_view>> named_partition(std::string_view path) {
  const std::size_t end = path.find('/', 1);
  std::size_t partition = 0;
  if (!path.starts_with("/p") || end == std::string_view::npos) return std::nullopt;
  if (!read_number(path.substr(2, end - 2), partition)) return std::nullopt;
  if (path.substr(0, end) != path_of_partition(partition)) return std::nullopt;  // reject "/p03"
  return std::pair(partition, path.substr(end));
}

}  // namespace feedmill
