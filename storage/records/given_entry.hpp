// A post as an operator or a program gives it → as the store keeps it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include "parsers/feed/read_feed.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// A post as an operator, or a program, gives it: Entries::save, Entries::update_or_create.
struct GivenEntry {
  std::string feed_url, guid;
  Fields fields;  ///< given_entry.hpp says which; an empty value takes the field away
};

/// How the markup of a given post is treated; as that of documents by default (SECURITY S14).
struct GivenMarkup {
  HtmlPolicy policy = HtmlPolicy::strict;
  bool keep_class = false;
};

/// The fields that may be given: text (title, link, author, summary, content, language, comments), the types of three
/// of them (title_type, summary_type, content_type: text/plain, text/html, application/xhtml+xml; when nothing is said
/// a title is plain, the others are HTML), dates
/// (date_published, date_updated: RFC 3339 or as feeds write them), and JSON as the store holds it (authors,
/// categories, enclosures). Sorted. `timestamp` follows from the dates; what else an entry holds follows from these, or
/// is counted by the store, or comes from documents alone.
std::span<const std::string_view> given_fields();

/// The stored form of a given post, through the caps and the hygiene that documents pass (SECURITY §3–§5): its guid,
/// all fields it is to have, their digest. `stored` is what the store holds of it, empty for a new one; with `replace`
/// fields that are not given go, else they stay as stored. An error names the field and says what to write instead.
/// Pure; linear in the size of the fields.
boost::system::result<EntryRecord, std::string> given_record(const GivenEntry& entry, const Fields& stored,
                                                             bool replace, const GivenMarkup& markup);

}  // namespace feedmill
