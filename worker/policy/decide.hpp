// Pure policy: decides from a reading what to write and when to fetch next (HTTP §3, §4; DESIGN §5).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "storage/records/commit.hpp"
#include "storage/records/event_record.hpp"
#include "storage/records/feed_state.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"
#include "worker/base/report.hpp"
#include "worker/policy/attempt.hpp"
#include "worker/policy/push_health.hpp"
#include "worker/policy/schedule.hpp"

namespace feedmill {

/// Configuration of the policy.
struct PolicyOptions {
  ScheduleOptions schedule;
  Retention retention;                                                 ///< the document sets `listed`
  std::map<std::string, Milliseconds, std::less<>> host_min_interval;  ///< by host: poll interval of a feed (HTTP H7)
  PushOptions push;
  EventDetail events;
  std::uint32_t gap_pages = 10;  ///< pages of older posts read to close a gap (HTTP G2)
};

/// Facts about an exchange for policy.
struct Exchange {
  std::string requested_url;
  Validators validators;        ///< of the response; empty without a response
  std::vector<Header> headers;  ///< of the last response
  std::vector<Hop> hops;        ///< all responses, including the last
  std::uint64_t wire_bytes = 0;
  Unconditional unconditional = Unconditional::no;  ///< why the request carried no validators
  bool opened_by_allow = false;
  Exposure exposure = Exposure::unknown;  ///< of the body received so far
  bool early = false;                     ///< fetched before it was due; must not happen (HTTP N2)
  bool identity = false;                  ///< retried without content coding, after a broken one (HTTP §4)
  bool fell_back = false;                 ///< HTTP/2 failed and HTTP/1.1 succeeded (HTTP P20)
  /// The server's mistake in an otherwise complete document (HTTP §4), "" if none; empty: no document was read.
  std::optional<std::string> fault{};
};

/// Whether this poll compares every value of every post: once a day for feeds with values that entry_digest() omits.
bool compares_all(const FeedState& state, Milliseconds now);

/// Whether that comparison takes changes that were held back: then the poll requests and reads the document even if it
/// is unchanged (RELIABILITY L5).
bool takes_held_back(const FeedState& state, Milliseconds now);

/// Whether the next request omits its validators, to check a server that always answers 304 (HTTP P5): after 14 days of
/// 304 with S > 2, after a 304 that denied a push, or if it lied before; at most once in 24 hours.
bool wants_probe(const FeedState& state, Milliseconds now);

/// Texts that a refresh may bring back, because their posts are among the newest again (RELIABILITY L34).
struct TextsToRead {
  std::optional<std::uint64_t> newest{};  ///< FeedToRead::texts
  /// More are kept than before: request and read the document even if it is unchanged.
  bool again = false;
};
/// `configured`: the retention of feeds without their own settings.
TextsToRead texts_to_read(const FeedState& state, const Retention& configured);

/// What to write and report after an attempt.
struct Decision {
  Commit commit;
  Outcome outcome = Outcome::failed;
  Reason reason = Reason::none;
  std::string detail;                             ///< for people, "" on success
  std::uint32_t unchanged = 0;                    ///< entries of the document that are already stored
  std::uint32_t backlog = 0;                      ///< new posts that are a back catalogue (Commit::backlog_before)
  std::int64_t retry_in_s = 0;                    ///< until the next due time
  bool pushed_first = false, poll_first = false;  ///< what delivered new content first, for feeds with push (WEBSUB §5)
};

/// Decides what to write and when to fetch next. `known`: the store's knowledge of the document's guids; ignored unless
/// `reading` is a Document. `now`: Redis' time. The operator's settings come from the claim's state. Consumes the
/// fields of new posts in `reading`.
Decision decide(const Claim& claim, Reading&& reading, const Exchange& exchange, const StoredSnapshot& known,
                const PolicyOptions& options, Milliseconds now);

/// Result of decide_push().
struct PushDecision {
  Decision decision;
  std::uint32_t doubtful = 0;  ///< changed posts that state no later time: the feed must be polled
};
/// Decides about a pushed document: creates new posts and applies updates that state a later time than the stored post.
/// Of the feed itself, only the schedule changes (WEBSUB P4). `claim`: from Pushes::claim(); its `now` is the current
/// time.
PushDecision decide_push(const Claim& claim, Document&& document, const StoredSnapshot& known,
                         const PolicyOptions& options);

// Reads pages of older posts in sequence: to close a gap, or for a first import that goes back further than its
// document (HTTP P16, G1–G3, G6).
//
// A walk is part of the feed's state. Each page is a separate claim under the same gates and ends in one commit, which
// also names the next page. A worker killed between any two steps loses nothing: the page is fetched again.

/// Whether this claim is for the next page rather than the feed's own document: there is a page, no refresh of the feed
/// was requested, and the feed's own poll is not overdue since the last page. After a worker died, the next claim is
/// for the feed.
bool is_for_page(const Claim& claim);

/// Decides about a page: stores its new posts, and changes or removes none. Of the feed itself, only the walk and the
/// request counters change. `claim`: the feed's; `reading`: the page's result; `known`: the store's knowledge of its
/// guids.
Decision decide_page(const Claim& claim, Reading&& reading, const Exchange& exchange, const StoredSnapshot& known,
                     const PolicyOptions& options, Milliseconds now);

}  // namespace feedmill
