// The set of feeds that a worker processes, and its progress. Pure.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/ingest/ingest.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

class TraceText;

/// The set of feeds that a worker processes, and the trace of its steps.
struct WorkerScope {
  bool once = false;  ///< take each feed due at the start once, unpaced, then end
  /// Take only these feeds, if due (with `trace` even if not), then end; empty: follow the schedule. Not with `once`.
  std::vector<std::string> only;
  TraceText* trace = nullptr;  ///< receives each step of the feeds in `only`; must outlive the worker; may be null
};

/// Chooses feeds for each claim and tracks what remains of the scope. A scope without limits imposes nothing.
class ScopeProgress {
 public:
  /// `lease`: the longest wait for a host in back-off.
  ScopeProgress(const WorkerScope& scope, Milliseconds lease);

  /// Whether the work ends by itself.
  bool is_limited() const { return once_ || selected_; }
  bool is_done() const;

  /// Whether start_at() must be called before the first claim.
  bool needs_start() const { return once_ && !start_; }
  void start_at(Milliseconds now) { start_ = now; }

  /// Restricts `request` to feeds of the scope. `repeated`: the last answer was lost, so the request must not change;
  /// `now`: the store's time of the last answer.
  void narrow(ClaimRequest& request, bool repeated, Milliseconds now);

  /// Records the answer to the last request. Returns feeds that are given up because their hosts are in back-off for
  /// too long.
  std::vector<ClaimBatch::Deferred> note(const ClaimBatch& batch);

  /// Records that a claimed feed was refreshed. Returns whether other feeds of the scope wait for its host, which may
  /// now be free.
  bool finished(const std::string& feed_url);

  /// When the next feed of the scope is due, if known. Feeds outside the scope may be overdue; they are ignored.
  std::optional<Milliseconds> next_wanted(const ClaimBatch& batch) const;

 private:
  /// The remaining named feeds of a host.
  struct Host {
    std::deque<std::string> feeds;  ///< the next to be named is first
    Milliseconds free_at{};         ///< when the host is free, if known
    bool freed = false;             ///< a feed of the host finished since one was last named
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
  std::vector<std::string> named_;                // in the current claim
  bool exhausted_ = false;
};

}  // namespace feedmill
