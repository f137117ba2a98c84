#include "worker/admin/status_history.hpp"

#include <algorithm>

#include "worker/egress/web_url.hpp"

namespace feedmill {

using Seconds = std::chrono::duration<double>;

void RefreshFigures::add(const RefreshFigures& other) {
  updated += other.updated;
  unchanged += other.unchanged;
  not_modified += other.not_modified;
  failed += other.failed;
  with_new += other.with_new;
  pushes += other.pushes;
  created += other.created;
  modified += other.modified;
  wire_bytes += other.wire_bytes;
  saved_bytes += other.saved_bytes;
  bugs += other.bugs;
  commits += other.commits;
  commits_failed += other.commits_failed;
  worst_lateness = std::max(worst_lateness, other.worst_lateness);
  for (std::size_t i = 0; i < lateness.size(); ++i) lateness[i] += other.lateness[i];
}

std::span<const RefreshFigure> refresh_figures() {
  using enum RefreshFigure::Unit;
  using Of = const RefreshFigures&;
  static constexpr RefreshFigure figures[] = {
      {"refreshes", "Refreshes", count, [](Of of) { return of.refreshes(); }},
      {"updated", "", count, [](Of of) { return of.updated; }},
      {"unchanged", "", count, [](Of of) { return of.unchanged; }},
      {"not_modified", "", count, [](Of of) { return of.not_modified; }},
      {"failed", "", count, [](Of of) { return of.failed; }},
      {"hit_rate", "found something new", share, [](Of of) { return of.with_new; }},
      {"not_modified_share", "not modified (304)", share, [](Of of) { return of.not_modified; }},
      {"", "failed", share, [](Of of) { return of.failed; }},
      {"pushes", "Pushes read", count, [](Of of) { return of.pushes; }},
      {"entries_created", "Posts created", count, [](Of of) { return of.created; }},
      {"entries_modified", "Posts changed", count, [](Of of) { return of.modified; }},
      {"received_bytes", "Received", bytes, [](Of of) { return of.wire_bytes; }},
      {"saved_bytes", "Saved", bytes, [](Of of) { return of.saved_bytes; }},
      {"commits", "Commits", count, [](Of of) { return of.commits; }},
      {"commits_failed", "Commits that failed", count, [](Of of) { return of.commits_failed; }},
      {"bugs", "", count, [](Of of) { return of.bugs; }},
  };
  return figures;
}

Seconds RefreshFigures::lateness_of(double share) const {
  std::uint64_t all = 0;
  for (const std::uint32_t count : lateness) all += count;
  double left = share * static_cast<double>(all);
  for (std::size_t i = 0; i < lateness_bounds.size(); ++i) {
    left -= lateness[i];
    if (left <= 0) return std::min(Seconds(lateness_bounds[i]), worst_lateness);
  }
  return worst_lateness;
}

void StatusHistory::add(const RefreshFigures& figures, Clock::time_point now) {
  const std::int64_t number = minute_of(now);
  Minute& minute = minutes_[static_cast<std::size_t>(number) % minutes_kept];
  if (minute.number != number) minute = {number, {}};
  minute.figures.add(figures);
  total_.add(figures);
}

void StatusHistory::record(const Report& report, Clock::time_point now) {
  RefreshFigures figures;
  switch (report.outcome) {
    case Outcome::updated:
      ++figures.updated;
      break;
    case Outcome::unchanged:
      ++figures.unchanged;
      break;
    case Outcome::not_modified:
      ++figures.not_modified;
      break;
    case Outcome::failed:
      ++figures.failed;
      break;
    case Outcome::deferred:
    case Outcome::aborted:
      return;
  }
  figures.bugs += report.reason == Reason::worker_bug ? 1 : 0;
  figures.with_new += report.created > 0 ? 1 : 0;
  figures.created += report.created;
  figures.modified += report.modified;
  figures.wire_bytes += report.wire_bytes;
  figures.saved_bytes += report.saved_not_modified + report.saved_hash + report.saved_compression;
  const Seconds late = std::max(report.lateness, Seconds(0));
  figures.worst_lateness = late;
  const auto bound = std::ranges::lower_bound(lateness_bounds, late.count());
  ++figures.lateness[static_cast<std::size_t>(bound - lateness_bounds.begin())];
  add(figures, now);
  if (report.outcome == Outcome::failed) {
    const std::int64_t number = minute_of(now);
    Reasons& minute = reasons_[static_cast<std::size_t>(number) % reasons_kept];
    if (minute.number != number) minute = {number, {}};
    ++minute.failed[static_cast<std::size_t>(report.reason)];
  }
  record_host(report, now);
}

void StatusHistory::record_push(const Report& report, Clock::time_point now) {
  RefreshFigures figures;
  figures.pushes = 1;
  figures.created = report.created;
  figures.modified = report.modified;
  add(figures, now);
}

void StatusHistory::committed(bool stored, Clock::time_point now) {
  RefreshFigures figures;
  ++(stored ? figures.commits : figures.commits_failed);
  add(figures, now);
  if (stored) last_commit_ = now;
}

RefreshFigures StatusHistory::between(std::int64_t first, std::int64_t last) const {
  RefreshFigures sum;
  for (std::int64_t number = std::max<std::int64_t>(first, 0); number <= last; ++number) {
    const Minute& minute = minutes_[static_cast<std::size_t>(number) % minutes_kept];
    if (minute.number == number) sum.add(minute.figures);
  }
  return sum;
}

RefreshFigures StatusHistory::figures(std::size_t minutes, Clock::time_point now) const {
  const std::int64_t last = minute_of(now);
  return between(last - static_cast<std::int64_t>(std::min(minutes, minutes_kept)) + 1, last);
}

std::optional<FailureCount> StatusHistory::main_failure(Clock::time_point now) const {
  std::array<std::uint64_t, reason_count> sum{};
  const std::int64_t last = minute_of(now);
  for (const Reasons& minute : reasons_) {
    if (minute.number < 0 || minute.number + static_cast<std::int64_t>(reasons_kept) <= last) continue;
    for (std::size_t i = 0; i < reason_count; ++i) sum[i] += minute.failed[i];
  }
  const auto most = std::ranges::max_element(sum);
  if (*most == 0) return {};
  return FailureCount{static_cast<Reason>(most - sum.begin()), *most};
}

std::vector<RefreshFigures> StatusHistory::stretches(std::size_t count, std::size_t minutes,
                                                     Clock::time_point now) const {
  std::vector<RefreshFigures> all;
  const auto width = static_cast<std::int64_t>(minutes);
  std::int64_t first = minute_of(now) + 1 - static_cast<std::int64_t>(count) * width;
  for (std::size_t i = 0; i < count; ++i, first += width) all.push_back(between(first, first + width - 1));
  return all;
}

void StatusHistory::record_host(const Report& report, Clock::time_point now) {
  if (now - hosts_since_ >= hosts_for) {
    // Keep one earlier generation, unless the pause was longer than it is valid.
    has_before_ = now - hosts_since_ < 2 * hosts_for;
    hosts_before_ = has_before_ ? std::move(hosts_) : Hosts();
    hosts_ = Hosts();
    hosts_since_ = now;
  }
  std::string host = host_of(report.feed_url);
  if (host.empty()) return;
  auto found = hosts_.find(host);
  if (found == hosts_.end()) {
    // If full, drop hosts that were seen only once; if that frees nothing, ignore the new host: it is not busy.
    if (hosts_.size() >= hosts_kept) std::erase_if(hosts_, [](const auto& one) { return one.second.refreshes <= 1; });
    if (hosts_.size() >= hosts_kept) return;
    found = hosts_.emplace(std::move(host), HostFigures()).first;
  }
  ++found->second.refreshes;
  found->second.failed += report.outcome == Outcome::failed ? 1 : 0;
  found->second.took += report.took;
}

StatusHistory::HostLists StatusHistory::hosts(std::size_t count) const {
  // Copy only the names of hosts that are shown: there may be thousands.
  struct Row {
    const std::string* name;
    HostFigures sum;
  };
  std::vector<Row> rows;
  rows.reserve(hosts_.size() + hosts_before_.size());
  for (const auto& [name, figures] : hosts_)
    rows.push_back({&name, {{}, figures.refreshes, figures.failed, figures.took}});
  const std::size_t newer = rows.size();
  std::size_t at = 0;  // both maps are sorted by name
  for (const auto& [name, figures] : hosts_before_) {
    while (at < newer && *rows[at].name < name) ++at;
    if (at == newer || *rows[at].name != name) {
      rows.push_back({&name, {{}, figures.refreshes, figures.failed, figures.took}});
      continue;
    }
    rows[at].sum.refreshes += figures.refreshes;
    rows[at].sum.failed += figures.failed;
    rows[at].sum.took += figures.took;
  }
  const auto first = [&](auto before) {
    const auto end = rows.begin() + static_cast<std::ptrdiff_t>(std::min(count, rows.size()));
    std::partial_sort(rows.begin(), end, rows.end(), before);
    std::vector<HostFigures> list;
    for (auto row = rows.begin(); row != end; ++row) list.emplace_back(row->sum).host = *row->name;
    return list;
  };
  HostLists lists;
  lists.busiest = first([](const Row& a, const Row& b) {
    return a.sum.refreshes != b.sum.refreshes ? a.sum.refreshes > b.sum.refreshes : *a.name < *b.name;
  });
  lists.slowest = first([](const Row& a, const Row& b) {
    return a.sum.mean() != b.sum.mean() ? a.sum.mean() > b.sum.mean() : *a.name < *b.name;
  });
  return lists;
}

StatusHistory::Clock::duration StatusHistory::hosts_age(Clock::time_point now) const {
  return now - hosts_since_ + (has_before_ ? Clock::duration(hosts_for) : Clock::duration(0));
}

}  // namespace feedmill
