// The handlers of a listener by partition: for the only store of a process, or for partitions in paths such as "/p3"
// (RELIABILITY L29).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace feedmill {

/// "/p3": path prefix of partition 3.
std::string path_of_partition(std::size_t partition);

/// "/p3/status" → 3 and "/status", a view into `path`; empty if no partition is named.
std::optional<std::pair<std::size_t, std::string_view>> named_partition(std::string_view path);

template <class Who>
class ByPartition {
 public:
  /// `partition`: the one that `who` serves; none for an unpartitioned store or for all partitions together. `who`
  /// outlives this.
  void add(std::optional<std::size_t> partition, Who& who) { all_.emplace(partition, &who); }
  bool empty() const { return all_.empty(); }
  /// Null: not served here. Without a partition: the handler of all partitions, or the only one.
  Who* find(std::optional<std::size_t> partition) const {
    const auto found = all_.find(partition);
    if (found != all_.end()) return found->second;
    return !partition && all_.size() == 1 ? all_.begin()->second : nullptr;
  }

 private:
  std::map<std::optional<std::size_t>, Who*> all_;
};

}  // namespace feedmill
