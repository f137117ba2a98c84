// Refreshes that somebody follows, wherever in the fleet they happen: a mark with an end on the feed, and a stream with
// what workers wrote down because of it. Both go by themselves.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/store/store.hpp"

namespace feedmill {

/// One step of a refresh.
struct TraceLine {
  std::int64_t ms = 0;  ///< since the refresh began
  std::string step, text;
};

struct TraceRecord {
  std::string id;  ///< of the stream: unix ms "-" number
  TraceLine line;
};

class Traces {
 public:
  /// `store` outlives this.
  explicit Traces(Store& store) : impl_(store.impl()) {}

  /// Has each refresh of the feed that begins within `span` written down, or for longer when another has asked for
  /// that. Returns the end of this span by Redis' clock; nothing when there is no such feed. Who follows it says so
  /// again and again, with a short span: so a mark outlives nobody by more than that.
  StoreResult<std::optional<Milliseconds>> follow(const std::string& feed_url, Milliseconds span);

  /// Takes away the mark that follow() made until `until`, and soon what was written down; unless another follows the
  /// feed until later. One who follows it as well has the mark back with the next follow().
  StoreResult<void> leave(const std::string& feed_url, Milliseconds until);

  /// Writes down a refresh, to be read for ten minutes; of a feed the newest thousands of lines are kept.
  StoreResult<void> append(const std::string& feed_url, std::span<const TraceLine> lines);

  /// Id of the newest line, "0-0" when there is none.
  StoreResult<std::string> last(const std::string& feed_url);
  /// Up to `count` lines after `after`, waiting up to `block` when there are none; that must stay below the command
  /// timeout.
  StoreResult<std::vector<TraceRecord>> read(const std::string& feed_url, const std::string& after, std::size_t count,
                                             Milliseconds block);

 private:
  Store::Impl& impl_;
};

}  // namespace feedmill
