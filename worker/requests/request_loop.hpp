// Requests of programs in a running process: a RequestWork beside the loop, driven from it (RELIABILITY Q3).
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/base/blocking_calls.hpp"
#include "worker/base/log.hpp"
#include "worker/discovery/looks.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/observe/refused_work.hpp"
#include "worker/requests/request_work.hpp"

namespace feedmill {

/// All members are called on the loop's thread.
class RequestLoop {
 public:
  /// `looks`, `metrics` and `log` outlive this. `wait`: how long one wait in Redis for a request lasts, which another
  /// one follows; a request ends it.
  RequestLoop(const boost::asio::any_io_executor& executor, const StoreOptions& store, Requests::Options options,
              RequestRules rules, Milliseconds wait, Looks& looks, Metrics& metrics, Log& log);
  RequestLoop(const RequestLoop&) = delete;
  RequestLoop& operator=(const RequestLoop&) = delete;

  /// Until stop() was called and heeded; `once`: or until nothing waits, or what waits is another worker's or cannot be
  /// carried out now. Does not throw but for want of memory.
  boost::asio::awaitable<void> run(bool once);
  /// Ends behind the step under way; what is left is done by the next.
  void stop();
  /// Looks for requests now: one was made.
  void look() { timer_.cancel(); }
  /// Gives up a wait for a server that may not answer any more, and looks.
  void break_wait() { work_.break_wait(); }
  /// Whether another process takes requests first: this one leaves it a second then, but for look() (RELIABILITY L30).
  void set_yields(bool yields) { yields_ = yields; }
  /// For requests that are begun from now on.
  void set_rules(RequestRules rules);

 private:
  bool look_behind(const std::vector<SoughtPage>& pages);
  boost::asio::awaitable<void> wait_for_request();
  boost::asio::awaitable<void> pause(Milliseconds time);
  void note(const StoreError& error);

  Looks& looks_;
  Metrics& metrics_;
  Log& log_;
  RequestWork work_;
  std::shared_ptr<const RequestRules> rules_;                       // shared with the step under way
  std::map<std::string, std::unique_ptr<LookUnderWay>> under_way_;  // by the request's id
  const Milliseconds wait_;
  boost::asio::steady_timer timer_;
  bool yields_ = false;
  std::atomic<bool> stopping_ = false;  // read beside the loop as well
  RefusedWork refused_;
  int attempts_ = 0;
  std::uint64_t reconnects_ = 0;
  BlockingCalls calls_;
};

}  // namespace feedmill
