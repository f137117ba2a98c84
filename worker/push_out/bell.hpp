#pragma once

#include <chrono>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace feedmill {

/// Wakes the coroutine in rest(); a ring() while none rests ends the next rest() at once. Used on the loop's thread.
class Bell {
 public:
  explicit Bell(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  void ring() {
    rung_ = true;
    timer_.cancel();
  }

  boost::asio::awaitable<void> rest(std::chrono::milliseconds longest) {
    if (std::exchange(rung_, false)) co_return;
    timer_.expires_after(longest);
    co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    rung_ = false;
  }

 private:
  boost::asio::steady_timer timer_;
  bool rung_ = false;
};

}  // namespace feedmill
