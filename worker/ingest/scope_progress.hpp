// Which feeds a worker takes, and how far it is with them. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/ingest/ingest.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

class RefreshTrace;

/// Which feeds a worker takes, and who is told how it goes.
struct WorkerScope {
  bool once = false;              ///< every feed that is due at the start once, unpaced, then end
  std::vector<std::string> only;  ///< just these, due or not, then end; empty = by schedule
  RefreshTrace* trace = nullptr;  ///< told of each step of these; outlives the worker, null: nobody wants to know
};

class ScopeProgress {
 public:
  /// `lease`: a worker with a scope waits no longer for a host that refuses.
  ScopeProgress(WorkerScope scope, Milliseconds lease)
      : scope_(std::move(scope)), selected_(!scope_.only.empty()), lease_(lease) {}

  /// The work ends by itself.
  bool is_limited() const { return scope_.once || selected_; }
  bool is_done() const;

  /// The store's time is to be told before the first claim.
  bool needs_start() const { return scope_.once && !start_; }
  void start_at(Milliseconds now) { start_ = now; }

  /// Names in the request what it may take. `repeated`: the answer to the last one was lost, and it is asked again;
  /// `now`: the store's at the last answer.
  void narrow(ClaimRequest& request, bool repeated, Milliseconds now);

  /// What came of the last request. Returns those that are not waited for: their hosts refuse for too long.
  std::vector<ClaimBatch::Deferred> note(const ClaimBatch& batch);

  /// When a feed of the scope comes next, as far as is known. Others may be overdue: they are not waited for.
  std::optional<Milliseconds> next_wanted(const ClaimBatch& batch) const;

 private:
  std::vector<ClaimBatch::Deferred> note_selected(const ClaimBatch& batch);
  void note_once(const ClaimBatch& batch);
  bool is_awaited(const ClaimBatch::Deferred& deferred, Milliseconds now) const;

  WorkerScope scope_;
  const bool selected_;  // the scope names feeds
  const Milliseconds lease_;
  std::optional<Milliseconds> start_;
  std::map<std::string, Milliseconds> deferred_;  // of `once`: put off to be alone (SECURITY Q2), until then
  bool line_moves_ = false;                       // of `once`: feeds of it wait for their hosts
  std::vector<std::string> named_;                // of them, those that the claim under way asks for
  bool exhausted_ = false;
};

}  // namespace feedmill
