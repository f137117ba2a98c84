// Checks the shape of server replies before they are read.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "storage/redis/reply.hpp"

namespace feedmill {

/// The outer shape of a reply: its type, and the minimum size of an array.
struct ReplyShape {
  enum class Type { array, array_or_nil, integer, text, text_or_nil, text_or_integer };
  Type type{};
  std::size_t least = 0;
};

/// `bug` if the shape of `reply` is impossible for `what`, a command or script; absent otherwise.
std::optional<StoreError> misshapen(std::string_view what, const ReplyShape& shape, const ReplyView& reply);

/// misshapen() for a plain command, by its name. Commands whose replies are not used are not checked.
std::optional<StoreError> misshapen(std::string_view command, const ReplyView& reply);

}  // namespace feedmill
