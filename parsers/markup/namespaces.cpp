#include "parsers/markup/namespaces.hpp"

#include <algorithm>
#include <iterator>

#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

// Sorted by name. A vocabulary has several names: one per version, and those that publishers write by mistake.
constexpr NamespaceRow rows[] = {
    {"a9.com/-/spec/opensearch/1.1", Ns::other, "opensearch"},
    {"a9.com/-/spec/opensearchrss/1.0", Ns::other, "opensearch"},
    {"a9.com/-/spec/opensearchrss/1.1", Ns::other, "opensearch"},
    {"api.npr.org/nprml", Ns::other, "nprml"},
    {"arxiv.org/schemas/atom", Ns::other, "arxiv"},
    {"backend.userland.com/blogchannelmodule", Ns::other, "blogchannel"},
    {"backend.userland.com/creativecommonsrssmodule", Ns::creative_commons, "creativecommons"},
    {"backend.userland.com/rss", Ns::rss, ""},
    {"backend.userland.com/rss091", Ns::rss, ""},
    {"backend.userland.com/rss092", Ns::rss, ""},
    {"backend.userland.com/rss2", Ns::rss, ""},
    {"base.google.com/cns/1.0", Ns::other, "c"},
    {"base.google.com/ns/1.0", Ns::other, "g"},
    {"blogs.law.harvard.edu/tech/rss", Ns::rss, ""},
    {"blubrry.com/developer/rawvoice-rss", Ns::rawvoice, "rawvoice"},
    {"channel.netscape.com/rdf/simple/0.9", Ns::rss, ""},
    {"creativecommons.org/ns", Ns::cc, "cc"},
    {"creativecommons.org/ns#license", Ns::cc, "cc"},
    {"cyber.harvard.edu/rss", Ns::rss, ""},
    {"cyber.harvard.edu/rss/creativecommonsrssmodule.html", Ns::creative_commons, "creativecommons"},
    {"cyber.law.harvard.edu/rss", Ns::rss, ""},
    {"cyber.law.harvard.edu/rss/creativecommonsrssmodule", Ns::creative_commons, "creativecommons"},
    {"cyber.law.harvard.edu/rss/creativecommonsrssmodule.html", Ns::creative_commons, "creativecommons"},
    {"developers.pinterest.com/rss", Ns::other, "pinterest"},
    {"dublincore.org/documents/dcmi-namespace", Ns::dc, "dc"},
    {"dublincore.org/documents/dcmi-terms", Ns::dcterms, "dcterms"},
    {"dublincore.org/specifications/dublin-core/dcmi-terms", Ns::dcterms, "dcterms"},
    {"example.com/dtds/podcast-1.0.dtd", Ns::itunes, "itunes"},
    {"example.com/necho", Ns::atom, ""},
    {"example.com/newformat", Ns::atom, ""},
    {"feed.press/xmlns", Ns::other, "feedpress"},
    {"feedpress.com/xmlns", Ns::other, "feedpress"},
    {"feedpress.it/xmlns", Ns::other, "feedpress"},
    {"freshmeat.net/rss/fm", Ns::other, "fm"},
    {"gdata.youtube.com/schemas/2007", Ns::yt, "yt"},
    {"georss.org/georss", Ns::georss, "georss"},
    {"georss.org/georss/10", Ns::georss, "georss"},
    {"github.com/podcastindex-org/podcast-namespace", Ns::podcast, "podcast"},
    {"github.com/podcastindex-org/podcast-namespace/blob/main/docs/1.0.md", Ns::podcast, "podcast"},
    {"github.com/podcasting-org/podcast-namespace/blob/main/docs/1.0.md", Ns::podcast, "podcast"},
    {"google.com/schemas/play-podcasts/1.0", Ns::googleplay, "googleplay"},
    {"google.com/schemas/play-podcasts/1.0/play-podcasts.xsd", Ns::googleplay, "googleplay"},
    {"hacks.benhammersley.com/rss/streaming", Ns::other, "str"},
    {"incident.com/cap/1.0", Ns::other, "cap"},
    {"itunes.apple.com/dtds/podcast-1.0.dtd", Ns::itunes, "itunes"},
    {"itunes.com/dtds/podcast-1.0", Ns::itunes, "itunes"},
    {"itunes.com/dtds/podcast-1.0.dtd", Ns::itunes, "itunes"},
    {"madskills.com/public/xml/rss/module/pingback", Ns::other, "pingback"},
    {"madskills.com/public/xml/rss/module/trackback", Ns::other, "trackback"},
    {"media.tangent.org/rss/1.0", Ns::other, "audio"},
    {"my.netscape.com/publish/formats/rss-0.91.dtd", Ns::rss, ""},
    {"my.netscape.com/rdf/simple/0.9", Ns::rss, ""},
    {"my.theinfo.org/changed/1.0/rss", Ns::other, "cp"},
    {"opengis.net/gml", Ns::gml, "gml"},
    {"opengis.net/gml/3.1", Ns::gml, "gml"},
    {"opengis.net/gml/3.1.1", Ns::gml, "gml"},
    {"opengis.net/gml/3.2", Ns::gml, "gml"},
    {"podcastindex.org/namespace", Ns::podcast, "podcast"},
    {"podcastindex.org/namespace/1.0", Ns::podcast, "podcast"},
    {"podlove.org/simple-chapters", Ns::psc, "psc"},
    {"podlove.org/simple-chapters/1.0", Ns::psc, "psc"},
    {"postneo.com/icbm", Ns::geo, "icbm"},
    {"prismstandard.org/namespaces/1.0/basic", Ns::prism, "prism"},
    {"prismstandard.org/namespaces/1.2/basic", Ns::prism, "prism"},
    {"prismstandard.org/namespaces/basic/1.0", Ns::prism, "prism"},
    {"prismstandard.org/namespaces/basic/1.2", Ns::prism, "prism"},
    {"prismstandard.org/namespaces/basic/2.0", Ns::prism, "prism"},
    {"prismstandard.org/namespaces/basic/2.1", Ns::prism, "prism"},
    {"prismstandard.org/namespaces/basic/2.2", Ns::prism, "prism"},
    {"prismstandard.org/namespaces/basic/3.0", Ns::prism, "prism"},
    {"purl.org/atom/ns", Ns::atom, ""},
    {"purl.org/atompub/tombstones/1.0", Ns::tombstones, "at"},
    {"purl.org/dc/elements/1.0", Ns::dc, "dc"},
    {"purl.org/dc/elements/1.1", Ns::dc, "dc"},
    {"purl.org/dc/terms", Ns::dcterms, "dcterms"},
    {"purl.org/echo", Ns::atom, ""},
    {"purl.org/metadata/dublin_core", Ns::dc, "dc"},
    {"purl.org/net/rss1.1", Ns::rss, ""},
    {"purl.org/pie", Ns::atom, ""},
    {"purl.org/pingback", Ns::other, "pingback"},
    {"purl.org/rss/1.0", Ns::rss, ""},
    {"purl.org/rss/1.0/modules/aggregation", Ns::other, "ag"},
    {"purl.org/rss/1.0/modules/annotate", Ns::other, "annotate"},
    {"purl.org/rss/1.0/modules/company", Ns::other, "co"},
    {"purl.org/rss/1.0/modules/content", Ns::content, "content"},
    {"purl.org/rss/1.0/modules/email", Ns::other, "email"},
    {"purl.org/rss/1.0/modules/event", Ns::other, "ev"},
    {"purl.org/rss/1.0/modules/image", Ns::other, "image"},
    {"purl.org/rss/1.0/modules/link", Ns::other, "l"},
    {"purl.org/rss/1.0/modules/prism", Ns::prism, "prism"},
    {"purl.org/rss/1.0/modules/reference", Ns::other, "ref"},
    {"purl.org/rss/1.0/modules/richequiv", Ns::other, "reqv"},
    {"purl.org/rss/1.0/modules/rss091", Ns::rss, ""},
    {"purl.org/rss/1.0/modules/search", Ns::other, "search"},
    {"purl.org/rss/1.0/modules/servicestatus", Ns::other, "ss"},
    {"purl.org/rss/1.0/modules/slash", Ns::slash, "slash"},
    {"purl.org/rss/1.0/modules/subscription", Ns::other, "sub"},
    {"purl.org/rss/1.0/modules/syndication", Ns::sy, "sy"},
    {"purl.org/rss/1.0/modules/taxonomy", Ns::other, "taxo"},
    {"purl.org/rss/1.0/modules/textinput", Ns::other, "ti"},
    {"purl.org/rss/1.0/modules/threading", Ns::thr, "thr"},
    {"purl.org/rss/1.0/modules/wiki", Ns::other, "wiki"},
    {"purl.org/rss/modules/aggregation", Ns::other, "ag"},
    {"purl.org/syndication/thread/1.0", Ns::thr, "thr"},
    {"rawvoice.com/rawvoicerssmodule", Ns::rawvoice, "rawvoice"},
    {"rssboard.org/media-rss", Ns::media, "media"},
    {"rssboard.org/rss-specification", Ns::rss, ""},
    {"rssnamespace.org/feedburner/ext/1.0", Ns::feedburner, "feedburner"},
    {"schema.acast.com/1.0", Ns::acast, "acast"},
    {"schemas.google.com/blogger/2008", Ns::other, "blogger"},
    {"schemas.pocketsoap.com/rss/mydescmodule", Ns::other, "szf"},
    {"schemas.xmlsoap.org/soap/envelope", Ns::other, "soap"},
    {"search.yahoo.com/mrss", Ns::media, "media"},
    {"search.yahoo.com/searchmonkey/media", Ns::media, "media"},
    {"source.scripting.com", Ns::other, "source"},
    {"spotify.com/ns/rss", Ns::spotify, "spotify"},
    {"tools.search.yahoo.com/mrss", Ns::media, "media"},
    {"uri/of/echo/namespace", Ns::atom, ""},
    {feedmill_namespace, Ns::feedmill, "feedmill"},
    {"urn:oasis:names:tc:emergency:cap:1.0", Ns::other, "cap"},
    {"urn:oasis:names:tc:emergency:cap:1.1", Ns::other, "cap"},
    {"urn:oasis:names:tc:emergency:cap:1.2", Ns::other, "cap"},
    {"video.search.yahoo.com/mrss", Ns::media, "media"},
    {"w3.org/1998/math/mathml", Ns::mathml, "mathml"},
    {"w3.org/1999/02/22-rdf-syntax-ns", Ns::rdf, "rdf"},
    {"w3.org/1999/xhtml", Ns::xhtml, "xhtml"},
    {"w3.org/1999/xlink", Ns::xlink, "xlink"},
    {"w3.org/2000/01/rdf-schema", Ns::other, "rdfs"},
    {"w3.org/2000/svg", Ns::svg, "svg"},
    {"w3.org/2003/01/geo", Ns::geo, "geo"},
    {"w3.org/2003/01/geo/wgs84_pos", Ns::geo, "geo"},
    {"w3.org/2005/atom", Ns::atom, ""},
    {"w3.org/2007/app", Ns::other, "app"},
    {"w3.org/xml/1998/namespace", Ns::xml, "xml"},
    {"web.resource.org/cc", Ns::cc, "cc"},
    {"webns.net/mvcb", Ns::admin, "admin"},
    {"wellformedweb.org/commentapi", Ns::wfw, "wfw"},
    {"xmlns.com/foaf/0.1", Ns::other, "foaf"},
    {"youtube.com/xml/schemas/2015", Ns::yt, "yt"},
};

static_assert(std::is_sorted(std::begin(rows), std::end(rows),
                             [](const NamespaceRow& a, const NamespaceRow& b) { return a.uri < b.uri; }));

bool before(std::string_view a, std::string_view b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](char x, char y) { return to_lower(x) < to_lower(y); });
}

const NamespaceRow* find_row(std::string_view name) {
  const auto* row = std::lower_bound(std::begin(rows), std::end(rows), name,
                                     [](const NamespaceRow& a, std::string_view b) { return before(a.uri, b); });
  return row != std::end(rows) && iequals(row->uri, name) ? row : nullptr;
}

// The last segment of a name's path, with the one before it if the last is a version: "mrss", "elements/1.1".
std::string_view path_end(std::string_view name) {
  const std::size_t host = name.find('/');
  if (host == std::string_view::npos) return {};
  std::size_t slash = name.rfind('/');
  const bool version = name.find_first_not_of("0123456789.", slash + 1) == std::string_view::npos;
  if (version && slash > host) slash = name.rfind('/', slash - 1);
  return name.substr(slash + 1);
}

}  // namespace

std::string_view namespace_name(std::string_view uri) {
  uri = trim(uri);
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!istarts_with(uri, scheme)) continue;
    uri.remove_prefix(scheme.size());
    if (istarts_with(uri, "www.")) uri.remove_prefix(4);
    break;
  }
  while (!uri.empty() && std::string_view("/#?").find(uri.back()) != std::string_view::npos) uri.remove_suffix(1);
  return uri;
}

const NamespaceRow* find_namespace(std::string_view uri, std::string_view prefix) {
  const std::string_view name = namespace_name(uri);
  if (const NamespaceRow* row = find_row(name)) return row;
  const NamespaceRow* usual = find_usual_prefix(prefix);
  const std::string_view end = path_end(name);
  if (usual == nullptr || end.empty()) return nullptr;
  const auto* row = std::find_if(std::begin(rows), std::end(rows), [&](const NamespaceRow& candidate) {
    return candidate.ns == usual->ns && candidate.prefix == usual->prefix && iequals(path_end(candidate.uri), end);
  });
  return row != std::end(rows) ? row : nullptr;
}

const NamespaceRow* find_usual_prefix(std::string_view prefix) {
  if (prefix.empty()) return nullptr;
  if (iequals(prefix, "atom") || iequals(prefix, "atom10")) return find_row("w3.org/2005/atom");
  const auto* row = std::find_if(std::begin(rows), std::end(rows),
                                 [&](const NamespaceRow& candidate) { return iequals(candidate.prefix, prefix); });
  return row != std::end(rows) ? row : nullptr;
}

}  // namespace feedmill
