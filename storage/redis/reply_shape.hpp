// What answers of the server must look like before anything is read out of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "storage/redis/reply.hpp"

namespace feedmill {

/// The outside of a reply: its type, and of an array how many elements there are at least.
struct ReplyShape {
  enum class Type { array, array_or_nil, integer, text, text_or_nil, text_or_integer };
  Type type{};
  std::size_t least = 0;
};

/// `bug` when `reply` cannot be the answer to `what`, a command or a script, because of its shape; absent when it can.
std::optional<StoreError> misshapen(std::string_view what, const ReplyShape& shape, const ReplyView& reply);

/// The same for a plain command, by its name. Commands whose answers nobody reads are not looked at.
std::optional<StoreError> misshapen(std::string_view command, const ReplyView& reply);

}  // namespace feedmill
