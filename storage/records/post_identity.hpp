// What tells the posts of a feed apart: guid → link → digest (DESIGN §5, SECURITY T19). Pure; linear.
//
// Each post is named by the guid that its document gives it. A post without one, or whose guid another post of the
// document has, is told apart by its link, else by its text, and gets a substitute: its link; "<guid> <link>";
// "<link> <text key>"; "digest:…". The others keep theirs. The feed as a whole goes to the next of the chain when most
// posts of three documents in a row have no guid of their own while some have, or have that of another, or when more
// than 5 % of the stored posts of three in a row came under new guids, or when guids name places; its first document
// decides alone. It goes back when the guids of three documents in a row, and of twice as many after each return, are
// there, differ and stay with their posts (worker/policy/feed_identity.hpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "parsers/feed/feed.hpp"
#include "storage/records/feed_state.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// What stands for a post's text, in hex: title, date_published and the start of its text together. "" when it says too
/// little to be told from another: no date, and hardly any text. `is_telling`: accepts a post that
/// says little, because its title differs from that of another post in the document.
std::string text_key(const Fields& fields, bool is_telling = false);

/// The guid of a post in a feed that is identified `by`: the next of the chain that it has, in the end `guid`, which
/// its document gave.
std::string guid_by(IdentifiedBy by, const Fields& fields, const std::string& guid);

/// Whether its guid is the one that its document gives it, no substitute.
bool is_named(const EntryRecord& record);

/// Whether the guid of a stored post looks like a substitute. `permalinks`: the feed's guids are its links.
bool is_substitute(std::string_view guid, std::string_view link, bool permalinks);

/// Gives the posts of a document the guids that they have when the feed is identified `by`; `former_guid` becomes what
/// they had. Of equal links they are told apart by their texts, and `shared_guid` says so; what cannot be told apart
/// gets no guid, all but the first. Different posts that are given one guid and one link keep it, all of them: what is
/// stored says which has it (settle_repeated() in worker/policy/feed_identity.hpp).
void identify(std::vector<EntryRecord>& records, IdentifiedBy by);

/// Whether more than 5 % of so many are.
constexpr bool are_many(std::size_t some, std::size_t of) {
  return some * 20 > of;
}

/// Whether the guids of a document name places in it and not posts: most of it stands under guids under which quite
/// other posts are stored (another link, title and date), and most of these either are stored as well, under other
/// guids of the document, or have guids that count its places. `known`: one for each record.
bool names_places(const std::vector<EntryRecord>& records, const std::vector<StoredSnapshot::Guid>& known);

/// Whether the guid is the number of the place or of the one before it, from either end.
bool counts_places(const std::string& guid, std::size_t place, std::size_t places);

/// The identity that fits a document, `by` or one after it in the chain: the next when most of its posts have no guid
/// while others have, or that of another; never one that tells less apart.
IdentifiedBy fitting_identity(const Feed& feed, IdentifiedBy by);

}  // namespace feedmill
