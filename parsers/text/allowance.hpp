// What reading one document may still take. Internal to parsers/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "parsers/text/limits.hpp"

namespace feedmill {

/// Counted down while a document is read, so that none takes more memory than limits::reading_cost says (SECURITY M2)
/// nor more steps than any honest one needs many times over (SECURITY T18). Who builds, walks or copies takes from it;
/// who loops over the document looks whether it is spent and ends there. Counts, not clocks: equal documents end alike.
class Allowance {
 public:
  /// The document itself is there, and a little is for what nobody counts.
  explicit Allowance(std::size_t decoded_bytes)
      : memory_(static_cast<std::int64_t>(limits::reading_cost(decoded_bytes) - decoded_bytes - decoded_bytes / 16 -
                                          (std::size_t{512} << 10))),
        steps_(static_cast<std::int64_t>(limits::reading_steps(decoded_bytes))) {}

  /// Memory that is taken now and kept, in bytes.
  void take(std::size_t bytes) { memory_ -= static_cast<std::int64_t>(bytes); }
  void give_back(std::size_t bytes) { memory_ += static_cast<std::int64_t>(bytes); }
  /// That of a string which will be kept: short ones lie within their object.
  void take(const std::string& kept) {
    if (kept.capacity() > 15) memory_ -= static_cast<std::int64_t>(kept.capacity() + 32);
  }
  /// Another `T` in a vector that grows by doubling.
  template <class T>
  void take_one_more() {
    take(2 * sizeof(T));
  }
  /// Whether so much can be built; else the memory is spent.
  bool affords(std::size_t bytes) {
    if (memory_ > static_cast<std::int64_t>(bytes)) return true;
    memory_ = std::min<std::int64_t>(memory_, 0);
    return false;
  }
  std::size_t memory() const { return memory_ > 0 ? static_cast<std::size_t>(memory_) : 0; }

  /// A step is about ten instructions, or the look at as many bytes.
  void step(std::size_t count) { steps_ -= static_cast<std::int64_t>(count); }

  /// No more than so many from now on.
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
