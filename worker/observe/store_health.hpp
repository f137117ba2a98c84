// Availability of the store: logs an outage when it begins, when it turns out to need an operator, and when it ends;
// computes retry delays (RELIABILITY §6, E2, E3).
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
#include "storage/store/store.hpp"
#include "worker/base/log.hpp"
#include "worker/observe/metrics.hpp"

namespace feedmill {

/// Whether the same call may succeed later, because the store's state was at fault and not the call.
bool is_transient(const StoreError& error);

/// Whether the error lasts until an operator fixes the server.
bool needs_operator(const StoreError& error);

/// Delay before attempt number `attempt` + 1, with jitter: 50 ms · 2^k up to 2 s; 5 s for a server that cannot write
/// (except for lack of replicas), 30 s for one that rejects us or that we do not trust.
Milliseconds wait_before_retry(const StoreError& error, int attempt);

/// An outage of the store, or of stores that failed together.
struct Outage {
  std::chrono::duration<double> length{};
  std::uint64_t errors = 0;
  StoreError last;
};

/// Tracks the stores of a process that are down. A failing server affects many stores, and each detects it separately:
/// stores that fail within ten seconds of each other are one outage. The first to fail reports its beginning, the last
/// to recover its end. From any thread.
class StoresAway {
 public:
  using Clock = std::chrono::steady_clock;

  /// Store `store` (identified by its address) is down. Returns whether to report it.
  bool went(const void* store, Clock::time_point now = Clock::now());
  /// An outage that has ended. came() returns it if `store` was the last to recover; it includes all `errors`.
  struct Back {
    std::size_t stores = 0;
    std::chrono::duration<double> away_for{};
    std::uint64_t errors = 0;
  };
  std::optional<Back> came(const void* store, std::uint64_t errors, Clock::time_point now = Clock::now());

 private:
  struct Together {
    Clock::time_point first, last;  ///< when the first and last store failed
    const void* teller;             ///< the reporting store; null: it has recovered
    std::set<const void*> away;
    Back all;
  };

  std::mutex mutex_;               ///< guards all members below
  std::vector<Together> outages_;  // newest last
};

/// Logs the end of the outage `all` when its last store recovers; otherwise logs at `debug` that one store recovered.
void tell_back(Log& log, const std::optional<StoresAway::Back>& all, std::string_view message);

/// Outages seen by the loops of a process, reported once: when the first loop fails, and when the last recovers. From
/// any thread. `metrics`, `log` and `away` must outlive this.
class Outages {
 public:
  /// `away`: of all stores of the process. `began`: called when an outage begins, on the thread that detects it; must
  /// not call this.
  Outages(Metrics& metrics, Log& log, StoresAway& away, std::function<void()> began = {})
      : metrics_(metrics), log_(log), away_(away), began_(std::move(began)) {}

  /// A call of `loop` failed.
  void down(const void* loop, const StoreError& error);
  /// A call of `loop` succeeded after failures. Returns the outage of all stores that failed together, if this was the
  /// last to recover.
  std::optional<Outage> up(const void* loop);

  bool is_up() const;
  /// The latest error while any loop is down; otherwise "".
  std::string trouble() const { return error().detail; }
  StoreError error() const;

 private:
  using Clock = std::chrono::steady_clock;

  Metrics& metrics_;
  Log& log_;
  StoresAway& away_;
  const std::function<void()> began_;
  mutable std::mutex mutex_;  ///< guards all members below
  std::set<const void*> down_;
  Clock::time_point since_;
  StoreError last_;
  std::uint64_t errors_ = 0;
  bool called_ = false;  ///< reported that an operator must fix it
};

/// The store's availability as seen by one loop; on its loop's thread only. `outages` must outlive this.
class StoreHealth {
 public:
  using Clock = std::chrono::steady_clock;

  explicit StoreHealth(Outages& outages) : outages_(outages) {}

  /// A call failed; the caller has counted the error. A redirection to another server is not an outage for half a
  /// second, because a retry reaches that server. A new primary without replicas is not one for 15 s.
  void mark_down(const StoreError& error, Clock::time_point now = Clock::now());
  /// A call succeeded. Returns the outage that ended, if any and if no other loop is still in it.
  std::optional<Outage> mark_up();

  bool is_up() const { return !since_; }
  /// Whether it has been down for longer than `patience`.
  bool has_been_away(Clock::duration patience) const { return since_ && Clock::now() - *since_ > patience; }
  /// Delay before the next retry; grows each time.
  Milliseconds next_wait() { return wait_before_retry(last_, attempts_++); }

 private:
  Outages& outages_;
  std::optional<Clock::time_point> since_;
  std::optional<Clock::time_point> led_away_;  // time of a redirection if no call has succeeded since
  StoreError last_;
  int attempts_ = 0;
};

// Parts of a probe.

/// A condition of a probe. `detail` is for people, shown with ?verbose.
struct Check {
  std::string name;
  bool passed = false;
  std::string detail;
};

// Describes errors of the store and their remedies.

/// Why a verb ends early: its exit code, and one line for people, "" if already reported. Verbs throw it.
struct VerbFailure {
  int exit = 0;
  std::string text;
};

/// Remedy for a server that has reached its data limit. Without the semicolon that failure_of() prepends.
inline constexpr std::string_view remedy_of_full_server =
    "raise its maxmemory (for a private server, MemoryMax= or the container's limit), or keep fewer entries "
    "(retention.entries)";

/// Remedy for a server that stores posts as hash tables.
inline constexpr std::string_view remedy_of_loose_posts =
    "set hash-max-listpack-value 65536 and hash-max-listpack-entries 128 in the server's configuration and restart it; "
    "they apply to all hashes of that server";

/// The exit code and the remedy for an error of the store (OPERATIONS §1).
VerbFailure failure_of(const StoreError& error);

// Logs work that Redis rejects although it is up, because a key it needs has the wrong type.

/// Reports one kind of work, on one thread at a time.
class RefusedWork {
 public:
  /// `work`: its name, such as "delivery". All arguments must outlive this.
  RefusedWork(Metrics& metrics, Log& log, std::string_view work) : metrics_(metrics), log_(log), work_(work) {}

  /// The work failed with an error that is not an outage (is_transient()). Logged once until the work continues: as a
  /// notice if a key has the wrong type, otherwise as a bug, which is counted.
  void tell(const StoreError& error);
  /// The work succeeded; logged if it had failed.
  void goes_on();

 private:
  Metrics& metrics_;
  Log& log_;
  std::string_view work_;
  bool told_ = false;
};

}  // namespace feedmill
