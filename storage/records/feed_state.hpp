// The scheduler's record of a feed: hash state:feed:<feed_url> (DESIGN §3).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/redis/values.hpp"

namespace feedmill {

/// A permanent redirect that is not believed yet (HTTP R5).
struct PendingRedirect {
  std::string to;            ///< URL it leads to, "" = none
  int sightings = 0;         ///< polls in a row that it led there, and the document's own word once (HTTP R9)
  Milliseconds since{};      ///< first of them
  bool same_feed = false;    ///< at the first of them the document was this feed's
  bool by_document = false;  ///< itunes:new-feed-url has been counted

  bool operator==(const PendingRedirect&) const = default;
};

/// A change of the URL that is requested for a feed (HTTP R8).
struct Move {
  Milliseconds at{};
  std::string from, to;

  bool operator==(const Move&) const = default;
};

/// What tells the posts of a feed apart, in the order of the chain (DESIGN §5).
enum class IdentifiedBy { guid, link, digest };
/// "guid", "link", "digest"
std::string_view to_string(IdentifiedBy by);
/// What the posts of a feed that is identified by guid are stored under: the guids that its documents give, substitutes
/// for them (storage/records/post_identity.hpp), or some posts under these and some under those.
enum class Naming { given, mixed, substitutes };

/// Where the newest document says that its pushes come from (WEBSUB §2).
struct HubAdvert {
  std::string topic;              ///< "" = it names no hub
  std::vector<std::string> hubs;  ///< https first, at most 4
  std::uint32_t missing = 0;      ///< documents in a row that have named none

  bool operator==(const HubAdvert&) const = default;
};

/// How a feed's subscription stands; written by the WebSub scripts alone (WEBSUB §4).
struct PushStanding {
  std::string state;         ///< pending unproven healthy doubtful failed denied, "" = none
  Milliseconds since{};      ///< of `state`
  Milliseconds verified{};   ///< when its hub accepted it, renewals apart
  Milliseconds last_push{};  ///< the last that was a hint or brought something
  std::string hub;           ///< of the newest attempt
  std::string subscription;  ///< PushRecord::hash of the one that has been accepted, "" = none
  std::string note;          ///< why the last attempt failed, "" when it did not; for people
  std::uint32_t tries = 0;   ///< failed attempts in a row
  std::uint32_t denials = 0;
  Milliseconds fell{};  ///< when it came to failed or denied, 0 = it never did, or has been healthy since

  bool operator==(const PushStanding&) const = default;
};

/// What refreshes have shown of a feed's pushes (WEBSUB §5).
struct PushHealth {
  Milliseconds of{};  ///< PushStanding::verified of the subscription that it speaks of
  std::uint64_t pushed_first = 0, poll_first = 0, near = 0;
  std::uint32_t recent = 0;        ///< the last 20 of the first two, newest in the lowest bit; 1 = poll_first …
  std::uint32_t recent_count = 0;  ///< … and how many of them there are
  std::uint32_t good_row = 0, bad_row = 0;  ///< pushed_first and poll_first in a row
  Milliseconds fallback{};                  ///< between polls while healthy, 0 before
  Milliseconds suspect{};     ///< a poll found what a push may still bring within 10 minutes; 0 = none does
  Milliseconds last_entry{};  ///< when a push last brought an entry

  bool operator==(const PushHealth&) const = default;
};

/// Where a feed is requested.
struct FeedAddress {
  std::string fetch_url;    ///< requested in place of feed_url after a move, "" otherwise (HTTP R8)
  PendingRedirect moving;   ///< where it may be moving to
  std::vector<Move> moves;  ///< newest last, the newest 8
  std::string no_move_to;   ///< URL it never moves to by itself: another feed's (HTTP R7), or its operator's undoing

  bool operator==(const FeedAddress&) const = default;
};

/// Where what is stored of a feed came from. Of two the greater holds: what `egress.allow` has opened once stays so,
/// and `unknown`, nothing was fetched since this is noted, is the least.
enum class Exposure { unknown, open_to_all, opened_by_allow };

/// What conditional requests are made of, and whether their answers can be believed.
struct KnownValidators {
  std::string etag, last_modified;    ///< byte-exact (HTTP P1)
  std::string url;                    ///< the URL that sent them, "" when it is the one requested (HTTP P3)
  Milliseconds not_modified_since{};  ///< first 304 of those in a row, 0 when the last answer was none (HTTP P5)
  Milliseconds last_probe{};          ///< last request without validators on purpose
  bool broken = false;                ///< a probe found what a 304 had denied

  bool operator==(const KnownValidators&) const = default;
};

/// The newest document that was stored.
struct NewestDocument {
  /// Of it as received and decoded, 32 characters each: `v`, the versions of reader and sanitiser, XXH3-128 in hex
  /// (HTTP P5).
  std::string wire_hash, body_hash;
  std::uint64_t wire_bytes = 0, body_bytes = 0;
  bool ends_early = false;   ///< it ends in the middle, and its last post may have been left out
  std::uint64_t listed = 0;  ///< its posts
  bool listed_none = false;  ///< it had none
  /// When its posts were last compared value by value, 0 = it has nothing that digests leave out.
  Milliseconds compared_at{};
  std::string hints;  ///< what it said about its schedule, as the worker writes it (HTTP F8)

  bool operator==(const NewestDocument&) const = default;
};

/// The last document that could not be read (HTTP §4).
struct RefusedDocument {
  std::string hash;    ///< of it as decoded, "" = there is none
  std::string reason;  ///< HTTP §11
  std::string by;      ///< which version could not: another one tries again

  bool operator==(const RefusedDocument&) const = default;
};

/// How the last refresh ended.
struct LastRefresh {
  int status = 0;          ///< of the last answer, 0 when there was none
  std::string outcome;     ///< "" before the first refresh
  std::string error;       ///< HTTP §11 reason, "" after a success
  std::string detail;      ///< for people
  Milliseconds at{};       ///< its end
  Milliseconds success{};  ///< end of the last that succeeded

  bool operator==(const LastRefresh&) const = default;
};

/// The failures since the last success.
struct FailureRun {
  int count = 0;               ///< in a row, of one group of answers (HTTP §4)
  std::string group;           ///< that group
  Milliseconds since{};        ///< first failure since the last success
  Milliseconds group_since{};  ///< first failure of this group in a row

  bool operator==(const FailureRun&) const = default;
};

/// How often workers have died of the feed (SECURITY Q1, Q2).
struct QuarantineRun {
  std::uint32_t count = 0;    ///< quarantines in a row, written by the scripts
  Milliseconds since{};       ///< first of them
  std::uint32_t strikes = 0;  ///< attempts that nobody came back from; the one under way counts

  bool operator==(const QuarantineRun&) const = default;
};

/// How often the feed brings something new.
struct PostRhythm {
  double new_per_week = 0;  ///< S of HTTP §3
  Milliseconds last_new{};  ///< when an entry was last created
  Milliseconds imported{};  ///< first successful read, 0 before

  bool operator==(const PostRhythm&) const = default;
};

/// All that is counted from the first refresh on.
struct PollCounts {
  std::uint64_t polls = 0, polls_not_modified = 0, polls_same_body = 0, polls_unconditional = 0, polls_failed = 0,
                polls_with_new = 0, total_wire_bytes = 0, total_body_bytes = 0, total_new = 0;
  /// polls_unconditional by reason (HTTP P4): first fetch, no validators known, they belong to another URL, probe.
  std::uint64_t unconditional_first = 0, unconditional_none = 0, unconditional_target = 0, unconditional_probe = 0;
  std::uint64_t early_polls = 0;  ///< before their time; always 0 (HTTP N2)

  bool operator==(const PollCounts&) const = default;
};

/// How the posts are told apart, and what the documents have shown of that (DESIGN §5, SECURITY T19).
struct PostIdentity {
  IdentifiedBy by = IdentifiedBy::guid;
  Naming naming = Naming::given;
  Milliseconds since{};                  ///< when it was switched to that, 0 = never
  std::uint32_t fresh_documents = 0;     ///< in a row of whose guids more than 5 % were unknown
  std::uint32_t replaced_documents = 0;  ///< of those in a row, that had more than 5 % stored posts under new guids
  std::uint32_t unfit_documents = 0;     ///< in a row, which another identity fits better
  std::uint32_t sound_documents = 0;     ///< in a row whose guids stayed, while it is identified by something else …
  std::string guid_sample;               ///< … and marks of those in the newest, to know them again
  std::uint32_t returns = 0;             ///< how often it has gone back to its guids
  std::vector<std::string> withdrawn;    ///< what stands for posts that the publisher has taken back, newest last

  bool operator==(const PostIdentity&) const = default;
};

/// Why the feed is due when it is.
struct DueTime {
  std::string reason;         ///< code that fixed the due time (HTTP §11)
  std::string why;            ///< its inputs, one a line: "<code> <seconds> <from>" (HTTP E1)
  Milliseconds not_before{};  ///< a Retry-After in force, else 0 (HTTP P9, P22)

  bool operator==(const DueTime&) const = default;
};

/// What the last trim has left (RELIABILITY L7).
struct LastTrim {
  std::uint64_t kept = 0;   ///< how many posts it held the feed to, 0 = there was none
  bool unfinished = false;  ///< it had more to take than one call may; written by the scripts

  bool operator==(const LastTrim&) const = default;
};

/// Pages of older posts that are read one after the other (HTTP P16, G1): to close a gap, or for a first import that
/// goes back further than its document.
struct PageWalk {
  enum class For { gap, backfill };
  enum class By { next, archive, number };  ///< how a page is found: its links (RFC 5005 §3, §4), "paged=N"
  std::string next;                         ///< URL of the page to be read, "" = there is no walk
  For purpose = For::gap;
  By by = By::next;
  std::int64_t back_to = 0;    ///< gap: timestamp of the newest post that was stored before it
  std::uint32_t pages = 0;     ///< read
  std::uint64_t posts = 0;     ///< that they brought
  std::uint32_t failures = 0;  ///< in a row
  std::string known_archive;   ///< mark of the archive that earlier walks have begun with, "" = there was none
  Milliseconds since{};        ///< when it was begun
  Milliseconds last{};         ///< when a page was last asked for
  Milliseconds poll_due{};     ///< when the feed itself is due …
  std::string poll_reason;     ///< … and the code that fixed that

  bool operator==(const PageWalk&) const = default;
};

/// What is known of the pages behind the feed's document.
struct OlderPosts {
  enum class Numbers { untried, work, fail };
  PageWalk walk;
  std::string newest_archive;  ///< mark of the newest archive that was read: neither it nor those before it again
  Numbers numbers = Numbers::untried;  ///< whether the server knows "paged=N"

  bool operator==(const OlderPosts&) const = default;
};

/// What hubs push of the feed.
struct FeedPushes {
  HubAdvert advert;
  PushStanding standing;
  PushHealth health;
  std::uint32_t empty_in_a_row = 0;  ///< refreshes by push that brought nothing (WEBSUB P6)
  bool looks_again = false;          ///< the next refresh is the second look for the last push (WEBSUB P6)
  bool hinted = false;               ///< the refresh under way is to answer a hint; written by scripts alone

  bool operator==(const FeedPushes&) const = default;
};

/// What the worker remembers about a feed between refreshes: hash state:feed:<feed_url> (DESIGN §3).
/// Scripts read a few of them by name, and keep fields of their own beside them, which no worker reads from here:
///   the claim         claim claim_due claim_hosts claim_part; alone (nothing runs beside it), alone_deaths
///   the schedule      held (due time before it had to wait to be alone), wake (asked for while it was claimed), line
///                     (of the gate that it waits at, HTTP H1)
///   pause and removal before_pause paused_due removing leaving; for_channels orphaned: shared/orphans.lua
///   pushes            push_due push_wake push_hint push_claimed push_nets push_pending push_renew push_tat: push.lua
///   size              bytes (of all its posts)
struct FeedState {
  std::string state = "new";  ///< new never_read healthy degraded failing blocked gone quarantined paused (HTTP §4)
  Milliseconds state_since{};
  std::string settings;        ///< JSON object: what the operator set for this feed, "" when nothing
  Milliseconds trace_until{};  ///< somebody follows its refreshes until then, 0 = nobody ever; written by traces.hpp

  FeedAddress address;
  Exposure exposure = Exposure::unknown;  ///< decides whether others may be shown its posts (WEBSUB U15)
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
