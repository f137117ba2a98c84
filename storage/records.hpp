// What the store takes and gives: values only. Times are Redis' own clock, unix milliseconds unless a name says
// seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace feedmill {

using Milliseconds = std::chrono::milliseconds;  ///< a duration, or a time since the epoch by Redis' clock
using Fields = std::vector<std::pair<std::string, std::string>>;

/// Why a store call did not do what it was asked to (RELIABILITY §6). `detail` is for people and holds no secret.
struct StoreError {
  enum class Code {
    unavailable,    ///< refused, reset, no such socket: try again later
    timeout,        ///< no answer in time: it may or may not have been carried out
    loading,        ///< LOADING, BUSY, TRYAGAIN, CLUSTERDOWN, MASTERDOWN: try again soon
    out_of_memory,  ///< OOM
    misconfigured,  ///< MISCONF, NOREPLICAS: the server cannot write
    read_only,      ///< READONLY: a replica
    auth,           ///< NOAUTH, WRONGPASS, NOPERM, unknown command
    tls,            ///< no encrypted connection that both sides trust: certificates, or no TLS there
    refused,        ///< a key of the wrong type, an argument the store does not take
    unsupported,    ///< server too old, evicting policy, URL scheme we do not speak: an operator must act
    bug             ///< an answer that cannot be
  };
  Code code{};
  std::string detail;
};

/// A permanent redirect that is not believed yet (HTTP R5).
struct Probation {
  std::string to;            ///< URL it leads to, "" = none
  int sightings = 0;         ///< polls in a row that it led there, and the document's own word once (HTTP R9)
  Milliseconds since{};      ///< first of them
  bool same_feed = false;    ///< at the first of them the document was this feed's
  bool by_document = false;  ///< itunes:new-feed-url has been counted

  bool operator==(const Probation&) const = default;
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
/// for them (storage/identity.hpp), or some posts under these and some under those.
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
  Probation moving;         ///< where it may be moving to
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

  std::string won;             ///< code that fixed the due time (HTTP §11)
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
  std::uint32_t push_barren = 0;  ///< refreshes by push in a row that brought nothing (WEBSUB P6)

  bool operator==(const FeedState&) const = default;
};

/// The right to refresh one feed until the lease ends (RELIABILITY L1).
struct Claim {
  std::string id;  ///< "<worker>:<seq>", never used again
  std::string feed_url;
  Milliseconds due{};  ///< when it was due
  Milliseconds now{};  ///< Redis' time of the claim
  FeedState state;
  bool alone = false;             ///< the one feed of this worker that a worker has died of (SECURITY Q2)
  Milliseconds host_served_at{};  ///< when its host last answered 200, to the day; 0 = not within 7 days
  bool host_identity = false;     ///< its host fails at content codings (HTTP §4)
  bool host_http1 = false;        ///< its host fails at HTTP/2 (HTTP P20)
};

/// What one claim call brought.
struct ClaimBatch {
  std::vector<Claim> claims;
  struct Deferred {
    std::string feed_url;
    Milliseconds due{};
    std::string code;  ///< host_spacing, host_backoff, quarantine (HTTP §11)
  };
  std::vector<Deferred> deferred;        ///< put off by the host's gate (HTTP H1), or in line to be alone (SECURITY Q2)
  std::vector<Deferred> quarantined;     ///< have killed three workers, each time alone (SECURITY Q2)
  std::vector<std::string> refused;      ///< put off for a day: the key of their state is no hash (RELIABILITY §6)
  Milliseconds now{};                    ///< Redis' time
  std::optional<Milliseconds> next_due;  ///< earliest due time left in the schedule
  bool exhausted = false;                ///< every feed that was due was looked at
};

/// Settings of the host gate that travel with each claim call (HTTP H1), for hosts without settings of their own.
struct HostLimits {
  std::uint32_t concurrency = 1;
  Milliseconds spacing{1000};
};

/// A post on its way into the store: everything a reader gets, in the stored form of DESIGN §3.1.
struct EntryRecord {
  std::string guid;
  std::string digest;                     ///< of what a reader would notice
  std::optional<std::int64_t> timestamp;  ///< unix seconds; absent when the post is undated
  Fields fields;                          ///< title, link, content …: sorted by name, no empty values
  std::string former_guid{};  ///< what was its guid before the feed was switched to another identity, "" = the same
  std::string given_guid{};   ///< what its document calls it, "" = it gives no guid
  std::string shared_guid{};  ///< the guid that would be its own if another post of the document did not have it, too …
                              ///< … and of that other post; "" = it is alone
};

/// A post that the document says is gone (RFC 6721).
struct Deletion {
  std::string guid;
  std::int64_t when = 0;  ///< unix seconds
};

/// A stored post that goes on under another guid (DESIGN §5).
struct Rekey {
  std::string id, from, to;
  std::string digest;
  Fields set;  ///< fields that follow without a reader noticing: its link, written another way
};

/// A stored post as far as it can be recognised under another guid.
struct StoredPost {
  std::string id, guid, digest;
  std::int64_t timestamp = 0;
  Fields fields;  ///< date_published, link, summary_text, title
};

/// What the store knows of the guids of a document (one read-only script, RELIABILITY L5).
struct Known {
  enum class Is { unknown, tombstoned, same, different };
  struct Guid {
    Is is{};
    std::string id;             ///< Entry:<n> when `different`
    Fields fields;              ///< stored fields when `different`
    std::string stored_guid{};  ///< the guid that `id` is stored under, when that is another
    /// Stored by older rules: what today's make of it, "" for a field that goes, `bytes` and `digest` apart
    /// (resanitise.hpp). `fields` are as if that had been done; `same` has `id` and `fields` then, too.
    Fields mended{};
  };
  std::vector<Guid> guids;              ///< in the order asked for
  std::vector<std::string> left, back;  ///< tombstones whose guid left the document, or stands in it again
  Fields feed;                          ///< the readers' record Feed:<feed_url> as it is now: title, description …
  Fields feed_mended;                   ///< stored by older rules: what today's make of it, "" for a field that goes
  std::uint64_t stored = 0;             ///< posts of the feed
  std::int64_t newest = 0;              ///< timestamp of the newest of them
  bool trimmed = false;                 ///< it has tombstones
  std::vector<std::string> deletable;   ///< of each deletion asked for: "" = no such post, else the post's date or "0"

  // What a comparison with the stored posts has shown (worker/identity.hpp).
  bool compared = false,
       replaced = false;               ///< replaced: more than 5 % of the document are stored posts under new guids
  Naming naming = Naming::given;       ///< of a feed that is identified by guid, the document included
  std::vector<Rekey> rekeys;           ///< of posts that the document does not list
  std::vector<std::string> tombs_new;  ///< guids of posts that were trimmed under other guids
};

/// One post to create or modify.
struct EntryWrite {
  std::string guid, digest;
  std::string id;                  ///< Entry:<n> to modify, "" to create
  std::int64_t timestamp = 0;      ///< score in <feed_url>:sort
  Fields set;                      ///< created: all fields; modified: those that changed
  std::vector<std::string> unset;  ///< fields that went away
  std::uint64_t bytes = 0;         ///< entry_bytes() of the post as it is to be
  Fields old;                      ///< modified: old values of what changed, for the signal
  Fields shown;                    ///< modified: title, link and author as stored, for the signal where unchanged
  std::int64_t rev = 1;
  bool quiet = false;  ///< modified: nothing that a reader would notice, hence no signal; not done to what has another
                       ///< `rev` meanwhile
};

/// A signal about the feed itself: feed_created, feed_modified, feed_failing …; `data` is JSON object text.
struct FeedSignal {
  std::string type;
  std::string action;   ///< "created", "updated" …
  std::string data;     ///< JSON object, "{}" when there is nothing to say
  std::string changed;  ///< JSON object of {field: [old, new]}, "" when not a modification
};

/// Adds a move to the feed's history, which stays bounded.
void remember_move(FeedState& state, const Move& move);
/// feed_moved{from,to}
FeedSignal moved_signal(const Move& move);

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

/// What an answer says of its host, for all feeds of it (HTTP H3–H5).
struct HostAnswer {
  enum class Is { silent, served, refused };
  Is is = Is::silent;       ///< silent: no answer, or one that says nothing of the host's patience
  std::string host;         ///< who answered, "" = whom the claim asked first
  std::string cause;        ///< refused: rate_limited, unavailable, forbidden
  Milliseconds retry_at{};  ///< refused: until when its Retry-After holds, 0 = none
  bool document = false;    ///< it was a 200
  bool needs_identity = false, needs_http1 = false;  ///< to be remembered for 7 days (HTTP §4, P20)
};

/// The one atomic write at the end of a refresh (RELIABILITY L4).
struct Commit {
  std::string feed_url, claim;
  Milliseconds next_due{};
  FeedState before, state;          ///< as claimed, and as it is to be
  bool document = false;            ///< a document was read: retention applies, and feed/entries/tombs below count
  bool trim = false;                ///< retention applies without a document, too
  bool initial = false;             ///< first import of the feed
  Fields feed;                      ///< fields of Feed:<feed_url> that changed
  std::vector<EntryWrite> entries;  ///< oldest first
  std::vector<FeedSignal> signals;
  std::vector<Rekey> rekeys;  ///< go before `entries`, whose guids are the new ones
  FeedSignal rekeyed;         ///< feed_rekeyed, sent when there are rekeys
  std::vector<std::string> tombs_left, tombs_back, tombs_new;
  std::vector<std::string> deleted;  ///< guids of posts that their publisher has deleted
  Retention retention;
  HostAnswer host;
  std::string move_to;  ///< state.fetch_url when this refresh moves the feed, "" otherwise; not done when it is a feed
  /// Number of an entry that this worker has seen: none up to it is given out again (RELIABILITY L8).
  std::uint64_t highest_entry = 0;
  std::string
      push_to;  ///< what this refresh makes of state.push.state, "" = nothing; not done when it has changed since
  std::optional<Milliseconds> push_ask;  ///< the feed's subscription is to be looked after then (WEBSUB D5, S10)
};

struct Committed {
  enum class Result { ok, dup, stale };
  Result result{};
  std::uint32_t created = 0, modified = 0, trimmed = 0, tombstoned = 0;
  std::uint32_t signals = 0;  ///< stream records written, internal ones included
  enum class Host { unchanged, closed, opened };
  Host host = Host::unchanged;      ///< what became of the back-off of the host that answered (HTTP H4, H5)
  Milliseconds host_until{};        ///< closed: until then
  bool move_taken = false;          ///< Commit::move_to is a feed of its own: nothing was moved (HTTP R7)
  std::uint64_t highest_entry = 0;  ///< the highest number given to a created entry, 0 when there was none
  std::uint32_t rekeyed = 0, deleted = 0;
  bool push_turned = false;     ///< Commit::push_to was done
  bool hub_in_trouble = false;  ///< that makes 5 feeds of its hub within a day (WEBSUB H3)
};

/// A feed to register.
struct NewFeed {
  std::string feed_url{};  ///< canonical
  Milliseconds after{};    ///< first due this long from now
  std::string settings{};  ///< JSON object, "" for none
  std::string title{};     ///< until the feed has been read; "" for none
};

/// What is known of a registered feed.
struct FeedRecord {
  std::string feed_url;
  FeedState state;
  Fields feed;                      ///< Feed:<feed_url>: what readers see
  std::optional<Milliseconds> due;  ///< absent when it is not in the schedule
  std::string claim;                ///< "" when nobody refreshes it
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  ///< entry_bytes() of them together, as the scripts count it
};

/// A stored post.
struct StoredEntry {
  std::string id;  ///< Entry:<n>
  Fields fields;
  /// Value of a field, "" when absent.
  const std::string& get(const std::string& field) const;
};

/// What became of a given post.
struct Saved {
  enum class Result {
    created,
    modified,
    unchanged,     ///< it was like that already: nothing written, nothing sent
    unknown_feed,  ///< no such feed: nothing written
    unfit          ///< a field cannot be stored; `detail` says which and what to write
  };
  Result result{};
  std::string id;  ///< Entry:<n>
  std::int64_t rev = 0;
  std::string detail;
};

/// What an operator lets go of a feed's posts, oldest first; absent = no such limit.
struct Expiry {
  std::optional<std::uint64_t> limit;  ///< how many of the newest stay
  std::optional<Milliseconds> age;     ///< those whose timestamp is older go
  std::optional<std::uint64_t> bytes;  ///< of all together; the newest stays
};

/// A place in a feed's order: entries after it are older (DESIGN §3.2).
struct EntryCursor {
  std::int64_t score = 0;
  std::string id;
};

/// A record of stream:signals: `json` is the signal object of DESIGN §4.
struct SignalRecord {
  std::string id, type, json;
  bool gone = false;  ///< trimmed away since it was handed out: only the id is known
};

/// What became of a wish to refresh a feed now (RELIABILITY L10, HTTP P22).
struct Wake {
  enum class Result {
    due,        ///< it is due at `at`
    noted,      ///< it is being refreshed; it will be due again right after
    too_early,  ///< the manual floor or a Retry-After holds until `at`
    paused,     ///< only `resume` brings it back
    unknown     ///< no such feed
  };
  Result result{};
  Milliseconds at{};
};

/// The stream of signals and who reads it in groups.
struct StreamFigures {
  std::uint64_t records = 0;
  std::uint64_t hard_limit = 0;  ///< trimmed there whoever lags (RELIABILITY L13)
  Milliseconds now{};
  struct Group {
    std::string name;
    std::uint64_t lag = 0;               ///< records not acknowledged; at most that, where the server cannot tell
    std::optional<Milliseconds> oldest;  ///< when the oldest of them was written
  };
  std::vector<Group> groups;
};

/// What the fleet knows of a host: hash state:host:<host> (HTTP §6). All zero when it was not asked of late.
struct HostState {
  Milliseconds last_start{};  ///< of the last request
  Milliseconds tail{};        ///< up to where starts are reserved
  Milliseconds not_before{};  ///< end of its back-off
  std::uint32_t in_flight = 0;
  std::uint32_t slow = 1;  ///< spacing is multiplied by it (HTTP H5)
  Fields other;            ///< further fields as they stand

  bool operator==(const HostState&) const = default;
};

/// A place in a list of feeds: behind so many of that score.
struct FeedPlace {
  std::int64_t score = 0;
  std::uint64_t behind = 0;

  bool operator==(const FeedPlace&) const = default;
};

/// A part of a list of feeds.
struct FeedPage {
  std::vector<FeedRecord> feeds;
  std::uint64_t total = 0;        ///< in the list, wanted or not
  std::uint64_t looked_at = 0;    ///< of them for this part
  std::optional<FeedPlace> next;  ///< absent at the end of the list
};

/// What a worker tells of itself.
struct WorkerRecord {
  std::string id;
  Milliseconds alive_at{};
  Fields fields;  ///< host, pid, version, in_flight
};

/// What the server itself is like, for `doctor`.
struct ServerFacts {
  std::string server;  ///< "redis 7.0.15"
  std::string link;    ///< how it is reached: "TLSv1.3", "TCP without TLS", "unix socket"
  std::string role;    ///< "master", "slave"
  std::string policy;  ///< maxmemory-policy
  bool append_only = false;
  std::uint64_t used_memory = 0, max_memory = 0;  ///< bytes; 0 = no limit
  std::string last_save;                          ///< "ok" unless the last write to disk failed
  Milliseconds now{};                             ///< its clock
  std::string write_error;                        ///< why a key could not be written, "" when it could
};

/// What became of a wish to pause a feed.
enum class Paused { paused, already, unknown };

/// What became of a wish to let a paused feed go on.
struct Resumed {
  enum class Result { resumed, running, unknown };  ///< running: it was not paused
  Result result{};
  Milliseconds due{};
};

/// A feed to let go on, so long from now at the earliest.
struct ResumedFeed {
  std::string feed_url;
  Milliseconds after{};
};

/// What became of a change of a feed's settings.
enum class SettingsChange { done, outdated, unknown };

/// What an operator set for one host (HTTP H7); absent: as HostLimits say.
struct HostSettings {
  std::string host;
  std::optional<std::uint32_t> concurrency;
  std::optional<Milliseconds> spacing, min_interval;
  std::string group;  ///< hosts of one group share a gate; "" = alone
};

/// What became of a wish to move a feed (HTTP R8).
enum class MoveResult {
  moved,
  same,     ///< that is what is requested already
  unknown,  ///< no such feed
  taken,    ///< the new URL is a feed of its own
  nothing,  ///< undo: it was not moved within 90 days
  busy      ///< somebody else moved it at the same time: look and try again
};

/// Figures of the whole store, for gauges and `stats`.
struct FleetFigures {
  std::uint64_t feeds = 0, due = 0, claimed = 0, workers = 0, stream_records = 0;
  std::uint64_t closed_hosts = 0;  ///< that back off; groups of hosts count as one
  std::vector<std::pair<std::string, std::uint64_t>> states;
  std::vector<std::pair<std::string, std::uint64_t>> push_states;  ///< feeds by PushStanding::state
  Milliseconds now{};
  std::optional<Milliseconds> oldest_due;  ///< due time of the feed that waits longest
};

}  // namespace feedmill
