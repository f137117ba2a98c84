// Sources of a feed's document: its origin, or a hub that pushed it.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/system/result.hpp>

#include "storage/ingest/ingest.hpp"
#include "storage/records/commit.hpp"
#include "storage/records/fleet_records.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"
#include "storage/store/partition.hpp"
#include "worker/base/report.hpp"
#include "worker/config/host_rules.hpp"
#include "worker/ingest/refresh_observer.hpp"
#include "worker/policy/attempt.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill {

/// The result of getting and reading a document.
struct Attempt {
  Exchange exchange;
  Reading reading;
  std::optional<StoredFeed> stored{};  ///< the store's data about the feed before reading, if it was queried
};

/// Why an attempt gives no information about its feed; the feed is released unchanged.
struct Deferral {
  Reason reason = Reason::none;
  std::string detail;                ///< for people
  std::optional<Milliseconds> wait;  ///< delay until the feed is due; empty: its due time does not change
};

/// The decision to commit, or why there is nothing to commit.
using DecisionResult = boost::system::result<Decision, Deferral>;

/// One document of one claim. Lives on the loop until the commit is done, because it holds the memory for all steps
/// (SECURITY M2).
class DocumentSource {
 public:
  /// Gets the document and reads it on a CPU thread.
  virtual boost::asio::awaitable<Attempt> attempt(const Claim& claim, RefreshObserver& seen) = 0;
  /// Reads the complete document if posts were skipped (Document::whole_body) and are now needed. On failure, the
  /// reading contains the reason.
  virtual boost::asio::awaitable<void> read_all(const Claim& claim, Attempt& attempt) = 0;
  /// Decides what to commit. `known`: the store's data about the document's posts; `now`: Redis' time. Moves data out
  /// of the reading.
  virtual DecisionResult decide(const Claim& claim, Attempt& attempt, const StoredSnapshot& known,
                                Milliseconds now) = 0;

  /// Whether the source holds host slots that leave_hosts(), not the commit, must free (RELIABILITY L27).
  virtual bool holds_slots() const { return false; }
  /// Frees the host slots. `answer`: from the host that responded last; null if it was not understood.
  virtual boost::asio::awaitable<void> leave_hosts(const Claim&, const HostAnswer*) { co_return; }

 protected:
  ~DocumentSource() = default;
};

// Options of every refresh from claim to commit, whatever its source.

struct RefreshOptions {
  ReadingOptions reading;
  PolicyOptions policy;
  Milliseconds lease{90'000};         ///< a commit is retried until the lease ends (RELIABILITY §6)
  HostLimits host;                    ///< for hosts that redirects lead to (HTTP H6)
  HostRules hosts;                    ///< which hosts share a read queue, or are fetched elsewhere
  Partition partition;                ///< the partition of the feeds
  Milliseconds memory_wait{10'000};   ///< longest wait for memory to read a document (SECURITY M3)
  std::filesystem::path keep_poison;  ///< directory for documents that trigger a bug, "" = none (SECURITY Q4)
};

}  // namespace feedmill
