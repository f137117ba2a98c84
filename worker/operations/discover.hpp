// Finds the feeds of a web page: fetches the candidates from parsers/discovery.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parsers/lists/discovery.hpp"
#include "storage/redis/values.hpp"
#include "worker/base/blocking_calls.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/operations/probe.hpp"

namespace feedmill {

/// A feed that a page offers, fetched and parsed.
struct FoundFeed {
  std::string url;            ///< canonical, as linked
  std::string title, format;  ///< the document's, as plain text; the link's if it has no title
  std::size_t entries = 0;
  std::vector<Fields> posts;  ///< the first three, short fields only: as they would be stored
  FoundIn found_in{};
  bool comments = false;  ///< of readers' comments
};

/// A candidate that is not a feed or cannot be fetched.
struct RefusedCandidate {
  std::string url, reason;
};

struct Discovery {
  std::optional<Look> look;      ///< at the URL itself
  std::vector<FoundFeed> feeds;  ///< most likely first, comments last; only the URL itself if it is a feed
  std::vector<RefusedCandidate> refused;
};

/// Finds the feeds of `url` (canonical): the URL itself, else those in Link headers and link tags, else well-known
/// paths up to the first feed, else anchors. Each step runs only if the earlier ones found nothing but comment feeds,
/// and fetches at most 10 candidates. URLs of one document count once, as do formats of one feed: equal title and first
/// posts. Blocks; throws Interrupted, with the results so far in `discovery`.
void discover(Probe& probe, const std::string& url, Discovery& discovery);

// Runs discover() for callers that must not block: each on its own thread, within the documents' memory budget.

class Looks;

/// A running discover(). Its destructor cancels it. On the loop's thread; must end before its Looks.
class LookUnderWay {
 public:
  ~LookUnderWay();
  LookUnderWay(const LookUnderWay&) = delete;
  LookUnderWay& operator=(const LookUnderWay&) = delete;

  bool done() const { return found_->done; }
  /// The results; call when done().
  const Discovery& discovery() const { return found_->discovery; }
  /// When done(): text of an unexpected error, "" if none.
  const std::string& bug() const { return found_->bug; }
  /// When done(): false if it timed out and may have missed feeds.
  bool is_complete() const { return found_->complete; }

 private:
  friend class Looks;
  /// Owned by the thread until it is done; may outlive the look for a moment.
  struct Found {
    Discovery discovery;
    std::string bug;
    bool complete = false;
    std::atomic<bool> given_up = false, done = false;
  };

  LookUnderWay(Looks& looks, MemoryBudget& memory);

  Looks& looks_;
  MemoryBudget::Share share_;
  std::shared_ptr<Found> found_ = std::make_shared<Found>();
};

/// Lives on the loop's thread.
class Looks {
 public:
  static constexpr std::uint64_t longest_document = std::uint64_t{4} << 20U;

  struct Options {
    ProbeOptions probe;
    std::size_t at_once = 2;
    std::chrono::milliseconds patience{20'000};  ///< time limit of one discover()
  };

  /// `memory` outlives this.
  Looks(Options options, MemoryBudget& memory);
  /// Waits for running threads (bounded by their timeout).
  ~Looks();
  Looks(const Looks&) = delete;
  Looks& operator=(const Looks&) = delete;

  /// For later calls of begin(). Keeps the request times of hosts.
  void set_probe(ProbeOptions probe);
  /// Fetch options of later calls.
  const FetchOptions& fetching() const { return options_.probe.fetch; }
  /// Starts discover() of `url` (canonical); null at the limit of concurrent ones or if memory is short.
  std::unique_ptr<LookUnderWay> begin(const std::string& url);

 private:
  friend class LookUnderWay;

  Options options_;
  MemoryBudget& memory_;
  std::size_t under_way_ = 0;
  std::atomic<bool> ending_ = false;
  Threads threads_;
};

}  // namespace feedmill
