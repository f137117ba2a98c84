// The inputs of a due time, as stored in DueTime::why (HTTP E1).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

/// An input of a due time, as listed in DueTime::why (HTTP E1). `code` is one of HTTP §11.
struct DueInput {
  std::string_view code;
  std::int64_t seconds = 0;
  std::string from;  ///< raw input, at most 120 bytes
};

/// The text for DueTime::why, one input per line: "<code> <seconds> <from>".
std::string encode_due_inputs(std::span<const DueInput> inputs);
/// The inputs in such a text; their codes point into it. Ignores unreadable lines.
std::vector<DueInput> decode_due_inputs(std::string_view why);

}  // namespace feedmill
