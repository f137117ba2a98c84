// The post revisions in the event stream, to compare with the entries (RELIABILITY I5).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "storage/records/event_record.hpp"
#include "storage/redis/redis.hpp"
#include "storage/store/keys.hpp"
#include "storage/upkeep/verify.hpp"

namespace feedmill {

/// The newest revision of each post in the stream. Bounded by the stream.
class EventLedger {
 public:
  /// Both must outlive this object; `redis` must be connected when it reads.
  EventLedger(Redis& redis, const Keys& keys) : redis_(redis), keys_(keys) {}

  /// Reads the records added since the last call, in bounded steps. Reports malformed ones in `wrong`.
  StoreResult<void> read_on(std::vector<Violation>& wrong);

  struct Revision {
    std::int64_t rev = 0;
    bool gone = false;     ///< trimmed or deleted since
    std::string record{};  ///< id of its record
  };
  /// The event of that record; empty if it was trimmed.
  StoreResult<std::optional<Event>> read_again(const std::string& record);

  /// By entry number.
  const std::unordered_map<std::uint64_t, Revision>& posts() const { return posts_; }

  /// Whether a revision of an entry, written at `changed` (unix seconds), should have a record in the stream but does
  /// not.
  bool lacks(std::uint64_t number, std::int64_t rev, std::int64_t changed) const;
  /// Reads the stream's current beginning, because it may have been trimmed.
  StoreResult<void> find_beginning();

  std::uint64_t records() const { return records_; }
  std::uint64_t highest() const { return highest_; }

 private:
  void read(const EventRecord& record, std::vector<Violation>& wrong);

  Redis& redis_;
  const Keys& keys_;
  std::unordered_map<std::uint64_t, Revision> posts_;
  std::string last_ = "0-0", first_;
  std::int64_t first_ms_ = 0;  // of the oldest record, 0 = none
  std::uint64_t records_ = 0, highest_ = 0;
};

/// The number in an entry's id, 0 if it is not one.
std::uint64_t entry_number(const Keys& keys, std::string_view id);

}  // namespace feedmill
