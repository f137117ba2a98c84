// What there is to say of a running worker and its store at one moment (OPERATIONS §6): values, and where the store's
// come from. Shown by status_page (people) and status_json (programs).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/push_out/subscribers.hpp"
#include "storage/records/fleet_figures.hpp"
#include "storage/records/host_records.hpp"
#include "storage/records/stream_records.hpp"
#include "storage/store/store.hpp"
#include "storage/timelines/notifications.hpp"
#include "worker/admin/admin.hpp"
#include "worker/admin/status_history.hpp"

namespace feedmill {

/// What the process knows of itself, without a word to the store.
struct ProcessStatus {
  std::string worker, host, version;
  std::int64_t pid = 0;
  std::string configuration;    ///< 16 hex digits, equal for equal effective values
  Milliseconds clock{};         ///< unix time by this machine
  Milliseconds clock_offset{};  ///< that minus Redis' time, when it was last looked at
  std::chrono::seconds uptime{};
  std::vector<Check> ready;
  bool stopping = false;
  std::string reload_refused;               ///< why the last reload changed nothing, "" when it did
  std::string restart_awaited;              ///< keys that hold only from the next start on, apart by spaces
  std::string others_trouble;               ///< of other partitions that this process serves, "" = there is none
  std::optional<StoreError> store_trouble;  ///< none while the store serves, as far as the worker has noticed
  bool ingest = true, deliver = true;
  std::optional<std::uint64_t> streams;  ///< clients of the live stream; none: it pushes nothing out
  std::uint64_t lanes_busy = 0, lanes = 0;
  std::uint64_t memory_used = 0, memory_budget = 0, memory_resident = 0;  ///< bytes; the first two of documents
  std::uint64_t log_suppressed = 0;

  std::chrono::seconds last_commit_ago{-1};   ///< below 0: none yet
  RefreshFigures total;                       ///< since the start,
  std::chrono::duration<double> total_for{};  ///< which was so long ago
  RefreshFigures ten_minutes, hour, three_hours, six_hours, day;
  std::optional<FailureCount> main_failure;  ///< what most refreshes failed for, of those ten minutes
  std::vector<RefreshFigures> stretches;     ///< of stretch_minutes each, oldest first, the newest under way
  std::vector<HostFigures> busiest, slowest;
  std::chrono::seconds hosts_age{};  ///< how far back those two reach
};
inline constexpr std::size_t stretch_minutes = 5, stretch_count = 72;  ///< six hours

/// Fills in what the history knows.
void take_history(ProcessStatus& status, const StatusHistory& history, StatusHistory::Clock::time_point now);

/// A host that backs off.
struct OpenCircuit {
  std::string host;
  HostState state;
};

/// A post that was stored of late. Texts are the publisher's.
struct NewestPost {
  std::string title, link;
  std::string feed_url, feed_title;  ///< the title "" when it is not known
  Milliseconds at{};                 ///< when it was stored
  std::string feed_title_type{};
};

/// What the store says of the fleet.
struct StoreStatus {
  FleetFigures fleet;
  StreamFigures stream;
  std::vector<WorkerRecord> workers;
  std::vector<StoredNotice> notices;  ///< newest first
  std::vector<OpenCircuit> closed;    ///< the longest first
  std::vector<NewestPost> posts;      ///< newest first, at most newest_posts
  SubscriberCounts told;              ///< who is told of events
};
inline constexpr std::size_t most_hosts = 20, most_notices = 20, newest_posts = 10;  ///< OPERATIONS §6

/// About 25 commands and one for each worker, host and post shown, whatever the store holds.
StoreResult<StoreStatus> read_store_status(Store& store);

/// Something that is not as it should be.
struct Concern {
  enum class Weight { bad, warning, note };
  Weight weight{};
  std::string text;    ///< what is wrong, a sentence
  std::string remedy;  ///< what to do about it
  std::string where;   ///< page that shows more, "" = none
};

struct Status {
  ProcessStatus process;
  std::optional<StoreStatus> store;  ///< absent when it could not be asked
  std::string store_error;           ///< why, and what to do about it

  /// The time that all is reckoned from: Redis' own, else this machine's.
  Milliseconds now() const { return store ? store->fleet.now : process.clock; }
};

/// What is wrong, the worst first (limits: OPERATIONS §4).
std::vector<Concern> concerns(const Status& status);

/// Feeds in a state.
std::uint64_t feeds_in(const FleetFigures& fleet, std::string_view state);

}  // namespace feedmill
