// Files named on the command line, "-" among them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace feedmill {

/// All bytes of `name`, of stdin when it is "-". Throws VerbFailure, with `consequence` behind what it says, when they
/// cannot be read or are more than `max_bytes`. Blocks; throws Interrupted.
std::string read_input(const std::string& name, std::size_t max_bytes, std::string_view consequence = "");

}  // namespace feedmill
