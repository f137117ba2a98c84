// What a due time was made of, as DueTime::why keeps it (HTTP E1).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

/// One input of a due time: what DueTime::why lists (HTTP E1). `code` is one of HTTP §11.
struct DueInput {
  std::string_view code;
  std::int64_t seconds = 0;
  std::string from;  ///< raw input, at most 120 bytes
};

/// What DueTime::why holds of them: one a line, "<code> <seconds> <from>".
std::string encode_due_inputs(std::span<const DueInput> inputs);
/// The inputs that such a text holds; their codes lie in it. Lines that cannot be read are left out.
std::vector<DueInput> decode_due_inputs(std::string_view why);

}  // namespace feedmill
