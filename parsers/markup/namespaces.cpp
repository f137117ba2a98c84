#include "parsers/markup/namespaces.hpp"

#include <algorithm>

#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

// Sorted by URI. Several URIs of one vocabulary: its versions, and what publishers write by mistake.
constexpr NamespaceRow rows[] = {
    {"http://a9.com/-/spec/opensearch/1.1", Ns::other, "opensearch"},
    {"http://a9.com/-/spec/opensearchrss/1.0", Ns::other, "opensearch"},
    {"http://api.npr.org/nprml", Ns::other, "nprml"},
    {"http://backend.userland.com/blogchannelmodule", Ns::other, "blogchannel"},
    {"http://backend.userland.com/creativecommonsrssmodule", Ns::creative_commons, "creativecommons"},
    {"http://backend.userland.com/rss", Ns::rss, ""},
    {"http://backend.userland.com/rss091", Ns::rss, ""},
    {"http://backend.userland.com/rss092", Ns::rss, ""},
    {"http://backend.userland.com/rss2", Ns::rss, ""},
    {"http://base.google.com/cns/1.0", Ns::other, "c"},
    {"http://base.google.com/ns/1.0", Ns::other, "g"},
    {"http://blogs.law.harvard.edu/tech/rss", Ns::rss, ""},
    {"http://channel.netscape.com/rdf/simple/0.9", Ns::rss, ""},
    {"http://creativecommons.org/ns", Ns::cc, "cc"},
    {"http://creativecommons.org/ns#license", Ns::cc, "cc"},
    {"http://cyber.law.harvard.edu/rss/creativecommonsrssmodule.html", Ns::creative_commons, "creativecommons"},
    {"http://example.com/dtds/podcast-1.0.dtd", Ns::itunes, "itunes"},
    {"http://example.com/necho", Ns::atom, ""},
    {"http://example.com/newformat", Ns::atom, ""},
    {"http://freshmeat.net/rss/fm", Ns::other, "fm"},
    {"http://gdata.youtube.com/schemas/2007", Ns::yt, "yt"},
    {"http://hacks.benhammersley.com/rss/streaming", Ns::other, "str"},
    {"http://madskills.com/public/xml/rss/module/pingback", Ns::other, "pingback"},
    {"http://madskills.com/public/xml/rss/module/trackback", Ns::other, "trackback"},
    {"http://media.tangent.org/rss/1.0", Ns::other, "audio"},
    {"http://my.netscape.com/publish/formats/rss-0.91.dtd", Ns::rss, ""},
    {"http://my.netscape.com/rdf/simple/0.9", Ns::rss, ""},
    {"http://my.theinfo.org/changed/1.0/rss", Ns::other, "cp"},
    {"http://podlove.org/simple-chapters", Ns::psc, "psc"},
    {"http://podlove.org/simple-chapters/1.0", Ns::psc, "psc"},
    {"http://postneo.com/icbm", Ns::geo, "icbm"},
    {"http://prismstandard.org/namespaces/1.2/basic", Ns::prism, "prism"},
    {"http://prismstandard.org/namespaces/basic/1.2", Ns::prism, "prism"},
    {"http://prismstandard.org/namespaces/basic/2.0", Ns::prism, "prism"},
    {"http://prismstandard.org/namespaces/basic/2.1", Ns::prism, "prism"},
    {"http://prismstandard.org/namespaces/basic/3.0", Ns::prism, "prism"},
    {"http://purl.org/atom/ns", Ns::atom, ""},
    {"http://purl.org/atompub/tombstones/1.0", Ns::tombstones, "at"},
    {"http://purl.org/dc/elements/1.0", Ns::dc, "dc"},
    {"http://purl.org/dc/elements/1.1", Ns::dc, "dc"},
    {"http://purl.org/dc/terms", Ns::dcterms, "dcterms"},
    {"http://purl.org/echo", Ns::atom, ""},
    {"http://purl.org/net/rss1.1", Ns::rss, ""},
    {"http://purl.org/pie", Ns::atom, ""},
    {"http://purl.org/rss/1.0", Ns::rss, ""},
    {"http://purl.org/rss/1.0/modules/aggregation", Ns::other, "ag"},
    {"http://purl.org/rss/1.0/modules/annotate", Ns::other, "annotate"},
    {"http://purl.org/rss/1.0/modules/company", Ns::other, "co"},
    {"http://purl.org/rss/1.0/modules/content", Ns::content, "content"},
    {"http://purl.org/rss/1.0/modules/email", Ns::other, "email"},
    {"http://purl.org/rss/1.0/modules/event", Ns::other, "ev"},
    {"http://purl.org/rss/1.0/modules/image", Ns::other, "image"},
    {"http://purl.org/rss/1.0/modules/link", Ns::other, "l"},
    {"http://purl.org/rss/1.0/modules/reference", Ns::other, "ref"},
    {"http://purl.org/rss/1.0/modules/richequiv", Ns::other, "reqv"},
    {"http://purl.org/rss/1.0/modules/rss091", Ns::rss, ""},
    {"http://purl.org/rss/1.0/modules/search", Ns::other, "search"},
    {"http://purl.org/rss/1.0/modules/servicestatus", Ns::other, "ss"},
    {"http://purl.org/rss/1.0/modules/slash", Ns::slash, "slash"},
    {"http://purl.org/rss/1.0/modules/subscription", Ns::other, "sub"},
    {"http://purl.org/rss/1.0/modules/syndication", Ns::sy, "sy"},
    {"http://purl.org/rss/1.0/modules/taxonomy", Ns::other, "taxo"},
    {"http://purl.org/rss/1.0/modules/textinput", Ns::other, "ti"},
    {"http://purl.org/rss/1.0/modules/threading", Ns::thr, "thr"},
    {"http://purl.org/rss/1.0/modules/wiki", Ns::other, "wiki"},
    {"http://purl.org/syndication/thread/1.0", Ns::thr, "thr"},
    {"http://rssnamespace.org/feedburner/ext/1.0", Ns::feedburner, "feedburner"},
    {"http://schemas.pocketsoap.com/rss/mydescmodule", Ns::other, "szf"},
    {"http://schemas.xmlsoap.org/soap/envelope", Ns::other, "soap"},
    {"http://search.yahoo.com/mrss", Ns::media, "media"},
    {"http://video.search.yahoo.com/mrss", Ns::media, "media"},
    {"http://web.resource.org/cc", Ns::cc, "cc"},
    {"http://webns.net/mvcb", Ns::admin, "admin"},
    {"http://wellformedweb.org/commentapi", Ns::wfw, "wfw"},
    {"http://www.georss.org/georss", Ns::georss, "georss"},
    {"http://www.georss.org/georss/10", Ns::georss, "georss"},
    {"http://www.google.com/schemas/play-podcasts/1.0", Ns::googleplay, "googleplay"},
    {"http://www.google.com/schemas/play-podcasts/1.0/play-podcasts.xsd", Ns::googleplay, "googleplay"},
    {"http://www.itunes.com/dtds/podcast-1.0.dtd", Ns::itunes, "itunes"},
    {"http://www.itunes.com/dtds/podcast-1.0.dtd?", Ns::itunes, "itunes"},
    {"http://www.opengis.net/gml", Ns::gml, "gml"},
    {"http://www.opengis.net/gml/3.2", Ns::gml, "gml"},
    {"http://www.rawvoice.com/rawvoicerssmodule", Ns::rawvoice, "rawvoice"},
    {"http://www.spotify.com/ns/rss", Ns::spotify, "spotify"},
    {"http://www.w3.org/1998/math/mathml", Ns::mathml, "mathml"},
    {"http://www.w3.org/1999/02/22-rdf-syntax-ns", Ns::rdf, "rdf"},
    {"http://www.w3.org/1999/xhtml", Ns::xhtml, "xhtml"},
    {"http://www.w3.org/1999/xlink", Ns::xlink, "xlink"},
    {"http://www.w3.org/2000/01/rdf-schema", Ns::other, "rdfs"},
    {"http://www.w3.org/2000/svg", Ns::svg, "svg"},
    {"http://www.w3.org/2003/01/geo/wgs84_pos", Ns::geo, "geo"},
    {"http://www.w3.org/2005/atom", Ns::atom, ""},
    {"http://www.w3.org/2007/app", Ns::other, "app"},
    {"http://www.w3.org/xml/1998/namespace", Ns::xml, "xml"},
    {"http://www.youtube.com/xml/schemas/2015", Ns::yt, "yt"},
    {"http://xmlns.com/foaf/0.1", Ns::other, "foaf"},
    {"https://developers.pinterest.com/rss", Ns::other, "pinterest"},
    {"https://github.com/podcastindex-org/podcast-namespace/blob/main/docs/1.0.md", Ns::podcast, "podcast"},
    {"https://podcastindex.org/namespace/1.0", Ns::podcast, "podcast"},
    {"https://purl.org/pingback", Ns::other, "pingback"},
    {"https://schema.acast.com/1.0", Ns::acast, "acast"},
    {"https://www.google.com/schemas/play-podcasts/1.0", Ns::googleplay, "googleplay"},
    {"https://www.itunes.com/dtds/podcast-1.0.dtd", Ns::itunes, "itunes"},
    {"uri/of/echo/namespace", Ns::atom, ""},
    {feedmill_namespace, Ns::feedmill, "feedmill"},
};

bool before(std::string_view a, std::string_view b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](char x, char y) { return x < to_lower(y); });
}

}  // namespace

const NamespaceRow* find_namespace(std::string_view uri) {
  uri = trim(uri);
  while (!uri.empty() && (uri.back() == '/' || uri.back() == '#')) uri.remove_suffix(1);
  const auto* row = std::lower_bound(std::begin(rows), std::end(rows), uri,
                                     [](const NamespaceRow& a, std::string_view b) { return before(a.uri, b); });
  return row != std::end(rows) && iequals(row->uri, uri) ? row : nullptr;
}

const NamespaceRow* find_usual_prefix(std::string_view prefix) {
  if (iequals(prefix, "atom") || iequals(prefix, "atom10")) return find_namespace("http://www.w3.org/2005/Atom");
  const auto* row = std::find_if(std::begin(rows), std::end(rows), [&](const NamespaceRow& candidate) {
    return !candidate.prefix.empty() && iequals(candidate.prefix, prefix);
  });
  return row != std::end(rows) ? row : nullptr;
}

}  // namespace feedmill
