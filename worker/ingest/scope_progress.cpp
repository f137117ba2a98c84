#include "worker/ingest/scope_progress.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "storage/ingest/ingest.hpp"
#include "worker/egress/web_url.hpp"

namespace feedmill {
namespace {

constexpr std::size_t max_selected = 100, max_of_host = 4;  // feeds named in one claim; each may join a queue there

}  // namespace

ScopeProgress::ScopeProgress(const WorkerScope& scope, Milliseconds lease)
    : once_(scope.once), selected_(!scope.only.empty()), only_if_due_(scope.trace == nullptr), lease_(lease) {
  for (const std::string& url : scope.only) hosts_[host_of(url)].feeds.push_back(url);
}

void ScopeProgress::narrow(ClaimRequest& request, bool repeated, Milliseconds now) {
  request.due_by = start_;
  if (!is_limited()) return;
  if (!repeated) name_next(now);
  request.only = named_;
  request.only_if_due = selected_ && only_if_due_;
}

void ScopeProgress::name_next(Milliseconds now) {
  named_.clear();
  if (selected_) name_by_host(now);
  for (auto next = deferred_.begin(); next != deferred_.end() && named_.size() < max_selected; ++next) {
    if (next->second <= now) named_.push_back(next->first);
  }
}

/// Names feeds of each host in turn, starting with the host that was free first, so that hosts work in parallel however
/// many feeds one has.
void ScopeProgress::name_by_host(Milliseconds now) {
  std::vector<Host*> free;
  for (auto& [name, host] : hosts_) free.push_back(&host);
  std::ranges::stable_sort(free, {}, &Host::free_at);
  const auto first_busy = std::ranges::find_if(free, [&](const Host* host) { return host->free_at > now; });
  // At least one: a claim without names would take any feed. (There is a host, otherwise is_done() would be true.)
  free.erase(std::max(first_busy, free.begin() + 1), free.end());
  for (std::size_t turn = 0; turn < max_of_host; ++turn) {
    for (Host* host : free) {
      if (turn >= host->feeds.size() || named_.size() >= max_selected) continue;
      named_.push_back(host->feeds[turn]);
      host->freed = false;
    }
  }
}

std::vector<ClaimBatch::Deferred> ScopeProgress::note(const ClaimBatch& batch) {
  exhausted_ = batch.exhausted;
  std::vector<ClaimBatch::Deferred> given_up;
  if (selected_) given_up = note_selected(batch);
  if (once_) note_once(batch);
  return given_up;
}

std::vector<ClaimBatch::Deferred> ScopeProgress::note_selected(const ClaimBatch& batch) {
  std::vector<ClaimBatch::Deferred> given_up;
  std::set<std::string_view> claimed;
  std::map<std::string_view, const ClaimBatch::Deferred*> put_off;
  for (const Claim& claim : batch.claims) claimed.insert(claim.feed_url);
  for (const auto& deferred : batch.deferred) put_off.emplace(deferred.feed_url, &deferred);
  for (const std::string& url : named_) {
    const auto deferred = put_off.find(url);
    const bool is_put_off = deferred != put_off.end();
    if (!is_put_off && !batch.exhausted && !claimed.contains(url)) continue;  // not examined: it remains first
    const auto at = hosts_.find(host_of(url));
    Host& host = at->second;
    host.feeds.erase(std::ranges::find(host.feeds, url));
    if (is_put_off && is_awaited(*deferred->second, batch.now)) {
      host.feeds.push_back(url);  // goes last, because it may be waiting for a host that it redirects to
      const Milliseconds due = host.freed ? batch.now : deferred->second->due;
      host.free_at = host.free_at > batch.now ? std::min(host.free_at, due) : due;
    } else if (is_put_off) {
      given_up.push_back(*deferred->second);
    }  // else it was claimed here or by another worker, or removed
    if (host.feeds.empty()) hosts_.erase(at);
  }
  named_.clear();
  return given_up;
}

bool ScopeProgress::finished(const std::string& feed_url) {
  if (!selected_) return false;
  const auto host = hosts_.find(host_of(feed_url));
  if (host == hosts_.end()) return false;
  host->second.free_at = Milliseconds(0);
  host->second.freed = true;
  return true;
}

void ScopeProgress::note_once(const ClaimBatch& batch) {
  for (const Claim& claim : batch.claims) deferred_.erase(claim.feed_url);
  if (batch.exhausted) {
    // A named feed that is missing was claimed by another worker.
    for (const std::string& url : named_) deferred_.erase(url);
  }
  for (const auto& deferred : batch.deferred) {
    if (deferred.code == "quarantine") deferred_[deferred.feed_url] = deferred.due;
  }
  line_moves_ = batch.next_awaited.has_value();
}

/// Whether to wait for a deferred feed: a worker with a scope waits for a slot at a host, but not for a long back-off.
bool ScopeProgress::is_awaited(const ClaimBatch::Deferred& deferred, Milliseconds now) const {
  return deferred.code != "host_backoff" || deferred.due - now <= lease_;
}

std::optional<Milliseconds> ScopeProgress::next_wanted(const ClaimBatch& batch) const {
  if (!is_limited()) return batch.next_due;
  std::optional<Milliseconds> next;
  const auto take = [&next](Milliseconds due) { next = std::min(next.value_or(due), due); };
  for (const auto& [name, host] : hosts_) take(host.free_at);
  for (const auto& [url, due] : deferred_) take(due);
  if (once_ && batch.next_awaited) take(*batch.next_awaited);
  return next;
}

bool ScopeProgress::is_done() const {
  if (once_) return exhausted_ && deferred_.empty() && !line_moves_;
  return selected_ && hosts_.empty();
}

}  // namespace feedmill
