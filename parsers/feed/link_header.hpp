// The Link header of HTTP (RFC 8288): feeds of a page, hub and self of WebSub.
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
  std::string anchor;  ///< what the link is about when that is not the page itself, else ""

  bool has_rel(std::string_view rel) const;
};

/// The links of a header's value; several lines are joined by ", " first. Read by RFC 8288 appendix B: of a parameter
/// that stands twice the first counts, what cannot be read is passed over. At most 256 links. Linear, pure.
std::vector<HeaderLink> read_link_header(std::string_view value);

}  // namespace feedmill
