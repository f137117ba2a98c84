// Posts that their publisher takes back: at:deleted-entry (RFC 6721). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "parsers/feed/feed.hpp"
#include "storage/records/commit.hpp"
#include "storage/records/feed_state.hpp"
#include "storage/records/stored_snapshot.hpp"

namespace feedmill {

/// The deletions of a document whose posts are identified `by`; one without a readable date says nothing (RFC 6721 §3
/// demands it). They name posts by their Atom ids: where links tell posts apart, an id that is a web address is one;
/// where texts do, none is named.
std::vector<Deletion> deletions(const Feed& feed, IdentifiedBy by);

/// Guids of stored posts to delete, and of listed ones not to create. One counts unless the post, stored or in the same
/// document, was updated after it. `dates`: Known::deletable, one for each.
std::vector<std::string> withdrawn(const std::vector<Deletion>& deletions, const std::vector<std::string>& dates,
                                   const std::vector<EntryRecord>& listed);

/// Keeps in mind which posts were taken back, so that an old push of one does not bring it in again: after a document
/// that took back `deleted` and was written as `writes`. A post that it created is listed again and forgotten here. Of
/// each a digest is kept, of the newest 100.
void remember_withdrawn(std::vector<std::string>& marks, const std::vector<std::string>& deleted,
                        const std::vector<EntryWrite>& writes);

/// Whether the publisher has taken this post back, as far as `marks` reach.
bool was_withdrawn(const std::vector<std::string>& marks, std::string_view guid);

}  // namespace feedmill
