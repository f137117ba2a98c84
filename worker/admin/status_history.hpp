// What this process has done of late, for people who look: minutes of a day, hosts of an hour. Bounded, whatever
// happens: a quarter of a megabyte of minutes, and 4 096 hosts twice.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "worker/base/report.hpp"

namespace feedmill {

/// Figures of a stretch of time.
struct RefreshFigures {
  std::uint64_t updated = 0, unchanged = 0, not_modified = 0, failed = 0;  ///< refreshes by how they ended
  std::uint64_t with_new = 0;                                              ///< brought a new entry
  std::uint64_t pushes = 0;                       ///< documents that hubs pushed, read and compared with what is stored
  std::uint64_t created = 0, modified = 0;        ///< entries, of refreshes and of pushes
  std::uint64_t wire_bytes = 0, saved_bytes = 0;  ///< received; spared against full bodies
  std::uint64_t bugs = 0;                         ///< refreshes that met one
  std::uint64_t commits = 0, commits_failed = 0;
  std::chrono::duration<double> worst_lateness{};
  /// Refreshes by how late they were claimed: up to lateness_bounds[i] seconds, and those beyond.
  std::array<std::uint32_t, 12> lateness{};

  void add(const RefreshFigures& other);
  std::uint64_t refreshes() const { return updated + unchanged + not_modified + failed; }
  /// At most this late was the given share of refreshes: a bound of OPERATIONS §3 (L), or the worst beyond them.
  std::chrono::duration<double> lateness_of(double share) const;
};
/// How often refreshes failed for a reason.
struct FailureCount {
  Reason reason{};
  std::uint64_t count = 0;
};

inline constexpr std::array<double, 11> lateness_bounds{1, 2, 5, 10, 30, 60, 120, 300, 900, 3600, 21600};

/// A host as this process has met it.
struct HostFigures {
  std::string host;
  std::uint64_t refreshes = 0, failed = 0;
  std::chrono::duration<double> took{};  ///< all of them together
  std::chrono::duration<double> mean() const { return refreshes == 0 ? took : took / static_cast<double>(refreshes); }
};

class StatusHistory {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t minutes_kept = 24UL * 60;
  static constexpr std::size_t hosts_kept = 4096;
  static constexpr std::size_t reasons_kept = 10;       ///< minutes
  static constexpr std::chrono::minutes hosts_for{30};  ///< a generation: figures of hosts reach one or two back

  explicit StatusHistory(Clock::time_point now) : began_(now), hosts_since_(now), minutes_(minutes_kept) {}

  /// A refresh that ended; those that were put off or cancelled do not count. `now` never goes back.
  void record(const Report& report, Clock::time_point now);
  /// A push that ended, written or found to hold nothing new.
  void record_push(const Report& report, Clock::time_point now);
  void committed(bool stored, Clock::time_point now);

  /// The newest `minutes`, the current one included.
  RefreshFigures figures(std::size_t minutes, Clock::time_point now) const;
  /// What most refreshes of the newest reasons_kept minutes failed for.
  std::optional<FailureCount> main_failure(Clock::time_point now) const;
  /// The newest `count` stretches of `minutes` each, oldest first.
  std::vector<RefreshFigures> stretches(std::size_t count, std::size_t minutes, Clock::time_point now) const;
  /// All since the start.
  const RefreshFigures& total() const { return total_; }
  /// When something was stored last.
  std::optional<Clock::time_point> last_commit() const { return last_commit_; }
  Clock::duration age(Clock::time_point now) const { return now - began_; }

  /// The hosts with the most refreshes, and those whose refreshes take longest; at most `count` of each.
  struct HostLists {
    std::vector<HostFigures> busiest, slowest;
  };
  HostLists hosts(std::size_t count) const;
  /// How far back the figures of hosts reach.
  Clock::duration hosts_age(Clock::time_point now) const;

 private:
  struct Minute {
    std::int64_t number = -1;  ///< since began_
    RefreshFigures figures;
  };
  struct Reasons {
    std::int64_t number = -1;  ///< minute since began_
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
  std::vector<Minute> minutes_;                ///< a ring by number
  std::array<Reasons, reasons_kept> reasons_;  ///< a ring by number
  RefreshFigures total_;
  Hosts hosts_, hosts_before_;
  bool has_before_ = false;
  std::optional<Clock::time_point> last_commit_;
};

}  // namespace feedmill
