// The consumer group that derives timelines and notices from events (RELIABILITY L13–L16): leader lease, reading, and
// applying each record exactly once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/event_record.hpp"
#include "storage/redis/redis.hpp"
#include "storage/store/store.hpp"
#include "storage/timelines/notifications.hpp"

namespace feedmill {

/// Derived data; each target tracks its own progress.
enum class DeliveryTarget { timelines, notices, stories };

/// The notices for one record.
struct NoticesOfRecord {
  std::string id, prev;  ///< of the record
  std::vector<Notice> notices{};
  bool more = false;  ///< the next element belongs to the same record
};

/// Where to continue in the channels that receive a record's post. Valid only on the server that returned it, while it
/// runs.
struct DeliveryPart {
  std::string from = "0";
};

/// Posts of other feeds with the story of a record's post; nothing is reported if there are none.
struct SameAsOfRecord {
  std::string id, prev;  ///< of the record
  std::string entity_id{}, feed_url{}, guid{};
  std::vector<std::string> same_as{};  ///< ids in the order of Stories::same_as()
};

/// Result of a batch. After a hole, the remaining records are not applied: those between `last` and them must be
/// applied first.
struct Delivered {
  bool hole = false;
  std::optional<DeliveryPart> part{};  ///< the remaining records are not applied; continue here
  std::uint64_t applied = 0;           ///< for the first time
  std::uint64_t repeated = 0;          ///< skipped: applied before
  std::uint64_t refused = 0;           ///< writes skipped because a key has the wrong type
  std::string last;                    ///< last record applied
  std::uint64_t told = 0;              ///< events written
  std::uint64_t unbuilt = 0;           ///< channels added to Channels::unbuilt()

  /// Adds the result of the following records.
  void add(const Delivered& next);
};

/// Result of an attempt to skip everything in the stream.
struct Passed {
  enum class Answer {
    passed,  ///< no recipients: everything counts as delivered
    wanted,  ///< there are recipients: a channel or a rule exists
    unread   ///< the records must be read
  };
  Answer answer{};
  std::uint64_t records = 0;  ///< records skipped
  std::string place{};        ///< everything up to it is delivered
};

/// Progress of a target in the stream.
struct DeliveryPlace {
  std::string last;     ///< last record applied, "0-0" before the first
  std::string newest;   ///< newest record ever written
  bool behind = false;  ///< records after `last` were trimmed and can no longer be applied
  std::string resume;   ///< where to continue after a loss: all later records still exist
};

/// Delivery of one store's events, over a Store's connection.
class Deliveries {
 public:
  /// `store` must outlive this object.
  explicit Deliveries(Store& store) : impl_(store.impl()) {}

  /// Acquires or renews the right to deliver; false while another owner holds it. It only avoids duplicate work: even
  /// with two owners, every record is applied once and in order.
  StoreResult<bool> hold(const std::string& token, Milliseconds ttl);
  StoreResult<void> let_go(const std::string& token);

  /// Creates the group, starting with the first record, unless it exists.
  StoreResult<void> join();
  /// Records delivered to the group but never acknowledged, oldest first.
  StoreResult<std::vector<EventRecord>> pending(std::size_t count);
  /// Records not yet delivered to the group.
  StoreResult<std::vector<EventRecord>> fresh(std::size_t count);
  /// Starts fresh() with a wait of up to `longest` for the first record. EventStream::come() returns the records; do
  /// nothing else on this connection until then.
  StoreResult<ServerWait> begin_to_wait(std::size_t count, Milliseconds longest);
  StoreResult<void> acknowledge(std::span<const EventRecord> records);

  /// Applies records to the timelines, in order. Records without a post only advance the position. `publish`: records
  /// that also go to the pub/sub channel "<type>:<feed_url>". Writes at most 500 timelines per call; the rest is left
  /// (see Delivered::part), and if it is never requested, the part already applied is applied again.
  StoreResult<Delivered> apply(std::span<const Event> events, std::span<const EventRecord> publish = {},
                               const DeliveryPart& part = {});
  /// Applies notices, all at once.
  StoreResult<Delivered> apply(std::span<const NoticesOfRecord> records);
  /// Writes post_same_as for each record that has same_as, if its post is still stored.
  StoreResult<Delivered> apply(std::span<const SameAsOfRecord> records);

  /// Marks everything as delivered without reading it, for timelines and notices, while there are no recipients. A
  /// concurrent subscription is either seen or receives everything committed later. Not for callers that publish
  /// records or keep the index of stories.
  StoreResult<Passed> pass();

  StoreResult<DeliveryPlace> place(DeliveryTarget target);
  /// Advances a position past records that will not be applied. Never moves it back.
  StoreResult<void> skip_to(DeliveryTarget target, const std::string& id);

 private:
  StoreResult<std::vector<EventRecord>> read(std::string_view from, std::size_t count);

  Store::Impl& impl_;
};

}  // namespace feedmill
