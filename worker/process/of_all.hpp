// Serves all partitions of a deployment from their merged event stream (RELIABILITY L28): pushes out to webhooks and
// live streams, and answers API calls.
#pragma once

#include <memory>

#include <boost/asio/awaitable.hpp>

#include "worker/api/api.hpp"
#include "worker/base/log.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/process/process_answers.hpp"
#include "worker/push_out/push_out.hpp"

namespace feedmill {

/// Used on the loop's thread.
class OfAllPartitions {
 public:
  /// `stores`: all partitions. `stores` and `log` must outlive this.
  OfAllPartitions(ServedStores stores, Log& log);

  /// Runs until stop() and the end of the drain; not cancellable, but hurry() ends the drain. Does not throw.
  boost::asio::awaitable<void> run();
  void stop();
  /// Stops pushing out without a drain: running requests end.
  void hurry();
  /// Call after the configuration of the first partition was reloaded.
  void reload();

  Api& api() { return api_; }
  /// Null if another worker serves push_out.listen.
  Outside* outside() { return push_out_ ? push_out_->outside() : nullptr; }
  const Metrics& metrics() const { return metrics_; }

 private:
  std::unique_ptr<PushOut> push_out(ServedStores stores, Log& log);

  ServedStore& first_;
  Metrics metrics_;
  Api api_;
  std::unique_ptr<PushOut> push_out_;  // null: another worker pushes out, or none does
};

}  // namespace feedmill
