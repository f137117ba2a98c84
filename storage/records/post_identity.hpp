// Identity of a feed's posts: guid → link → digest (DESIGN §5). Pure; linear.
//
// A post is named by the guid in its document. A post without a guid, or with the guid of another post in the document,
// is identified by its link, or else by its text. It gets a substitute for its guid: its link; "<guid> <link>"; "<link>
// <text key>"; "digest:…". The other posts keep their guids. The whole feed moves to the next identity of the chain
// when, in three consecutive documents, most posts have no guid although some do, or share one, or more than 5 % of the
// stored posts have new guids, or when guids name positions; the feed's first document decides alone. It returns to
// guids when three consecutive documents (twice as many after each return) have guids that exist, differ and stay with
// their posts (worker/policy/feed_identity.hpp).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/feed/feed.hpp"
#include "storage/records/feed_state.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// The page that a post links to; "" for a home page, which does not identify a post.
std::string page_key(const Fields& fields);

/// Key of a post's text, in hex, from title, date_published and the start of its text. "" if that cannot identify a
/// post: no date, and hardly any text. `is_telling`: accepts such a post, because its title differs from that of
/// another post in the document.
std::string text_key(const Fields& fields, bool is_telling = false);

/// The guid of a post when the feed is identified `by`: the first value it has from there on in the chain, or else
/// `guid`, as the document gives it.
std::string guid_by(IdentifiedBy by, const Fields& fields, const std::string& guid);

/// Whether the guid is the document's own, not a substitute.
bool is_named(const EntryRecord& record);

/// Whether a stored post's guid looks like a substitute. `permalinks`: the feed's guids are its links.
bool is_substitute(std::string_view guid, std::string_view link, bool permalinks);

/// Sets the guids of a document's posts when the feed is identified `by`; `former_guid` becomes the old one. Posts with
/// equal links are distinguished by their texts, with `shared_guid` set; of posts that cannot be distinguished only the
/// first gets a guid. Different posts with one guid and one link all keep it: the stored posts decide which of them has
/// it (settle_repeated() in worker/policy/feed_identity.hpp).
void identify(std::vector<EntryRecord>& records, IdentifiedBy by);

/// Whether `some` is more than 5 % of `of`.
constexpr bool are_many(std::size_t some, std::size_t of) {
  return some * 20 > of;
}

/// Whether a document's guids name positions instead of posts: under most of its guids, entirely different posts are
/// stored (other link, title and date), and most of these posts are stored under other guids of the document, or all
/// their guids are position numbers. `known`: one for each record.
bool names_places(const std::vector<EntryRecord>& records, const std::vector<StoredSnapshot::Guid>& known);

/// Whether the guid is the index of the position, from 0 or 1 and from either end.
bool counts_places(const std::string& guid, std::size_t place, std::size_t places);

/// The identity that fits a document, `by` or a later one in the chain: the next if most of its posts have no guid
/// although others do, or share one; never one that distinguishes fewer posts.
IdentifiedBy fitting_identity(const Feed& feed, IdentifiedBy by);

// Finds the posts of a document that are stored under other guids (DESIGN §5, "Re-keying, not flooding"). Pure; linear.

/// Indices of a document's post and of the stored post that it is.
struct Match {
  enum class By { guid, link, text };
  std::size_t read = 0, stored = 0;
  By by{};
  bool sure = false;  ///< unambiguous: the other evidence (date, or else title) agrees too
};

/// Finds the stored post for each selected post of the document: by its former guid unless the links contradict, else
/// by link, else by text, unless several different posts in the document or the store share that key, or the document
/// lists the stored post itself. A link to a home page does not identify a post. In the document's order.
std::vector<Match> match_posts(const std::vector<EntryRecord>& read, const std::vector<bool>& wanted,
                               const std::vector<StoredPost>& stored);

}  // namespace feedmill
