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

/// Digest of what a reader would notice: XXH3-64 in hex over the text fields, white space folded, without tracking
/// pixels and what is volatile in addresses. Dates are left out: many publishers write the time of the build (DESIGN
/// §5).
std::string reader_digest(const Fields& fields);

/// The whole text of a stored post without markup: of its content, else of its summary.
std::string content_text(const Fields& fields);

}  // namespace feedmill
