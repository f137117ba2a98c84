#pragma once

#include <type_traits>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace feedmill {

/// Runs `work` on `pool`, a thread_pool or Threads; the caller resumes on its own executor with what it returned, or
/// threw. Not cancellable (the slot is left empty): work is bounded, and what `[&]` refers to lives until it ends,
/// because the caller is suspended meanwhile and main() joins the pools before the io_context goes.
template <class Pool, class Work, class Result = std::invoke_result_t<Work>>
boost::asio::awaitable<Result> run_on(Pool& pool, Work work) {
  auto task = [](Work owned) -> boost::asio::awaitable<Result> { co_return owned(); };
  return boost::asio::co_spawn(
      pool.get_executor(), task(std::move(work)),
      boost::asio::bind_cancellation_slot(boost::asio::cancellation_slot(), boost::asio::use_awaitable));
}

}  // namespace feedmill
