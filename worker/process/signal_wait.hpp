#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fcntl.h>

#include "worker/base/posix_signals.hpp"

namespace feedmill {

/// Awaits blocked signals in a coroutine.
class SignalWait {
 public:
  /// `signals` outlives this.
  SignalWait(const boost::asio::any_io_executor& executor, BlockedPosixSignals& signals)
      : signals_(signals), descriptor_(executor, ::fcntl(signals.descriptor(), F_DUPFD_CLOEXEC, 3)) {}

  /// Waits for a signal and takes it.
  boost::asio::awaitable<int> next() {
    for (;;) {
      co_await descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read, boost::asio::use_awaitable);
      if (const auto signal = signals_.take()) co_return *signal;
    }
  }

 private:
  BlockedPosixSignals& signals_;
  boost::asio::posix::stream_descriptor descriptor_;
};

}  // namespace feedmill
