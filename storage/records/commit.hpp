// The writes of a refresh, applied atomically (RELIABILITY L4).
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "storage/records/feed_state.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/records/stream_records.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// One post to create or modify.
struct EntryWrite {
  std::string guid;
  std::string digest;              ///< "": a quiet write keeps the stored one
  std::string id;                  ///< Entry:<n> to modify, "" to create
  std::int64_t timestamp = 0;      ///< score in <feed_url>:sort
  Fields set;                      ///< created: all fields; modified: the changed fields
  std::vector<std::string> unset;  ///< fields to remove
  std::uint64_t bytes = 0;         ///< entry_bytes() of the post after the write
  Fields old;                      ///< modified: old values of the changed fields, for the event
  Fields shown;                    ///< modified: stored title, title_type, link and author for the event, or all fields
  std::int64_t rev = 1;            ///< revision after the write
  bool quiet = false;              ///< modified without news for readers: reported only in the stream (post_mended),
                                   ///< and skipped if another writer has changed the post since the look-up
};

/// An event about the feed itself: feed_created, feed_modified, feed_failing …; `data` is JSON object text.
struct FeedEvent {
  std::string type;
  std::string action;     ///< "created", "updated" …
  std::string data;       ///< JSON object, "{}" if there is no data
  std::string changed{};  ///< JSON object of {field: [old, new]}, "" if not a modification
  std::string feed{};     ///< JSON object of the feed's record, "" if the event has none
};

/// Appends a move to the feed's bounded history.
void remember_move(FeedAddress& address, const Move& move);
/// The feed_moved event of a move.
FeedEvent moved_event(const Move& move);

/// Limits for the posts that a feed keeps.
struct Retention {
  std::uint64_t entries = 50;  ///< newest kept
  std::uint64_t listed = 0;    ///< posts in the current document: kept too, up to hard_cap, unless strict
  std::uint64_t hard_cap = 2000;
  bool strict = false;
  Milliseconds grace{std::chrono::hours(24 * 7)};  ///< lifetime of tombstones after the guid left the document
  Milliseconds age{};                              ///< older posts (by timestamp) are removed, 0 = no limit
  std::uint64_t bytes = 0;  ///< limit of entry_bytes() over all posts; the newest always stays; 0 = no limit
  static constexpr auto all_texts = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t texts = all_texts;  ///< newest posts that keep content and summary (RELIABILITY L34)

  /// Number of posts to keep.
  std::uint64_t count() const;
};

/// The quota that a response's headers announce to this client (HTTP H10).
struct ToldQuota {
  Milliseconds gap{};    ///< from the response until the next request may start
  Milliseconds pace{};   ///< average interval between requests
  Milliseconds lasts{};  ///< from the response until the quota resets

  bool operator==(const ToldQuota&) const = default;
};

/// What a response shows about its server; applies to all of its feeds (HTTP H3–H5, H10).
struct HostAnswer {
  enum class Is { silent, served, refused };
  Is is = Is::silent;  ///< silent: no response, or one that shows nothing about the host's limits
  std::string server;  ///< the server that answered (server_of), "" = the one first requested for the claim
  /// Refused: rate_limited, unavailable, forbidden. Otherwise why a healthy feed failed if that may be its host's
  /// fault, or why any feed failed in a storm (HTTP H11); "" = neither.
  std::string cause;
  Milliseconds retry_at{};                           ///< refused: end of its Retry-After, 0 = none
  bool document = false;                             ///< the response was a 200
  bool needs_identity = false, needs_http1 = false;  ///< remembered for 7 days (HTTP §4, P20)
  bool over_quota = false;                           ///< refused: possibly for too many requests
  std::string egress{};                              ///< egress name of the request, "" = none
  std::optional<ToldQuota> quota{};                  ///< announced by the response
  bool shows_no_limits = false;                      ///< the feed is on another site, or this is not a feed
};

/// The atomic write at the end of a refresh (RELIABILITY L4).
struct Commit {
  std::string feed_url, claim;
  Milliseconds next_due{};
  FeedState before, state;          ///< as claimed, and after this refresh
  Milliseconds at{};                ///< time of the decision, 0 = state.last.at
  bool document = false;            ///< a document was read: apply retention and feed/entries/tombs below
  bool trim = false;                ///< apply retention without a document
  bool initial = false;             ///< first import of the feed
  bool healed = false;              ///< its new posts were missed before: older pages had them (HTTP P16)
  std::int64_t backlog_before = 0;  ///< new posts with an earlier timestamp are a back catalogue, not news
  Fields feed;                      ///< fields of Feed:<feed_url> that changed
  std::vector<EntryWrite> entries;  ///< oldest first
  std::vector<FeedEvent> events;
  std::vector<Rekey> rekeys;  ///< applied before `entries`, which use the new guids
  FeedEvent rekeyed;          ///< feed_rekeyed, sent if there are rekeys; the script adds the list of posts
  /// Guids with tombstones that left the document, or are back in it; and guids to tombstone.
  std::vector<std::string> tombs_left, tombs_back, tombs_new;
  std::vector<std::string> deleted;  ///< guids of posts that their publisher deleted
  Retention retention;
  HostAnswer host;
  /// `fetch_url` of `state` if this refresh moves the feed, else ""; not applied if that URL is a feed already.
  std::string move_to;
  /// The highest entry number this worker has seen; the store gives out only higher ones (RELIABILITY L8).
  std::uint64_t highest_entry = 0;
  EventPlace last_event{};
  /// New PushStanding::state, "" = unchanged; not applied if the state has changed since the claim.
  std::string push_to;
  /// items_text() of the document, "" = remove the stored one; absent = keep it.
  std::optional<std::string> items;
  /// VolatileParts::text(), "" = remove the stored one; absent = keep it.
  std::optional<std::string> volatile_parts;
  /// Retention has nothing to do: fewer posts are stored than its limit, and no tombstone has expired.
  bool nothing_to_trim = false;
  std::optional<Milliseconds> push_ask;  ///< when to check the feed's subscription (WEBSUB D5, S7)

  Milliseconds decided_at() const { return at.count() != 0 ? at : state.last.at; }
};

/// Result of a commit.
struct Committed {
  enum class Result { ok, dup, stale };
  Result result{};
  std::uint32_t created = 0, modified = 0, trimmed = 0, tombstoned = 0;
  std::uint32_t events = 0;  ///< stream records written, internal ones included
  /// opened: the host gets no requests. storm: it gets only an occasional one (HTTP H11).
  enum class Circuit { unchanged, opened, closed, storm, storm_over };
  Circuit circuit = Circuit::unchanged;  ///< of the host that answered (HTTP H4, H5)
  Milliseconds circuit_open_until{};     ///< opened, storm: when that ends
  bool move_taken = false;               ///< Commit::move_to is a feed already: nothing was moved (HTTP R8)
  std::uint64_t highest_entry = 0;       ///< highest number given to a created entry, 0 = none was created
  EventPlace last_event{};               ///< newest event in the stream afterwards
  std::uint32_t rekeyed = 0, deleted = 0;
  bool push_turned = false;     ///< Commit::push_to was applied
  bool hub_in_trouble = false;  ///< the hub now has 5 failing feeds within a day (WEBSUB H3)
};

// Claims (RELIABILITY L1).

/// The right to refresh one feed until the lease ends (RELIABILITY L1).
struct Claim {
  std::string id;  ///< "<worker>:<seq>", never used again
  std::string feed_url;
  Milliseconds due{};  ///< its due time
  Milliseconds now{};  ///< Redis' time of the claim
  FeedState state;
  bool alone = false;             ///< runs alone in its worker, because a worker died refreshing it (SECURITY Q2)
  Milliseconds host_served_at{};  ///< when its host last answered 200, to the day; 0 = not within 7 days
  bool host_identity = false;     ///< its host gets content codings wrong (HTTP §4)
  bool host_http1 = false;        ///< its host gets HTTP/2 wrong (HTTP P20)
  Milliseconds host_storm{};      ///< start of its host's storm (all its feeds fail), 0 = none (HTTP H11)
  std::string egress{};           ///< egress name of the worker, "" = none (HTTP H10)
  bool has_posts = true;          ///< the feed may have posts in the store; false: none was ever stored
  std::uint64_t failovers = 0;    ///< failover count of the store: later reads need at least this one (RELIABILITY L24)

  /// The URL to request.
  const std::string& address() const { return state.address.requested(feed_url); }
};

/// Result of one claim call.
struct ClaimBatch {
  std::vector<Claim> claims;
  struct Deferred {
    std::string feed_url;
    Milliseconds due{};
    std::string code;  ///< host_spacing, host_backoff, quarantine (HTTP §11)
  };
  std::vector<Deferred> deferred;     ///< joined their host's line (HTTP H1), or wait to run alone (SECURITY Q2)
  std::vector<Deferred> quarantined;  ///< killed three workers, each time alone (SECURITY Q2)
  std::vector<std::string> refused;   ///< postponed for a day: the key of their state is not a hash (RELIABILITY §6)
  Milliseconds now{};                 ///< Redis' time
  std::optional<Milliseconds> next_due;      ///< when to claim again: earliest of the feeds that are left
  std::optional<Milliseconds> next_awaited;  ///< next start of a feed in a line that was due by ClaimRequest::due_by
  bool exhausted = false;                    ///< every due feed was examined
};

}  // namespace feedmill
