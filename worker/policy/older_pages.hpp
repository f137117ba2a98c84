// Reads pages of older posts in sequence: to close a gap, or for a first import that goes back further than its
// document (HTTP P16, G1–G3, G6). Pure: `now` is an argument.
//
// A walk is part of the feed's state. Each page is a separate claim under the same gates and ends in one commit, which
// also names the next page. A worker killed between any two steps loses nothing: the page is fetched again.
#pragma once

#include "storage/records/commit.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"
#include "worker/policy/attempt.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill {

/// Starts a walk after `document`, fetched from `url`, if it states or shows where older posts are on the same host.
/// Ends a current walk: its pages are older than the new one's. `back_to`: see PageWalk.
void begin_walk(OlderPosts& older, PageWalk::For purpose, const Document& document, const std::string& url,
                std::int64_t back_to, Milliseconds now);

/// Whether this claim is for the next page rather than the feed's own document: there is a page, no refresh of the feed
/// was requested, and the feed's own poll is not overdue since the last page. After a worker died, the next claim is
/// for the feed.
bool is_for_page(const Claim& claim);

/// Continues a walk after a poll of the feed. `commit` has the poll's due time and reason: the next page is due before
/// that time, or at it if the poll `failed`.
void go_on_with_pages(Commit& commit, const Claim& claim, bool failed, Milliseconds now);

/// Decides about a page: stores its new posts, and changes or removes none. Of the feed itself, only the walk and the
/// request counters change. `claim`: the feed's; `reading`: the page's result; `known`: the store's knowledge of its
/// guids.
Decision decide_page(const Claim& claim, Reading&& reading, const Exchange& exchange, const StoredSnapshot& known,
                     const PolicyOptions& options, Milliseconds now);

}  // namespace feedmill
