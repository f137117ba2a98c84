// Source of a feed's document: its origin, or a hub that pushed it.
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

/// Result of getting a document.
struct Attempt {
  Exchange exchange;
  Reading reading;
  std::optional<StoredFeed> stored{};  ///< what the store knew of the feed before reading, if it was asked
};

/// Why an attempt says nothing about its feed, which is released unchanged.
struct Deferral {
  Reason reason = Reason::none;
  std::string detail;                ///< for people
  std::optional<Milliseconds> wait;  ///< until the feed is due; empty: its due time stays
};

/// The decision to commit, or why there is none.
using DecisionResult = boost::system::result<Decision, Deferral>;

/// One document of one claim. Lives on the loop until the commit is done, because it holds the memory for all steps
/// (SECURITY M2).
class DocumentSource {
 public:
  /// Gets the document and reads it on a CPU thread.
  virtual boost::asio::awaitable<Attempt> attempt(const Claim& claim, RefreshObserver& seen) = 0;
  /// Reads all of a document with skipped posts (Document::whole_body), once they are needed; on failure the reading
  /// has the reason.
  virtual boost::asio::awaitable<void> read_all(const Claim& claim, Attempt& attempt) = 0;
  /// `known`: what the store knows about the document's posts; `now`: Redis' time. Moves data out of the reading.
  virtual DecisionResult decide(const Claim& claim, Attempt& attempt, const StoredSnapshot& known,
                                Milliseconds now) = 0;

  /// Whether it holds host slots that the commit does not free, but leave_hosts() does (RELIABILITY L27).
  virtual bool holds_slots() const { return false; }
  /// Frees the slots. `answer`: of the host that responded last; null if it was not understood.
  virtual boost::asio::awaitable<void> leave_hosts(const Claim&, const HostAnswer*) { co_return; }

 protected:
  ~DocumentSource() = default;
};

// Options of every refresh from claim to commit, whatever its source.

struct RefreshOptions {
  ReadingOptions reading;
  PolicyOptions policy;
  Milliseconds lease{90'000};         ///< a commit is retried until it ends (RELIABILITY §6)
  HostLimits host;                    ///< for hosts that redirects lead to (HTTP H6)
  HostRules hosts;                    ///< which hosts share a read queue, or are fetched elsewhere
  Partition partition;                ///< the partition of the feeds
  Milliseconds memory_wait{10'000};   ///< for memory to read a document (SECURITY M3)
  std::filesystem::path keep_poison;  ///< directory for documents that trigger a bug, "" = none (SECURITY Q4)
};

}  // namespace feedmill
