// Answers of the store as values or exceptions, for code with many calls that are refused as one.
#pragma once

#include <type_traits>
#include <utility>

#include "storage/store/store.hpp"

namespace feedmill {

/// Thrown if the store fails or does not answer.
struct StoreFailure {
  StoreError error;
};

/// The store's answer. Throws StoreFailure.
template <class T>
T answered(StoreResult<T> answer) {
  if (answer.has_error()) throw StoreFailure{answer.error()};
  if constexpr (!std::is_void_v<T>) return std::move(*answer);
}

}  // namespace feedmill
