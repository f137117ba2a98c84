// Named places at which a test build kills or stops itself (RELIABILITY §4, C1). Other builds have none of this: not a
// symbol, not a string (ctest no_test_points).
#pragma once

namespace feedmill {

#ifdef FEEDMILL_TEST_POINTS
/// FEEDMILL_CRASH_AT=S8:3 kills this process (SIGKILL) at the third pass of S8, FEEDMILL_PAUSE_AT=S6:1 stops it
/// (SIGSTOP) at the first of S6. Without ":n" the first counts. May be called on any thread.
void test_point(const char* name);
#else
[[gnu::always_inline]] inline void test_point(const char*) {}
#endif

}  // namespace feedmill
