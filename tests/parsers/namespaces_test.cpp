#include "parsers/markup/namespaces.hpp"

#include <string>

#include <gtest/gtest.h>

#include "parsers/feed/read_feed.hpp"

namespace feedmill::namespaces_test {
namespace {

struct UriCase {
  const char* name;
  const char* prefix;
  const char* uri;
  Ns ns;  // unknown: there is no row
};

class Vocabularies : public testing::TestWithParam<UriCase> {};

TEST_P(Vocabularies, AreKnownHoweverTheirUriIsWritten) {
  const NamespaceRow* row = find_namespace(GetParam().uri, GetParam().prefix);
  EXPECT_EQ(row != nullptr ? row->ns : Ns::unknown, GetParam().ns);
}

INSTANTIATE_TEST_SUITE_P(
    Spellings, Vocabularies,
    testing::Values(UriCase{"Https", "x", "https://purl.org/rss/1.0/modules/content/", Ns::content},
                    UriCase{"Www", "x", "http://www.purl.org/dc/elements/1.1/", Ns::dc},
                    UriCase{"NoWww", "x", "http://itunes.com/dtds/podcast-1.0.dtd", Ns::itunes},
                    UriCase{"HttpsAndWww", "x", "HTTPS://WWW.podlove.org/simple-chapters/", Ns::psc},
                    UriCase{"NoSlash", "x", "https://search.yahoo.com/mrss", Ns::media},
                    UriCase{"TwoSlashes", "x", "http://search.yahoo.com/mrss//", Ns::media},
                    UriCase{"Slash", "x", "http://www.georss.org/georss/", Ns::georss},
                    UriCase{"Case", "x", "http://WellFormedWeb.org/commentapi/", Ns::wfw},
                    UriCase{"NoFragment", "x", "https://www.w3.org/2003/01/geo/wgs84_pos", Ns::geo},
                    UriCase{"Spaces", "x", " http://purl.org/dc/terms/ ", Ns::dcterms},
                    UriCase{"Atom", "x", "https://w3.org/2005/Atom/", Ns::atom},
                    UriCase{"Podcast", "x", "http://www.podcastindex.org/namespace/1.0/", Ns::podcast},
                    UriCase{"Play", "x", "https://google.com/schemas/play-podcasts/1.0/", Ns::googleplay}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    SecondNames, Vocabularies,
    testing::Values(UriCase{"MediaRss", "x", "http://www.rssboard.org/media-rss", Ns::media},
                    UriCase{"MediaTools", "x", "http://tools.search.yahoo.com/mrss/", Ns::media},
                    UriCase{"DublinCore", "x", "http://dublincore.org/documents/dcmi-namespace/", Ns::dc},
                    UriCase{"DublinCoreTerms", "x", "http://dublincore.org/documents/dcmi-terms/", Ns::dcterms},
                    UriCase{"Apple", "x", "http://itunes.apple.com/dtds/podcast-1.0.dtd", Ns::itunes},
                    UriCase{"PodcastDocument", "x",
                            "https://github.com/Podcastindex-org/podcast-namespace/blob/main/docs/1.0.md", Ns::podcast},
                    UriCase{"Blubrry", "x", "https://blubrry.com/developer/rawvoice-rss/", Ns::rawvoice},
                    UriCase{"Licences", "x", "http://cyber.law.harvard.edu/rss/creativeCommonsRssModule",
                            Ns::creative_commons}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    UsualPrefixes, Vocabularies,
    testing::Values(UriCase{"Content", "content", "http://example.org/rss/1.0/modules/content/", Ns::content},
                    UriCase{"Itunes", "itunes", "https://podcasts.example/DTDs/Podcast-1.0.dtd", Ns::itunes},
                    UriCase{"Media", "Media", "http://media.example/mrss", Ns::media},
                    UriCase{"Version", "dc", "http://dc.example/dc/elements/1.1/", Ns::dc},
                    UriCase{"Atom", "atom", "http://www.w3c.org/2005/Atom", Ns::atom},
                    UriCase{"OtherPath", "content", "http://example.org/modules/contents/", Ns::unknown},
                    UriCase{"OtherVersionedPath", "dc", "http://example.org/metadata/1.1/", Ns::unknown},
                    UriCase{"VersionAlone", "dc", "http://example.org/1.1/", Ns::unknown},
                    UriCase{"HostAlone", "media", "http://mrss/", Ns::unknown},
                    UriCase{"OtherPrefix", "c", "http://example.org/rss/1.0/modules/content/", Ns::unknown},
                    UriCase{"PrefixOfAnother", "dc", "http://example.org/mrss/", Ns::unknown},
                    UriCase{"KnownUri", "dc", "http://search.yahoo.com/mrss/", Ns::media},
                    UriCase{"NoPrefix", "", "http://example.org/2005/Atom", Ns::unknown},
                    UriCase{"Empty", "dc", "", Ns::unknown}, UriCase{"Scheme", "dc", "https://", Ns::unknown}),
    [](const auto& test) { return test.param.name; });

struct RootCase {
  const char* name;
  const char* root;
  Format format;
};

class RootElements : public testing::TestWithParam<RootCase> {};

TEST_P(RootElements, AreKnownHoweverTheirUriIsWritten) {
  const auto feed = read_feed(GetParam().root, {});
  ASSERT_TRUE(feed.has_value());
  EXPECT_EQ(feed->format, GetParam().format);
}

INSTANTIATE_TEST_SUITE_P(
    Spellings, RootElements,
    testing::Values(
        RootCase{"Atom10", "<feed xmlns='https://w3.org/2005/Atom/'><title>t</title></feed>", Format::atom10},
        RootCase{"Atom03", "<feed xmlns='https://purl.org/atom/ns#'><title>t</title></feed>", Format::atom03},
        RootCase{"Rss10",
                 "<r:RDF xmlns:r='https://www.w3.org/1999/02/22-rdf-syntax-ns' xmlns='https://purl.org/rss/1.0'>"
                 "<channel><title>t</title></channel></r:RDF>",
                 Format::rss10},
        RootCase{"Rss090",
                 "<r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#' "
                 "xmlns='https://my.netscape.com/rdf/simple/0.9/'><channel><title>t</title></channel></r:RDF>",
                 Format::rss090}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace feedmill::namespaces_test
