// Which feeds a worker processes, and its progress with them. Pure.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/ingest/ingest.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

class RefreshTrace;

/// Which feeds a worker processes, and the trace of its steps.
struct WorkerScope {
  bool once = false;  ///< each feed due at the start once, unpaced, then end
  /// Only these feeds if due (with `trace` even if not), then end; empty = by schedule. Not with `once`.
  std::vector<std::string> only;
  RefreshTrace* trace = nullptr;  ///< gets each step of these; must outlive the worker; may be null
};

class ScopeProgress {
 public:
  /// `lease`: the longest wait for a host that refuses.
  ScopeProgress(const WorkerScope& scope, Milliseconds lease);

  /// Whether the work ends by itself.
  bool is_limited() const { return once_ || selected_; }
  bool is_done() const;

  /// Whether start_at() must be called before the first claim.
  bool needs_start() const { return once_ && !start_; }
  void start_at(Milliseconds now) { start_ = now; }

  /// Restricts the request to what it may take. `repeated`: the last answer was lost, and the request is sent again;
  /// `now`: the store's time at the last answer.
  void narrow(ClaimRequest& request, bool repeated, Milliseconds now);

  /// Records the answer to the last request. Returns feeds that are given up because their hosts refuse for too long.
  std::vector<ClaimBatch::Deferred> note(const ClaimBatch& batch);

  /// Records that a claimed feed was refreshed. Returns whether others of the scope wait for its host, which may now be
  /// free.
  bool finished(const std::string& feed_url);

  /// When the next feed of the scope is due, if known. Others may be overdue: they are not awaited.
  std::optional<Milliseconds> next_wanted(const ClaimBatch& batch) const;

 private:
  /// Remaining named feeds of one host.
  struct Host {
    std::deque<std::string> feeds;  ///< next to be named in front
    Milliseconds free_at{};         ///< if known
    bool freed = false;             ///< since one of its feeds was last named
  };

  void name_next(Milliseconds now);
  void name_by_host(Milliseconds now);
  std::vector<ClaimBatch::Deferred> note_selected(const ClaimBatch& batch);
  void note_once(const ClaimBatch& batch);
  bool is_awaited(const ClaimBatch::Deferred& deferred, Milliseconds now) const;

  const bool once_, selected_;  // selected: the scope names feeds
  const bool only_if_due_;      // take only named feeds that are due
  const Milliseconds lease_;
  std::optional<Milliseconds> start_;
  std::map<std::string, Host> hosts_;             // if selected
  std::map<std::string, Milliseconds> deferred_;  // if once: feeds that wait to run alone (SECURITY Q2), and until when
  bool line_moves_ = false;                       // if once: feeds are waiting for their hosts
  std::vector<std::string> named_;                // by the current claim
  bool exhausted_ = false;
};

}  // namespace feedmill
