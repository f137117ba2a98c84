// The worker's life cycle: claim, lanes, drain. A Worker runs on one event loop and shares nothing (DESIGN §6).
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include "storage/records/fleet_records.hpp"
#include "storage/redis/values.hpp"
#include "storage/store/store.hpp"
#include "storage/timelines/notifications.hpp"
#include "worker/base/log.hpp"
#include "worker/ingest/refresh.hpp"
#include "worker/ingest/scope_progress.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/store/store_pool.hpp"

namespace feedmill {

// How many feeds a worker claims, depending on its speed and its backlog.

// Limits the number of feeds in one claim (RELIABILITY B2). Pure: the time is an argument.

/// Halves the limit when commits are slow, at most once a second, and raises it by one for each second without slow
/// commits.
class AdaptiveBatchSize {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `most`: the initial and maximum limit, at least 1.
  explicit AdaptiveBatchSize(std::size_t most) : most_(most), allowed_(most) {}

  /// Records that a commit was slow, or that too many bytes are unanswered.
  void slow(Time now) {
    allowed(now);
    if (halved_once_ && now - halved_ < std::chrono::seconds(1)) return;
    halved_once_ = true;
    halved_ = grown_ = now;
    allowed_ = allowed_ > 1 ? allowed_ / 2 : 1;
  }

  /// The limit of a claim at `now`.
  std::size_t allowed(Time now) {
    if (allowed_ >= most_) {
      grown_ = now;
      return most_;
    }
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - grown_);
    if (seconds.count() > 0) {
      const auto more = static_cast<std::size_t>(seconds.count());
      allowed_ = more < most_ - allowed_ ? allowed_ + more : most_;
      grown_ += seconds;
    }
    return allowed_;
  }

 private:
  std::size_t most_, allowed_;
  Time grown_{}, halved_{};
  bool halved_once_ = false;
};

// Limits the rate of overdue feeds after an outage of the fleet (HTTP P12). Pure.

/// The rate that a worker sends with each claim; the store applies it to the whole fleet.
class CatchUpRate {
 public:
  /// `rate`: overdue feeds per second of the whole fleet, 0 = unpaced.
  explicit CatchUpRate(std::uint32_t rate) : rate_(rate) {}

  void set_rate(std::uint32_t rate) { rate_ = rate; }
  /// Sets the number of feeds in the store.
  void set_feeds(std::uint64_t feeds) { feeds_ = feeds; }
  /// Records that a feed was polled and is due again after `interval`. Feeds with short intervals are polled more
  /// often, so the mean over polls gives the fleet's regular rate.
  void observe(Milliseconds interval) {
    const double seconds = std::chrono::duration<double>(interval).count();
    mean_interval_s_ += (seconds - mean_interval_s_) * (mean_interval_s_ > 0 ? 0.01 : 1.0);
  }

  /// Feeds per second for the whole fleet, at least 1.5 times its regular rate; 0 = unpaced.
  std::uint64_t now() const {
    if (rate_ == 0) return 0;
    const double planned = mean_interval_s_ > 0 ? static_cast<double>(feeds_) / mean_interval_s_ : 0;
    return std::max<std::uint64_t>(rate_, static_cast<std::uint64_t>(std::min(1.5 * planned, 1e6)));
  }

 private:
  std::uint32_t rate_;
  std::uint64_t feeds_ = 0;
  double mean_interval_s_ = 0;  ///< mean poll interval of the last few hundred refreshes; 0 = unknown
};

// Decides when a worker checks for due feeds while another process is primary (RELIABILITY L30). Pure.

class Yielding {
 public:
  using Clock = std::chrono::steady_clock;

  /// `poll`: the interval of checks by the primary.
  explicit Yielding(Milliseconds poll) : poll_(poll) {}

  /// Sets whether another process is primary.
  void set(bool yields) {
    if (yields && !yields_) *this = Yielding(poll_);
    yields_ = yields;
  }
  bool is_set() const { return yields_; }

  /// Whether the worker leaves the work to the primary now. If not, it is the primary, or helps by working like it.
  bool rests(Clock::time_point now) const { return yields_ && now >= helps_until_; }
  /// Interval of checks while resting; `until_due`: no feed is known to become due sooner.
  Milliseconds rest(Milliseconds until_due = {}) const {
    return rest_ < std::max(longest_rest, poll_) ? rest_ : std::max(rest_, until_due);
  }

  /// Records a check that found feeds overdue by `due_for`, 0 = none; `all`: the check found all due feeds. Starts to
  /// help if the primary falls behind, and helps for longer if that recurs soon.
  void looked(Milliseconds due_for, bool all, Clock::time_point now) {
    if (!rests(now)) return;
    if (!all || due_for > poll_ + late) {
      help_ = std::clamp(2 * help_, shortest_help, longest_help);
      helps_until_ = now + help_;
      rest_ = poll_ / 2;
    } else if (const Milliseconds longest = std::max(longest_rest, poll_); rest_ < longest) {
      rest_ = std::min(2 * rest_, longest);
    } else {
      help_ = {};
    }
  }

 private:
  static constexpr Milliseconds longest_rest{10'000};  // limits the time to detect that the primary is gone
  static constexpr Milliseconds late{1'000}, shortest_help{10'000}, longest_help{60'000};

  Milliseconds poll_;
  bool yields_ = false;
  Milliseconds rest_ = poll_, help_{};  // interval of checks; duration of the last help
  Clock::time_point helps_until_;
};

class FollowedRefresh;

struct WorkerOptions {
  std::string id;  ///< 32 hex digits, random for each process (RELIABILITY L2)
  std::size_t lanes = 256;
  Milliseconds lease{90'000};
  Milliseconds poll{500};      ///< interval of checks for due feeds with a scope, or while yielding
  Milliseconds look{10'000};   ///< longest time until a daemon finds due feeds without a notification (RELIABILITY L10)
  Milliseconds listen{2'000};  ///< length of one wait for a notification; the next wait follows at once
  HostLimits host;
  std::uint64_t buffer = 32U << 20U;  ///< limit of bytes fetched but not stored; when it is reached, nothing is claimed
  std::uint32_t catch_up_rate = 200;  ///< overdue feeds per second of the whole fleet, 0 = unpaced (HTTP P12)
  Milliseconds drain{25'000};         ///< time for running refreshes to finish after stop()
  bool yields = false;                ///< yield to the primary process while it keeps up (RELIABILITY L30)
  bool tells_of_eviction = true;      ///< notify operators if the server evicts keys; false: another loop does
};

/// Claims feeds and refreshes them in lanes. Must outlive run(). All members are called on the executor's one thread,
/// except id() and in_flight().
class Worker {
 public:
  /// `tell`: called after each refresh, in addition to metrics and log. `outages`: shared by all loops of the process.
  Worker(boost::asio::any_io_executor executor, Refresher& refresher, StorePool& store, Metrics& metrics, Log& log,
         Outages& outages, WorkerOptions options, const WorkerScope& scope,
         std::function<void(const Report&)> tell = {});

  enum class End {
    clean,        ///< all claims are finished or released
    claims_left,  ///< some claims could not be released; their leases will expire
    store_away,   ///< the scope is unfinished because the store went down (a daemon waits for it)
  };

  /// Claims and refreshes until stop() is called or the scope is done. Not cancellable: call stop().
  boost::asio::awaitable<End> run();

  /// Changes the options that may change while the worker runs.
  void set_limits(const HostLimits& host, std::uint32_t catch_up_rate, Milliseconds drain);

  /// Sets the fleet's size, for pacing (HTTP P12), and its primary process. Call whenever they are known.
  void set_fleet(const FleetFigures& figures);

  /// The first call stops claiming and lets refreshes finish within `drain`; the second cancels them.
  void stop();
  bool stopping() const { return stops_ > 0; }

  /// Whether some claims have not been released.
  bool holds_claims() const;

  /// Records the result and duration of a commit.
  void note_commit(const StoreResult<Committed>& result, std::chrono::duration<double> took);
  /// Records a failed call on the connection for claims; a transient failure counts as an outage.
  void note_failure(const StoreError& error);
  /// Records whether the server is usable (Store::check_eviction); while it is not, nothing is claimed.
  boost::asio::awaitable<void> on_eviction_check(StoreResult<void> fit);

  const std::string& id() const { return options_.id; }
  std::size_t in_flight() const { return in_flight_; }
  /// Refreshes started so far.
  std::uint64_t claimed() const { return claimed_; }
  /// Whether another process is primary, as of the last set_fleet().
  bool yields() const { return yielding_.is_set(); }

 private:
  /// A slot for one running refresh.
  struct Lane {
    boost::asio::cancellation_signal cancel;
    std::optional<Claim> claim;
    Report report;  ///< of the last refresh
  };

  boost::asio::awaitable<void> claim_until_stopped();
  boost::asio::awaitable<StoreResult<ClaimBatch>> claim(std::size_t max);
  boost::asio::awaitable<void> wait_for_lanes();
  std::size_t worth_a_claim() const { return std::max<std::size_t>(lanes_.size() / 4, 1); }
  boost::asio::awaitable<void> pause(Milliseconds longest);
  bool rests() const { return yielding_.rests(std::chrono::steady_clock::now()); }
  boost::asio::awaitable<void> rest(Milliseconds until_due);
  Milliseconds until_next_look(const ClaimBatch& batch);
  boost::asio::awaitable<void> pause_for_wish(Milliseconds longest);
  boost::asio::awaitable<void> wait_for_wish();
  boost::asio::awaitable<void> drain();
  boost::asio::awaitable<End> give_back();
  boost::asio::awaitable<void> refresh_in(Lane& lane);
  boost::asio::awaitable<void> write_down(const FollowedRefresh& followed);
  boost::asio::awaitable<void> postpone(const Claim& claim, Milliseconds wait);
  void start(Claim claim);
  void finished(Lane& lane, const std::exception_ptr& error);
  std::size_t allowed_now();
  void note_quarantined(const ClaimBatch& batch);
  boost::asio::awaitable<void> tell_operators(std::vector<Notice> notices);
  void tell_put_off(const ClaimBatch::Deferred& deferred, Milliseconds now);
  boost::asio::awaitable<void> store_came(Milliseconds now);
  boost::asio::awaitable<bool> back_off_after(StoreError error);
  boost::asio::awaitable<StoreResult<void>> give_back_left();
  bool must_wait() const;
  void note_batch(const ClaimBatch& batch);
  void tell_changed();

  boost::asio::any_io_executor executor_;
  Refresher& refresher_;
  StorePool& store_;
  Metrics& metrics_;
  Log& log_;
  WorkerOptions options_;
  TraceText* const trace_;
  ScopeProgress scope_;
  std::function<void(const Report&)> tell_;

  std::vector<Lane> lanes_;  // fixed size: running refreshes refer to elements
  std::vector<Lane*> free_;
  std::atomic<std::size_t> in_flight_ = 0;
  std::atomic<std::uint64_t> claimed_ = 0;
  boost::asio::steady_timer changed_;  // cancelled when a lane becomes free or stop() is called

  int stops_ = 0;
  std::chrono::steady_clock::time_point stop_at_;  // end of the drain, once stopping
  std::uint64_t request_ = 0;
  bool repeat_request_ = false;  // the answer to the last claim was lost
  Milliseconds store_now_{};     // the store's time at the last claim
  bool gave_up_ = false;
  bool idle_ = false;     // waiting for a feed to become due
  bool listens_ = false;  // wait_for_wish() is running
  bool wished_ = false;   // a client made a feed due that may not be claimed yet

  Yielding yielding_;
  CatchUpRate catch_up_;
  StoreHealth health_;
  bool evicts_keys_ = false;  // the server evicts keys
  std::vector<Claim> left_;   // claims of ended refreshes that are not yet released
  AdaptiveBatchSize pace_;
};

}  // namespace feedmill
