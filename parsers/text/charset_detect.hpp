// Detects the legacy encoding of undeclared bytes.
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

/// A label for bytes that are not UTF-8: one of big5, euc-jp, euc-kr, gb18030, shift_jis, koi8-r, tis-620, windows-1250
/// … windows-1257. Ignores markup and ASCII. Reads at most the first 256 KiB.
std::string_view detect_charset(std::string_view bytes);

// HZ (RFC 1843): seven-bit Chinese, which iconv does not support.

/// Converts to GB 2312's eight-bit form: "~{" and "~}" switch the pairs on and off, "~~" is a tilde, "~" before a line
/// end joins lines. A line end also ends the pairs. Linear.
std::string hz_to_gb2312(std::string_view bytes);

}  // namespace feedmill
