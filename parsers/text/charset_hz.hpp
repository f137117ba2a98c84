// HZ (RFC 1843): seven-bit Chinese, which iconv does not support.
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

/// Converts to GB 2312's eight-bit form: "~{" and "~}" switch the pairs on and off, "~~" is a tilde, "~" before a line
/// end joins lines. A line end also ends the pairs. Linear.
std::string hz_to_gb2312(std::string_view bytes);

}  // namespace feedmill
