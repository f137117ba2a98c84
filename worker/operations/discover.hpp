// Finds the feeds of a web page: fetches the candidates that parsers/discovery finds.
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

/// A feed offered by a page, fetched and parsed.
struct FoundFeed {
  std::string url;            ///< canonical, as linked
  std::string title, format;  ///< from the document, as plain text; the title of the link if the document has none
  std::size_t entries = 0;
  std::vector<Fields> posts;  ///< the first three, short fields only, as they would be stored
  FoundIn found_in{};
  bool comments = false;  ///< a feed of readers' comments
};

/// A candidate that is not a feed or could not be fetched.
struct RefusedCandidate {
  std::string url, reason;
};

/// The results of discover().
struct Discovery {
  std::optional<Look> look;      ///< at the URL itself
  std::vector<FoundFeed> feeds;  ///< most likely first, comments last; only the URL itself if that is a feed
  std::vector<RefusedCandidate> refused;
};

/// Finds the feeds of `url` (canonical): the URL itself, else those in Link headers and link tags, else well-known
/// paths up to the first feed, else those in anchors. A step runs only if the earlier ones found nothing but feeds of
/// comments, and fetches at most 10 candidates. URLs of the same document count once, as do formats of the same feed,
/// which have the same title and first posts. Blocks. Throws Interrupted, leaving the results so far in `discovery`.
void discover(Probe& probe, const std::string& url, Discovery& discovery);

// Runs discover() for callers that must not block: each call on its own thread, within the memory budget of documents.

class Looks;

/// A running discover(); the destructor cancels it. Used on the loop's thread. Must be destroyed before its Looks.
class LookUnderWay {
 public:
  ~LookUnderWay();
  LookUnderWay(const LookUnderWay&) = delete;
  LookUnderWay& operator=(const LookUnderWay&) = delete;

  bool done() const { return found_->done; }
  /// The results; call only when done().
  const Discovery& discovery() const { return found_->discovery; }
  /// When done(): the text of an unexpected error, "" if there was none.
  const std::string& bug() const { return found_->bug; }
  /// When done(): false if it timed out and may have missed feeds.
  bool is_complete() const { return found_->complete; }

 private:
  friend class Looks;
  /// Shared with the thread, which may outlive the look for a moment.
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

/// Starts calls of discover(). Lives on the loop's thread.
class Looks {
 public:
  static constexpr std::uint64_t longest_document = std::uint64_t{4} << 20U;

  struct Options {
    ProbeOptions probe;
    std::size_t at_once = 2;
    std::chrono::milliseconds patience{20'000};  ///< time limit of one discover()
  };

  /// `memory` must outlive this.
  Looks(Options options, MemoryBudget& memory);
  /// Waits for running threads (bounded by their timeout).
  ~Looks();
  Looks(const Looks&) = delete;
  Looks& operator=(const Looks&) = delete;

  /// Sets the options of later calls of begin(); keeps the store.
  void set_probe(ProbeOptions probe);
  /// The fetch options of later calls.
  const FetchOptions& fetching() const { return options_.probe.fetch; }
  /// Starts discover() of `url` (canonical). Returns null if too many are running or memory is short.
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
