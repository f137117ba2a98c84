// The XML namespaces used in feeds. They are identified by URI, whatever the prefix (DESIGN §3.3).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace feedmill {

/// `core`: the vocabulary of the document's own format. Its elements have no namespace, the root element's namespace,
/// or a namespace of RSS or Atom if the document has that format.
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

/// Namespace of the elements that feedmill adds to re-published feeds.
inline constexpr std::string_view feedmill_namespace = "urn:feedmill:feed:1";

/// One known namespace URI.
struct NamespaceRow {
  std::string_view uri;  ///< the URI in the form of namespace_name(), in lower case
  Ns ns;
  std::string_view prefix;  ///< the usual prefix, also the key in `extensions`
};

/// The identifying part of a namespace URI: without "http://" or "https://", "www.", and any trailing "/", "#" or "?".
/// Ignore case when comparing results.
std::string_view namespace_name(std::string_view uri);

/// The row of a namespace URI; nullptr if unknown. An unknown URI with a usual `prefix` still matches a row with that
/// prefix if both URIs end in the same path.
const NamespaceRow* find_namespace(std::string_view uri, std::string_view prefix);

/// The row with this usual prefix, for documents that use a well-known prefix without declaring it; nullptr if none.
const NamespaceRow* find_usual_prefix(std::string_view prefix);

}  // namespace feedmill
