// `feedmill parse`: prints or explains one document, without Redis, network or configuration (conformance contract).
#pragma once

#include <string>

namespace feedmill {

/// Answers a request of `parse --pipe`, {"argv":[…]}, with {"rc":…,"out":…,"err":…}, without a final newline.
std::string answer_request(const std::string& request);

}  // namespace feedmill
