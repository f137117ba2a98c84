// Asks hubs to push, to go on, and to stop (WEBSUB §3). What is wanted is decided by push_policy.hpp.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/http/fetch.hpp"
#include "worker/log.hpp"
#include "worker/metrics.hpp"
#include "worker/push/push_policy.hpp"
#include "worker/push/push_store.hpp"
#include "worker/push/push_turns.hpp"

namespace feedmill {

/// Lives on one loop. What it is given must outlive run().
class Subscriber {
 public:
  struct Options {
    std::string public_url;                       ///< what callbacks begin with, no slash at its end
    std::size_t at_once = 32;                     ///< subscriptions looked after
    std::size_t per_hub = 4;                      ///< requests of all workers to one hub at once (WEBSUB S5) …
    Milliseconds spacing{100};                    ///< … and between their starts
    Milliseconds poll{1000};                      ///< how often an idle one looks for what is to be done
    Milliseconds wall{20'000};                    ///< for a hub to answer, redirects included
    Milliseconds lease{std::chrono::minutes(5)};  ///< others do not look after what this one does
  };

  Subscriber(boost::asio::any_io_executor executor, Fetcher& fetcher, PushStore& store, Metrics& metrics, Log& log,
             Options options);

  /// Until stop() or cancellation; what is under way is finished first.
  boost::asio::awaitable<void> run();
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  /// What a hub made of a request.
  struct Reply {
    enum class Is { taken, refused, unheard };
    Is is{};
    std::string hub_url;  ///< that answered
    std::string why;      ///< refused, unheard
    Milliseconds retry_after{};
    bool no_server = false;  ///< unheard: nobody spoke HTTP there
  };

  boost::asio::awaitable<void> look_after(PushTask task, Milliseconds now);
  boost::asio::awaitable<void> carry_out(const PushTask& task, const PushStep& step, Milliseconds now);
  boost::asio::awaitable<void> subscribe(const PushTask& task, const PushStep& step, Milliseconds now);
  boost::asio::awaitable<void> end(const PushTask& task, const PushStep& step);
  boost::asio::awaitable<Reply> ask(const PushTask& task, const PushRecord& record, std::string mode);
  boost::asio::awaitable<void> settle(const PushTask& task, PushSettlement settlement, Milliseconds now);
  boost::asio::awaitable<void> tell(PushNews news, Milliseconds now);
  boost::asio::awaitable<StoreResult<Milliseconds>> wait_for_hub(const PushTask& task, std::string host);
  PushRecord new_record(const PushTask& task, const PushStep& step, std::string hub_url) const;

  Fetcher& fetcher_;
  PushStore& store_;
  Metrics& metrics_;
  Log& log_;
  Options options_;
  std::map<std::string, Clock::time_point> only_http_;  ///< hubs whose https form does not serve, until then
  Clock::time_point queued_until_;  ///< up to then someone's turn at a hub comes: it is looked more often
  boost::asio::steady_timer pause_;
  bool stopping_ = false;
};

}  // namespace feedmill
