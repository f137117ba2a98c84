// What is stored, under today's rules for markup, types and addresses (SECURITY S13).
#pragma once

#include "storage/records/given_entry.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// What of a stored post would be stored otherwise today: fields with their new values, "" for one that goes; empty
/// when nothing would. `stored`: all its fields. Looked at are title, summary and content with their types, the
/// addresses of link, comments, enclosures, authors, media and extensions, and what follows from them: summary_text,
/// truncated, bytes, digest and san_ver. The digest follows when it was that of the fields: so the next fetch of the
/// same document finds no change. With policy raw nothing would change. Pure; linear in the fields.
Fields resanitised(const Fields& stored, const GivenMarkup& markup);

/// The same of a feed's record: title and description with their types, link and image. Releases before `san_ver` 2
/// stored no types, and cut markup anywhere: what comes out of the sanitiser as it went in was markup, and stays so.
Fields resanitised_feed(const Fields& stored, const GivenMarkup& markup);

/// `fields` with the values of `changes`, "" for those that go; sorted by name.
Fields with_changes(Fields fields, const Fields& changes);

}  // namespace feedmill
