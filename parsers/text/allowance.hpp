// Budget for reading one document. Internal to parsers/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "parsers/text/limits.hpp"

namespace feedmill {

/// Memory and step budget for one document: at most limits::reading_cost in memory (SECURITY M2), and many times more
/// steps than any honest document needs (SECURITY T18). Code that builds, walks or copies charges it; loops over the
/// document stop once it is spent. It counts work rather than time, so reading the same document always ends the same
/// way.
class Allowance {
 public:
  /// Starts with the document itself and a reserve for uncounted memory deducted.
  explicit Allowance(std::size_t decoded_bytes)
      : memory_(static_cast<std::int64_t>(limits::reading_cost(decoded_bytes) - decoded_bytes - decoded_bytes / 16 -
                                          (std::size_t{512} << 10))),
        steps_(static_cast<std::int64_t>(limits::reading_steps(decoded_bytes))) {}

  /// Charges memory that stays in use, in bytes.
  void take(std::size_t bytes) { memory_ -= static_cast<std::int64_t>(bytes); }
  void give_back(std::size_t bytes) { memory_ += static_cast<std::int64_t>(bytes); }
  /// Charges a string that will be kept; short ones are stored inside their object.
  void take(const std::string& kept) {
    if (kept.capacity() > 15) memory_ -= static_cast<std::int64_t>(kept.capacity() + 32);
  }
  /// Charges one more `T` in a vector that grows by doubling.
  template <class T>
  void take_one_more() {
    take(2 * sizeof(T));
  }
  /// Whether `bytes` more are available (without charging them); if not, the memory counts as spent.
  bool affords(std::size_t bytes) {
    if (memory_ > static_cast<std::int64_t>(bytes)) return true;
    memory_ = std::min<std::int64_t>(memory_, 0);
    return false;
  }
  std::size_t memory() const { return memory_ > 0 ? static_cast<std::size_t>(memory_) : 0; }

  /// Charges steps. One is about ten instructions, or the examination of ten bytes.
  void step(std::size_t count) { steps_ -= static_cast<std::int64_t>(count); }

  /// Caps the remaining steps at `most`.
  void limit_steps(std::uint64_t most) {
    if (steps_ > 0 && most < static_cast<std::uint64_t>(steps_)) steps_ = static_cast<std::int64_t>(most);
  }

  bool out_of_memory() const { return memory_ <= 0; }
  bool out_of_steps() const { return steps_ <= 0; }
  bool spent() const { return out_of_memory() || out_of_steps(); }

 private:
  std::int64_t memory_, steps_;
};

}  // namespace feedmill
