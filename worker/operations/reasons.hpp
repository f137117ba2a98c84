// Reasons of refusals as programs read them, with their HTTP status and exit code.
#pragma once

#include <string_view>

namespace feedmill {

/// The HTTP status of a reason; 500 if docs/API.md does not list it.
unsigned status_of(std::string_view reason);
/// The exit code of a reason (OPERATIONS §1).
int exit_of(std::string_view reason);

}  // namespace feedmill
