// main() for suites that share a process. Under ctest each test has a time limit, and one that exceeds it is named;
// without ctest, as in a debugger, there is no limit.
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace {

std::array<char, 1024> too_slow;  // the message, prepared because a signal handler cannot format one

class TimeLimit : public testing::EmptyTestEventListener {
 public:
  explicit TimeLimit(unsigned seconds) : seconds_(seconds) {
    signal(SIGALRM, [](int) {
      if (write(STDERR_FILENO, too_slow.data(), std::strlen(too_slow.data())) < 0) _exit(2);
      std::abort();
    });
  }

 private:
  void OnTestStart(const testing::TestInfo& test) override {
    std::snprintf(too_slow.data(), too_slow.size(), "[  TIMEOUT ] %s.%s: more than %u s\n", test.test_suite_name(),
                  test.name(), seconds_);
    alarm(seconds_);
  }
  void OnTestEnd(const testing::TestInfo&) override { alarm(0); }

  unsigned seconds_;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* const limit = std::getenv("SECONDS_PER_TEST");
  if (limit == nullptr) return RUN_ALL_TESTS();
  unsigned seconds = 0;
  if (std::from_chars(limit, limit + std::strlen(limit), seconds).ec != std::errc()) return 64;
  testing::UnitTest& all = *testing::UnitTest::GetInstance();
  all.listeners().Append(new TimeLimit(seconds));
  const int failed = RUN_ALL_TESTS();
  constexpr int skipped = 77;  // the code that tests/suites.cmake gives ctest
  return failed == 0 && all.skipped_test_count() > 0 && all.successful_test_count() == 0 ? skipped : failed;
}
