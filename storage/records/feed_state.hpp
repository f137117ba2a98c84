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

/// What the worker remembers about a feed between refreshes: hash state:feed:<feed_url> (DESIGN §3).
/// Scripts look at `state` alone; the rest is opaque to them.
struct FeedState {
  std::string state = "new";  ///< new healthy degraded failing blocked gone quarantined paused (HTTP §4)
  Milliseconds state_since{};
  std::string fetch_url;    ///< requested in place of feed_url after a move, "" otherwise (HTTP R8)
  PendingRedirect moving;   ///< where it may be moving to
  std::vector<Move> moves;  ///< newest last, the newest 8
  std::string no_move_to;   ///< URL it never moves to by itself: another feed's (HTTP R7), or its operator's undoing

  std::string etag, last_modified;   ///< byte-exact (HTTP P1)
  std::string validators_url;        ///< the URL that sent them, "" when it is the one requested (HTTP P3)
  std::string wire_hash, body_hash;  ///< XXH3-128 in hex of the stored document as received and decoded (HTTP P5)
  std::uint64_t wire_bytes = 0, body_bytes = 0;  ///< sizes of that document
  bool ends_early = false;            ///< that document ends in the middle, and its last post may have been left out
  std::string refused_hash;           ///< wire hash of the last document that could not be read (HTTP §4) …
  std::string refused_reason;         ///< … why, HTTP §11 …
  std::string refused_by;             ///< … and by which version: another one tries again
  Milliseconds not_modified_since{};  ///< first 304 of those in a row, 0 when the last answer was none (HTTP P5)
  Milliseconds last_probe{};          ///< last request without validators on purpose
  bool validators_broken = false;     ///< a probe found what a 304 had denied

  int last_status = 0;       ///< of the last answer, 0 when there was none
  std::string last_outcome;  ///< "" before the first refresh
  std::string last_error;    ///< HTTP §11 reason, "" after a success
  std::string last_detail;   ///< for people
  Milliseconds last_at{};    ///< end of the last refresh
  Milliseconds last_success{};
  int failures = 0;  ///< in a row, of one group of answers (HTTP §4)
  std::string failure_group;
  Milliseconds failing_since{};  ///< first failure since the last success
  Milliseconds group_since{};    ///< first failure of this group in a row

  std::uint32_t quarantines = 0;  ///< in a row, written by the scripts (SECURITY Q2)
  Milliseconds quarantined_at{};  ///< first of them
  std::uint32_t strikes = 0;      ///< attempts that nobody came back from; the one under way counts (SECURITY Q1)

  double new_per_week = 0;  ///< S of HTTP §3
  Milliseconds last_new{};  ///< when an entry was last created
  Milliseconds imported{};  ///< first successful read, 0 before
  std::uint64_t polls = 0, polls_not_modified = 0, polls_same_body = 0, polls_unconditional = 0, polls_failed = 0,
                polls_with_new = 0, total_wire_bytes = 0, total_body_bytes = 0, total_new = 0;
  /// polls_unconditional by reason (HTTP P4): first fetch, no validators known, they belong to another URL, probe.
  std::uint64_t unconditional_first = 0, unconditional_none = 0, unconditional_target = 0, unconditional_probe = 0;
  std::uint64_t early_polls = 0;  ///< before their time; always 0 (HTTP N2)

  IdentifiedBy identified_by = IdentifiedBy::guid;
  Naming naming = Naming::given;
  Milliseconds identified_since{};       ///< when it was switched to that, 0 = never
  std::uint32_t fresh_documents = 0;     ///< in a row of whose guids more than 5 % were unknown
  std::uint32_t replaced_documents = 0;  ///< of those in a row, that had more than 5 % stored posts under new guids
  std::uint32_t unfit_documents = 0;     ///< in a row, which another identity fits better
  std::uint32_t sound_documents = 0;     ///< in a row whose guids stayed, while it is identified by something else …
  std::string guid_sample;               ///< … and marks of those in the newest, to know them again
  std::uint32_t returns = 0;             ///< how often it has gone back to its guids
  bool listed_none = false;              ///< the newest document had no posts
  std::vector<std::string> withdrawn;    ///< what stands for posts that the publisher has taken back, newest last

  std::string due_reason;      ///< code that fixed the due time (HTTP §11)
  std::string why;             ///< its inputs, one a line: "<code> <seconds> <from>" (HTTP E1)
  Milliseconds not_before{};   ///< a Retry-After in force, else 0 (HTTP P9, P22)
  std::string hints;           ///< what the newest document said about its schedule, as the worker writes it (HTTP F8)
  std::uint64_t listed = 0;    ///< posts of the newest document
  std::uint64_t kept = 0;      ///< how many posts the last trim held it to, 0 = there was none (RELIABILITY L7)
  bool untrimmed = false;      ///< the last trim had more to take than one call may; written by the scripts
  std::string settings;        ///< JSON object: what the operator set for this feed, "" when nothing
  Milliseconds trace_until{};  ///< somebody follows its refreshes until then, 0 = nobody ever; written by traces.hpp

  HubAdvert advert;
  PushStanding push;
  PushHealth push_health;
  std::uint32_t consecutive_empty_pushes = 0;  ///< refreshes by push in a row that brought nothing (WEBSUB P6)

  bool operator==(const FeedState&) const = default;
};

}  // namespace feedmill
