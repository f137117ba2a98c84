// Who serves a store: its parts, driven until the work is done or it is told to stop.
#pragma once

#include <optional>

#include <boost/asio/awaitable.hpp>

#include "worker/process/parts.hpp"
#include "worker/process/stopping.hpp"

namespace feedmill {

/// On the loop's thread.
class ServedStore {
 public:
  ServedStore(ServeTask task, SharedByStores shared);

  /// Until the work has ended; the exit code (RELIABILITY §11). Does not throw.
  boost::asio::awaitable<int> run();
  /// As Stopping::stop(); only while it is at work.
  void stop(bool at_terminal) { stopping_.stop(at_terminal); }

  bool is_at_work() const { return has_begun_ && !ended_; }
  bool is_stopping() const { return parts_.ingest.worker.stopping(); }
  /// It is not waited for any more, because its Redis does not answer.
  bool has_left() const { return stopping_.has_left(); }
  ServedParts& parts() { return parts_; }

  /// `work`, whose bug must not take others along.
  boost::asio::awaitable<void> guarded(const char* part, boost::asio::awaitable<void> work);

 private:
  boost::asio::awaitable<int> run_to_end();
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

/// Looks after the private server of a daemon; nothing where it has none. Until cancelled.
boost::asio::awaitable<void> supervise(ServedParts& parts);

}  // namespace feedmill
