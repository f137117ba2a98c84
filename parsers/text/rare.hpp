// An optional that costs only a pointer when empty.
#pragma once

#include <memory>
#include <utility>

namespace feedmill {

/// Like std::optional<T>, with the value on the heap: for large parts that most entries lack. Copies copy the value; a
/// moved-from Rare is empty.
template <class T>
class Rare {
 public:
  Rare() = default;
  Rare(T value) : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT(google-explicit-constructor): as optional
  Rare(const Rare& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Rare(Rare&&) noexcept = default;
  Rare& operator=(const Rare& other) { return *this = Rare(other); }
  Rare& operator=(Rare&&) noexcept = default;
  ~Rare() = default;

  explicit operator bool() const { return value_ != nullptr; }
  bool has_value() const { return value_ != nullptr; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  T value_or(T other) const { return value_ ? *value_ : std::move(other); }
  /// Replaces the value by a new one.
  T& emplace() { return *(value_ = std::make_unique<T>()); }

  bool operator==(const Rare& other) const {
    return value_ == nullptr || other.value_ == nullptr ? value_ == other.value_ : *value_ == *other.value_;
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace feedmill
