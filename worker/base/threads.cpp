#include "worker/base/threads.hpp"

#include <system_error>

#include <boost/system/system_error.hpp>

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

bool is_short_of_threads(const std::exception& error) {
  std::error_code code;
  if (const auto* refused = dynamic_cast<const std::system_error*>(&error)) code = refused->code();
  if (const auto* refused = dynamic_cast<const boost::system::system_error*>(&error)) code = refused->code();
  return code == std::errc::resource_unavailable_try_again;
}

}  // namespace feedmill
