// A thread pool.
#pragma once

#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

namespace feedmill {

/// Like boost::asio::thread_pool, except that its constructor throws if the system refuses a thread; Boost's then waits
/// forever for the threads it has started. From any thread.
class Threads {
 public:
  /// `count` > 0. Throws std::system_error (resource_unavailable_try_again) if the system refuses a thread.
  explicit Threads(std::size_t count);
  /// Waits for posted work.
  ~Threads() { join(); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  boost::asio::io_context::executor_type get_executor() { return work_.get_executor(); }
  /// Waits for posted work; nothing may be posted afterwards. From one thread only.
  void join();

 private:
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{context_.get_executor()};
  std::vector<std::thread> threads_;
};

/// Whether `error` means that the system refused a thread, including Boost's own exception for it.
bool is_short_of_threads(const std::exception& error);

/// The remedy, for people.
inline constexpr const char* short_of_threads =
    "this process has reached its thread limit; raise it: TasksMax= of a unit, the process limit of a pod, a "
    "container or a user";

}  // namespace feedmill
