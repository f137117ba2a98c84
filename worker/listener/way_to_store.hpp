// Who of a listener's clients may wait for a store: while that does not answer one at a time, so that they do not take
// the places of those who ask for other partitions (RELIABILITY L29).
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

namespace feedmill {

/// On one thread.
class WayToStore {
 public:
  /// Held while the store may be waited for; ends before the way does.
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

  /// Nothing while it is away and somebody waits for it already.
  std::optional<Place> enter() {
    if (away_ && inside_ > 0) return std::nullopt;
    return Place(*this);
  }
  /// Whether it has answered, each time that it was asked.
  void note(bool answered) { away_ = !answered; }

 private:
  std::size_t inside_ = 0;
  bool away_ = false;
};

}  // namespace feedmill
