#include "parsers/lists/discovery.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace feedmill::discovery_test {
namespace {

constexpr std::string_view page_url = "https://example.org/blog/page";

PageLinks page_of(std::string_view body, std::string_view header = "", std::string_view url = page_url) {
  return read_page(body, {url, "text/html; charset=utf-8", header});
}

/// The feed URLs found, each after the place it was found in, one per line.
std::string found(const PageLinks& page) {
  std::string text;
  for (const FeedCandidate& feed : page.feeds) {
    text += (text.empty() ? "" : "\n") + std::string(to_string(feed.found_in)) + " " + feed.url;
  }
  return text;
}

struct Case {
  const char* name;
  const char* body;
  const char* feeds;
};
class Pages : public testing::TestWithParam<Case> {};
TEST_P(Pages, NameTheirFeeds) {
  EXPECT_EQ(found(page_of(GetParam().body)), GetParam().feeds);
}
INSTANTIATE_TEST_SUITE_P(
    LinkTags, Pages,
    testing::Values(
        Case{"Plain", R"(<html><head><link rel="alternate" type="application/rss+xml" href="/feed"></head>)",
             "link_tag https://example.org/feed"},
        Case{"Relative", R"(<link rel=alternate type=application/atom+xml href=atom.xml>)",
             "link_tag https://example.org/blog/atom.xml"},
        Case{"UpperCase", R"(<LINK REL="ALTERNATE" TYPE="Application/RSS+XML" HREF="/F">)",
             "link_tag https://example.org/F"},
        Case{"TypeWithParameter", R"(<link rel=alternate type="application/atom+xml; charset=utf-8" href=/f>)",
             "link_tag https://example.org/f"},
        Case{"JsonFeed", R"(<link rel=alternate type="application/feed+json" href=/f>)",
             "link_tag https://example.org/f"},
        Case{"RelFeed", R"(<link rel="feed" type="application/rss+xml" href=/f>)", "link_tag https://example.org/f"},
        Case{"SeveralRelations", R"(<link rel="home alternate" type="application/rss+xml" href=/f>)",
             "link_tag https://example.org/f"},
        Case{"EntitiesInAddress", R"(<link rel=alternate type=text/rss href="/f?a=1&amp;b=2">)",
             "link_tag https://example.org/f?a=1&b=2"},
        Case{"SingleQuotes", "<link rel='alternate' type='application/rss+xml' href='/it&#39;s'>",
             "link_tag https://example.org/it's"},
        Case{"FeedScheme", R"(<link rel=alternate type=application/rss+xml href="feed://a.example/f">)",
             "link_tag http://a.example/f"},
        Case{"FeedSchemeBeforeAnother",
             R"(<link rel=alternate type=application/rss+xml href="feed:https://a.example/f">)",
             "link_tag https://a.example/f"},
        Case{"OtherLanguagesAreNoFeeds", R"(<link rel=alternate hreflang=de href="/de/">)", ""},
        Case{"StylesheetsAreNoFeeds", R"(<link rel="alternate stylesheet" type=text/xml href="/feed.xml">)", ""},
        Case{"JsonOfAnApiIsNoFeed", R"(<link rel=alternate type=application/json href="/wp-json/wp/v2/pages/7">)", ""},
        Case{"JsonThatSaysFeed", R"(<link rel=alternate type=application/json href="/feed.json">)",
             "link_tag https://example.org/feed.json"},
        Case{"NoTypeButSaysFeed", R"(<link rel=alternate href="/index.rss">)",
             "link_tag https://example.org/index.rss"},
        Case{"OtherSchemes", R"x(<link rel=alternate type=application/rss+xml href="javascript:alert(1)">)x", ""},
        Case{"EachOnce", R"(<link rel=alternate type=text/rss href=/f><link rel=alternate type=text/rss href=/f#x>)",
             "link_tag https://example.org/f"},
        Case{"FirstAttributeCounts", R"(<link rel=alternate type=text/rss href=/a href=/b>)",
             "link_tag https://example.org/a"}),
    [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(
    BrokenMarkup, Pages,
    testing::Values(
        Case{"NoQuotesClosed", R"(<link rel="alternate" type="application/rss+xml" href="/f)",
             "link_tag https://example.org/f"},
        Case{"InAComment", R"(<!-- <link rel=alternate type=text/rss href=/f> -->)", ""},
        Case{"InAnUnclosedComment", R"(<link rel=alternate type=text/rss href=/a><!-- <link rel=alternate)",
             "link_tag https://example.org/a"},
        Case{"InAScript", R"(<script>"<link rel=alternate type=text/rss href=/f>"</script>)", ""},
        Case{"AfterAScriptWithMarkup",
             R"x(<script>if (a<b) d.write("<a href=/feed>")</script><link rel=alternate type=text/rss href=/f>)x",
             "link_tag https://example.org/f"},
        Case{"TitleNeverClosed", R"(<title>Blog<link rel=alternate type=text/rss href=/f>)",
             "link_tag https://example.org/f"},
        Case{"NoHead", R"(<p>hello</div><link rel=alternate type=text/rss href=/f></p>)",
             "link_tag https://example.org/f"},
        Case{"SlashesForSpaces", R"(<link/rel="alternate"/type="text/rss"/href="/f"/>)",
             "link_tag https://example.org/f"},
        Case{"NewLinesInTag", "<link\nrel\n=\nalternate\ntype=text/rss\nhref\n=\n'/f'\n>",
             "link_tag https://example.org/f"},
        Case{"LessThanInText", R"(1 < 2 <<link rel=alternate type=text/rss href=/f>)",
             "link_tag https://example.org/f"}),
    [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(
    Anchors, Pages,
    testing::Values(Case{"ByAddress", R"(<a href="/rss.xml">news</a>)", "anchor https://example.org/rss.xml"},
                    Case{"ByType", R"(<a type="application/rss+xml" href="/news">news</a>)",
                         "anchor https://example.org/news"},
                    Case{"OwnHostFirst", R"(<a href="http://other.example/feed"></a><a href="feed/"></a>)",
                         "anchor https://example.org/blog/feed/\nanchor http://other.example/feed"},
                    Case{"BehindTags", R"(<a href="/atom.xml"></a><link rel=alternate type=text/rss href=/f>)",
                         "link_tag https://example.org/f\nanchor https://example.org/atom.xml"},
                    Case{"FeedbackIsNoFeed", R"(<a href="/feedback">x</a><a href="/sitemap.xml">y</a>)", ""}),
    [](const auto& test) { return test.param.name; });

TEST(Page, ResolvesAgainstItsBaseWhereverThatStands) {
  const PageLinks page =
      page_of(R"(<link rel=alternate type=text/rss href=f><base href="https://cdn.example/x/"><base href="/no/"><p>)");
  EXPECT_EQ(found(page), "link_tag https://cdn.example/x/f");
  EXPECT_EQ(found(page_of(R"(<base href="sub/"><link rel=alternate type=text/rss href=f>)")),
            "link_tag https://example.org/blog/sub/f");
  EXPECT_EQ(found(page_of(R"(<base href="data:text/plain,x"><link rel=alternate type=text/rss href=f>)")),
            "link_tag https://example.org/blog/f");
}

TEST(Page, NamesWhatItsHeaderSaysFirst) {
  const PageLinks page = page_of(R"(<title> A &amp; <b>B </title><link rel=alternate type=text/rss href=/tag>)",
                                 R"(</header>; rel=alternate; type="application/atom+xml"; title="News",)"
                                 R"( </other>; rel=alternate; type=text/rss; anchor="https://else.example/")");
  EXPECT_EQ(found(page), "link_header https://example.org/header\nlink_tag https://example.org/tag");
  EXPECT_EQ(page.feeds.front().title, "News");
  EXPECT_EQ(page.feeds.front().type, "application/atom+xml");
  EXPECT_EQ(page.title, "A & <b>B");
  EXPECT_TRUE(page.is_html);
  EXPECT_FALSE(page_of("{\"a\": 1}").is_html);
}

TEST(Page, TakesHubsOfTheHeaderElseOfTheHead) {
  const std::string_view body =
      R"(<head><link rel=hub href="https://hub.example/"><link rel=self href=/s></head>
         <body><link rel=hub href="https://visitor.example/"><!-- <link rel=hub href=/c> -->)";
  const PageLinks by_head = page_of(body);
  EXPECT_EQ(by_head.hubs, std::vector<std::string>{"https://hub.example/"});
  EXPECT_EQ(by_head.self, "https://example.org/s");
  const PageLinks by_header = page_of(body, R"(<https://h.example/>; rel=hub, <https://topic.example/>; rel=self)");
  EXPECT_EQ(by_header.hubs, std::vector<std::string>{"https://h.example/"});
  EXPECT_EQ(by_header.self, "https://topic.example/");
  EXPECT_EQ(page_of(body, R"(<https://h.example/>; rel=hub)").self, "https://example.org/s");
}

TEST(Page, IsBounded) {
  std::string tags, anchors, titles;
  for (int i = 0; i < 20'000; ++i) {
    const std::string number = std::to_string(i);
    tags += "<link rel=alternate type=text/rss href=/" + number + ">";
    anchors += "<a href='/" + number + ".rss'>";
    titles += "<title>";
  }
  EXPECT_EQ(page_of(tags).feeds.size(), 32U);
  EXPECT_EQ(page_of(anchors).feeds.size(), 16U);
  EXPECT_TRUE(page_of(titles).feeds.empty());
  EXPECT_TRUE(page_of("<link rel=alternate type=text/rss href=/" + std::string(3000, 'a') + ">").feeds.empty());
}

TEST(WellKnownFeeds, AreOfThePagesHost) {
  const auto urls = well_known_feeds("https://example.org:8443/blog/page?x=1");
  ASSERT_FALSE(urls.empty());
  EXPECT_EQ(urls.front(), "https://example.org:8443/blog/feed");
  EXPECT_NE(std::ranges::find(urls, "https://example.org:8443/feed"), urls.end());
  EXPECT_NE(std::ranges::find(urls, "https://example.org:8443/blog/feed/"), urls.end());
  const auto at_root = well_known_feeds("https://example.org/");
  EXPECT_EQ(std::ranges::count(at_root, "https://example.org/feed"), 1);
  EXPECT_TRUE(well_known_feeds("mailto:a@example.org").empty());
}

TEST(Address, SaysFeedOrNot) {
  for (const char* const url : {"http://a.example/feed", "http://a.example/blog/feed/", "http://a.example/x.RSS",
                                "http://a.example/?feed=rss2", "http://a.example/index.xml", "http://a.example/b/atom",
                                "http://a.example/my-feed.json", "http://a.example/p?format=rss"}) {
    EXPECT_TRUE(looks_like_feed(url)) << url;
  }
  for (const char* const url :
       {"http://a.example/", "http://feed.example/", "http://a.example/feedback", "http://a.example/feed/post",
        "http://a.example/sitemap.xml", "http://a.example/x.json", "http://a.example/?q=feed"}) {
    EXPECT_FALSE(looks_like_feed(url)) << url;
  }
}

}  // namespace
}  // namespace feedmill::discovery_test
