#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "parsers/feed/links.hpp"

namespace feedmill::link_header_test {
namespace {

/// Each link as a line "target rel,rel type|title|anchor", for comparison with a table.
std::string shown(std::string_view value) {
  std::string text;
  for (const HeaderLink& link : read_link_header(value)) {
    text += text.empty() ? "" : "\n";
    text += link.target + " ";
    for (std::size_t i = 0; i < link.rels.size(); ++i) text += (i > 0 ? "," : "") + link.rels[i];
    text += " " + link.type + "|" + link.title + "|" + link.anchor;
  }
  return text;
}

struct Case {
  const char* name;
  const char* value;
  const char* links;
};
class LinkHeader : public testing::TestWithParam<Case> {};
TEST_P(LinkHeader, IsReadByRfc8288) {
  EXPECT_EQ(shown(GetParam().value), GetParam().links);
}
INSTANTIATE_TEST_SUITE_P(
    All, LinkHeader,
    testing::Values(Case{"One", R"(<http://a.example/f>; rel="alternate"; type="application/rss+xml"; title="A, B; C")",
                         "http://a.example/f alternate application/rss+xml|A, B; C|"},
                    Case{"SeveralInOneLine", R"(</hub>; rel=hub, </self>;rel="self")", "/hub hub ||\n/self self ||"},
                    Case{"SeveralRelations", R"(</f>; rel="Alternate  HUB")", "/f alternate,hub ||"},
                    Case{"TokenValue", R"(</f>; rel = alternate ; type= text/xml)", "/f alternate text/xml||"},
                    Case{"FirstParameterCounts", R"(</f>; rel=hub; rel=self; type=a/b; type=c/d)", "/f hub a/b||"},
                    Case{"Anchor", R"(</f>; rel=hub; anchor="#part")", "/f hub ||#part"},
                    Case{"EscapedQuote", R"(</f>; title="say \"hi\" \\"; rel=hub)", "/f hub |say \"hi\" \\|"},
                    Case{"CommaInTarget", R"(</a,b;c>; rel=hub)", "/a,b;c hub ||"},
                    Case{"ParameterWithoutValue", R"(</f>; crossorigin; rel=preload)", "/f preload ||"},
                    Case{"EmptyTarget", R"(<>; rel=self)", " self ||"}, Case{"NoRelation", "</f>", "/f  ||"},
                    Case{"UnclosedQuote", R"(</f>; rel="hub, </g>; rel=self)", "/f hub,,</g>;,rel=self ||"},
                    Case{"UnclosedTarget", R"(</f; rel=hub)", ""},
                    Case{"RubbishBefore", R"(what, </f>; rel=hub)", "/f hub ||"},
                    Case{"RubbishBehindTheTarget", R"(</f> rubbish; rel=self, </g>; rel=hub)", "/f  ||\n/g hub ||"},
                    Case{"EmptyElements", R"(, ,</f>;;rel=hub,,)", "/f hub ||"}, Case{"Nothing", "", ""}),
    [](const auto& test) { return test.param.name; });

TEST(LinkHeaders, AreBoundedAndLinear) {
  std::string many, open, quotes;
  for (int i = 0; i < 5000; ++i) many += "</f>; rel=hub, ";
  EXPECT_EQ(read_link_header(many).size(), 256U);
  for (int i = 0; i < 200'000; ++i) open += "<", quotes += "</f>;a=\"";
  EXPECT_TRUE(read_link_header(open).empty());
  EXPECT_LE(read_link_header(quotes).size(), 256U);
}

}  // namespace
}  // namespace feedmill::link_header_test
