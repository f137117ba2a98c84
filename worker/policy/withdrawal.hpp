// Posts withdrawn by their publisher: at:deleted-entry (RFC 6721). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "parsers/feed/feed.hpp"
#include "storage/records/commit.hpp"
#include "storage/records/feed_state.hpp"
#include "storage/records/stored_snapshot.hpp"

namespace feedmill {

/// The deletions in a document with posts identified `by`. Deletions without a readable date are ignored (RFC 6721 §3
/// requires one). They name posts by their Atom ids: if posts are identified by link, only ids that are web addresses
/// match; if by text, none do.
std::vector<Deletion> deletions(const Feed& feed, IdentifiedBy by);

/// Guids of stored posts to delete and of listed posts not to create. A deletion is ignored if the stored or listed
/// post was updated after it. `dates`: Known::deletable, one for each.
std::vector<std::string> withdrawn(const std::vector<Deletion>& deletions, const std::vector<std::string>& dates,
                                   const std::vector<EntryRecord>& listed);

/// Remembers withdrawn posts, so that an old push does not restore them: after a document that withdrew `deleted` and
/// was written as `writes`. Posts that it created are forgotten here. Keeps a digest of each of the latest 100.
void remember_withdrawn(std::vector<std::string>& marks, const std::vector<std::string>& deleted,
                        const std::vector<EntryWrite>& writes);

/// Whether the publisher has withdrawn this post, as far as `marks` reach.
bool was_withdrawn(const std::vector<std::string>& marks, std::string_view guid);

}  // namespace feedmill
