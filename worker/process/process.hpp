// A running process: its parts, driven until the work is done or somebody stops it.
#pragma once

#include <exception>
#include <optional>

#include <boost/asio/awaitable.hpp>

#include "worker/base/posix_signals.hpp"
#include "worker/process/parts.hpp"
#include "worker/process/stopping.hpp"

namespace feedmill {

class Process {
 public:
  /// `log` and `stop`, the signals that tell it to end, outlive this.
  Process(ProcessTask task, Log& log, BlockedPosixSignals& stop)
      : parts_(std::move(task), log), stopping_(parts_, stop) {}

  /// Blocks until it has ended; the exit code (RELIABILITY §11).
  int run();

 private:
  [[noreturn]] void cut_off(const std::exception& why);
  std::optional<int> open_listeners();
  boost::asio::awaitable<int> run_until_done();
  boost::asio::awaitable<void> beside();
  boost::asio::awaitable<void> guarded(const char* part, boost::asio::awaitable<void> work);
  boost::asio::awaitable<int> work();
  boost::asio::awaitable<int> serve_feeds();
  boost::asio::awaitable<Worker::End> ingest();
  boost::asio::awaitable<Worker::End> fetch();
  boost::asio::awaitable<void> heartbeat();
  boost::asio::awaitable<void> deliver();
  boost::asio::awaitable<void> push();
  boost::asio::awaitable<void> push_out();
  boost::asio::awaitable<void> answer_requests();
  boost::asio::awaitable<void> serve_admin();
  boost::asio::awaitable<void> serve_api();
  boost::asio::awaitable<void> supervise();
  boost::asio::awaitable<void> tell_state();
  boost::asio::awaitable<void> feed_watchdog();
  boost::asio::awaitable<void> heed_hang_ups();
  boost::asio::awaitable<void> heed_questions();

  ProcessParts parts_;
  Stopping stopping_;
  std::optional<BlockedPosixSignals> hang_ups_, status_wanted_;  // of a daemon
};

}  // namespace feedmill
