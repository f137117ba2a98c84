// Enforces the limit on memory for reading an input (SECURITY M2) while a fuzz target reads it.
#pragma once

#include <cstddef>

#include "parsers/text/limits.hpp"
#include "tests/fuzz/invariants.hpp"
#include "tests/support/live_memory.hpp"

namespace feedmill::fuzz {

/// On destruction, aborts if the peak of live memory since construction exceeded the limit for reading `size` bytes.
/// For one thread at a time.
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
