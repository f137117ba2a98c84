#include "worker/ingest/scope_progress.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "storage/ingest/ingest.hpp"

namespace feedmill {
namespace {

constexpr std::size_t max_selected = 100;  // feeds named in one claim call: each may join a line there

}  // namespace

void ScopeProgress::narrow(ClaimRequest& request, bool repeated, Milliseconds now) {
  request.due_by = start_;
  if (selected_) {
    const auto some = static_cast<std::ptrdiff_t>(std::min(scope_.only.size(), max_selected));
    request.only.assign(scope_.only.begin(), scope_.only.begin() + some);
  }
  if (!scope_.once) return;
  if (!repeated) {
    named_.clear();
    for (auto next = deferred_.begin(); next != deferred_.end() && named_.size() < max_selected; ++next) {
      if (next->second <= now) named_.push_back(next->first);
    }
  }
  request.only = named_;
}

std::vector<ClaimBatch::Deferred> ScopeProgress::note(const ClaimBatch& batch) {
  exhausted_ = batch.exhausted;
  std::vector<ClaimBatch::Deferred> given_up;
  if (selected_) given_up = note_selected(batch);
  if (scope_.once) note_once(batch);
  return given_up;
}

std::vector<ClaimBatch::Deferred> ScopeProgress::note_selected(const ClaimBatch& batch) {
  // All were looked at: what is neither claimed nor put off is another worker's, or gone. Else the rest comes again.
  const auto looked_at = static_cast<std::ptrdiff_t>(std::min(scope_.only.size(), max_selected));
  std::vector<ClaimBatch::Deferred> given_up;
  std::vector<std::string> left;
  if (batch.exhausted) {
    for (const auto& deferred : batch.deferred) {
      if (is_awaited(deferred, batch.now))
        left.push_back(deferred.feed_url);
      else
        given_up.push_back(deferred);
    }
  } else {
    std::set<std::string_view> claimed;
    for (const Claim& claim : batch.claims) claimed.insert(claim.feed_url);
    std::copy_if(scope_.only.begin(), scope_.only.begin() + looked_at, std::back_inserter(left),
                 [&](const std::string& url) { return !claimed.contains(url); });
  }
  left.insert(left.end(), scope_.only.begin() + looked_at, scope_.only.end());
  scope_.only = std::move(left);
  return given_up;
}

void ScopeProgress::note_once(const ClaimBatch& batch) {
  for (const Claim& claim : batch.claims) deferred_.erase(claim.feed_url);
  if (batch.exhausted) {
    // One that was asked for and is not there has been taken by another worker.
    for (const std::string& url : named_) deferred_.erase(url);
  }
  for (const auto& deferred : batch.deferred) {
    if (deferred.code == "quarantine") deferred_[deferred.feed_url] = deferred.due;
  }
  line_moves_ = batch.next_awaited.has_value();
}

/// A worker with a scope waits for its turn at a host, not for the end of the host's back-off.
bool ScopeProgress::is_awaited(const ClaimBatch::Deferred& deferred, Milliseconds now) const {
  return deferred.code != "host_backoff" || deferred.due - now <= lease_;
}

std::optional<Milliseconds> ScopeProgress::next_wanted(const ClaimBatch& batch) const {
  if (!is_limited()) return batch.next_due;
  std::optional<Milliseconds> next;
  const auto take = [&next](Milliseconds due) { next = std::min(next.value_or(due), due); };
  for (const auto& deferred : batch.deferred) {
    if (selected_) take(deferred.due);
  }
  for (const auto& [url, due] : deferred_) take(due);
  if (scope_.once && batch.next_awaited) take(*batch.next_awaited);
  return next;
}

bool ScopeProgress::is_done() const {
  if (scope_.once) return exhausted_ && deferred_.empty() && !line_moves_;
  return selected_ && scope_.only.empty();
}

}  // namespace feedmill
