#pragma once

#include <type_traits>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "worker/base/threads.hpp"

namespace feedmill {

/// Runs `work` on `threads`; the caller resumes on its own executor with the result or exception. Not cancellable (the
/// slot is left empty), but work is bounded. `[&]` captures are safe: the caller is suspended until the work ends, and
/// the threads are joined before the io_context is destroyed.
template <class Work, class Result = std::invoke_result_t<Work>>
boost::asio::awaitable<Result> run_on(Threads& threads, Work work) {
  auto task = [](Work owned) -> boost::asio::awaitable<Result> { co_return owned(); };
  return boost::asio::co_spawn(
      threads.get_executor(), task(std::move(work)),
      boost::asio::bind_cancellation_slot(boost::asio::cancellation_slot(), boost::asio::use_awaitable));
}

}  // namespace feedmill
