// What reading an input may take in memory (SECURITY M2), held to while a fuzz target reads it.
#pragma once

#include <cstddef>

#include "parsers/text/limits.hpp"
#include "tests/fuzz/invariants.hpp"
#include "tests/support/live_memory.hpp"

namespace feedmill::fuzz {

/// Aborts at its end when more was allocated at once while it lived than reading `size` bytes may take.
class WithinCost {
 public:
  explicit WithinCost(std::size_t size) : size_(size) { mark_live_memory(); }
  ~WithinCost() { require(peak_live_memory() + size_ <= limits::reading_cost(size_)); }
  WithinCost(const WithinCost&) = delete;
  WithinCost& operator=(const WithinCost&) = delete;

 private:
  std::size_t size_;
};

}  // namespace feedmill::fuzz
