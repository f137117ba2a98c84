// HZ (RFC 1843): Chinese in seven bits, which iconv does not know.
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

/// The same text in GB 2312's eight-bit form: "~{" and "~}" switch the pairs on and off, "~~" is a tilde, "~" before a
/// line's end joins lines. A line's end ends the pairs too. Linear.
std::string hz_to_gb2312(std::string_view bytes);

}  // namespace feedmill
