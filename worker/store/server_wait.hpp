// Waits for a server's answer on the loop, without blocking a thread.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "storage/redis/redis.hpp"
#include "storage/redis/store_error.hpp"
#include "worker/base/blocking_calls.hpp"

namespace feedmill {

/// Waits until the answer can be read without blocking or `wait.until` passes. Returns at once if the connection failed
/// or no descriptor is left. Leaves the socket unchanged. Not cancellable.
boost::asio::awaitable<void> until_answered(ServerWait wait);

/// Sends commands with `begin()`, waits on the loop, and returns what `end()` reads. `begin()` returns a
/// StoreResult<ServerWait>; its error is returned instead. Both run on `calls`, which must run nothing else in between.
template <class Begin, class End, class Result = std::invoke_result_t<End>>
boost::asio::awaitable<Result> wait_at_server(BlockingCalls& calls, Begin begin, End end) {
  const StoreResult<ServerWait> begun = co_await run_on(calls, begin);
  if (!begun) co_return begun.error();
  co_await until_answered(*begun);
  co_return co_await run_on(calls, end);
}

}  // namespace feedmill
