// Which feeds a worker takes, and how far it is with them. Pure.
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

/// Which feeds a worker takes, and who is told how it goes.
struct WorkerScope {
  bool once = false;  ///< every feed that is due at the start once, unpaced, then end
  /// Just these that are due, or with `trace` whether due or not, then end; empty = by schedule. Not with `once`.
  std::vector<std::string> only;
  RefreshTrace* trace = nullptr;  ///< told of each step of these; outlives the worker, null: nobody wants to know
};

class ScopeProgress {
 public:
  /// `lease`: a worker with a scope waits no longer for a host that refuses.
  ScopeProgress(const WorkerScope& scope, Milliseconds lease);

  /// The work ends by itself.
  bool is_limited() const { return once_ || selected_; }
  bool is_done() const;

  /// The store's time is to be told before the first claim.
  bool needs_start() const { return once_ && !start_; }
  void start_at(Milliseconds now) { start_ = now; }

  /// Names in the request what it may take. `repeated`: the answer to the last one was lost, and it is asked again;
  /// `now`: the store's at the last answer.
  void narrow(ClaimRequest& request, bool repeated, Milliseconds now);

  /// What came of the last request. Returns those that are not waited for: their hosts refuse for too long.
  std::vector<ClaimBatch::Deferred> note(const ClaimBatch& batch);

  /// A feed that was claimed has been refreshed. True when others of the scope wait for its host, which may be free
  /// now.
  bool finished(const std::string& feed_url);

  /// When a feed of the scope comes next, as far as is known. Others may be overdue: they are not waited for.
  std::optional<Milliseconds> next_wanted(const ClaimBatch& batch) const;

 private:
  /// What is left of the feeds that the scope names, of one host.
  struct Host {
    std::deque<std::string> feeds;  ///< who is named next in front
    Milliseconds free_at{};         ///< as far as is known
    bool freed = false;             ///< since somebody of it was named
  };

  void name_next(Milliseconds now);
  void name_by_host(Milliseconds now);
  std::vector<ClaimBatch::Deferred> note_selected(const ClaimBatch& batch);
  void note_once(const ClaimBatch& batch);
  bool is_awaited(const ClaimBatch::Deferred& deferred, Milliseconds now) const;

  const bool once_, selected_;  // selected: the scope names feeds
  const bool only_if_due_;      // of those it names, it takes only the due ones
  const Milliseconds lease_;
  std::optional<Milliseconds> start_;
  std::map<std::string, Host> hosts_;             // of selected
  std::map<std::string, Milliseconds> deferred_;  // of once: put off to be alone (SECURITY Q2), until then
  bool line_moves_ = false;                       // of once: feeds of it wait for their hosts
  std::vector<std::string> named_;                // by the claim under way
  bool exhausted_ = false;
};

}  // namespace feedmill
