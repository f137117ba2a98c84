// Traces of refreshes on any worker of the fleet: a mark on the feed with an expiry, and a stream of the lines that
// workers write. Both expire by themselves.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/store/store.hpp"

namespace feedmill {

/// One step of a refresh.
struct TraceLine {
  std::int64_t ms = 0;  ///< since the refresh started
  std::string step, text;
};

/// A stored line of a trace.
struct TraceRecord {
  std::string id;  ///< in the stream: unix ms "-" number
  TraceLine line;
};

/// The traces of one store, over a Store's connection.
class Traces {
 public:
  /// `store` must outlive this object.
  explicit Traces(Store& store) : impl_(store.impl()) {}

  /// Requests a trace of each refresh of the feed that starts within `span`, or longer if another client has requested
  /// that. Returns the end of this span by Redis' clock; empty if the feed is unknown. Clients renew a short span
  /// repeatedly, so that a mark soon expires without them.
  StoreResult<std::optional<Milliseconds>> follow(const std::string& feed_url, Milliseconds span);

  /// Removes the mark of the follow() that returned `until`, and soon the trace, unless another client follows the feed
  /// for longer. Any other client restores the mark with its next follow().
  StoreResult<void> leave(const std::string& feed_url, Milliseconds until);

  /// Writes the trace of a refresh, kept for ten minutes; per feed the newest few thousand lines.
  StoreResult<void> append(const std::string& feed_url, std::span<const TraceLine> lines);

  /// Id of the newest line, "0-0" if there is none.
  StoreResult<std::string> last(const std::string& feed_url);
  /// Up to `count` lines after `after`; waits up to `block`, which must be below the command timeout, if there are
  /// none.
  StoreResult<std::vector<TraceRecord>> read(const std::string& feed_url, const std::string& after, std::size_t count,
                                             Milliseconds block);

 private:
  Store::Impl& impl_;
};

}  // namespace feedmill
