// The HTTP Link header (RFC 8288): a page's feeds, hub and self of WebSub.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

/// One link of a Link header.
struct HeaderLink {
  std::string target;             ///< the reference as written between < and >, trimmed
  std::vector<std::string> rels;  ///< relation types in lower case
  std::string type, title;
  std::string anchor;  ///< the link's subject if it is not the page itself, else ""

  bool has_rel(std::string_view rel) const;
};

/// The links in a header value; join several header lines with ", " first. Follows RFC 8288 appendix B: the first of
/// repeated parameters counts, unreadable parts are skipped. At most 256 links. Linear, pure.
std::vector<HeaderLink> read_link_header(std::string_view value);

}  // namespace feedmill
