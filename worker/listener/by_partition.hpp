// Whom a listener answers for: the only store that a process serves, or partitions, which paths name as "/p3"
// (RELIABILITY L29).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace feedmill {

/// "/p3": what addresses of partition 3 have before their paths.
std::string path_of_partition(std::size_t partition);

/// "/p3/status": 3 and "/status", which points into `path`; nothing where no partition is named.
std::optional<std::pair<std::size_t, std::string_view>> named_partition(std::string_view path);

template <class Who>
class ByPartition {
 public:
  /// `partition`: which one `who` answers for; nothing where the store has none, or it answers for all together. `who`
  /// outlives this.
  void add(std::optional<std::size_t> partition, Who& who) { all_.emplace(partition, &who); }
  bool empty() const { return all_.empty(); }
  /// Null: nobody here answers for it. What names none is for all together, or for the only one that there is.
  Who* find(std::optional<std::size_t> partition) const {
    const auto found = all_.find(partition);
    if (found != all_.end()) return found->second;
    return !partition && all_.size() == 1 ? all_.begin()->second : nullptr;
  }

 private:
  std::map<std::optional<std::size_t>, Who*> all_;
};

}  // namespace feedmill
