// Serves those that are due: asks subscribers of the hub whether they meant it, sends them and webhooks what concerns
// them, one request after the other to each, and writes down how far each has come (WEBSUB U4–U7, U12–U15). None of
// them can slow another.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "storage/push_out/subscribers.hpp"
#include "storage/records/notice.hpp"
#include "worker/base/log.hpp"
#include "worker/http/fetch.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/push_out/bell.hpp"
#include "worker/push_out/event_tail.hpp"
#include "worker/push_out/new_content.hpp"
#include "worker/push_out/sender.hpp"
#include "worker/push_out/store_calls.hpp"
#include "worker/push_out/verification_limit.hpp"

namespace feedmill {

/// How long a receiver that has failed so many times in a row is left alone: 1 min · 2^k up to 24 h, or for as long as
/// it asked, up to 24 h.
Milliseconds receiver_back_off(std::uint32_t failures, Milliseconds retry_after);

/// So often a delivery to a subscriber of the hub is tried; then it is given up, and the subscription goes on.
inline constexpr std::uint32_t most_hub_tries = 13;

/// Lives on one loop; what it is given outlives it.
class Dispatcher {
 public:
  struct Options {
    std::string token;          ///< of this worker, unique
    std::string hub;            ///< the address of the hub, named in what is delivered
    std::size_t at_once = 256;  ///< receivers that failed last time, or were slow, get half of them, verifications a
                                ///< quarter
    std::size_t per_host = 4;
    Milliseconds timeout{15'000};
    Milliseconds give_up{std::chrono::hours(7 * 24)};  ///< a webhook that has failed for so long is suspended
    Milliseconds lease{10'000};  ///< others do not serve whom this one serves; renewed every second
    Milliseconds poll{1'000};    ///< the shortest time until what did not go well is tried again
    Milliseconds look{1'000};   ///< how often an idle one looks for who is due, and for events, that it did not hear of
    Milliseconds lead{10'000};  ///< who looks up whom events concern does so for that long, and renews it within
  };

  struct Parts {
    StoreCalls& store;
    const FeedHomes& homes;
    EventTail& tail;
    Bell& due;  ///< rung when somebody may be due
    Fetcher& fetcher;
    OutgoingMemory& memory;  ///< of deliveries
    VerificationLimit& sites;
    Metrics& metrics;
    Log& log;
  };
  /// `content`: the store once more, for what is read at length.
  Dispatcher(boost::asio::any_io_executor executor, const StoreOptions& content, const Parts& parts, Options options);
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  /// Until stop(), and the requests that are under way then; or cancelled.
  boost::asio::awaitable<void> run();
  void stop();
  /// After run(): writes down where each has come, and leaves them to others. What was being sent when it was cancelled
  /// may have been taken: it is sent once more, under the same id.
  boost::asio::awaitable<void> lay_down();

 private:
  using Clock = std::chrono::steady_clock;

  /// A subscriber in hand.
  struct Served {
    Subscriber subscriber;
    std::string claim;
    Clock::time_point held_until;
    bool verifies = false;  ///< the subscription is pending
    bool failed = false;    ///< last time, or was slow
    Fields changes{};     ///< of its record, to be written
  };
  /// How far one has come that is still in hand.
  struct Progress {
    std::string claim, cursor;
    Clock::time_point held_until;  ///< the lease ends no sooner
    bool lost = false;             ///< it is in another's hand
  };
  /// What serving goes on with.
  enum class Next { more, settled };

  boost::asio::awaitable<void> find_due();
  void take(Subscriber&& subscriber, const std::string& claim, Clock::time_point held_until);
  Progress* progress_of(const Served& served);
  bool let_go(const Served& served, SubscriberSettlement& end);
  boost::asio::awaitable<void> lane();
  boost::asio::awaitable<SubscriberSettlement> serve(Served& served);
  enum class Turn { now, later, never };
  boost::asio::awaitable<Turn> turn_at_site(Served& served, SubscriberSettlement& end,
                                            Fetcher::Peer& peer);
  boost::asio::awaitable<Next> confirm(Served& served, SubscriberSettlement& end);
  boost::asio::awaitable<Next> tell_page(Served& served, SubscriberSettlement& end, const EventTail::Since& page);
  boost::asio::awaitable<Next> tell_webhook(Served& served, SubscriberSettlement& end, const OutsideEvents& wanted);
  boost::asio::awaitable<Next> deliver(Served& served, SubscriberSettlement& end, const OutsideEvents& wanted,
                                       std::string& up_to);
  boost::asio::awaitable<StoreResult<void>> leave_private(const Subscriber& subscriber, OutsideEvents& events);

  Next judge(Served& served, SubscriberSettlement& end, const Told& told);
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
  Bell& due_;
  Metrics& metrics_;
  Log& log_;
  const Options options_;
  Sender sender_;
  NewContent content_;
  VerificationLimit& sites_;
  VerificationLimit networks_{10'000, VerificationLimit::Confirmed::keeps};

  std::deque<Served> queue_;                   // for a free lane
  std::size_t verifying_ = 0;                  // in hand, of pending subscriptions
  std::size_t failing_ = 0;                    // in hand, of those that failed last time
  std::size_t in_hand_ = 0;                    // those that wait for one, and those in one
  std::map<std::string, Progress> progress_;   // of those in a lane
  std::vector<SubscriberSettlement> settled_;  // to be written
  std::vector<Notice> notices_;                // likewise
  Clock::time_point progress_due_;             // when progress is written the next time
  Milliseconds redis_time_{};                  // Redis' clock at `redis_read_`
  Clock::time_point redis_read_;
  std::minstd_rand random_;
  Bell write_bell_;
  boost::asio::steady_timer filled_;  // cancelled when there is something in the queue
  bool stopping_ = false, ended_ = false;
};

}  // namespace feedmill
