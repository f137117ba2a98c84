// Which legacy encoding undeclared bytes are in, by what their bytes look like.
#pragma once

#include <string_view>

namespace feedmill {

/// A label for bytes that are no UTF-8: one of big5, euc-jp, euc-kr, gb18030, shift_jis, koi8-r, tis-620,
/// windows-1250 … windows-1257. Markup and ASCII are ignored. Looks at no more than the first 256 KiB.
std::string_view detect_charset(std::string_view bytes);

}  // namespace feedmill
