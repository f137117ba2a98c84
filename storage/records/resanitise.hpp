// Reapplies the current rules for markup, types and URLs to stored posts and feeds (SECURITY S13).
#pragma once

#include "storage/records/given_entry.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// The fields of a stored post that the current rules change, with their new values ("" = remove). `stored`: all its
/// fields. Covers title, summary and content with their types, the URLs of link, comments, enclosures, authors, media
/// and extensions, and the derived summary_text, truncated, bytes, digest and san_ver. The digest is updated if it
/// matched the fields, so the next fetch of the same document finds no change. Nothing changes with policy raw. Pure;
/// linear in the fields.
Fields resanitised(const Fields& stored, const GivenMarkup& markup);

/// The fields of a feed's record that the current rules change: title and description with their types, link and image.
/// Releases before `san_ver` 2 stored no types and cut markup anywhere; text that the sanitiser leaves unchanged counts
/// as markup.
Fields resanitised_feed(const Fields& stored, const GivenMarkup& markup);

/// `fields` updated with `changes`, where "" removes a field; sorted by name.
Fields with_changes(Fields fields, const Fields& changes);

}  // namespace feedmill
