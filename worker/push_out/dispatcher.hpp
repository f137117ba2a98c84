// Serves due subscribers: verifies hub subscriptions, sends events to webhooks and content to hub subscribers, and
// stores the progress of each (WEBSUB U4, U5, U7, U12–U15). One slow receiver does not delay the others.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "storage/queues/subscribers.hpp"
#include "storage/records/notice.hpp"
#include "worker/base/due_lanes.hpp"
#include "worker/base/log.hpp"
#include "worker/http/fetch.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/push_out/event_tail.hpp"
#include "worker/push_out/outside_event.hpp"
#include "worker/push_out/sender.hpp"
#include "worker/push_out/verification_limit.hpp"
#include "worker/store/store_calls.hpp"

namespace feedmill {

/// Back-off of a receiver after `failures` in a row, at least 1: 1 min · 2^(failures - 1), or its Retry-After if that
/// is longer; at most 24 h.
Milliseconds receiver_back_off(std::uint32_t failures, Milliseconds retry_after);

/// Attempts per delivery to a hub subscriber. Then the delivery is dropped and the subscription continues.
inline constexpr std::uint32_t most_hub_tries = 13;

/// Lives on one loop; all constructor arguments must outlive it.
class Dispatcher {
 public:
  struct Options {
    std::string token;          ///< unique to this worker
    std::string hub;            ///< URL of the hub, named in deliveries
    std::size_t at_once = 256;  ///< lanes; verifications get at most a quarter of them, receivers that failed or were
                                ///< slow last time half
    std::size_t per_host = 4;
    Milliseconds timeout{15'000};
    Milliseconds give_up{std::chrono::hours(7 * 24)};  ///< a webhook that fails for this long is suspended
    Milliseconds lease{10'000};                        ///< lease of a subscriber; renewed every second
    Milliseconds poll{1'000};                          ///< shortest delay before a retry
    Milliseconds look{1'000};   ///< interval at which an idle dispatcher polls for due subscribers and missed events
    Milliseconds lead{10'000};  ///< lease of the worker that finds the subscribers of events; renewed before it ends
  };

  /// Collaborators; all must outlive the dispatcher.
  struct Parts {
    StoreCalls& store;
    const FeedHomes& homes;
    EventTail& tail;
    WakeEvent& due;  ///< notified when subscribers may be due
    Fetcher& fetcher;
    OutgoingMemory& memory;  ///< memory for deliveries
    VerificationLimit& sites;
    Metrics& metrics;
    Log& log;
  };
  /// `content`: the store, over another connection, for long reads.
  Dispatcher(boost::asio::any_io_executor executor, const StoreOptions& content, const Parts& parts, Options options);
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  /// Runs until stop() and the end of running requests, or until cancelled.
  boost::asio::awaitable<void> run();
  void stop();
  /// Call after run(): stores the progress of each subscriber and releases it to other workers. The receiver may have
  /// accepted a request that was cancelled in flight; it is sent again with the same id.
  boost::asio::awaitable<void> lay_down();

 private:
  using Clock = std::chrono::steady_clock;

  /// A claimed subscriber.
  struct Served {
    Subscriber subscriber;
    std::string claim;
    Clock::time_point held_until;
    bool verifies = false;  ///< the subscription is pending
    bool failed = false;    ///< the last request failed or was slow
    Fields changes{};       ///< changed fields of the record that are not yet stored
  };
  /// The progress of a claimed subscriber.
  struct Progress {
    std::string claim, cursor;
    Clock::time_point held_until;  ///< our lease lasts at least until then
    bool lost = false;             ///< another worker has claimed the subscriber
  };
  /// Whether to continue serving the subscriber.
  enum class Next { more, settled };

  boost::asio::awaitable<DueLanes<Served>::Taken> take(std::size_t room);
  bool has_lane_for(Served& served);
  boost::asio::awaitable<void> serve_and_settle(Served& served);
  Progress* progress_of(const Served& served);
  bool let_go(const Served& served, SubscriberSettlement& end);
  boost::asio::awaitable<SubscriberSettlement> serve(Served& served);
  /// When a verification may be sent, given the limits of its site and network.
  enum class Turn { now, later, never };
  boost::asio::awaitable<Turn> turn_at_site(Served& served, SubscriberSettlement& end, Fetcher::Peer& peer);
  boost::asio::awaitable<Next> confirm(Served& served, SubscriberSettlement& end);
  boost::asio::awaitable<Next> tell_page(Served& served, SubscriberSettlement& end, const EventTail::Since& page);
  boost::asio::awaitable<Next> tell_webhook(Served& served, SubscriberSettlement& end, const OutsideEvents& wanted);
  boost::asio::awaitable<Next> deliver(Served& served, SubscriberSettlement& end, const OutsideEvents& wanted,
                                       std::string& up_to);
  boost::asio::awaitable<StoreResult<void>> leave_private(const Subscriber& subscriber, OutsideEvents& events);

  Next judge(Served& served, SubscriberSettlement& end, const Told& told);
  /// Makes the subscriber due again after `delay`, or after an error of the store.
  static Next put_off(SubscriberSettlement& end, Milliseconds delay = {});
  Next put_off(SubscriberSettlement& end, const StoreError& error);
  static void set(Fields& fields, std::string_view name, std::string value);
  void came(Served& served, const std::string& cursor);
  void note_success(Served& served);
  void tell_operators(const Subscriber& subscriber, std::string_view what, const std::string& why);
  Milliseconds redis_now() const;
  Milliseconds with_jitter(Milliseconds delay);
  Milliseconds place_again(const Told& told);

  boost::asio::awaitable<void> write_down();
  boost::asio::awaitable<bool> settle(std::vector<SubscriberSettlement> all);

  boost::asio::any_io_executor executor_;
  StoreCalls& store_;
  const FeedHomes& homes_;
  EventTail& tail_;
  WakeEvent& due_;
  Metrics& metrics_;
  Log& log_;
  const Options options_;
  Sender sender_;
  NewContent content_;
  VerificationLimit& sites_;
  VerificationLimit networks_{10'000, VerificationLimit::Confirmed::keeps};

  DueLanes<Served> lanes_;
  std::size_t verifying_ = 0;                  // claimed subscribers that are pending
  std::size_t failing_ = 0;                    // claimed subscribers whose last request failed or was slow
  std::map<std::string, Progress> progress_;   // by id, for subscribers in a lane
  std::vector<SubscriberSettlement> settled_;  // not yet written
  std::vector<Notice> notices_;                // not yet written
  Clock::time_point progress_due_;             // when progress is stored next
  Milliseconds redis_time_{};                  // Redis' clock at `redis_read_`
  Clock::time_point redis_read_;
  std::minstd_rand random_;
  WakeEvent write_due_;
  bool stopping_ = false, ended_ = false;
};

}  // namespace feedmill
