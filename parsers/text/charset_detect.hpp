// Detects the legacy encoding of undeclared bytes.
#pragma once

#include <string_view>

namespace feedmill {

/// A label for bytes that are not UTF-8: one of big5, euc-jp, euc-kr, gb18030, shift_jis, koi8-r, tis-620, windows-1250
/// … windows-1257. Ignores markup and ASCII. Reads at most the first 256 KiB.
std::string_view detect_charset(std::string_view bytes);

}  // namespace feedmill
