// Why something asked for was not done, as programs go by it: one word each, with what HTTP and a shell make of it.
#pragma once

#include <string_view>

namespace feedmill {

/// HTTP's status for a reason; 500 where it is none of docs/API.md.
unsigned status_of(std::string_view reason);
/// The exit code for one (OPERATIONS §1).
int exit_of(std::string_view reason);

}  // namespace feedmill
