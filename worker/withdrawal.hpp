// Posts that their publisher takes back: at:deleted-entry (RFC 6721). Pure.
#pragma once

#include <string>
#include <vector>

#include "parsers/feed.hpp"
#include "storage/records.hpp"

namespace feedmill {

/// The deletions of a document whose posts are identified `by`; one without a readable date says nothing (RFC 6721 §3
/// demands it). They name posts by their Atom ids: where links tell posts apart, an id that is a web address is one;
/// where texts do, none is named.
std::vector<Deletion> deletions(const Feed& feed, IdentifiedBy by);

/// Guids of stored posts to delete, and of listed ones not to create. One counts unless the post, stored or in the same
/// document, was updated after it. `dates`: Known::deletable, one for each.
std::vector<std::string> withdrawn(const std::vector<Deletion>& deletions, const std::vector<std::string>& dates,
                                   const std::vector<EntryRecord>& listed);

}  // namespace feedmill
