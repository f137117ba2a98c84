#pragma once

#include <cstddef>
#include <exception>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace feedmill {

/// Runs the coroutines `work(0)` to `work(count - 1)` concurrently and returns when all have ended. If any threw,
/// rethrows the exception of the lowest index. `executor`: the caller's; what `work` refers to must outlive the call.
template <class Work>
boost::asio::awaitable<void> at_once(boost::asio::any_io_executor executor, std::size_t count, const Work& work) {
  namespace asio = boost::asio;
  if (count == 0) co_return;
  using Started = decltype(asio::co_spawn(executor, work(0), asio::deferred));
  std::vector<Started> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(asio::co_spawn(executor, work(i), asio::deferred));
  auto group = asio::experimental::make_parallel_group(std::move(all));
  const auto [order, failures] = co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace feedmill
