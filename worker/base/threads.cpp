#include "worker/base/threads.hpp"

namespace feedmill {

Threads::Threads(std::size_t count) : context_(static_cast<int>(count)) {
  threads_.reserve(count);
  try {
    while (threads_.size() < count) threads_.emplace_back([this] { context_.run(); });
  } catch (...) {
    join();
    throw;
  }
}

void Threads::join() {
  work_.reset();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace feedmill
