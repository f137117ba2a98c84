// Pure policy: what was read → what to write, and when to come again (HTTP §3, §4; DESIGN §5).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "storage/records/claim.hpp"
#include "storage/records/commit.hpp"
#include "storage/records/event_detail.hpp"
#include "storage/records/feed_state.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"
#include "worker/base/report.hpp"
#include "worker/policy/attempt.hpp"
#include "worker/policy/push_health.hpp"
#include "worker/policy/schedule.hpp"

namespace feedmill {

struct PolicyOptions {
  ScheduleOptions schedule;
  Retention retention;                                                 ///< `listed` is the document's
  std::map<std::string, Milliseconds, std::less<>> host_min_interval;  ///< by host: between polls of one feed (HTTP H7)
  PushOptions push;
  EventDetail events;
  std::uint32_t gap_pages = 10;  ///< of older posts that are read to close a gap (HTTP G2)
};

/// The exchange as far as policy cares.
struct Exchange {
  std::string requested_url;
  Validators validators;        ///< what the answer said of itself, empty without an answer
  std::vector<Header> headers;  ///< of the last answer
  std::vector<Hop> hops;        ///< all answers, the last included
  std::uint64_t wire_bytes = 0;
  Unconditional unconditional = Unconditional::no;  ///< why the answered request carried no validators
  bool opened_by_allow = false;
  Exposure exposure = Exposure::unknown;  ///< of what has come of a body
  bool early = false;                     ///< asked before its time, which must not happen (HTTP N2)
  bool identity = false;                  ///< asked again for no content coding, after one that was broken (HTTP §4)
  bool fell_back = false;                 ///< HTTP/2 failed where HTTP/1.1 did not (HTTP P20)
  /// What the server did wrong although its document is whole (HTTP §4); absent: no document was read.
  std::optional<std::string> fault{};
};

/// Whether this poll compares every value of every post: once a day for feeds with values that entry_digest() leaves
/// out.
bool compares_all(const FeedState& state, Milliseconds now);

/// Whether the next request omits its validators, to check a server that always answers 304 (HTTP P5): after 14 days of
/// 304 with S > 2, after a 304 that denied a push, or if it lied before; at most once in 24 hours.
bool wants_probe(const FeedState& state, Milliseconds now);

struct Decision {
  Commit commit;
  Outcome outcome = Outcome::failed;
  Reason reason = Reason::none;
  std::string detail;                             ///< for people, "" on success
  std::uint32_t unchanged = 0;                    ///< entries of the document that are stored already
  std::uint32_t backlog = 0;                      ///< new posts that are a back catalogue (Commit::backlog_before)
  std::int64_t retry_in_s = 0;                    ///< until the next due time
  bool pushed_first = false, poll_first = false;  ///< who brought what is new, where pushes are to be had (WEBSUB §5)
};

/// `known` is what the store knows of the document's guids: needed for a Document, ignored otherwise. `now` is Redis'.
/// What the operator set for the feed is read from the claim's state. The fields of new posts are taken out of
/// `reading`.
Decision decide(const Claim& claim, Reading&& reading, const Exchange& exchange, const StoredSnapshot& known,
                const PolicyOptions& options, Milliseconds now);

/// What a push's content is to do: posts that are new, and those that say that they are newer than what is stored;
/// nothing else of the feed but its schedule (WEBSUB P4). The claim is Pushes::claim()'s, its time the time now.
struct PushDecision {
  Decision decision;
  std::uint32_t doubtful = 0;  ///< posts that differ without saying that they are newer: the feed must be asked
};
PushDecision decide_push(const Claim& claim, Document&& document, const StoredSnapshot& known,
                         const PolicyOptions& options);

}  // namespace feedmill
