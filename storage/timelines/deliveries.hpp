// The consumer group that derives timelines and notices from the events (RELIABILITY L13–L16): who may, what is to be
// done, and doing it so that every record counts once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/event_record.hpp"
#include "storage/redis/server_wait.hpp"
#include "storage/store/store.hpp"
#include "storage/timelines/notifications.hpp"

namespace feedmill {

/// What is derived: each remembers by itself how far it has come.
enum class DeliveryTarget { timelines, notices, stories };

/// The notices that one record brings.
struct NoticesOfRecord {
  std::string id, prev;  ///< of the record
  std::vector<Notice> notices{};
  bool more = false;  ///< the next one is of the same record
};

/// Where to go on in the channels that get a record's post. Of the server that gave it, while that lives.
struct DeliveryPart {
  std::string from = "0";
};

/// The posts of other feeds that tell the story of one record's post; without any there is nothing to tell.
struct SameAsOfRecord {
  std::string id, prev;  ///< of the record
  std::string entity_id{}, feed_url{}, guid{};
  std::vector<std::string> same_as{};  ///< ids in the order of Stories::same_as()
};

/// What became of a batch. Where there was a hole, the records from there on are left: what stands between `last` and
/// them must be applied first.
struct Delivered {
  bool hole = false;
  std::optional<DeliveryPart> part{};  ///< the records behind those applied are left, to go on with here
  std::uint64_t applied = 0;           ///< for the first time
  std::uint64_t repeated = 0;          ///< had been applied before
  std::uint64_t refused = 0;           ///< writes left out because a key is of the wrong type
  std::string last;                    ///< last record applied
  std::uint64_t told = 0;              ///< events written
  std::uint64_t unbuilt = 0;           ///< channels that are among Channels::unbuilt() now

  /// Adds what became of the records that follow.
  void add(const Delivered& next);
};

/// What became of a try to pass over all there is.
struct Passed {
  enum class Answer {
    passed,  ///< nobody is to be told: it is delivered
    wanted,  ///< somebody is: there is a channel or a rule
    unread   ///< the records must be looked at
  };
  Answer answer{};
  std::uint64_t records = 0;  ///< passed over
  std::string place{};        ///< everything up to it is delivered
};

/// Where a target stands in the stream.
struct DeliveryPlace {
  std::string last;     ///< last record applied, "0-0" before the first
  std::string newest;   ///< newest record ever written
  bool behind = false;  ///< records after `last` have been trimmed away: they cannot be applied any more
  std::string resume;   ///< where to go on when behind: what comes after it is still there
};

class Deliveries {
 public:
  /// `store` outlives this.
  explicit Deliveries(Store& store) : impl_(store.impl()) {}

  /// Takes or renews the right to deliver; false while another owner has it. The right only saves work: whatever two
  /// owners do at once, every record is applied once and in order.
  StoreResult<bool> hold(const std::string& token, Milliseconds ttl);
  StoreResult<void> let_go(const std::string& token);

  /// Creates the group unless it is there; it begins with the first record.
  StoreResult<void> join();
  /// Records that were handed out and never acknowledged, oldest first.
  StoreResult<std::vector<EventRecord>> pending(std::size_t count);
  /// Records never handed out.
  StoreResult<std::vector<EventRecord>> fresh(std::size_t count);
  /// The same, waiting up to `longest` for the first. They are taken by EventStream::come(), and nothing else happens
  /// in between on this connection.
  StoreResult<ServerWait> begin_to_wait(std::size_t count, Milliseconds longest);
  StoreResult<void> acknowledge(std::span<const EventRecord> records);

  /// Applies records to the timelines, in order. Records that are no posts' only move the place on. `publish`: each
  /// goes out on the pub/sub channel "<type>:<feed_url>" as well. At most 500 timelines are written at once: where that
  /// is not enough the rest is left, and what was applied of a record whose rest is never asked for is applied again.
  StoreResult<Delivered> apply(std::span<const Event> events, std::span<const EventRecord> publish = {},
                               const DeliveryPart& part = {});
  /// All of them at once.
  StoreResult<Delivered> apply(std::span<const NoticesOfRecord> records);
  /// Writes post_same_as for those that have something to tell and are still stored.
  StoreResult<Delivered> apply(std::span<const SameAsOfRecord> records);

  /// Delivers everything at once without reading it while nobody is to be told of it, for both targets. Whoever
  /// subscribes meanwhile is seen, or gets all that is committed later. Not for who publishes records.
  StoreResult<Passed> pass();

  StoreResult<DeliveryPlace> place(DeliveryTarget target);
  /// Moves a place on past records that will not be applied. Never back.
  StoreResult<void> skip_to(DeliveryTarget target, const std::string& id);

 private:
  StoreResult<std::vector<EventRecord>> read(std::string_view from, std::size_t count);

  Store::Impl& impl_;
};

}  // namespace feedmill
