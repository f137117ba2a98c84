// A compact set of very many URLs: membership only, no iteration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace feedmill {

/// Stores 8 bytes per text, at most `most` texts. False positives: 1 in 2,000,000 when full, and their rate cannot be
/// raised by choosing texts. Memory: 16 bytes a text at first, up to 32 while it grows.
class AddressSet {
 public:
  static constexpr std::size_t most = std::size_t{1} << 22U;

  AddressSet();

  /// True if `text` was not there. When full(), new texts are not stored, so each counts as new.
  bool insert(std::string_view text);
  bool contains(std::string_view text) const;
  std::size_t size() const { return size_; }
  /// More texts may have been inserted than are stored.
  bool full() const { return size_ >= most; }

 private:
  std::uint64_t mark_of(std::string_view text) const;
  /// Index of a mark, or of the free slot for it.
  std::size_t place_of(std::uint64_t mark) const;
  void grow();

  std::uint64_t seed_;
  std::vector<std::uint64_t> marks_;  // 0: free; the size is a power of two
  std::size_t size_ = 0;
};

}  // namespace feedmill
