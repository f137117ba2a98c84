// How a document was read and which rule decided, in words: for the publisher who asks why a reader shows it so, and
// for the operator who asks what was lost.
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

/// What can be said of a feed that read_feed() gave back, in the order above; a topic may come several times, or not at
/// all when there is nothing to say. At most three entries are named as examples of each fault. Linear.
std::vector<Statement> explain(const Feed& feed);

/// The word for a flaw, as metrics and logs have it: "encoding", "date" …
std::string_view flaw_name(Flaw flaw);

}  // namespace feedmill
