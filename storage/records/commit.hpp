// What a refresh writes, all or nothing (RELIABILITY L4).
#pragma once

#include <chrono>
#include <cstdint>
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
  std::string digest;              ///< "" where a quiet write leaves it as it is
  std::string id;                  ///< Entry:<n> to modify, "" to create
  std::int64_t timestamp = 0;      ///< score in <feed_url>:sort
  Fields set;                      ///< created: all fields; modified: those that changed
  std::vector<std::string> unset;  ///< fields that went away
  std::uint64_t bytes = 0;         ///< entry_bytes() of the post as it is to be
  Fields old;                      ///< modified: old values of what changed, for the event
  Fields shown;                    ///< modified: for the event, title, title_type, link, author as stored, or all
  std::int64_t rev = 1;            ///< as it is to be
  bool quiet = false;              ///< modified: nothing that a reader would notice. Of fields the stream alone hears
                       ///< (post_mended), and they are not written to what somebody else has changed meanwhile
};

/// An event about the feed itself: feed_created, feed_modified, feed_failing …; `data` is JSON object text.
struct FeedEvent {
  std::string type;
  std::string action;     ///< "created", "updated" …
  std::string data;       ///< JSON object, "{}" when there is nothing to say
  std::string changed{};  ///< JSON object of {field: [old, new]}, "" when not a modification
  std::string feed{};     ///< JSON object of the feed's record, "" where it is not told
};

/// Adds a move to the feed's history, which stays bounded.
void remember_move(FeedAddress& address, const Move& move);
/// feed_moved{from,to}
FeedEvent moved_event(const Move& move);

struct Retention {
  std::uint64_t entries = 50;  ///< newest kept
  std::uint64_t listed = 0;    ///< what the current document lists: kept too, up to hard_cap, unless strict
  std::uint64_t hard_cap = 2000;
  bool strict = false;
  Milliseconds grace{std::chrono::hours(24 * 7)};  ///< tombstones after the guid left the document
  Milliseconds age{};                              ///< posts whose timestamp is older go, 0 = none does
  std::uint64_t bytes = 0;  ///< entry_bytes() of all posts together; the newest stays whatever its size; 0 = no limit

  /// How many posts are kept.
  std::uint64_t count() const;
};

/// What an answer's header says of the quota of whoever asks from here (HTTP H10).
struct ToldQuota {
  Milliseconds gap{};    ///< from the answer until the next request may start
  Milliseconds pace{};   ///< between requests in the long run
  Milliseconds lasts{};  ///< from the answer until it says something else: its reset

  bool operator==(const ToldQuota&) const = default;
};

/// What an answer says of its server, for all feeds of it (HTTP H3–H5, H10).
struct HostAnswer {
  enum class Is { silent, served, refused };
  Is is = Is::silent;  ///< silent: no answer, or one that says nothing of the host's patience
  std::string server;  ///< who answered (server_of), "" = whom the claim asked first
  /// Refused: rate_limited, unavailable, forbidden. Else how a feed failed that was healthy, in a way that a host's
  /// trouble shows in, or any feed in a storm (HTTP H11); "" = it did not.
  std::string cause;
  Milliseconds retry_at{};                           ///< refused: until when its Retry-After holds, 0 = none
  bool document = false;                             ///< it was a 200
  bool moved_here = false;  ///< to a feed that moved from another site: it says nothing of the host's pace
  bool needs_identity = false, needs_http1 = false;  ///< to be remembered for 7 days (HTTP §4, P20)
  bool over_quota = false;                           ///< refused: there may have been too many requests
  std::string egress{};                              ///< the name that it was asked under, "" = none
  std::optional<ToldQuota> quota{};                  ///< what it told of that
};

/// The one atomic write at the end of a refresh (RELIABILITY L4).
struct Commit {
  std::string feed_url, claim;
  Milliseconds next_due{};
  FeedState before, state;          ///< as claimed, and as it is to be
  Milliseconds at{};                ///< when it was decided, 0 = at state.last.at
  bool document = false;            ///< a document was read: retention applies, and feed/entries/tombs below count
  bool trim = false;                ///< retention applies without a document, too
  bool initial = false;             ///< first import of the feed
  bool healed = false;              ///< its new posts were missed: they are of pages behind the document (HTTP P16)
  std::int64_t backlog_before = 0;  ///< its new posts with a timestamp before this are a back catalogue, not news
  Fields feed;                      ///< fields of Feed:<feed_url> that changed
  std::vector<EntryWrite> entries;  ///< oldest first
  std::vector<FeedEvent> events;
  std::vector<Rekey> rekeys;  ///< go before `entries`, whose guids are the new ones
  FeedEvent rekeyed;          ///< feed_rekeyed, sent when there are rekeys; the script adds the list of posts
  std::vector<std::string> tombs_left, tombs_back, tombs_new;
  std::vector<std::string> deleted;  ///< guids of posts that their publisher has deleted
  Retention retention;
  HostAnswer host;
  /// `fetch_url` of `state` when this refresh moves the feed, "" otherwise; not done when it is a feed.
  std::string move_to;
  /// What this worker has seen of the store's numbers: none up to it is given out again (RELIABILITY L8).
  std::uint64_t highest_entry = 0;
  EventPlace last_event{};
  /// What this refresh makes of PushStanding::state, "" = nothing; not done when that has changed since.
  std::string push_to;
  /// What is kept of the document's items (stored_items.hpp), "" = nothing; absent = what there is.
  std::optional<std::string> items;
  /// What was learned to be volatile (volatile_parts.hpp), "" = nothing; absent = what there is.
  std::optional<std::string> volatile_parts;
  /// Retention has nothing to do: fewer posts are stored than it keeps, and no tombstone is over.
  bool nothing_to_trim = false;
  std::optional<Milliseconds> push_ask;  ///< the feed's subscription is to be looked after then (WEBSUB D5, S10)

  Milliseconds decided_at() const { return at.count() != 0 ? at : state.last.at; }
};

struct Committed {
  enum class Result { ok, dup, stale };
  Result result{};
  std::uint32_t created = 0, modified = 0, trimmed = 0, tombstoned = 0;
  std::uint32_t events = 0;  ///< stream records written, internal ones included
  /// Open: its host is left alone. Storm: so it is but for one request now and then (HTTP H11).
  enum class Circuit { unchanged, opened, closed, storm, storm_over };
  Circuit circuit = Circuit::unchanged;  ///< of the host that answered (HTTP H4, H5)
  Milliseconds circuit_open_until{};     ///< opened, storm: until then
  bool move_taken = false;               ///< Commit::move_to is a feed of its own: nothing was moved (HTTP R7)
  std::uint64_t highest_entry = 0;       ///< the highest number given to a created entry, 0 when there was none
  EventPlace last_event{};               ///< the newest in the stream then
  std::uint32_t rekeyed = 0, deleted = 0;
  bool push_turned = false;     ///< Commit::push_to was done
  bool hub_in_trouble = false;  ///< that makes 5 feeds of its hub within a day (WEBSUB H3)
};

}  // namespace feedmill
