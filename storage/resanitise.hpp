// A stored post under today's sanitiser (SECURITY S13).
#pragma once

#include "storage/given_entry.hpp"
#include "storage/records.hpp"

namespace feedmill {

/// What of a stored post would be stored otherwise today: fields with their new values, "" for one that goes; empty
/// when nothing would. `stored`: all its fields. Markup alone is looked at (title, summary, content, as their types
/// say), and what follows from it: summary_text, truncated, bytes, digest, and the mark that nobody had sanitised it.
/// The digest follows when it was that of the fields: so the next fetch of the same document finds no change. With
/// policy raw nothing would change. Pure; linear in the fields.
Fields resanitised(const Fields& stored, const GivenMarkup& markup);

}  // namespace feedmill
