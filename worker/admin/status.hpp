// The status of a running worker and its store at one moment (OPERATIONS §6), rendered by status_page() as HTML and by
// status_json() as JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "storage/feeds/memory_use.hpp"
#include "storage/queues/subscribers.hpp"
#include "storage/records/fleet_records.hpp"
#include "storage/records/stream_records.hpp"
#include "storage/store/store.hpp"
#include "storage/timelines/notifications.hpp"
#include "worker/admin/admin.hpp"
#include "worker/admin/page_parts.hpp"
#include "worker/admin/status_history.hpp"

namespace feedmill {

/// What the process knows about itself without querying the store.
struct ProcessStatus {
  std::string worker, host, version;
  std::int64_t pid = 0;
  std::string configuration;    ///< digest of the configuration: 16 hex digits, equal for equal effective values
  Milliseconds clock{};         ///< unix time by this machine's clock
  Milliseconds clock_offset{};  ///< our clock minus Redis' clock at the last check
  std::chrono::seconds uptime{};
  std::vector<Check> ready;
  bool stopping = false;
  std::string reload_refused;               ///< why the last reload had no effect; "" if it succeeded
  std::string restart_awaited;              ///< changed keys that need a restart, separated by spaces
  std::string others_trouble;               ///< problems of other partitions served by this process; "" if none
  std::optional<StoreError> store_trouble;  ///< none while the store works, as far as the worker knows
  bool ingest = true, deliver = true, push_out = false;
  std::optional<std::uint64_t> streams;  ///< clients of the live stream; none: this process does not push out
  std::uint64_t lanes_busy = 0, lanes = 0;
  std::uint64_t memory_used = 0, memory_budget = 0, memory_resident = 0;  ///< bytes; the first two count only documents
  std::uint64_t log_suppressed = 0;

  std::chrono::seconds last_commit_ago{-1};   ///< negative: there was no commit yet
  RefreshFigures total;                       ///< since the start
  std::chrono::duration<double> total_for{};  ///< time since the start
  RefreshFigures ten_minutes, hour, three_hours, six_hours, day;
  std::optional<FailureCount> main_failure;  ///< most frequent reason of failures in the last ten minutes
  std::vector<RefreshFigures> stretches;     ///< periods of stretch_minutes, oldest first, the newest incomplete
  std::vector<HostFigures> busiest, slowest;
  std::chrono::seconds hosts_age{};  ///< period covered by `busiest` and `slowest`
};
inline constexpr std::size_t stretch_minutes = 5, stretch_count = 72;  ///< six hours

/// Copies the figures of the last three hours, which concerns() needs, from `history` into `status`.
void take_recent_history(ProcessStatus& status, const StatusHistory& history, StatusHistory::Clock::time_point now);
/// Copies all figures from `history` into `status`.
void take_history(ProcessStatus& status, const StatusHistory& history, StatusHistory::Clock::time_point now);

/// A host in back-off.
struct OpenCircuit {
  std::string host;
  HostState state;
};

/// A recently stored post. The texts are the publisher's.
struct NewestPost {
  std::string title, link;
  std::string feed_url, feed_title;  ///< `feed_title` is "" if unknown
  Milliseconds at{};                 ///< when the post was stored
  std::string feed_title_type{};
};

/// The status of the fleet, read from the store.
struct StoreStatus {
  FleetFigures fleet;
  StreamFigures stream;
  std::vector<WorkerRecord> workers;
  std::vector<StoredNotice> notices;  ///< newest first
  std::vector<OpenCircuit> closed;    ///< hosts in back-off, the longest first
  std::vector<NewestPost> posts;      ///< newest first, at most newest_posts
  SubscriberCounts told;              ///< receivers of events
  MemoryUse memory;                   ///< memory of the feeds of the newest posts, at most 3
};
inline constexpr std::size_t most_hosts = 20, most_notices = 20, newest_posts = 10;  ///< OPERATIONS §6

/// Reads the status with about 100 commands, plus one for each worker, host and post shown, whatever the size of the
/// store. Throws StoreFailure.
StoreStatus read_store_status(Store& store);

/// A problem to show to the operator.
struct Concern {
  enum class Weight { bad, warning, note };
  Weight weight{};
  std::string text;     ///< the problem, in one sentence
  std::string remedy;   ///< how to solve the problem
  std::string where{};  ///< page with details, "" = none
};

/// Everything that the overview shows.
struct Status {
  ProcessStatus process;
  std::optional<StoreStatus> store;  ///< empty if the store did not answer
  std::string store_error;           ///< the error, including the remedy

  /// Redis' time, or this machine's time if the store did not answer.
  Milliseconds now() const { return store ? store->fleet.now : process.clock; }
};

/// The problems, worst first (limits: OPERATIONS §3).
std::vector<Concern> concerns(const Status& status);

// The overview as JSON: /status.json (OPERATIONS §6).

/// Everything that the page shows, `schema` first; times in RFC 3339, durations in seconds, sizes in bytes. Values from
/// the store are null while the store does not answer.
boost::json::object status_json(const Status& status);

/// Removes secrets from all strings in `value` (SECURITY K1).
boost::json::value without_secrets(boost::json::value value);

// The overview page: problems first, then figures (OPERATIONS §6).

/// The main part of /status.
Html status_page(const Status& status);

/// The weight of a problem, as in JSON and as the class of its element.
std::string_view weight_name(Concern::Weight weight);
/// Adds a problem to a list; `where`: where it is.
void add_concern(Html& html, const Concern& concern, const Html& where);

/// The verdict for the heading and the window title: "All is well", "2 things need attention".
std::string verdict(const std::vector<Concern>& concerns);

// The overview of all partitions that a process serves, for "/status" (RELIABILITY L29).

/// A partition and what the process knows about it without querying its store; of `status.store`, only `fleet` is set.
struct PartitionStatus {
  std::uint32_t partition = 0;
  Status status;
};

/// The verdict on all of them, as verdict() for one.
std::string verdict_of_all(std::span<const PartitionStatus> partitions);

/// The main part: problems, each with its partitions, then figures of each partition, with a link to its own page.
/// `partitions` is not empty.
Html partitions_page(std::span<const PartitionStatus> partitions);

}  // namespace feedmill
