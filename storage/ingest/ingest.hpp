// The store's side of the refresh cycle: claim, look up, commit, release.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/records/commit.hpp"
#include "storage/records/fleet_records.hpp"
#include "storage/records/given_entry.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/redis.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// A claim call. `request` increases per worker; a repeated number returns the stored batch again
/// (RELIABILITY L3).
struct ClaimRequest {
  std::string worker;  ///< 32 hex digits
  std::uint64_t request = 0;
  std::size_t max = 1;
  Milliseconds lease{90'000};
  HostLimits host;
  /// Only feeds that were due at that time (run --once). Feeds deferred since then must be named in `only`.
  std::optional<Milliseconds> due_by;
  std::vector<std::string> only;  ///< without due_by: only these feeds, due or not; empty = by schedule
  bool only_if_due = false;       ///< without due_by: only those of `only` that are due; another worker may be faster
  /// By schedule: how many feeds overdue by 2 s all workers together claim per second (HTTP P12); 0 = no limit.
  std::uint64_t overdue_rate = 0;
};

/// A summary of a feed's stored posts. Cheap to copy; the views stay valid while any copy exists.
struct StoredFeed {
  struct Tomb {
    std::string_view guid;
    bool listed = false;       ///< in the last document
    std::int64_t left_at = 0;  ///< when it left the document, ms
  };

  std::vector<StoredGuid> posts;      ///< sorted by guid
  std::vector<Tomb> tombs;            ///< sorted by guid
  StoredItems items;                  ///< of the last document
  std::string_view items_text;        ///< `items` as stored
  std::string_view volatile_parts;    ///< learned volatile parts (volatile_parts.hpp)
  Fields feed;                        ///< the readers' record
  std::uint64_t stored = 0;           ///< number of posts
  std::int64_t newest = 0;            ///< timestamp of the newest post
  std::vector<std::string> textless;  ///< guids of newest posts that lack texts, sorted (FeedToRead)
  std::shared_ptr<const void> texts;  ///< owns the texts of the views
  /// StoredSnapshot::texts_from
  std::int64_t texts_from = StoredSnapshot::any_age;

  /// The stored post with that guid; null = none.
  const StoredGuid* post(std::string_view guid) const;
};

/// A document, with the guids to look up.
struct LookUp {
  std::string feed_url;
  std::span<const EntryRecord> entries;
  std::span<const Deletion> deleted{};
  /// How to treat the document's markup: posts stored under older rules are returned as the current rules would store
  /// them (SECURITY S13).
  std::optional<GivenMarkup> markup{};
  const StoredFeed* stored = nullptr;    ///< stored_feeds() of the feed; null: read it now
  std::uint64_t failovers = 0;           ///< of the claim
  bool compares_all = false;             ///< return the fields of all its posts, whatever their digests
  std::optional<std::uint64_t> texts{};  ///< with `stored` null: FeedToRead::texts
  /// Unix seconds: also read the posts with these scores, unless more than 4 share one second.
  std::span<const std::int64_t> seconds{};
};

/// A feed to read with stored_feeds().
struct FeedToRead {
  std::string_view feed_url;
  std::uint64_t failovers = 0;  ///< of the claim
  /// So many newest posts are to have texts: look for those without, and read their items (RELIABILITY L34). Absent:
  /// all posts have texts.
  std::optional<std::uint64_t> texts{};
};

/// Refresh operations over a Store's connection.
class Ingest {
 public:
  /// `store` must outlive this object.
  explicit Ingest(Store& store) : impl_(store.impl()) {}

  /// Takes up to `request.max` due feeds, longest overdue first, and hides them from other workers for `request.lease`
  /// (RELIABILITY L1).
  StoreResult<ClaimBatch> claim(const ClaimRequest& request);

  /// Waits until a feed becomes due unexpectedly, by a refresh request, ping or push; false after `longest`. Wakes one
  /// of several waiting workers. Two steps; do nothing else on this connection in between.
  StoreResult<ServerWait> begin_to_wait_for_wish(Milliseconds longest);
  StoreResult<bool> hear_wish();

  /// Makes feeds due now that an import deferred to spread their first fetches (run --once, HTTP P12). Returns the time
  /// by which they are all due.
  StoreResult<Milliseconds> unspread();

  /// Read-only: a summary of each feed's stored posts, in one round trip and in the order of `feeds`. Fails with
  /// `unavailable` and closes the connection if a failover had replaced this server before the feed was claimed.
  std::vector<StoreResult<StoredFeed>> stored_feeds(std::span<const FeedToRead> feeds);

  /// Read-only: the stored posts for each document's guids, with the old values of differing posts (RELIABILITY L5).
  /// All documents share at most two round trips, usually one; none if nothing differs. Results are in the order of the
  /// documents. `unavailable`: see stored_feeds().
  std::vector<StoreResult<StoredSnapshot>> look_up(std::span<const LookUp> wanted);

  /// Read-only: the posts of a feed, newest first, with the fields needed to recognise them under other guids.
  StoreResult<std::vector<StoredPost>> stored_posts(const std::string& feed_url);

  /// Stores the result of each refresh, reschedules the feed and publishes events; each commit is atomic. `stale`:
  /// another worker has claimed the feed since, and nothing was written. `dup`: this commit was already applied. All
  /// commits share one round trip (PERFORMANCE §3). If the requested durability is not reached within the timeout, the
  /// result is an error; sent again, the commit is a `dup` and waits again (RELIABILITY L18).
  std::vector<StoreResult<Committed>> commit(std::span<const Commit* const> commits);

  /// Returns claims: restores the old due time, or sets `due`, and frees the slot. Skips claims now held by others.
  /// Returns how many were released (RELIABILITY L9).
  StoreResult<std::size_t> release(std::span<const Claim> claims, std::optional<Milliseconds> due = {});

  /// Takes a slot at `server`, the target of a claimed feed's redirect (HTTP H6), until the claim ends or for
  /// `longest`; if the claim has one there, only a start (HTTP P15). 0 = taken, else how long to wait before asking
  /// again; empty if the claim is lost.
  StoreResult<std::optional<Milliseconds>> take_slot(const Claim& claim, const std::string& server,
                                                     const HostLimits& limits, Milliseconds longest);
  /// Takes a slot for a probe or another partition's claim, at a server with its gate in this partition (RELIABILITY
  /// L27), until leave_slot() or for `longest`. 0 = taken, else how long to wait before asking again.
  StoreResult<Milliseconds> take_slot_for(const Claim& claim, const std::string& server, const HostLimits& limits,
                                          Milliseconds longest);
  /// Ends a slot of take_slot_for(). `answer`: null if the server was not contacted, or its answer shows nothing about
  /// it.
  StoreResult<void> leave_slot(const Claim& claim, const std::string& server, const HostAnswer* answer);

 private:
  StoreResult<Milliseconds> wait_for_slot(const Claim& claim, const std::string& server, const HostLimits& limits,
                                          Milliseconds longest, bool is_of_another_partition);
  StoreResult<void> read_states(std::span<Claim> claims);
  std::vector<std::size_t> commit_unchanged(std::span<const Commit* const> commits,
                                            std::vector<StoreResult<Committed>>& done);

  Store::Impl& impl_;
};

}  // namespace feedmill
