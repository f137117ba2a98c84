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

class TraceText;

/// The observer of one refresh: its clock, its report for log, metrics and history, its trace if any, and the points
/// where tests end the program. Call a member for each step, in order.
class RefreshObserver {
 public:
  using Clock = std::chrono::steady_clock;

  /// `claim` and `trace` must outlive this; `trace` may be null.
  RefreshObserver(const Claim& claim, TraceText* trace);
  RefreshObserver(const RefreshObserver&) = delete;
  RefreshObserver& operator=(const RefreshObserver&) = delete;

  Clock::time_point began() const { return began_; }
  /// Whether the refresh is traced, so that every post must be read.
  bool is_followed() const { return trace_ != nullptr; }
  /// Redis' time: its value at the claim plus the time since on the steady clock.
  Milliseconds now() const;

  /// Records a response, or the failure to get one.
  void fetched(const FetchRequest& request, const FetchResult& fetched);
  /// Records the result of reading it, and how long that took on a CPU thread.
  void read(const Reading& reading, Clock::duration took);
  /// Records the final result of the attempt.
  void attempted(const Exchange& exchange, const Reading& reading);
  void decided(const StoredSnapshot& known, const Decision& decision);
  /// Records the result of an attempt to commit.
  void sent(const StoreResult<Committed>& done);

  // The ends of a refresh: each completes the report and returns it.

  /// `is_back`: the claim was released; otherwise it ends with its lease.
  Report deferred(Reason reason, const std::string& detail, Milliseconds next_in, bool is_back);
  Report not_stored(const StoreError& error, Milliseconds next_in, bool is_back);
  Report committed(const Decision& decision, const Committed& done);

 private:
  void note_nothing_written();
  void note_committed(const Decision& decision, const Committed& done);
  Report ended();

  const Claim& claim_;
  TraceText* const trace_;
  const Clock::time_point began_ = Clock::now();
  std::optional<Clock::time_point> commit_from_, commit_until_;
  Report report_;
};

}  // namespace feedmill
