// A running process: drives its stores until the work is done or the process is stopped.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/admin/admin.hpp"
#include "worker/api/api.hpp"
#include "worker/base/log.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/process/process_answers.hpp"
#include "worker/process/sd_notify.hpp"
#include "worker/process/served_store.hpp"
#include "worker/push_out/push_out.hpp"

namespace feedmill {

// Serves all partitions of a deployment from their merged event stream (RELIABILITY L28): pushes out to webhooks and
// live streams, and answers API calls.

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

class Process {
 public:
  /// Serves one store per task: either the only one, or all partitions of a deployment in their order (RELIABILITY
  /// L29). `stop`: the signals that stop the process. `log`: for messages about all stores. Both must outlive this.
  Process(std::vector<ServeTask> tasks, Log& log, BlockedPosixSignals& stop);

  /// Blocks until the process has ended; returns the exit code (OPERATIONS §1).
  int run();

 private:
  SharedByStores shared_by_stores(std::size_t stores);
  ServedParts& first() const { return stores_.front()->parts(); }
  std::string state() const;
  std::size_t ready_stores() const;
  std::string trouble_beside(const ServedParts* mine) const;
  std::size_t in_flight() const;
  void leave(const ServedStore& store, int code);
  std::optional<int> open_listeners();
  boost::asio::awaitable<void> run_until_done();
  boost::asio::awaitable<void> serve_stores();
  boost::asio::awaitable<void> serve_of_all();
  boost::asio::awaitable<void> first_is_known();
  void note_end(const ServedStore& store, int code);
  boost::asio::awaitable<void> beside();
  void stop(bool at_terminal);
  boost::asio::awaitable<void> obey(BlockedPosixSignals& signals);
  boost::asio::awaitable<void> obey_hang_ups();
  boost::asio::awaitable<void> answer_questions();
  template <class Served>
  static boost::asio::awaitable<void> serve(const std::unique_ptr<Served>& listener);
  boost::asio::awaitable<void> serve_api();
  boost::asio::awaitable<void> tell_state();
  boost::asio::awaitable<void> feed_watchdog();

  Log& log_;
  BlockedPosixSignals& stop_;
  std::optional<BlockedPosixSignals> hang_ups_, status_wanted_;  // set in a daemon
  boost::asio::io_context loop_{1};
  SdNotify notify_ = SdNotify::from_environment();
  StoresAway away_;
  MemoryBudget memory_;
  ReadingThreads reading_;
  Looks looks_;
  PushOut::Memory push_out_memory_{loop_.get_executor(), memory_};
  std::vector<std::unique_ptr<ServedStore>> stores_;
  std::unique_ptr<OfAllPartitions> of_all_;      // null: one store only, or no merged stream
  std::unique_ptr<Admin> admin_;                 // null: disabled
  std::unique_ptr<Listener> api_listener_;       // null: the admin listener serves the API, or the API is disabled
  std::unique_ptr<CallbackListener> callbacks_;  // null: another worker answers hubs, or none does
  std::unique_ptr<OutsideListener> outside_;     // null: another worker serves outside clients, or none does
  boost::asio::steady_timer ended_{loop_,
                                   boost::asio::steady_timer::time_point::max()};  // cancelled when a store has ended
  std::size_t at_work_ = 0;                                                        // stores started and not yet ended
  std::optional<int> left_;  // exit code if a store did not answer during the stop
  int code_ = 0;
};

}  // namespace feedmill
