#pragma once

#include <exception>
#include <optional>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace feedmill::test {

/// Completion token: co_await returns a tuple of the error code and the result.
inline constexpr auto as_result = boost::asio::as_tuple(boost::asio::use_awaitable);

/// Runs a coroutine on `context` until it finishes; returns its result or rethrows its exception. Nothing else may run
/// `context` at the time.
template <class Result>
Result await(boost::asio::io_context& context, boost::asio::awaitable<Result> work) {
  std::optional<Result> result;
  std::exception_ptr thrown;
  boost::asio::co_spawn(context, std::move(work), [&](std::exception_ptr error, Result value) {
    thrown = error;
    result = std::move(value);
  });
  context.restart();
  while (!result) context.run_one();
  if (thrown) std::rethrow_exception(thrown);
  return std::move(*result);
}

}  // namespace feedmill::test
