// Converts a parsed post into its stored form: the fields of Entry:<n> (DESIGN §3.1), their caps, their digest.
#pragma once

#include <string_view>

#include "parsers/feed/feed.hpp"
#include "storage/records/feed_state.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// Digest prefix of a post in which the document was cut off: values that the digest leaves out may be incomplete, so
/// the complete post counts as another version even if its texts are equal.
inline constexpr std::string_view cut_mark = "cut:";

/// The stored form of an entry, by the current sanitiser (its version is in `san_ver`). Empty values are left out;
/// values over their cap (SECURITY §3) are cut and named in the field `truncated`. Takes the entry's texts. Linear in
/// its size.
EntryRecord entry_record(Entry&& entry);

/// All entries of a document, with their guids when the feed is identified `by`; `former_guid` is set if it was
/// identified differently before. Indistinguishable entries are returned once, except those that share both guid and
/// link, which the store settles (identify() in storage/records/post_identity.hpp). Takes the texts of the feed's
/// entries. `known`: the source of Feed::known.
std::vector<EntryRecord> entry_records(Feed& feed, IdentifiedBy by, IdentifiedBy was, const StoredItems& known = {});

/// Whether a field of Entry:<n> belongs to the store and is never set by a document.
bool is_own_field(std::string_view name);

/// Digest of a version of a post, 12 characters: over every field that a document sets, without idle values (counters,
/// tracking, random numbers in URLs) and derived fields. Equal digests: no difference is worth writing (DESIGN §5).
/// `has_idle`: set if there are idle values.
std::string entry_digest(const Fields& fields, bool* has_idle = nullptr);

/// Digest of builds before entry_digest(), 16 hex digits: of the texts a reader would notice, white space folded,
/// without tracking pixels and volatile parts of URLs. Posts of those builds keep it until they are compared, and saved
/// posts have it in `saved_over`.
std::string reader_digest(const Fields& fields);

/// Whether a stored digest, apart from `cut_mark`, is a reader_digest().
bool is_reader_digest(std::string_view digest);

/// The full text of a stored post without markup: of its content, or else of its summary.
std::string content_text(const Fields& fields);

}  // namespace feedmill
