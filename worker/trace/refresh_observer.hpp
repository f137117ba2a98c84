// What is seen of a refresh on its way.
#pragma once

#include <chrono>
#include <optional>

#include "storage/records/claim.hpp"
#include "storage/records/commit.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/store_error.hpp"
#include "storage/redis/values.hpp"
#include "worker/base/report.hpp"
#include "worker/http/fetch.hpp"
#include "worker/policy/attempt.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill {

/// Told of each step of a refresh, on the loop's thread. What it is shown is gone afterwards.
class RefreshTrace {
 public:
  virtual void claimed(const Claim& claim) = 0;
  /// Once more when it was asked again without content coding.
  virtual void answered(const FetchRequest& request, const FetchResult& fetched) = 0;
  virtual void read(const Reading& reading) = 0;
  virtual void decided(const Claim& claim, const StoredSnapshot& known, const Decision& decision) = 0;
  /// The first and every further try.
  virtual void committed(const StoreResult<Committed>& done) = 0;

 protected:
  ~RefreshTrace() = default;
};

/// One refresh: its clock, the report that log, metrics and history are made of, the trace for who follows it, and the
/// points at which tests end the program. Told of each step in turn.
class RefreshObserver {
 public:
  using Clock = std::chrono::steady_clock;

  /// `claim` outlives this, `trace` as well; null: nobody follows it.
  RefreshObserver(const Claim& claim, RefreshTrace* trace);
  RefreshObserver(const RefreshObserver&) = delete;
  RefreshObserver& operator=(const RefreshObserver&) = delete;

  Clock::time_point began() const { return began_; }
  /// Somebody wants to see each post.
  bool is_followed() const { return trace_ != nullptr; }
  /// Redis' clock now, by its reading at the claim and the steady clock since.
  Milliseconds now() const;

  /// One answer, or what came instead.
  void fetched(const FetchRequest& request, const FetchResult& fetched);
  /// What that was read to, and how long a CPU thread took for it.
  void read(const Reading& reading, Clock::duration took);
  /// The last of them counts.
  void attempted(const Exchange& exchange, const Reading& reading);
  void decided(const StoredSnapshot& known, const Decision& decision);
  /// The commit was sent, and this is what came of it.
  void sent(const StoreResult<Committed>& done);

  // How it ends. Each makes the report whole; ended() gives it away.

  /// `is_back`: the claim could be given back; else it ends with its lease.
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
