// Memory of outgoing data, shared by all connections (SECURITY M5).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "worker/base/memory_budget.hpp"

namespace feedmill {

/// Counts outgoing bytes, against memory.budget and against its own limit, while any reference to them is held. All
/// members, and the last release of a pointer from share(), on one loop's thread. Must outlive those pointers.
class OutgoingMemory {
 public:
  /// `budget` must outlive this. `most`: limit in bytes.
  OutgoingMemory(MemoryBudget& budget, std::size_t most) : budget_(budget), most_(most) {}
  OutgoingMemory(const OutgoingMemory&) = delete;
  OutgoingMemory& operator=(const OutgoingMemory&) = delete;

  /// Whether `bytes` more fit within the fraction `of_most` (0 to 1) of the limit and a tenth of the budget is free.
  bool has_room(std::size_t bytes, double of_most = 1) const {
    return static_cast<double>(used_ + bytes) <= of_most * static_cast<double>(most_) && !budget_.is_short();
  }
  /// Counts `bytes` until the last copy of the pointer is released.
  std::shared_ptr<const std::string> share(std::string bytes) {
    auto counted = std::make_shared<const Counted>(*this, std::move(bytes));
    return {counted, &counted->bytes};
  }
  std::size_t used() const { return used_; }
  MemoryBudget& budget() { return budget_; }

 private:
  struct Counted {
    Counted(OutgoingMemory& counter, std::string text) : memory(counter), bytes(std::move(text)) {
      memory.used_ += bytes.capacity();
      share.hold(bytes.capacity());
    }
    ~Counted() { memory.used_ -= bytes.capacity(); }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

    OutgoingMemory& memory;
    const std::string bytes;
    MemoryBudget::Share share{memory.budget_, 0};
  };

  MemoryBudget& budget_;
  const std::size_t most_;
  std::size_t used_ = 0;
};

}  // namespace feedmill
