// A post as parsers/ read it → as the store keeps it: the fields of Entry:<n> (DESIGN §3.1), their caps, their digest.
#pragma once

#include <string_view>

#include "parsers/feed/feed.hpp"
#include "storage/records/feed_state.hpp"
#include "storage/records/stored_items.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// In front of the digest of a post that its document ends within: values that no digest covers may be half, so that
/// the whole of it is another version even when its texts are the same.
inline constexpr std::string_view cut_mark = "cut:";

/// The stored form of an entry, made by today's sanitiser: `san_ver` says so. Empty values are left out; values over
/// their cap (SECURITY §3) are cut and named in the field `truncated`. Takes the entry's texts. Linear in its size.
EntryRecord entry_record(Entry&& entry);

/// All entries of a document under the guids that they have when the feed is identified `by`; `former_guid` is set when
/// it was identified by something else before. What cannot be told apart is there once; but of what has one guid and
/// one link the store decides (identify() in storage/records/post_identity.hpp). Takes the texts of the feed's entries.
/// `known`: where Feed::known comes from.
std::vector<EntryRecord> entry_records(Feed& feed, IdentifiedBy by, IdentifiedBy was, const StoredItems& known = {});

/// Whether a field of Entry:<n> is the store's own: no document decides it.
bool is_own_field(std::string_view name);

/// Digest of a version of a post: 12 characters, over every field that a document decides but for what lasts longer
/// than it is true (counters, tracking, random numbers in addresses) and for fields that follow from others. Equal
/// digests: nothing worth writing differs (DESIGN §5).
/// `has_idle`: set where there is any of the former.
std::string entry_digest(const Fields& fields, bool* has_idle = nullptr);

/// The digest that builds before entry_digest() stored, 16 hex digits: of the texts that a reader would notice, white
/// space folded, without tracking pixels and what is volatile in addresses. Posts stored by these builds have it until
/// they are compared, and posts that an operator saved as `saved_over`.
std::string reader_digest(const Fields& fields);

/// Whether a stored digest is such a one, `cut_mark` apart.
bool is_reader_digest(std::string_view digest);

/// The whole text of a stored post without markup: of its content, else of its summary.
std::string content_text(const Fields& fields);

}  // namespace feedmill
