// The refresh cycle as the store sees it: claim, look up, commit, release.
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

#include "storage/records/claim.hpp"
#include "storage/records/commit.hpp"
#include "storage/records/given_entry.hpp"
#include "storage/records/host_records.hpp"
#include "storage/records/stored_items.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/server_wait.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

/// What a worker asks for. `request` counts up per worker: a repeated number returns the stored batch again
/// (RELIABILITY L3).
struct ClaimRequest {
  std::string worker;  ///< 32 hex digits
  std::uint64_t request = 0;
  std::size_t max = 1;
  Milliseconds lease{90'000};
  HostLimits host;
  /// Only feeds that were due at that time (run --once). Those that were put off since must be named in `only`.
  std::optional<Milliseconds> due_by;
  std::vector<std::string> only;  ///< without due_by: just these feeds, due or not; empty = by schedule
  bool only_if_due = false;       ///< without due_by: of `only` those that are due, for another worker may be sooner
  /// By schedule: how many feeds that are 2 s overdue all workers together may take in a second (HTTP P12); 0 = any
  /// number.
  std::uint64_t overdue_rate = 0;
};

/// What the store says of a feed's posts as a whole. Cheap to copy; the views live as long as any copy.
struct StoredFeed {
  struct Tomb {
    std::string_view guid;
    bool listed = false;       ///< by the last document
    std::int64_t left_at = 0;  ///< when it was no longer, ms
  };

  std::vector<std::pair<std::string_view, std::string_view>> digests;  ///< guid and digest of each post, by guid
  std::vector<Tomb> tombs;                                             ///< by guid
  StoredItems items;                                                   ///< of its last document
  std::string_view items_text;                                         ///< the same, as it is stored
  std::string_view volatile_parts;                                     ///< what was learned (volatile_parts.hpp)
  Fields feed;                                                         ///< the readers' record
  std::uint64_t stored = 0;                                            ///< posts
  std::int64_t newest = 0;                                             ///< timestamp of the newest
  std::shared_ptr<const void> texts;                                   ///< what the views point into

  std::optional<std::string_view> digest_of(std::string_view guid) const;
};

/// A document whose guids are looked up.
struct LookUp {
  std::string feed_url;
  std::span<const EntryRecord> entries;
  std::span<const Deletion> deleted{};
  /// How the document's markup was treated: what is stored by older rules is told as today's make it (SECURITY S13).
  std::optional<GivenMarkup> markup{};
  const StoredFeed* stored = nullptr;  ///< what was read of the feed before; null: it is read now
  std::uint64_t failovers = 0;         ///< of the claim
  bool compares_all = false;           ///< the fields of all its posts are wanted, whatever their digests
  /// Unix seconds: the posts that are sorted there are read, too, unless they are more than 4 in one second.
  std::span<const std::int64_t> seconds{};
};

/// A feed of which what is stored is read.
struct FeedToRead {
  std::string_view feed_url;
  std::uint64_t failovers = 0;  ///< of the claim
};

/// Over a Store's connection.
class Ingest {
 public:
  /// `store` outlives this.
  explicit Ingest(Store& store) : impl_(store.impl()) {}

  /// Takes up to `request.max` due feeds, longest overdue first, and hides them from others for `request.lease`
  /// (RELIABILITY L1).
  StoreResult<ClaimBatch> claim(const ClaimRequest& request);

  /// Waits until some feed becomes due that nobody knew of, by a wish, a ping or a push; false after `longest`. Of
  /// several who wait one is told. In two steps, and nothing else in between on this connection.
  StoreResult<ServerWait> begin_to_wait_for_wish(Milliseconds longest);
  StoreResult<bool> hear_wish();

  /// Makes feeds due whose first fetches an import has spread (run --once, HTTP P12). Returns the time that
  /// all of them are due at.
  StoreResult<Milliseconds> unspread();

  /// Read-only: what is stored of each feed, in one round trip and the order of `feeds`. `unavailable`, and the
  /// connection is given up: the server is one that another had taken over from before the feed was claimed.
  std::vector<StoreResult<StoredFeed>> stored_feeds(std::span<const FeedToRead> feeds);

  /// Read-only: what is known of each document's guids, with the old values of what differs (RELIABILITY L5).
  /// Several at once travel in the same two round trips at most; none where nothing differs. The answers stand in the
  /// order of `wanted`. `unavailable`: as for stored_feeds().
  std::vector<StoreResult<StoredSnapshot>> look_up(std::span<const LookUp> wanted);

  /// Read-only: the posts of a feed, newest first, as far as they can be recognised under other guids.
  StoreResult<std::vector<StoredPost>> stored_posts(const std::string& feed_url);

  /// Stores what each refresh found, reschedules it and tells of it, all or nothing for each. `stale`, nothing written:
  /// another worker has claimed the feed since. `dup`: this very commit had gone through before. Several at once travel
  /// in one round trip (PERFORMANCE §3). When the outcome is not as durable as asked for within the timeout that is
  /// an error; sent again the commit is a `dup` and waited for anew (RELIABILITY L18).
  std::vector<StoreResult<Committed>> commit(std::span<const Commit* const> commits);

  /// Gives claims back: old due time, or `due`, slot freed. Foreign claims are left alone. Returns how many were ours
  /// (RELIABILITY L9).
  StoreResult<std::size_t> release(std::span<const Claim> claims, std::optional<Milliseconds> due = {});

  /// A slot at `server`, which a redirect of a claimed feed leads to (HTTP H6); it ends with the claim, and keeps
  /// others out for `longest` at most. 0 = taken, else how long to wait before asking again; nothing when the claim is
  /// not held any more.
  StoreResult<std::optional<Milliseconds>> take_slot(const Claim& claim, const std::string& server,
                                                     const HostLimits& limits, Milliseconds longest);
  /// The same for a claim of another partition, at a server whose gate is in this one (RELIABILITY L27): until
  /// leave_slot(), `longest` at most.
  StoreResult<Milliseconds> take_slot_for(const Claim& claim, const std::string& server, const HostLimits& limits,
                                          Milliseconds longest);
  /// `answer`: null where the server was not asked, or its answer says nothing of it.
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
