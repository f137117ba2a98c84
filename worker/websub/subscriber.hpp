// Asks hubs to push, to go on, and to stop (WEBSUB §3), each for itself: one that does not answer keeps a few requests
// waiting, and no other hub. What is wanted is decided by push_policy.hpp.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/base/log.hpp"
#include "worker/http/fetch.hpp"
#include "worker/ingest/store_pool.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/observe/push_turns.hpp"
#include "worker/websub/push_policy.hpp"
#include "worker/websub/push_store.hpp"

namespace feedmill {

/// Requests that a worker has under way to hubs at most.
inline constexpr std::size_t most_hub_requests = 64;

/// Lives on one loop. What it is given must outlive run().
class HubClient {
 public:
  struct Options {
    std::string public_url;                       ///< what callbacks begin with, no slash at its end
    Partition partition{};                        ///< whose subscriptions they are
    std::size_t at_once = most_hub_requests;      ///< subscriptions looked after
    std::size_t per_domain = 8;                   ///< of these with hubs below one registrable domain
    std::size_t per_hub = 4;                      ///< requests of all workers to one hub at once (WEBSUB S5) …
    Milliseconds spacing{100};                    ///< … and between their starts
    Milliseconds poll{1000};                      ///< how often an idle one looks for what is to be done
    Milliseconds wall{20'000};                    ///< for a hub to answer, redirects and its http form included
    Milliseconds lease{std::chrono::minutes(5)};  ///< others do not look after what this one does
  };

  /// `partitions`: by which gates of hubs are reached that other partitions have.
  HubClient(const boost::asio::any_io_executor& executor, Fetcher& fetcher, PushStore& store, StorePool& partitions,
            Metrics& metrics, Log& log, Options options);

  /// Until stop() or cancellation. What is under way then may go on for `grace`; what has not been answered by that
  /// time its hub may verify at another worker.
  boost::asio::awaitable<void> run();
  void stop(Milliseconds grace);

 private:
  using Clock = std::chrono::steady_clock;

  /// What a hub made of a request.
  struct Reply {
    enum class Is { taken, refused, unheard, not_asked };
    Is is{};
    std::string hub_url;  ///< that answered
    std::string why;      ///< any but taken
    Milliseconds retry_after{};
    bool no_server = false;  ///< unheard: nobody spoke HTTP there
  };

  /// A task in hand, and Redis' clock when it was taken.
  struct Given {
    PushTask task;
    Milliseconds now{};
  };
  /// What is asked below a registrable domain.
  struct Domain {
    std::size_t under_way = 0;
    Clock::time_point tail;  ///< the last time that was given to somebody who has to wait
  };
  class Place;

  boost::asio::awaitable<void> look_after_all();
  boost::asio::awaitable<void> find_tasks();
  boost::asio::awaitable<void> lane();
  boost::asio::awaitable<void> wait_for_end();
  boost::asio::awaitable<void> rest(Clock::duration longest);
  boost::asio::awaitable<void> look_after(PushTask task, Milliseconds now);
  boost::asio::awaitable<void> take_step(const PushTask& task, const PushStep& step, Milliseconds now);
  boost::asio::awaitable<void> subscribe(const PushTask& task, const PushStep& step, Milliseconds now);
  boost::asio::awaitable<void> end(const PushTask& task, const PushStep& step);
  boost::asio::awaitable<Reply> ask(const PushTask& task, const PushRecord& record, std::string mode,
                                    Clock::time_point deadline);
  boost::asio::awaitable<void> settle(const PushTask& task, PushSettlement settlement, Milliseconds now);
  boost::asio::awaitable<void> tell(PushNews news, Milliseconds now);
  std::optional<unsigned> other_home_of(std::string_view hub_host) const;
  boost::asio::awaitable<void> end_turn(unsigned home, std::string host, std::string member);
  Milliseconds wait_for_domain(const std::string& name);
  boost::asio::awaitable<StoreResult<Milliseconds>> wait_for_hub(const PushTask& task, std::string host);
  PushRecord new_record(const PushTask& task, const PushStep& step, std::string hub_url) const;

  Fetcher& fetcher_;
  PushStore& store_;
  StorePool& partitions_;
  Metrics& metrics_;
  Log& log_;
  Options options_;
  std::map<std::string, Clock::time_point> only_http_;  ///< hubs whose https form does not serve, until then
  std::map<std::string, Domain> domains_;               ///< those in which somebody is asking
  std::deque<Given> queue_;                             ///< for a free lane
  std::size_t in_hand_ = 0;                             ///< those that wait for one, and those in one
  boost::asio::steady_timer pause_;                     ///< of find_tasks(); cancelled when there is room again
  boost::asio::steady_timer filled_;                    ///< cancelled when there is something in the queue
  boost::asio::steady_timer end_;
  bool stopping_ = false;
};

}  // namespace feedmill
