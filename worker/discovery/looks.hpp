// Looks behind addresses for those who may not block: each on a thread of its own, within the memory that all documents
// share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "worker/base/memory_budget.hpp"
#include "worker/base/threads.hpp"
#include "worker/discovery/discover.hpp"

namespace feedmill {

class Looks;

/// A look behind one address. Whoever lets go of it gives it up. On the loop's thread, before its Looks end.
class LookUnderWay {
 public:
  ~LookUnderWay();
  LookUnderWay(const LookUnderWay&) = delete;
  LookUnderWay& operator=(const LookUnderWay&) = delete;

  bool done() const { return found_->done; }
  /// Of one that is done: what was found.
  const Discovery& discovery() const { return found_->discovery; }
  /// Likewise: what went wrong that never should, "" when nothing did.
  const std::string& bug() const { return found_->bug; }
  /// Likewise: false when its time was over, and there may be more than was found.
  bool is_complete() const { return found_->complete; }

 private:
  friend class Looks;
  /// The thread's until it is done; it may outlive the look for a moment.
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

/// On the loop's thread.
class Looks {
 public:
  static constexpr std::uint64_t longest_document = std::uint64_t{4} << 20U;

  struct Options {
    ProbeOptions probe;
    std::size_t at_once = 2;
    std::chrono::milliseconds patience{20'000};  ///< with all that is behind one address
  };

  /// `memory` outlives this.
  Looks(Options options, MemoryBudget& memory);
  /// Waits until nobody looks any more, which is soon.
  ~Looks();
  Looks(const Looks&) = delete;
  Looks& operator=(const Looks&) = delete;

  /// For looks that are begun from now on. When hosts were asked last is known still.
  void set_probe(ProbeOptions probe);
  /// How those fetch that are begun now.
  const FetchOptions& fetching() const { return options_.probe.fetch; }
  /// Begins to look behind `url` (canonical), as discover() does; null when as many as may are under way, or memory is
  /// short.
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
