// The stored state of a feed: hash state:feed:<feed_url> (DESIGN §3).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/redis/values.hpp"

namespace feedmill {

/// The states of a feed (HTTP §4).
inline constexpr std::array<std::string_view, 9> feed_state_names{
    "new", "never_read", "healthy", "degraded", "failing", "blocked", "gone", "quarantined", "paused"};

/// A permanent redirect that is not trusted yet (HTTP R5).
struct PendingRedirect {
  std::string to;     ///< URL it leads to, "" = none
  int sightings = 0;  ///< consecutive polls that were redirected there, plus one for the document's own claim (HTTP R5)
  Milliseconds since{};      ///< first sighting
  bool same_feed = false;    ///< at the first sighting, its document was this feed's
  bool by_document = false;  ///< itunes:new-feed-url has been counted

  bool operator==(const PendingRedirect&) const = default;
};

/// A move of a feed to another request URL (HTTP R8).
struct Move {
  Milliseconds at{};
  std::string from, to;

  bool operator==(const Move&) const = default;
};

/// The value that identifies a feed's posts, in the order of the chain (DESIGN §5).
enum class IdentifiedBy { guid, link, digest };
/// "guid", "link", "digest"
std::string_view to_string(IdentifiedBy by);
/// Guids of the stored posts of a feed identified by guid: given by its documents, substitutes for them
/// (storage/records/post_identity.hpp), or mixed.
enum class Naming { given, mixed, substitutes };

/// The hub and topic that the newest document announces (WEBSUB §2).
struct HubAdvert {
  std::string topic;              ///< "" = no hub announced
  std::vector<std::string> hubs;  ///< https first, at most 4
  std::uint32_t missing = 0;      ///< consecutive documents without a hub

  bool operator==(const HubAdvert&) const = default;
};

/// Status of a feed's subscription; written only by the WebSub scripts (WEBSUB §4).
struct PushStanding {
  std::string state;         ///< pending unproven healthy doubtful failed denied, "" = none
  Milliseconds since{};      ///< of `state`
  Milliseconds verified{};   ///< when its hub first accepted it (not renewals)
  Milliseconds last_push{};  ///< last push that was a hint or brought something
  std::string hub;           ///< of the latest attempt
  std::string subscription;  ///< PushRecord::hash of the accepted subscription, "" = none
  std::string note;          ///< why the last attempt failed, for people; "" = it succeeded
  std::uint32_t tries = 0;   ///< consecutive failed attempts
  std::uint32_t denials = 0;
  Milliseconds fell{};  ///< when it last became failed or denied, 0 = never, or healthy since

  bool operator==(const PushStanding&) const = default;
};

/// How refreshes have rated a feed's pushes (WEBSUB §5).
struct PushHealth {
  Milliseconds of{};  ///< PushStanding::verified of the rated subscription
  std::uint64_t pushed_first = 0, poll_first = 0, near = 0;
  std::uint32_t recent = 0;  ///< the last 20 of pushed_first and poll_first, newest in the lowest bit; 1 = poll_first …
  std::uint32_t recent_count = 0;           ///< … and their number
  std::uint32_t good_row = 0, bad_row = 0;  ///< consecutive pushed_first and poll_first
  Milliseconds fallback{};                  ///< poll interval while healthy, 0 before
  Milliseconds suspect{};     ///< a poll found something that a push may still bring within 10 minutes; 0 = nothing
  Milliseconds last_entry{};  ///< when a push last brought an entry

  bool operator==(const PushHealth&) const = default;
};

/// The URLs of a feed.
struct FeedAddress {
  std::string fetch_url;    ///< requested instead of feed_url after a move, else "" (HTTP R8)
  PendingRedirect moving;   ///< a move that is not trusted yet
  std::vector<Move> moves;  ///< the last 8, newest last
  std::string
      no_move_to;  ///< URL it never moves to by itself: another feed's (HTTP R8), or one that its operator undid

  /// The URL to request for the feed at `feed_url`, which must outlive the result.
  const std::string& requested(const std::string& feed_url) const { return fetch_url.empty() ? feed_url : fetch_url; }
  bool operator==(const FeedAddress&) const = default;
};

/// Whether the source of a feed's posts is public; the value only ever rises. `unknown`: not fetched since a release
/// that records this; `opened_by_allow`: `egress.allow` was needed at least once.
enum class Exposure { unknown, open_to_all, opened_by_allow };

/// Validators for conditional requests, and whether the 304s they get can be trusted.
struct KnownValidators {
  std::string etag, last_modified;    ///< byte-exact (HTTP P1)
  std::string url;                    ///< the URL that sent them, "" = the requested one (HTTP P3)
  Milliseconds not_modified_since{};  ///< first of the consecutive 304s, 0 = the last answer was not a 304 (HTTP P5)
  Milliseconds last_probe{};          ///< last deliberate request without validators
  bool broken = false;                ///< a probe found changes that a 304 had denied

  bool operator==(const KnownValidators&) const = default;
};

/// The newest stored document.
struct NewestDocument {
  /// Of the document as received and as decoded, 32 characters each: `v`, the versions of reader and sanitiser,
  /// XXH3-128 in hex (HTTP P5).
  std::string wire_hash, body_hash;
  std::uint64_t wire_bytes = 0, body_bytes = 0;
  bool ends_early = false;   ///< it is cut off, and its last post may have been left out
  std::uint64_t listed = 0;  ///< number of its posts
  bool listed_none = false;  ///< it had no posts
  /// When its posts were last compared value by value, or the first change since then was held back; 0 = it has neither
  /// idle values (which digests leave out) nor such a change.
  Milliseconds compared_at{};
  bool holds_back = false;  ///< it may have changes that wait for the next such comparison (RELIABILITY L5)
  std::string hints;        ///< its schedule hints, as the worker writes them (HTTP F8)

  bool operator==(const NewestDocument&) const = default;
};

/// The last document that could not be parsed (HTTP §4).
struct RefusedDocument {
  std::string hash;    ///< of the decoded document, "" = none
  std::string reason;  ///< HTTP §11
  std::string by;      ///< version of the parser; another version tries again

  bool operator==(const RefusedDocument&) const = default;
};

/// How the last refresh ended.
struct LastRefresh {
  int status = 0;          ///< of the last answer, 0 = none
  std::string outcome;     ///< "" before the first refresh
  std::string error;       ///< HTTP §11 reason, "" after a success
  std::string detail;      ///< for people
  Milliseconds at{};       ///< when it ended
  Milliseconds success{};  ///< end of the last successful refresh

  bool operator==(const LastRefresh&) const = default;
};

/// The failures since the last success.
struct FailureRun {
  int count = 0;               ///< consecutive, of one group of answers (HTTP §4)
  std::string group;           ///< the group
  Milliseconds since{};        ///< first failure since the last success
  Milliseconds group_since{};  ///< first consecutive failure of this group

  bool operator==(const FailureRun&) const = default;
};

/// How often the feed has killed workers (SECURITY Q1, Q2).
struct QuarantineRun {
  std::uint32_t count = 0;    ///< consecutive quarantines, written by the scripts
  Milliseconds since{};       ///< first of these quarantines
  std::uint32_t strikes = 0;  ///< attempts that did not return, including the one in progress

  bool operator==(const QuarantineRun&) const = default;
};

/// How often the feed brings new posts.
struct PostRhythm {
  double new_per_week = 0;  ///< S of HTTP §3
  Milliseconds last_new{};  ///< when an entry was last created
  Milliseconds imported{};  ///< first successful refresh, 0 before

  bool operator==(const PostRhythm&) const = default;
};

/// Counters since the first refresh.
struct PollCounts {
  std::uint64_t polls = 0, polls_not_modified = 0, polls_same_body = 0, polls_unconditional = 0, polls_failed = 0,
                polls_with_new = 0, total_wire_bytes = 0, total_body_bytes = 0, total_new = 0;
  /// polls_unconditional by reason (HTTP P4): first fetch, no validators, validators of another URL, probe.
  std::uint64_t unconditional_first = 0, unconditional_none = 0, unconditional_target = 0, unconditional_probe = 0;
  std::uint64_t early_polls = 0;  ///< before their due time; always 0 (HTTP N2)

  bool operator==(const PollCounts&) const = default;
};

/// How the posts are identified, and how well that works (DESIGN §5).
struct PostIdentity {
  IdentifiedBy by = IdentifiedBy::guid;
  Naming naming = Naming::given;
  Milliseconds since{};                  ///< when the identity was switched, 0 = never
  std::uint32_t fresh_documents = 0;     ///< documents in a row with more than 5 % unknown guids
  std::uint32_t replaced_documents = 0;  ///< fresh documents in a row with more than 5 % stored posts under new guids
  std::uint32_t unfit_documents = 0;     ///< documents in a row that another identity fits better
  std::uint32_t sound_documents = 0;     ///< documents in a row with stable guids while not identified by guid …
  std::string guid_sample;               ///< … and a sample of the newest document's guids, to compare with
  std::uint32_t returns = 0;             ///< how often it has returned to guids
  std::vector<std::string> withdrawn;    ///< keys of posts that the publisher has withdrawn, newest last

  bool operator==(const PostIdentity&) const = default;
};

/// Why the feed is due at its time.
struct DueTime {
  std::string reason;         ///< code of the rule that set the due time (HTTP §11)
  std::string why;            ///< its inputs, one per line: "<code> <seconds> <from>" (HTTP E1)
  Milliseconds not_before{};  ///< end of a Retry-After or used-up quota, else 0 (HTTP P9, P22, H10)

  bool operator==(const DueTime&) const = default;
};

/// Result of the last trim (RELIABILITY L7).
struct LastTrim {
  std::uint64_t kept = 0;   ///< number of posts it kept, 0 = there was no trim
  bool unfinished = false;  ///< one call could not remove everything; written by the scripts
  /// Posts beyond so many newest ones have no texts (RELIABILITY L34); written by the scripts. Absent: any may have.
  std::optional<std::uint64_t> texts;

  bool operator==(const LastTrim&) const = default;
};

/// A walk through pages of older posts, one page at a time (HTTP P16, G1): to close a gap, or for a first import that
/// reaches back further than its document.
struct PageWalk {
  enum class For { gap, backfill };
  enum class By { next, archive, number };  ///< how a page is found: its links (RFC 5005 §3, §4), "paged=N"
  std::string next;                         ///< URL of the next page, "" = no walk
  For purpose = For::gap;
  By by = By::next;
  std::int64_t back_to = 0;    ///< gap: timestamp of the newest post stored before it
  std::uint32_t pages = 0;     ///< pages read
  std::uint64_t posts = 0;     ///< posts found on them
  std::uint32_t failures = 0;  ///< consecutive
  std::string known_archive;   ///< mark of the archive that earlier walks began with, "" = none
  Milliseconds since{};        ///< when the walk began
  Milliseconds last{};         ///< when a page was last requested
  Milliseconds poll_due{};     ///< when the feed itself is due …
  std::string poll_reason;     ///< … and the code of the rule that set it

  bool operator==(const PageWalk&) const = default;
};

/// The older pages of the feed, beyond its document.
struct OlderPosts {
  enum class Numbers { untried, work, fail };
  PageWalk walk;
  std::string newest_archive;          ///< mark of the newest archive read; it and older ones are not read again
  Numbers numbers = Numbers::untried;  ///< whether the server supports "paged=N"

  bool operator==(const OlderPosts&) const = default;
};

/// The feed's pushes from hubs.
struct FeedPushes {
  HubAdvert advert;
  PushStanding standing;
  PushHealth health;
  std::uint32_t empty_in_a_row = 0;  ///< refreshes by push that found nothing (WEBSUB P6)
  bool looks_again = false;          ///< the next refresh is the second one for the last push (WEBSUB P6)
  bool hinted = false;               ///< the refresh in progress answers a hint; written only by scripts

  bool operator==(const FeedPushes&) const = default;
};

/// The worker's state of a feed between refreshes: hash state:feed:<feed_url> (DESIGN §3). Scripts read a few fields by
/// name, and own further fields that no worker reads from here:
///   the claim         claim claim_due claim_hosts claim_part; alone (nothing runs concurrently), alone_deaths
///   the schedule      held (due time before it had to wait to be alone), wake (requested while claimed), line (of the
///                     gate it waits at, HTTP H1)
///   pause and removal before_pause paused_due removing leaving; for_channels orphaned: shared/orphans.lua
///   pushes            push_due push_wake push_hint push_claimed push_nets push_pending push_renew push_tat: push.lua
///   size              bytes (of all its posts)
struct FeedState {
  std::string state = "new";  ///< one of feed_state_names
  Milliseconds state_since{};
  std::string settings;        ///< JSON object of the operator's settings for this feed, "" = none
  Milliseconds trace_until{};  ///< its refreshes are traced until then, 0 = never traced; written by traces.hpp

  FeedAddress address;
  Exposure exposure = Exposure::unknown;  ///< decides whether its posts may be republished (WEBSUB U15)
  KnownValidators validators;
  NewestDocument document;
  RefusedDocument refused;
  LastRefresh last;
  FailureRun failures;
  QuarantineRun quarantine;
  PostRhythm rhythm;
  PollCounts counts;
  PostIdentity identity;
  DueTime due;
  LastTrim trim;
  OlderPosts older;
  FeedPushes push;

  bool operator==(const FeedState&) const = default;
};

}  // namespace feedmill
