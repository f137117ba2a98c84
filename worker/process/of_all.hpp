// What a process that serves all partitions does for them together, by the one stream of their events (RELIABILITY
// L28): it tells webhooks and live streams of them, and answers programs that ask for them.
#pragma once

#include <memory>

#include <boost/asio/awaitable.hpp>

#include "worker/api/api.hpp"
#include "worker/base/log.hpp"
#include "worker/hub/push_out.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/process/process_answers.hpp"

namespace feedmill {

/// On the loop's thread.
class OfAllPartitions {
 public:
  /// `stores`, all partitions, and `log` outlive this.
  OfAllPartitions(ServedStores stores, Log& log);

  /// Until stop() and the drain after it; not cancellable but by hurry(). Does not throw.
  boost::asio::awaitable<void> run();
  void stop();
  /// Nothing may go on any longer.
  void hurry();
  /// The configuration of the first partition has been read again.
  void reload();

  Api& api() { return api_; }
  /// Null: another worker answers those outside.
  Outside* outside() { return push_out_ ? push_out_->outside() : nullptr; }
  const Metrics& metrics() const { return metrics_; }

 private:
  std::unique_ptr<PushOut> push_out(ServedStores stores, Log& log);

  ServedStore& first_;
  Metrics metrics_;
  Api api_;
  std::unique_ptr<PushOut> push_out_;  // null: others are told by another worker, or by none
};

}  // namespace feedmill
