#include <gtest/gtest.h>

#include "parsers/feed/links.hpp"
#include "parsers/feed/read_feed.hpp"

namespace feedmill::hub_links_test {
namespace {

using Hubs = std::vector<std::string>;

struct Case {
  const char* name;
  const char* header;
  Hubs body_hubs;
  const char* body_self;
  Hubs hubs;
  const char* topic;
};

class HubLinksOf : public testing::TestWithParam<Case> {};

TEST_P(HubLinksOf, AreThose) {
  const Case& is = GetParam();
  const HubLinks links = hub_links(is.header, "https://example.org/blog/feed", is.body_hubs, is.body_self);
  EXPECT_EQ(links.hubs, is.hubs);
  EXPECT_EQ(links.topic, is.topic);
}

const std::string long_hub = "https://hub.example/" + std::string(2100, 'x');

INSTANTIATE_TEST_SUITE_P(
    All, HubLinksOf,
    testing::Values(Case{"Nothing", "", {}, "", {}, ""},
                    Case{"SelfAlone", "<https://a.example/>; rel=self", {}, "", {}, ""},
                    Case{"Header",
                         "<https://hub.example/>; rel=\"hub\", <https://example.org/f>; rel=\"self\"",
                         {},
                         "",
                         {"https://hub.example/"},
                         "https://example.org/f"},
                    Case{"HeaderWinsAsAWhole",
                         "<https://hub.example/>; rel=hub, <https://example.org/f>; rel=self",
                         {"https://other.example/"},
                         "https://example.org/other",
                         {"https://hub.example/"},
                         "https://example.org/f"},
                    Case{"HeaderHubWithTheBodysSelf",
                         "<https://hub.example/>; rel=hub",
                         {"https://other.example/"},
                         "https://example.org/f",
                         {"https://hub.example/"},
                         "https://example.org/f"},
                    Case{"HeaderHubAndNoSelfAtAll",
                         "<https://hub.example/>; rel=hub",
                         {},
                         "",
                         {"https://hub.example/"},
                         "https://example.org/blog/feed"},
                    Case{"Body",
                         "",
                         {"https://hub.example/"},
                         "https://example.org/f",
                         {"https://hub.example/"},
                         "https://example.org/f"},
                    Case{"BodyHubWithTheHeadersSelf",
                         "<https://example.org/h>; rel=self",
                         {"https://hub.example/"},
                         "",
                         {"https://hub.example/"},
                         "https://example.org/h"},
                    Case{"BodyHubAndNoSelfAtAll",
                         "",
                         {"https://hub.example/"},
                         "",
                         {"https://hub.example/"},
                         "https://example.org/blog/feed"},
                    Case{"SeveralRelsInOneValue",
                         "<https://example.org/x>; rel=\"self hub\"",
                         {},
                         "",
                         {"https://example.org/x"},
                         "https://example.org/x"},
                    Case{"RelsInAnyCase",
                         "<https://hub.example/>; rel=HUB",
                         {},
                         "",
                         {"https://hub.example/"},
                         "https://example.org/blog/feed"},
                    Case{"Relative",
                         "</hub>; rel=hub, <f>; rel=self",
                         {},
                         "",
                         {"https://example.org/hub"},
                         "https://example.org/blog/f"},
                    Case{"TopicsKeepTheirSpelling",
                         "<https://hub.example/>; rel=hub, <HTTP://Example.ORG:80/%7Ea/../b>; rel=self",
                         {},
                         "",
                         {"https://hub.example/"},
                         "HTTP://Example.ORG:80/%7Ea/../b"},
                    Case{"OfSomethingElse",
                         "<https://hub.example/>; rel=hub; anchor=\"https://else.example/\"",
                         {"https://own.example/"},
                         "",
                         {"https://own.example/"},
                         "https://example.org/blog/feed"},
                    Case{"OfItselfSaidAloud",
                         "<https://hub.example/>; rel=hub; anchor=\"\"",
                         {},
                         "",
                         {"https://hub.example/"},
                         "https://example.org/blog/feed"},
                    Case{"HttpsFirstElseInOrder",
                         "",
                         {"http://a.example/", "https://b.example/", "http://c.example/", "https://d.example/"},
                         "",
                         {"https://b.example/", "https://d.example/", "http://a.example/", "http://c.example/"},
                         "https://example.org/blog/feed"},
                    Case{"AtMostFour",
                         "",
                         {"https://a.example/", "https://b.example/", "https://c.example/", "https://d.example/",
                          "https://e.example/"},
                         "",
                         {"https://a.example/", "https://b.example/", "https://c.example/", "https://d.example/"},
                         "https://example.org/blog/feed"},
                    Case{"EachOnce",
                         "",
                         {"https://a.example/", "https://a.example/"},
                         "",
                         {"https://a.example/"},
                         "https://example.org/blog/feed"},
                    Case{"OtherSchemes",
                         "<javascript:alert(1)>; rel=hub, <ftp://hub.example/>; rel=hub, <file:///etc/passwd>; rel=hub",
                         {},
                         "",
                         {},
                         ""},
                    Case{"HostileHeaderHubsAreNone",
                         "<gopher://hub.example/>; rel=hub",
                         {"https://own.example/"},
                         "",
                         {"https://own.example/"},
                         "https://example.org/blog/feed"},
                    Case{"Credentials", "<https://user:secret@hub.example/>; rel=hub", {}, "", {}, ""},
                    Case{"TooLong", "", {long_hub}, "", {}, ""},
                    Case{"WithoutFragment",
                         "",
                         {"https://hub.example/#x"},
                         "",
                         {"https://hub.example/"},
                         "https://example.org/blog/feed"},
                    Case{"BytesOfNoKnownMeaning", "<https://hub.example/\xE9>; rel=hub", {}, "", {}, ""},
                    Case{"UnclosedHeader", "<https://hub.example/; rel=hub", {}, "", {}, ""}),
    [](const auto& test) { return test.param.name; });

Feed feed_of(std::string_view document, const char* type) {
  DocumentHints hints;
  hints.url = "https://example.org/feed";
  hints.content_type = type;
  auto feed = read_feed(document, hints);
  EXPECT_TRUE(feed);
  return feed ? std::move(*feed) : Feed();
}

TEST(HubsOfDocuments, AtomNamesThemInLinks) {
  const Feed feed = feed_of(R"(<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title>
    <link rel="hub" href="https://hub.example/"/><link rel="self" href="https://example.org/self"/>
    <entry><id>1</id><title>t</title><link rel="hub" href="https://entry.example/"/></entry></feed>)",
                            "application/atom+xml");
  EXPECT_EQ(feed.hubs, Hubs{"https://hub.example/"});
  EXPECT_EQ(feed.self, "https://example.org/self");
}

TEST(HubsOfDocuments, RssBorrowsAtomsLinksWhateverTheirPrefix) {
  for (const std::string prefix : {"atom", "a10"}) {
    const Feed feed = feed_of(
        "<rss version=\"2.0\" xmlns:" + prefix + "=\"http://www.w3.org/2005/Atom\"><channel><title>t</title><" +
            prefix + ":link rel=\"hub\" href=\"https://hub.example/\"/><" + prefix +
            ":link rel=\"self\" href=\"https://example.org/self\"/><item><title>x</title></item></channel></rss>",
        "application/rss+xml");
    EXPECT_EQ(feed.hubs, Hubs{"https://hub.example/"}) << prefix;
    EXPECT_EQ(feed.self, "https://example.org/self") << prefix;
  }
}

/// RFC 3986 §5.1: the base is the URL that the document came from, not the page that it names.
TEST(HubsOfDocuments, RelativeLinksResolveAgainstTheDocument) {
  const std::string links =
      R"(<a:link rel="self" href="me.xml"/><a:link rel="hub" href="/hub"/><a:link rel="next" href="?p=2"/>)";
  for (
      const std::string& document :
      {R"(<rss version="2.0" xmlns:a="http://www.w3.org/2005/Atom"><channel><title>t</title><link>https://www.example.com/blog/</link>)" +
           links + "<item><title>x</title><link>p/1</link></item></channel></rss>",
       R"(<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:title>t</a:title><a:link href="https://www.example.com/blog/"/>)" +
           links + R"(<a:entry><a:id>1</a:id><a:title>x</a:title><a:link href="p/1"/></a:entry></a:feed>)"}) {
    const Feed feed = feed_of(document, "application/xml");
    EXPECT_EQ(feed.self, "https://example.org/me.xml");
    EXPECT_EQ(feed.hubs, Hubs{"https://example.org/hub"});
    EXPECT_EQ(feed.next, "https://example.org/feed?p=2");
    const auto* const self = &*std::ranges::find(feed.links, "self", &Link::rel);
    EXPECT_EQ(self->href, feed.self) << "one address, wherever it is listed";
    EXPECT_EQ(feed.entries.at(0).link, "https://www.example.com/blog/p/1") << "posts are of the page";
  }
  const Feed empty = feed_of(R"(<rss version="2.0" xmlns:a="http://www.w3.org/2005/Atom"><channel><title>t</title>
    <link>https://www.example.com/</link><a:link rel="self" href=""/></channel></rss>)",
                             "application/xml");
  EXPECT_EQ(empty.self, "https://example.org/feed");
  const Feed based =
      feed_of(R"(<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://b.example/x/"><title>t</title>
    <link rel="self" href="me.xml"/></feed>)",
              "application/atom+xml");
  EXPECT_EQ(based.self, "https://b.example/x/me.xml");
}

TEST(HubsOfDocuments, JsonFeedHubsOfOtherTypesAreIgnored) {
  const Feed feed =
      feed_of(R"({"version":"https://jsonfeed.org/version/1.1","title":"t","feed_url":"https://example.org/self",
    "hubs":[{"type":"rssCloud","url":"https://cloud.example/"},{"url":"https://hub.example/","type":"WebSub"}],"items":[]})",
              "application/feed+json");
  EXPECT_EQ(feed.hubs, Hubs{"https://hub.example/"});
  EXPECT_EQ(feed.self, "https://example.org/self");
}

}  // namespace
}  // namespace feedmill::hub_links_test
