// White space folding for digests.
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

/// Appends `text` with each run of spaces, tabs and line ends as one space, trimmed at both ends. Linear; 16 bytes at a
/// time where runs are short.
void append_folded(std::string& out, std::string_view text);

/// Byte-by-byte version of append_folded(), for other CPUs and as a reference in tests.
void append_folded_bytewise(std::string& out, std::string_view text);

}  // namespace feedmill
