// Whether the tests are built with a sanitizer, which distorts both time and resident memory.
#pragma once

namespace feedmill::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

}  // namespace feedmill::test
