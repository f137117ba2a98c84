#include "worker/lists/address_set.hpp"

#include <random>
#include <utility>

#include <xxhash.h>

namespace feedmill {

AddressSet::AddressSet() : marks_(1024) {
  std::random_device device;
  seed_ = (std::uint64_t{device()} << 32U) | device();
}

std::uint64_t AddressSet::mark_of(std::string_view text) const {
  const std::uint64_t mark = XXH3_64bits_withSeed(text.data(), text.size(), seed_);
  return mark == 0 ? 1 : mark;
}

std::size_t AddressSet::place_of(std::uint64_t mark) const {
  std::size_t place = mark & (marks_.size() - 1);
  while (marks_[place] != 0 && marks_[place] != mark) place = (place + 1) & (marks_.size() - 1);
  return place;
}

bool AddressSet::contains(std::string_view text) const {
  return marks_[place_of(mark_of(text))] != 0;
}

bool AddressSet::insert(std::string_view text) {
  const std::uint64_t mark = mark_of(text);
  std::size_t place = place_of(mark);
  if (marks_[place] != 0) return false;
  if (full()) return true;
  if (2 * (size_ + 1) > marks_.size()) {
    grow();
    place = place_of(mark);
  }
  marks_[place] = mark;
  ++size_;
  return true;
}

void AddressSet::grow() {
  std::vector<std::uint64_t> before(marks_.size() * 2);
  before.swap(marks_);
  for (const std::uint64_t mark : before) {
    if (mark != 0) marks_[place_of(mark)] = mark;
  }
}

}  // namespace feedmill
