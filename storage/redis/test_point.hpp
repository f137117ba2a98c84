// Named points where a test build kills or stops itself (RELIABILITY §4, C1). Other builds contain no trace of them:
// neither symbol nor string (ctest no_test_points).
#pragma once

namespace feedmill {

#ifdef FEEDMILL_TEST_POINTS
/// FEEDMILL_CRASH_AT=S8:3 kills this process (SIGKILL) at the third pass of S8, FEEDMILL_PAUSE_AT=S6:1 stops it
/// (SIGSTOP) at the first pass of S6. The default is the first pass. Thread-safe.
void test_point(const char* name);
#else
[[gnu::always_inline]] inline void test_point(const char*) {}
#endif

}  // namespace feedmill
