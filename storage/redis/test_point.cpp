#include "storage/redis/test_point.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

namespace feedmill {
namespace {

/// A signal requested by the environment at one pass of a point.
class Wish {
 public:
  Wish(const char* variable, int signal) : signal_(signal) {
    const char* const text = std::getenv(variable);
    if (text == nullptr) return;
    const std::string all = text;
    const auto colon = all.find(':');
    name_ = all.substr(0, colon);
    if (colon != std::string::npos) left_ = std::atoi(all.c_str() + colon + 1);
    unsetenv(variable);  // not one of our options
  }

  void pass(std::string_view name) {
    if (name == name_ && --left_ == 0) std::raise(signal_);
  }

 private:
  std::string name_;
  int signal_;
  std::atomic<int> left_ = 1;
};

// Initialised before main() reads the environment.
Wish crash("FEEDMILL_CRASH_AT", SIGKILL), pause_here("FEEDMILL_PAUSE_AT", SIGSTOP);

}  // namespace

void test_point(const char* name) {
  crash.pass(name);
  pause_here.pass(name);
}

}  // namespace feedmill
