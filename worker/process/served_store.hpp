// Serves one store: drives its parts until the work is done or it is stopped.
#pragma once

#include <optional>

#include <boost/asio/awaitable.hpp>

#include "worker/process/parts.hpp"
#include "worker/process/stopping.hpp"

namespace feedmill {

/// Used on the loop's thread.
class ServedStore {
 public:
  ServedStore(ServeTask task, SharedByStores shared);

  /// Runs until the work has ended; returns the exit code (OPERATIONS §1). Does not throw.
  boost::asio::awaitable<int> run();
  /// See Stopping::stop(). Call only while is_at_work().
  void stop(bool at_terminal) { stopping_.stop(at_terminal); }

  bool is_at_work() const { return has_begun_ && !ended_; }
  bool is_stopping() const { return parts_.ingest.worker.stopping(); }
  /// Whether Redis did not answer in time during a stop.
  bool has_left() const { return stopping_.has_left(); }
  ServedParts& parts() { return parts_; }

  /// Runs `work`; an exception is reported as a bug and does not end the other parts.
  boost::asio::awaitable<void> guarded(const char* part, boost::asio::awaitable<void> work);

 private:
  boost::asio::awaitable<void> beside();
  boost::asio::awaitable<int> work();
  boost::asio::awaitable<int> serve_feeds();
  boost::asio::awaitable<Worker::End> ingest();
  boost::asio::awaitable<Worker::End> fetch();
  boost::asio::awaitable<void> heartbeat();
  boost::asio::awaitable<void> deliver();
  boost::asio::awaitable<void> push();
  boost::asio::awaitable<void> push_out();
  boost::asio::awaitable<void> answer_requests();

  ServedParts parts_;
  Stopping stopping_;
  bool has_begun_ = false, ended_ = false;
};

/// Supervises a daemon's private server until cancelled; no-op without one.
boost::asio::awaitable<void> supervise(ServedParts& parts);

// Opens a store at the start: connect, check, wait.

/// Connects to the store and checks it. A daemon waits for an unreachable store until it is stopped; other modes log
/// the error and end. Returns exits::done if the store is open or a stop was requested, else the exit code for the
/// process.
boost::asio::awaitable<int> open_store(ServedParts& parts);

}  // namespace feedmill
