// `feedmill parse`: one document read and printed, or explained, without Redis, network or configuration (conformance
// contract).
#pragma once

#include <string>

namespace feedmill {

/// Answers one request of `parse --pipe`, {"argv":[…]}, with {"rc":…,"out":…,"err":…}. No newline at the end.
std::string answer_request(const std::string& request);

}  // namespace feedmill
