// Who may ask, where a token is needed (SECURITY T33, K6).
#pragma once

#include <string_view>

namespace feedmill {

/// Whether an Authorization header shows the token: "Bearer TOKEN", or "Basic …" with the token as password, which is
/// what a browser can send. Compared in constant time.
bool shows_token(std::string_view authorization, std::string_view token);

}  // namespace feedmill
