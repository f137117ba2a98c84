// stream:signals, which survives a disconnect, and who reads it (DESIGN §4).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "storage/records/stream_records.hpp"
#include "storage/redis/server_wait.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// Over a Store's connection.
class EventStream {
 public:
  /// `store` outlives this.
  explicit EventStream(Store& store) : impl_(store.impl()) {}

  /// Up to `count` records after stream id `after` ("$" = those to come, "0" = from the first), waiting up to `block`
  /// when there are none.
  StoreResult<std::vector<EventRecord>> read(const std::string& after, std::size_t count, Milliseconds block);
  /// The same in two steps, and nothing else in between on this connection.
  StoreResult<ServerWait> begin_to_wait(const std::string& after, std::size_t count, Milliseconds block);
  StoreResult<std::vector<EventRecord>> come();
  /// The records behind `after` ("" = all that there are), at most `limit`; absent when some behind it have been
  /// trimmed away: whoever has come to `after` ("0-0" = before the first that ever was) has missed them; or when the
  /// store has not come so far, because it was replaced, put back or lost its end.
  struct Since {
    std::optional<std::vector<EventRecord>> records;
    std::string oldest;         ///< the first there is; where there is none, the last that ever was
    std::string before_oldest;  ///< an `after` that misses nothing of what is left
  };
  StoreResult<Since> since(const std::string& after, std::size_t limit);
  /// Whether events between `after` and a record that was read behind it are missing.
  static bool misses(const std::string& after, const EventRecord& record);
  /// Id of the newest record, "0-0" when there is none.
  StoreResult<std::string> last_id();
  /// The same where that record has been trimmed away; "0-0" when there never was one.
  StoreResult<std::string> last_seq();

  /// The newest records, newest first.
  StoreResult<std::vector<EventRecord>> newest(std::size_t count);

  /// How far each consumer group of the events has come.
  StoreResult<StreamFigures> figures();
  /// The same, and takes away what is over the cap or 7 days old and that every group has acknowledged (RELIABILITY
  /// L13); commits alone keep to the hard limit, twice the cap.
  StoreResult<StreamFigures> trim();
  /// The newest events of a feed among the newest `look` of all, newest first, at most `limit`.
  StoreResult<std::vector<EventRecord>> of_feed(const std::string& feed_url, std::size_t look, std::size_t limit);

 private:
  Store::Impl& impl_;
};

}  // namespace feedmill
