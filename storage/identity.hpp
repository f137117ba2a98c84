// What tells the posts of a feed apart: guid → link → digest (DESIGN §5, SECURITY T19). Pure; linear.
#pragma once

#include <string>
#include <vector>

#include "parsers/feed.hpp"
#include "storage/records.hpp"

namespace feedmill {

/// What stands for a post's text, in hex: title, date_published and the start of its text together. "" when it says too
/// little to be told from another: no date, and hardly any text.
std::string text_key(const Fields& fields);

/// The guid of a post in a feed that is identified `by`: the next of the chain that it has, in the end `guid`, which
/// its document gave.
std::string guid_by(IdentifiedBy by, const Fields& fields, const std::string& guid);

/// Gives the posts of a document the guids that they have when the feed is identified `by`; `former_guid` becomes what
/// they had. Of equal links they are told apart by their texts; what cannot be told apart gets no guid, all but the
/// first.
void identify(std::vector<EntryRecord>& records, IdentifiedBy by);

/// Whether more than 5 % of so many are.
constexpr bool are_many(std::size_t some, std::size_t of) {
  return some * 20 > of;
}

/// Whether the guids of a document name places in it and not posts: most of it stands under guids under which quite
/// other posts are stored (another link, title and date), and most of these either are stored as well, under other
/// guids of the document, or have guids that count its places. `known`: one for each record.
bool names_places(const std::vector<EntryRecord>& records, const std::vector<Known::Guid>& known);

/// The identity that fits a document, `by` or one after it in the chain: the next when more than 5 % of the guids are
/// missing while others are given, or are given twice to different posts; never one that tells less apart. A feed does
/// not go back.
IdentifiedBy fitting_identity(const Feed& feed, IdentifiedBy by);

}  // namespace feedmill
