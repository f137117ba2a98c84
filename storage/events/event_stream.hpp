// stream:signals, the event stream that survives disconnects, and its consumers (DESIGN §4).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/records/stream_records.hpp"
#include "storage/redis/redis.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// The event stream of one store, over a Store's connection.
class EventStream {
 public:
  /// `store` must outlive this object.
  explicit EventStream(Store& store) : impl_(store.impl()) {}

  /// Up to `count` records after stream id `after` ("$" = only new ones, "0" = from the first); waits up to `block` if
  /// there are none.
  StoreResult<std::vector<EventRecord>> read(const std::string& after, std::size_t count, Milliseconds block);
  /// read() in two steps; do nothing else on this connection in between.
  StoreResult<ServerWait> begin_to_wait(const std::string& after, std::size_t count, Milliseconds block);
  StoreResult<std::vector<EventRecord>> come();
  /// The records after `after` ("" = all), at most `limit`. Absent if records after `after` were trimmed, so that a
  /// consumer at `after` ("0-0" = before the first record ever) has missed them, or if `after` is beyond the end of the
  /// stream because the store was replaced, restored or lost its end.
  struct Since {
    std::optional<std::vector<EventRecord>> records;
    std::string oldest;         ///< the first record; if there are none, the last ever written
    std::string before_oldest;  ///< an `after` from which all remaining records are available
  };
  StoreResult<Since> since(const std::string& after, std::size_t limit);
  /// Whether events between `after` and `record`, the next one read, are missing.
  static bool misses(const std::string& after, const EventRecord& record);
  /// Id of the newest record, "0-0" if there is none.
  StoreResult<std::string> last_id();
  /// Id of the newest record ever written, even if trimmed; "0-0" if there never was one.
  StoreResult<std::string> last_seq();

  /// The newest records, newest first.
  StoreResult<std::vector<EventRecord>> newest(std::size_t count);

  /// Length of the stream and lag of each consumer group.
  StoreResult<StreamFigures> figures();
  /// figures(), and trims records over the cap or 7 days old that every group has acknowledged (RELIABILITY L13);
  /// commits enforce only the hard limit, twice the cap.
  StoreResult<StreamFigures> trim();
  /// The newest events of a feed among the newest `look` events, newest first, at most `limit`.
  StoreResult<std::vector<EventRecord>> of_feed(const std::string& feed_url, std::size_t look, std::size_t limit);

 private:
  Store::Impl& impl_;
};

// The merged stream, a copy of the events of all partitions (RELIABILITY L28).

/// Copies one partition's events. Several may run at once, and any may be killed: each event is copied once, and those
/// of a partition in order.
class MergedStream {
 public:
  /// `store`, a partition, must outlive this object.
  explicit MergedStream(Store& store);

  struct Step {
    std::size_t copied = 0;
    bool missed = false;  ///< events were trimmed before they were copied
  };
  /// Copies up to `most` records, if available.
  StoreResult<Step> step(std::size_t most);

 private:
  StoreResult<void> send(std::span<const EventRecord> records);

  Store& store_;
  Store::Impl& impl_;
  const std::string prefix_, stream_, places_, partition_;
  Redis redis_;                 // of the node with the merged stream
  std::string at_;              // our last copied event, "" = unknown
  std::string newest_ = "0-0";  // id of the last copy (RELIABILITY L8)
};

}  // namespace feedmill
