// Pages of older posts, read one after the other: to close a gap, or for a first import that goes back further than its
// document (HTTP P16, G1–G7). Pure: `now` is an argument.
//
// A walk is a part of the feed's state. Each page is a claim of its own, past the same gates, and ends in one commit,
// which also says which page is next: a worker that is killed between any two steps loses nothing, for the page is
// asked for again.
#pragma once

#include "storage/records/claim.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"
#include "worker/policy/attempt.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill {

/// Begins a walk behind `document`, which `url` was asked for, if it says or shows where older posts are, on the same
/// host. One that is under way ends: what it would have met lies further back. `back_to`: as PageWalk has it.
void begin_walk(OlderPosts& older, PageWalk::For purpose, const Document& document, const std::string& url,
                std::int64_t back_to, Milliseconds now);

/// Whether this claim is for the next page and not for the feed's own document: there is one, nobody has asked for the
/// feed since, and the feed is not overdue twice in a row for its pages. A worker that died of the claim before makes
/// it the feed's own.
bool is_for_page(const Claim& claim);

/// Lets a walk go on after a poll of the feed itself, whose due time and reason `commit` has: a page is due before it.
/// `failed`: then as late as the feed.
void go_on_with_pages(Commit& commit, const Claim& claim, bool failed, Milliseconds now);

/// What a page's posts are to do: those that are new are stored, none is changed or taken away. Nothing else of the
/// feed changes but the walk and what counts requests. `claim` is the feed's, `reading` what the page's address has
/// brought, `known` what the store knows of its guids.
Decision decide_page(const Claim& claim, Reading&& reading, const Exchange& exchange, const StoredSnapshot& known,
                     const PolicyOptions& options, Milliseconds now);

}  // namespace feedmill
