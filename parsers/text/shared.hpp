// A value shared by its copies.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace feedmill {

/// Holds a T once: copies share it by pointer. An empty T takes no memory. Threads may use separate copies
/// concurrently.
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

  /// The value for editing; unshares it first.
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
