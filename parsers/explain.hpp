// What was repaired in a document and which rule decided, in words: for people who ask why a feed is read as it is.
#pragma once

#include <string>
#include <vector>

#include "parsers/feed.hpp"

namespace feedmill {

/// One sentence a line: format and encoding, what was wrong (with the contract's token), each kind of flaw with its
/// count, and what identifies the entries. Plain text; never empty.
std::vector<std::string> explain(const Feed& feed);

/// The word for a flaw, as metrics and logs have it: "encoding", "date" …
std::string_view flaw_name(Flaw flaw);

}  // namespace feedmill
