// White space as a digest sees it.
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

/// Appends `text` with each run of spaces, tabs and line ends as one space, and none at its ends. Linear; 16 bytes at a
/// time where runs are short.
void append_folded(std::string& out, std::string_view text);

/// The same, byte by byte: for other machines, and to hold the other against.
void append_folded_bytewise(std::string& out, std::string_view text);

}  // namespace feedmill
