// Very many addresses, to be told apart and not to be read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace feedmill {

/// Remembers texts by 8 bytes each, at most `most` of them; two that are different are taken for one with a chance of
/// 1 in 2,000,000 when it is full, and nobody who writes them can make it greater. Memory: 16 bytes a text at first,
/// up to 32 while it grows.
class AddressSet {
 public:
  static constexpr std::size_t most = std::size_t{1} << 22U;

  AddressSet();

  /// True when it was not there. Of those that come when it is full() none is remembered, and each is new.
  bool insert(std::string_view text);
  bool contains(std::string_view text) const;
  std::size_t size() const { return size_; }
  /// There may have been more than are remembered.
  bool full() const { return size_ >= most; }

 private:
  std::uint64_t mark_of(std::string_view text) const;
  /// Where a mark is, or would be.
  std::size_t place_of(std::uint64_t mark) const;
  void grow();

  std::uint64_t seed_;
  std::vector<std::uint64_t> marks_;  // 0: free; their number is a power of two
  std::size_t size_ = 0;
};

}  // namespace feedmill
