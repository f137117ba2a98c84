// Whether the store serves: said once when it goes, once more when it turns out that somebody must do something about
// it, and once when it comes back; how long to wait before it is tried again (RELIABILITY §6, E2, E3).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/redis/store_error.hpp"
#include "storage/redis/values.hpp"
#include "worker/base/log.hpp"
#include "worker/observe/metrics.hpp"

namespace feedmill {

/// Whether the same may go well another time, because it was the store's state that refused and not what was asked.
bool is_transient(const StoreError& error);

/// Whether somebody must do something about the server for it to pass.
bool needs_operator(const StoreError& error);

/// How long to wait before attempt number `attempt` + 1, with jitter: 50 ms · 2^k up to 2 s; 5 s for a server that
/// cannot write but for want of replicas, 30 s for one that refuses us or that we do not trust.
Milliseconds wait_before_retry(const StoreError& error, int attempt);

/// A time that the store, or stores that went together, did not serve.
struct Outage {
  std::chrono::duration<double> length{};
  std::uint64_t errors = 0;
  StoreError last;
};

/// Which of the stores of a process do not serve. A server that goes takes many of them along, each as it finds out:
/// those that go within ten seconds of each other are told by the first of them, and by the last that comes back. From
/// any thread.
class StoresAway {
 public:
  using Clock = std::chrono::steady_clock;

  /// `store`, by an address of its own, does not serve (any more). Whether that is to be told.
  bool went(const void* store, Clock::time_point now = Clock::now());
  /// It does again, behind so many errors: what there is to tell of all that went with it, once it is the last.
  struct Back {
    std::size_t stores = 0;
    std::chrono::duration<double> away_for{};
    std::uint64_t errors = 0;
  };
  std::optional<Back> came(const void* store, std::uint64_t errors, Clock::time_point now = Clock::now());

 private:
  struct Together {
    Clock::time_point first, last;  ///< when they went
    const void* teller;             ///< null: it has come back
    std::set<const void*> away;
    Back all;
  };

  std::mutex mutex_;               ///< of all below
  std::vector<Together> outages_;  // the newest last
};

/// Tells of `all` that a store was the last of to come back; else at `debug` that it came.
void tell_back(Log& log, const std::optional<StoresAway::Back>& all, std::string_view message);

/// What the loops of a process meet, told once: when the first of them is refused, and when the last is served again.
/// From any thread. `metrics`, `log` and `away` outlive it.
class Outages {
 public:
  /// `away`: of all stores of the process. `began`: called when they begin, on the thread of whoever meets one first;
  /// may ask nothing of this.
  Outages(Metrics& metrics, Log& log, StoresAway& away, std::function<void()> began = {})
      : metrics_(metrics), log_(log), away_(away), began_(std::move(began)) {}

  /// A call of `loop` failed.
  void down(const void* loop, const StoreError& error);
  /// A call of `loop`, which had failed, went well: the outage of all stores that went together, once that was the last
  /// of them.
  std::optional<Outage> up(const void* loop);

  bool is_up() const;
  /// What keeps some loop from being served, "" when nothing does.
  std::string trouble() const { return error().detail; }
  StoreError error() const;

 private:
  using Clock = std::chrono::steady_clock;

  Metrics& metrics_;
  Log& log_;
  StoresAway& away_;
  const std::function<void()> began_;
  mutable std::mutex mutex_;  ///< of all below
  std::set<const void*> down_;
  Clock::time_point since_;
  StoreError last_;
  std::uint64_t errors_ = 0;
  bool called_ = false;  ///< somebody was told of what only they can mend
};

/// On its loop's thread alone. `outages` outlives it.
class StoreHealth {
 public:
  using Clock = std::chrono::steady_clock;

  explicit StoreHealth(Outages& outages) : outages_(outages) {}

  /// A call failed. Does not count the error, which has been counted by its kind. A server that says that another one
  /// is to be asked is no outage for half a second: whoever asks again finds that one. Nor is for 15 s a new primary
  /// that its replicas have not found yet.
  void mark_down(const StoreError& error, Clock::time_point now = Clock::now());
  /// A call went well: the outage that has ended by it, if there was one and nobody else meets it still.
  std::optional<Outage> mark_up();

  bool is_up() const { return !since_; }
  /// Whether it has been away for longer than that.
  bool has_been_away(Clock::duration patience) const { return since_ && Clock::now() - *since_ > patience; }
  /// How long to wait before it is tried again; longer each time.
  Milliseconds next_wait() { return wait_before_retry(last_, attempts_++); }

 private:
  Outages& outages_;
  std::optional<Clock::time_point> since_;
  std::optional<Clock::time_point> led_away_;  // when a call was, and none has gone well since
  StoreError last_;
  int attempts_ = 0;
};

}  // namespace feedmill
