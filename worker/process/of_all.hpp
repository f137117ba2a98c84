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

/// On the loop's thread.
class OfAllPartitions {
 public:
  /// `stores`, all partitions, and `log` outlive this.
  OfAllPartitions(ServedStores stores, Log& log);

  /// Until stop() and the drain; not cancellable, except by hurry(). Does not throw.
  boost::asio::awaitable<void> run();
  void stop();
  /// Stops pushing out without a drain: running requests end.
  void hurry();
  /// Call after the first partition's configuration has been reloaded.
  void reload();

  Api& api() { return api_; }
  /// Null: another worker serves push_out.listen.
  Outside* outside() { return push_out_ ? push_out_->outside() : nullptr; }
  const Metrics& metrics() const { return metrics_; }

 private:
  std::unique_ptr<PushOut> push_out(ServedStores stores, Log& log);

  ServedStore& first_;
  Metrics metrics_;
  Api api_;
  std::unique_ptr<PushOut> push_out_;  // null: another worker pushes out, or none
};

}  // namespace feedmill
