// Compiles a test point as in builds where test points are off; ctest no_test_points inspects the object file.
#undef FEEDMILL_TEST_POINTS
#include "storage/redis/test_point.hpp"

namespace feedmill::test {

/// Passes a test point, as the product does.
int pass_a_point(int value) {
  test_point("S0");
  return value + 1;
}

}  // namespace feedmill::test
