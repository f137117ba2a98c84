// The handlers of a listener by partition: for the only store of a process, or for partitions in paths such as "/p3"
// (RELIABILITY L29).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "parsers/text/strings.hpp"

namespace feedmill {

/// "/p3": path prefix of partition 3.
inline std::string path_of_partition(std::size_t partition) {
  return "/p" + std::to_string(partition);
}

/// "/p3/status" → 3 and "/status", a view into `path`; empty if no partition is named.
inline std::optional<std::pair<std::size_t, std::string_view>> named_partition(std::string_view path) {
  const std::size_t end = path.find('/', 1);
  std::size_t partition = 0;
  if (!path.starts_with("/p") || end == std::string_view::npos) return std::nullopt;
  if (!read_number(path.substr(2, end - 2), partition)) return std::nullopt;
  if (path.substr(0, end) != path_of_partition(partition)) return std::nullopt;  // reject "/p03"
  return std::pair(partition, path.substr(end));
}

/// Maps partitions to their handlers, which it does not own.
template <class Who>
class ByPartition {
 public:
  /// `partition`: the partition served by the handler; empty for an unpartitioned store or for all partitions together.
  /// The handler must outlive this.
  void add(std::optional<std::size_t> partition, Who& who) { all_.emplace(partition, &who); }
  bool empty() const { return all_.empty(); }
  /// Null: not served here. Without a partition: the handler of all partitions, else the only handler.
  Who* find(std::optional<std::size_t> partition) const {
    const auto found = all_.find(partition);
    if (found != all_.end()) return found->second;
    return !partition && all_.size() == 1 ? all_.begin()->second : nullptr;
  }

 private:
  std::map<std::optional<std::size_t>, Who*> all_;
};

// Gate to a store: while the store is down, one client at a time may wait for it, so that waiting clients do not use up
// the slots for other partitions (RELIABILITY L29).

/// Limits waiting for one store. Lives on one thread.
class WayToStore {
 public:
  /// Permission to wait for the store; must end before the gate.
  class Place {
   public:
    explicit Place(WayToStore& way) : way_(&way) { ++way.inside_; }
    Place(Place&& other) noexcept : way_(std::exchange(other.way_, nullptr)) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (way_ != nullptr) --way_->inside_;
    }

   private:
    WayToStore* way_;
  };

  /// Empty while the store is down and another request is probing it.
  std::optional<Place> enter() {
    if (away_ && inside_ > 0) return std::nullopt;
    return Place(*this);
  }
  /// Call after each request to the store: whether it answered.
  void note(bool answered) { away_ = !answered; }

 private:
  std::size_t inside_ = 0;
  bool away_ = false;
};

}  // namespace feedmill
