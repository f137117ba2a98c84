// Observes a refresh step by step.
#pragma once

#include <chrono>
#include <optional>

#include "storage/records/commit.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/store_error.hpp"
#include "storage/redis/values.hpp"
#include "worker/base/report.hpp"
#include "worker/http/fetch.hpp"
#include "worker/policy/attempt.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill {

/// Receives each step of a refresh, on the loop's thread. Arguments are only valid during the call.
class RefreshTrace {
 public:
  virtual void claimed(const Claim& claim) = 0;
  /// Called again if the fetch was repeated without content coding.
  virtual void answered(const FetchRequest& request, const FetchResult& fetched) = 0;
  virtual void read(const Reading& reading) = 0;
  virtual void decided(const Claim& claim, const StoredSnapshot& known, const Decision& decision) = 0;
  /// The first and every further try.
  virtual void committed(const StoreResult<Committed>& done) = 0;

 protected:
  ~RefreshTrace() = default;
};

/// One refresh: its clock, its report for log, metrics and history, its trace if any, and the test points where tests
/// end the program. Called at each step in order.
class RefreshObserver {
 public:
  using Clock = std::chrono::steady_clock;

  /// `claim` and `trace` must outlive this; `trace` may be null.
  RefreshObserver(const Claim& claim, RefreshTrace* trace);
  RefreshObserver(const RefreshObserver&) = delete;
  RefreshObserver& operator=(const RefreshObserver&) = delete;

  Clock::time_point began() const { return began_; }
  /// Whether the refresh is traced and each post is of interest.
  bool is_followed() const { return trace_ != nullptr; }
  /// Redis' time, from its value at the claim and the steady clock since.
  Milliseconds now() const;

  /// A response, or the failure to get one.
  void fetched(const FetchRequest& request, const FetchResult& fetched);
  /// The result of reading it, and how long a CPU thread took.
  void read(const Reading& reading, Clock::duration took);
  /// The attempt's final result.
  void attempted(const Exchange& exchange, const Reading& reading);
  void decided(const StoredSnapshot& known, const Decision& decision);
  /// The result of a commit that was sent.
  void sent(const StoreResult<Committed>& done);

  // Ends of a refresh. Each completes the report and returns it.

  /// `is_back`: the claim was released; else it ends with its lease.
  Report deferred(Reason reason, const std::string& detail, Milliseconds next_in, bool is_back);
  Report not_stored(const StoreError& error, Milliseconds next_in, bool is_back);
  Report committed(const Decision& decision, const Committed& done);

 private:
  void note_nothing_written();
  void note_committed(const Decision& decision, const Committed& done);
  Report ended();

  const Claim& claim_;
  RefreshTrace* const trace_;
  const Clock::time_point began_ = Clock::now();
  std::optional<Clock::time_point> commit_from_, commit_until_;
  Report report_;
};

}  // namespace feedmill
