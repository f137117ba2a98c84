// Subscribes, renews and unsubscribes at hubs (WEBSUB §3). Hubs do not affect each other: one that does not answer
// delays only a few requests to itself. push_policy.hpp decides the steps.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/base/due_lanes.hpp"
#include "worker/base/log.hpp"
#include "worker/http/fetch.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/store/store_pool.hpp"
#include "worker/websub/push_policy.hpp"
#include "worker/websub/push_store.hpp"

namespace feedmill {

/// Maximum number of concurrent requests of one worker to hubs.
inline constexpr std::size_t most_hub_requests = 64;

/// Handles the subscription tasks of one store. Lives on one loop. All constructor arguments must outlive run().
class HubClient {
 public:
  struct Options {
    std::string public_url;                       ///< prefix of callback URLs, no trailing slash
    Partition partition{};                        ///< the partition of the subscriptions
    std::size_t at_once = most_hub_requests;      ///< subscriptions handled concurrently
    std::size_t per_domain = 8;                   ///< concurrent requests to hubs of one registrable domain
    std::size_t per_hub = 4;                      ///< concurrent requests of all workers to one hub (WEBSUB S5) …
    Milliseconds spacing{100};                    ///< … and the delay between their starts
    Milliseconds poll{1000};                      ///< interval of checks for tasks when idle
    Milliseconds wall{20'000};                    ///< time for a hub to answer, including redirects and its http URL
    Milliseconds lease{std::chrono::minutes(5)};  ///< time during which other workers skip tasks taken by this one
  };

  /// `partitions`: access to the hub gates of other partitions.
  HubClient(const boost::asio::any_io_executor& executor, Fetcher& fetcher, PushStore& store, StorePool& partitions,
            Metrics& metrics, Log& log, Options options);

  /// Runs until stop() or cancellation. After stop(), running requests may continue for `grace`; hubs that answer later
  /// may verify at another worker.
  boost::asio::awaitable<void> run();
  void stop(Milliseconds grace);

 private:
  using Clock = std::chrono::steady_clock;

  /// A hub's response to a request.
  struct Reply {
    /// `unheard`: failed or could not be reached, retry later; `not_asked`: our own limits prevented the request.
    enum class Is { taken, refused, unheard, not_asked };
    Is is{};
    std::string hub_url;  ///< the URL that answered
    std::string why;      ///< the reason, unless `taken`
    Milliseconds retry_after{};
    bool no_server = false;  ///< if `unheard`: no HTTP server answered
  };

  /// A task being handled, and Redis' time when it was taken.
  struct Given {
    PushTask task;
    Milliseconds now{};
  };
  /// Where a task holds a slot.
  struct Place {
    std::string hub;         ///< host of the gate
    std::string own_domain;  ///< of the first hub asked, until the task ends: redirects keep no other hub waiting
    std::string domain{};    ///< of a redirect's target, "" = none or the same
  };
  /// Requests to hubs of one registrable domain.
  struct Domain {
    std::size_t under_way = 0;
    Clock::time_point tail;  ///< the start time given to the last waiter
  };

  boost::asio::awaitable<void> look_after_all();
  boost::asio::awaitable<DueLanes<Given>::Taken> take_tasks(std::size_t room);
  boost::asio::awaitable<void> look_after(const Given& given);
  boost::asio::awaitable<void> take_step(const PushTask& task, const PushStep& step, Milliseconds now);
  boost::asio::awaitable<void> subscribe(const PushTask& task, const PushStep& step, Place& at, Milliseconds now);
  boost::asio::awaitable<void> end(const PushTask& task, Place& at);
  boost::asio::awaitable<Reply> ask(const PushTask& task, const PushRecord& record, std::string mode, Place& at,
                                    Clock::time_point deadline);
  boost::asio::awaitable<void> settle(const PushTask& task, PushSettlement settlement, Milliseconds now);
  std::optional<unsigned> other_home_of(std::string_view hub_host) const;
  boost::asio::awaitable<void> end_turn(std::string host, std::string member);
  boost::asio::awaitable<bool> move_to(const PushTask& task, std::string host, Place& at, Clock::time_point deadline);
  Milliseconds wait_for_domain(const std::string& name);
  void leave_domain(const std::string& name);
  boost::asio::awaitable<StoreResult<Milliseconds>> wait_for_hub(const PushTask& task, std::string host,
                                                                 std::string came);
  std::string first_url(const PushTask& task, const PushStep& step) const;
  PushRecord new_record(const PushTask& task, const PushStep& step, std::string hub_url) const;

  Fetcher& fetcher_;
  PushStore& store_;
  StorePool& partitions_;
  Metrics& metrics_;
  Log& log_;
  Options options_;
  std::map<std::string, Clock::time_point> only_http_;  ///< hubs that fail over https, and until when to use http
  std::map<std::string, Domain> domains_;               ///< domains with running requests
  WakeEvent due_;
  DueLanes<Given> lanes_;
  boost::asio::steady_timer end_;
};

}  // namespace feedmill
