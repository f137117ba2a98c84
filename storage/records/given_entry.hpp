// Converts a post given by an operator or a program into its stored form.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>
#include <boost/system/result.hpp>

#include "parsers/feed/read_feed.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// A post given by an operator or a program: Entries::save, Entries::update_or_create.
struct GivenEntry {
  std::string feed_url, guid;
  Fields fields;  ///< of given_fields(); an empty value removes the field
};

/// How the markup of a given post is treated; by default like that of documents (SECURITY S14).
struct GivenMarkup {
  HtmlPolicy policy = HtmlPolicy::strict;
  bool keep_class = false;
};

/// The fields that may be given, sorted: text (title, link, author, summary, content, language, comments), types
/// (title_type, summary_type, content_type: text/plain, text/html, application/xhtml+xml; default: plain for a title,
/// else HTML), dates (date_published, date_updated: RFC 3339 or as feeds write them), and JSON as stored (authors,
/// categories, enclosures). All other fields are derived from these (such as `timestamp` from the dates), counted by
/// the store, or come only from documents.
std::span<const std::string_view> given_fields();

/// The stored form of a given post, with the caps and cleaning of documents (SECURITY §3, §4, X3): guid, all fields
/// and digest. `stored`: the stored post, empty if new; with `replace`, fields that are not given are removed, else
/// they stay. An error names the field and the expected form. Pure; linear in the size of the fields.
boost::system::result<EntryRecord, std::string> given_record(const GivenEntry& entry, const Fields& stored,
                                                             bool replace, const GivenMarkup& markup);

// Reads a post from JSON that an operator or a program gives.

/// Reads a post from an object as printed by `entry --json`, or a part of one. `feed_url` and `guid`, unless "",
/// override its members. Derived members and those that the store counts are ignored. An error explains the problem and
/// may contain a name as given. Pure; linear.
boost::system::result<GivenEntry, std::string> read_given_entry(const boost::json::value& value,
                                                                const std::string& feed_url, const std::string& guid);

}  // namespace feedmill
