// Waits on the loop, and on no thread, for what may come at a server.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "storage/redis/server_wait.hpp"
#include "storage/redis/store_error.hpp"
#include "worker/base/blocking_calls.hpp"

namespace feedmill {

/// Until its answer can be taken without blocking: at once where it has failed, or no descriptor is left for watching
/// it. Its socket is left as it is. Not cancellable.
boost::asio::awaitable<void> until_answered(ServerWait wait);

/// `begin()` sends what waits, and gives a StoreResult<ServerWait>; `end()` takes the answer to it. Both are made on
/// `calls`, which makes no others in between.
template <class Begin, class End, class Result = std::invoke_result_t<End>>
boost::asio::awaitable<Result> wait_at_server(BlockingCalls& calls, Begin begin, End end) {
  const StoreResult<ServerWait> begun = co_await run_on(calls, begin);
  if (!begun) co_return begun.error();
  co_await until_answered(*begun);
  co_return co_await run_on(calls, end);
}

}  // namespace feedmill
