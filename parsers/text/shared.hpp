// A value that many have in common.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace feedmill {

/// A T that is held once however many have it: copies are pointers to the same. What is empty takes no memory. Each
/// thread may use copies of its own.
template <class T>
class Shared {
 public:
  Shared() = default;
  Shared(T value)  // NOLINT(google-explicit-constructor): stands for the value
      : value_(value.empty() ? nullptr : std::make_shared<T>(std::move(value))) {}
  // clang-format off
  template <class Value>
    requires std::convertible_to<Value, T> && (!std::same_as<std::remove_cvref_t<Value>, Shared>)
  Shared(Value&& value) : Shared(T(std::forward<Value>(value))) {}  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
  // clang-format on

  const T& operator*() const {
    static const T none;
    return value_ ? *value_ : none;
  }
  const T* operator->() const { return &**this; }
  operator const T&() const { return **this; }  // NOLINT(google-explicit-constructor): stands for the value
  bool empty() const { return value_ == nullptr || value_->empty(); }

  /// The value to change it: a copy of its own where others have it too.
  T& edit() {
    if (value_ == nullptr || value_.use_count() > 1) value_ = std::make_shared<T>(**this);
    return *value_;
  }

  bool operator==(const Shared& other) const { return value_ == other.value_ || **this == *other; }

 private:
  std::shared_ptr<T> value_;
};

using SharedText = Shared<std::string>;

}  // namespace feedmill
