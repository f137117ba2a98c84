// Several threads for one kind of work.
#pragma once

#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

namespace feedmill {

/// What boost::asio::thread_pool is, but that its beginning ends when the system gives no more threads: the constructor
/// of that one then waits for ever for those that it has begun. From any thread.
class Threads {
 public:
  /// `count` > 0. Throws std::system_error (resource_unavailable_try_again) when there are not so many.
  explicit Threads(std::size_t count);
  /// Waits for what was posted.
  ~Threads() { join(); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  boost::asio::io_context::executor_type get_executor() { return work_.get_executor(); }
  /// The same; nothing may be posted from then on. On one thread alone.
  void join();

 private:
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{context_.get_executor()};
  std::vector<std::thread> threads_;
};

/// Whether the system refused a thread, to whomever: Boost throws an exception of its own for it.
bool is_short_of_threads(const std::exception& error);

/// What to do about it, for people.
inline constexpr const char* short_of_threads =
    "this process has reached its thread limit; raise it: TasksMax= of a unit, the process limit of a pod, a "
    "container or a user";

}  // namespace feedmill
