// Gate to a store: while the store is down, one client at a time may wait for it, so that waiting clients do not use up
// the slots for other partitions (RELIABILITY L29).
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

namespace feedmill {

/// Lives on one thread.
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
