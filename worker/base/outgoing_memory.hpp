// Bytes that are sent to others, shared by all conversations that send them (SECURITY M5).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "worker/base/memory_budget.hpp"

namespace feedmill {

/// Counts what is sent, in memory.budget and against a bound of its own, as long as anything holds it. All members, and
/// the last release of what share() returned, on one loop's thread. Outlives what it returned.
class OutgoingMemory {
 public:
  /// `budget` outlives this. `most`: bytes.
  OutgoingMemory(MemoryBudget& budget, std::size_t most) : budget_(budget), most_(most) {}
  OutgoingMemory(const OutgoingMemory&) = delete;
  OutgoingMemory& operator=(const OutgoingMemory&) = delete;

  /// Whether `bytes` more fit below `of_most` of the bound (0 to 1), while a tenth of the budget is free.
  bool has_room(std::size_t bytes, double of_most = 1) const {
    return static_cast<double>(used_ + bytes) <= of_most * static_cast<double>(most_) && !budget_.is_short();
  }
  /// Counted from now on until the last copy of the pointer is gone.
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
