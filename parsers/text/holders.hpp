// Holders of values: shared by copies, rarely present, or freed together after one document.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <string>
#include <type_traits>
#include <utility>

namespace feedmill {

/// Holds a T that all copies share by pointer. An empty T takes no memory. Threads may use separate copies
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

  /// The value for editing; other copies keep theirs.
  T& edit() {
    if (value_ == nullptr || value_.use_count() > 1) value_ = std::make_shared<T>(**this);
    return *value_;
  }

  bool operator==(const Shared& other) const { return value_ == other.value_ || **this == *other; }

 private:
  std::shared_ptr<T> value_;
};

using SharedText = Shared<std::string>;

/// Like std::optional<T>, but with the value on the heap: for large parts that most entries lack. Copying copies the
/// value; a moved-from Rare is empty.
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
  /// Replaces the value by a default-constructed one.
  T& emplace() { return *(value_ = std::make_unique<T>()); }

  bool operator==(const Rare& other) const {
    return value_ == nullptr || other.value_ == nullptr ? value_ == other.value_ : *value_ == *other.value_;
  }

 private:
  std::unique_ptr<T> value_;
};

/// The arena's first block. A base class, so that it exists before the arena that uses it.
struct SmallArenaMemory {
  std::array<std::byte, 12U << 10U> memory;
};

/// Memory resource for maps and sets: holds a typical document's posts without heap allocations and takes more from the
/// heap if needed. Frees everything when destroyed. Meant for the stack of one function.
class SmallArena : private SmallArenaMemory, public std::pmr::monotonic_buffer_resource {
 public:
  SmallArena() : std::pmr::monotonic_buffer_resource(memory.data(), memory.size()) {}
};

}  // namespace feedmill
