// Posts that their publisher takes back: at:deleted-entry (RFC 6721). Pure.
#pragma once

#include <string>
#include <vector>

#include "parsers/feed.hpp"
#include "storage/records.hpp"

namespace feedmill {

/// The deletions of a document; one without a readable date says nothing (RFC 6721 §3 demands it).
std::vector<Deletion> deletions(const Feed& feed);

/// Guids of stored posts to delete, and of listed ones not to create. One counts unless the post, stored or in the same
/// document, was updated after it. `dates`: Known::deletable, one for each.
std::vector<std::string> withdrawn(const std::vector<Deletion>& deletions, const std::vector<std::string>& dates,
                                   const std::vector<EntryRecord>& listed);

}  // namespace feedmill
