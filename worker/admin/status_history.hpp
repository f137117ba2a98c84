// Recent activity of this process, for the status pages: per minute for a day, per host for up to an hour. Bounded: 256
// KiB of minutes and two generations of 4 096 hosts.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "worker/base/report.hpp"

namespace feedmill {

/// The figures of a period.
struct RefreshFigures {
  std::uint64_t updated = 0, unchanged = 0, not_modified = 0, failed = 0;  ///< refreshes by result
  std::uint64_t with_new = 0;                                              ///< refreshes that brought a new entry
  std::uint64_t pushes = 0;                 ///< documents pushed by hubs, parsed and compared with the stored posts
  std::uint64_t created = 0, modified = 0;  ///< entries, from refreshes and pushes
  std::uint64_t wire_bytes = 0, saved_bytes = 0;  ///< bytes received, and bytes saved compared with full bodies
  std::uint64_t bugs = 0;                         ///< refreshes that triggered a bug
  std::uint64_t commits = 0, commits_failed = 0;
  std::chrono::duration<double> worst_lateness{};
  /// Number of refreshes by lateness of the claim: up to lateness_bounds[i] seconds; the last element counts later
  /// ones.
  std::array<std::uint32_t, 12> lateness{};

  void add(const RefreshFigures& other);
  std::uint64_t refreshes() const { return updated + unchanged + not_modified + failed; }
  /// The lateness that `share` of the refreshes did not exceed: a bound of OPERATIONS §3 (L), or the worst lateness.
  std::chrono::duration<double> lateness_of(double share) const;
};

/// A figure of a period, as shown on the page and in /status.json.
struct RefreshFigure {
  enum class Unit { count, bytes, share };
  std::string_view name{};   ///< name in /status.json; "" = omitted
  std::string_view label{};  ///< label on the page; "" = omitted
  Unit unit{};               ///< share: of all refreshes
  std::uint64_t (*of)(const RefreshFigures&);
};
/// All figures, in the order of the page.
std::span<const RefreshFigure> refresh_figures();

/// The number of failures for a reason.
struct FailureCount {
  Reason reason{};
  std::uint64_t count = 0;
};

inline constexpr std::array<double, 11> lateness_bounds{1, 2, 5, 10, 30, 60, 120, 300, 900, 3600, 21600};

/// Refreshes of one host by this process.
struct HostFigures {
  std::string host;
  std::uint64_t refreshes = 0, failed = 0;
  std::chrono::duration<double> took{};  ///< total duration of all refreshes
  std::chrono::duration<double> mean() const { return refreshes == 0 ? took : took / static_cast<double>(refreshes); }
};

class StatusHistory {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t minutes_kept = 24UL * 60;
  static constexpr std::size_t hosts_kept = 4096;
  static constexpr std::size_t reasons_kept = 10;       ///< in minutes
  static constexpr std::chrono::minutes hosts_for{30};  ///< per generation; the figures of hosts cover one or two

  explicit StatusHistory(Clock::time_point now) : began_(now), hosts_since_(now), minutes_(minutes_kept) {}

  /// Records a refresh that ended; ignores deferred and cancelled ones. `now` must not decrease.
  void record(const Report& report, Clock::time_point now);
  /// Records a processed push, whether or not it contained news.
  void record_push(const Report& report, Clock::time_point now);
  void committed(bool stored, Clock::time_point now);

  /// The figures of the last `minutes`, including the current one.
  RefreshFigures figures(std::size_t minutes, Clock::time_point now) const;
  /// The most frequent reason of failures in the last reasons_kept minutes.
  std::optional<FailureCount> main_failure(Clock::time_point now) const;
  /// The figures of the last `count` periods of `minutes` each, oldest first.
  std::vector<RefreshFigures> stretches(std::size_t count, std::size_t minutes, Clock::time_point now) const;
  /// The figures since the start.
  const RefreshFigures& total() const { return total_; }
  /// When the last successful commit was.
  std::optional<Clock::time_point> last_commit() const { return last_commit_; }
  Clock::duration age(Clock::time_point now) const { return now - began_; }

  /// The hosts with the most refreshes and those with the slowest refreshes; at most `count` each.
  struct HostLists {
    std::vector<HostFigures> busiest, slowest;
  };
  HostLists hosts(std::size_t count) const;
  /// The period that the figures of hosts cover.
  Clock::duration hosts_age(Clock::time_point now) const;

 private:
  struct Minute {
    std::int64_t number = -1;  ///< minutes since began_
    RefreshFigures figures;
  };
  struct Reasons {
    std::int64_t number = -1;  ///< minutes since began_
    std::array<std::uint32_t, reason_count> failed{};
  };
  using Hosts = std::map<std::string, HostFigures, std::less<>>;

  std::int64_t minute_of(Clock::time_point time) const {
    return std::chrono::floor<std::chrono::minutes>(time - began_).count();
  }
  void add(const RefreshFigures& figures, Clock::time_point now);
  RefreshFigures between(std::int64_t first, std::int64_t last) const;
  void record_host(const Report& report, Clock::time_point now);

  Clock::time_point began_, hosts_since_;
  std::vector<Minute> minutes_;                ///< a ring, indexed by the minute's number
  std::array<Reasons, reasons_kept> reasons_;  ///< a ring, indexed by the minute's number
  RefreshFigures total_;
  Hosts hosts_, hosts_before_;
  bool has_before_ = false;
  std::optional<Clock::time_point> last_commit_;
};

}  // namespace feedmill
