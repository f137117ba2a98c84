// Where a feed's document comes from: its origin, or a hub that pushed it.
#pragma once

#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/system/result.hpp>

#include "storage/ingest/ingest.hpp"
#include "storage/records/claim.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"
#include "worker/base/report.hpp"
#include "worker/policy/attempt.hpp"
#include "worker/policy/decide.hpp"
#include "worker/trace/refresh_observer.hpp"

namespace feedmill {

/// What came of trying to get at a document.
struct Attempt {
  Exchange exchange;
  Reading reading;
  std::optional<StoredFeed> stored{};  ///< what the store said of the feed before it was read, where it was asked
};

/// Why an attempt says nothing about its feed, which is given back as it was.
struct Deferral {
  Reason reason = Reason::none;
  std::string detail;                ///< for people
  std::optional<Milliseconds> wait;  ///< until the feed is due; none: it is due when it was
};

/// What is to be written, if anything.
using DecisionResult = boost::system::result<Decision, Deferral>;

/// One document of one claim. Lives on the loop, until the commit is through: it holds the memory that all of that
/// takes (SECURITY M2).
class DocumentSource {
 public:
  /// Gets the document and reads it, on a CPU thread.
  virtual boost::asio::awaitable<Attempt> attempt(const Claim& claim, RefreshObserver& seen) = 0;
  /// Reads all of a document of which posts were passed over (Document::whole_body), once they must be seen after all;
  /// the reading says why where that fails.
  virtual boost::asio::awaitable<void> read_all(const Claim& claim, Attempt& attempt) = 0;
  /// `known` is what the store knows of the document's posts, `now` Redis' clock. Takes what it can out of the reading.
  virtual DecisionResult decide(const Claim& claim, Attempt& attempt, const StoredSnapshot& known,
                                Milliseconds now) = 0;

  /// Whether slots are held that the commit does not free: leave_hosts() does (RELIABILITY L27).
  virtual bool holds_slots() const { return false; }
  /// `answer`: of the host that answered last, null where none was understood.
  virtual boost::asio::awaitable<void> leave_hosts(const Claim&, const HostAnswer*) { co_return; }

 protected:
  ~DocumentSource() = default;
};

}  // namespace feedmill
