// Mutual exclusion of coroutines.
#pragma once

#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

namespace feedmill {

/// A critical section. Lives on one loop's thread and must outlive its waiters.
class OneAtATime {
 public:
  /// Holds the section until destroyed.
  class Inside {
   public:
    explicit Inside(OneAtATime& section) : section_(&section) { section.taken_ = true; }
    Inside(Inside&& other) noexcept : section_(std::exchange(other.section_, nullptr)) {}
    Inside& operator=(Inside&&) = delete;
    ~Inside() {
      if (section_ == nullptr) return;
      section_->taken_ = false;
      section_->left_.cancel_one();
    }

   private:
    OneAtATime* section_;
  };

  explicit OneAtATime(const boost::asio::any_io_executor& executor)
      : left_(executor, boost::asio::steady_timer::time_point::max()) {}

  /// Waits until the section is free. Throws system_error if cancelled.
  boost::asio::awaitable<Inside> enter() {
    while (taken_) {
      co_await left_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
      const auto cancelled = (co_await boost::asio::this_coro::cancellation_state).cancelled();
      if (cancelled != boost::asio::cancellation_type::none)
        throw boost::system::system_error(boost::asio::error::operation_aborted);
    }
    co_return Inside(*this);
  }

 private:
  bool taken_ = false;
  boost::asio::steady_timer left_;  // cancelled to wake the next waiter
};

}  // namespace feedmill
