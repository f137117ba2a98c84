// Explains how a document was read and by which rules: shows publishers why readers see a feed as they do, and
// operators the losses.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "parsers/feed/feed.hpp"

namespace feedmill {

/// One statement; `text` may quote the document.
struct Statement {
  std::string_view topic;  ///< format, encoding, document, base, feed, entries, guid, link, date, text, enclosures,
                           ///< truncated, extensions, flaws
  std::string text;        ///< plain text, one line
};

/// Statements about a feed that read_feed() returned, in the order of Statement::topic; a topic may occur several times
/// or not at all. Names at most three entries as examples of each fault. Linear.
std::vector<Statement> explain(const Feed& feed);

/// The flaw's name in metrics and logs: "encoding", "date" …
std::string_view flaw_name(Flaw flaw);

}  // namespace feedmill
