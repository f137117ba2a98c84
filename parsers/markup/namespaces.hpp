// The namespaces that feeds use, known by URI, whatever their prefix (DESIGN §3.3).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace feedmill {

/// `core` is the vocabulary of the document's own format: elements without namespace, in one of RSS's or Atom's own
/// namespaces when the document is of that format, and in the namespace of the root element.
enum class Ns : std::uint8_t {
  core,
  unknown,
  rss,
  atom,
  rdf,
  xml,
  xhtml,
  svg,
  mathml,
  dc,
  dcterms,
  content,
  itunes,
  media,
  podcast,
  googleplay,
  georss,
  geo,
  gml,
  slash,
  thr,
  wfw,
  sy,
  creative_commons,
  cc,
  feedburner,
  psc,
  prism,
  yt,
  admin,
  spotify,
  acast,
  rawvoice,
  xlink,
  tombstones,
  feedmill,
  other
};

/// Of the elements that feedmill itself adds to what it re-publishes.
inline constexpr std::string_view feedmill_namespace = "urn:feedmill:feed:1";

struct NamespaceRow {
  std::string_view uri;  ///< its namespace_name(), in lower case
  Ns ns;
  std::string_view prefix;  ///< the usual one: what `extensions` uses
};

/// A namespace URI without the parts that do not identify it: "http://" or "https://", "www.", and "/", "#" or "?" at
/// its end. Names are compared without case.
std::string_view namespace_name(std::string_view uri);

/// The row of a namespace URI; nullptr if unknown. An unknown URI bound to a usual `prefix` is that prefix's namespace
/// if it ends in the same path.
const NamespaceRow* find_namespace(std::string_view uri, std::string_view prefix);

/// The row whose usual prefix this is, for documents that use a well-known prefix without declaring it.
const NamespaceRow* find_usual_prefix(std::string_view prefix);

}  // namespace feedmill
