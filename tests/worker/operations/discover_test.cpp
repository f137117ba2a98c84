// Pages of publishing systems, and which of their feeds `add` takes; what probes may ask.
#include "worker/operations/discover.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "storage/feeds/hosts.hpp"
#include "storage/ingest/ingest.hpp"
#include "tests/support/http_server.hpp"
#include "tests/support/redis_server.hpp"
#include "worker/config/config.hpp"
#include "worker/process/run_options.hpp"

namespace feedmill::discover_test {
namespace {

using Paths = std::vector<std::string>;

/// A feed served at `path`. Feeds with the same name are twins.
struct Answer {
  std::string path, name;
};

struct Shape {
  const char* name;
  const char* at;          ///< path of the page
  std::string head, body;  ///< of the page
  std::vector<Answer> feeds;
  Paths found;         ///< paths in order, comment feeds last
  std::size_t own;     ///< number of found feeds that are not comment feeds
  std::string header;  ///< the page's Link header
};

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << shape.name;
}

std::string link(const std::string& type, const std::string& title, const std::string& href) {
  return "<link rel=\"alternate\" type=\"" + type + "\" title=\"" + title + "\" href=\"" + href + "\">\n";
}
std::string rss(const std::string& title, const std::string& href) {
  return link("application/rss+xml", title, href);
}
std::string atom(const std::string& title, const std::string& href) {
  return link("application/atom+xml", title, href);
}

std::vector<Shape> shapes() {
  return {
      {"WordPress",
       "/",
       rss("Blog &raquo; Feed", "/feed/") + rss("Blog &raquo; Comments Feed", "/comments/feed/"),
       "",
       {{"/feed/", "Blog"}, {"/comments/feed/", "Comments for Blog"}},
       {"/feed/", "/comments/feed/"},
       1,
       ""},
      {"WordPressInGerman",
       "/",
       rss("Blog &raquo; Kommentar-Feed", "/k/feed/") + rss("Blog &raquo; Feed", "/feed/"),
       "",
       {{"/feed/", "Blog"}, {"/k/feed/", "Kommentare f\u00fcr Blog"}},
       {"/feed/", "/k/feed/"},
       1,
       ""},
      {"WordPressInRussian",
       "/",
       rss("\u0411\u043b\u043e\u0433 &raquo; \u041b\u0435\u043d\u0442\u0430 "
           "\u043a\u043e\u043c\u043c\u0435\u043d\u0442\u0430\u0440\u0438\u0435\u0432",
           "/k/feed/") +
           rss("\u0411\u043b\u043e\u0433 &raquo; \u041b\u0435\u043d\u0442\u0430", "/feed/"),
       "",
       {{"/feed/", "B"}, {"/k/feed/", "K"}},
       {"/feed/", "/k/feed/"},
       1,
       ""},
      {"WordPressStaticFront",
       "/",
       rss("Blog &raquo; Homepage Comments Feed", "/homepage/feed/"),
       "",
       {{"/homepage/feed/", "Comments on: Homepage"}, {"/feed", "Blog"}},
       {"/feed", "/homepage/feed/"},
       1,
       ""},
      {"WordPressPost",
       "/2026/harbour/",
       rss("Blog &raquo; Harbour Comments Feed", "/2026/harbour/feed/") + rss("Blog &raquo; Feed", "/feed/") +
           rss("Blog &raquo; Comments Feed", "/comments/feed/"),
       "",
       {{"/feed/", "Blog"}, {"/comments/feed/", "Comments for Blog"}, {"/2026/harbour/feed/", "Comments on: Harbour"}},
       {"/feed/", "/2026/harbour/feed/", "/comments/feed/"},
       1,
       ""},
      {"WordPressMuteBelowADirectory",
       "/blog/",
       "",
       "<p>x</p>",
       {{"/blog/feed", "Blog"}, {"/feed", "Shop"}},
       {"/blog/feed"},
       1,
       ""},
      {"WordPressMutePost",
       "/2026/harbour/",
       "",
       "<p>x</p>",
       {{"/2026/harbour/feed", "Comments on: Harbour"}, {"/feed", "Blog"}},
       {"/feed", "/2026/harbour/feed"},
       1,
       ""},
      {"NameHasTheWord",
       "/",
       rss("No Comments &raquo; Feed", "/feed/") + rss("No Comments &raquo; Comments Feed", "/comments/feed/"),
       "",
       {{"/feed/", "x"}, {"/comments/feed/", "y"}},
       {"/feed/", "/comments/feed/"},
       1,
       ""},
      {"CommentsAlone",
       "/",
       rss("Comments", "/comments.xml"),
       "",
       {{"/comments.xml", "Comments"}},
       {"/comments.xml"},
       0,
       ""},
      {"Ghost", "/", rss("Site", "/rss/"), "", {{"/rss/", "Site"}}, {"/rss/"}, 1, ""},
      {"Substack", "/", rss("Letter", "/feed"), "", {{"/feed", "Letter"}}, {"/feed"}, 1, ""},
      {"Blogger",
       "/",
       atom("Blog - Atom", "/feeds/posts/default") + rss("Blog - RSS", "/feeds/posts/default?alt=rss") +
           link("application/atom+xml", "Blog - Atom", "/feeds/1/comments/default"),
       "",
       {{"/feeds/posts/default", "Blog"}, {"/feeds/1/comments/default", "Blog"}},
       {"/feeds/posts/default"},
       1,
       ""},
      {"Drupal", "/", rss("", "/rss.xml"), "", {{"/rss.xml", "Site"}}, {"/rss.xml"}, 1, ""},
      {"Hugo",
       "/posts/",
       rss("Site", "/posts/index.xml"),
       "",
       {{"/posts/index.xml", "Site"}},
       {"/posts/index.xml"},
       1,
       ""},
      {"JekyllInThreeFormats",
       "/",
       atom("Site", "/feed.xml") + rss("Site", "/rss.xml") + link("application/feed+json", "Site", "/feed.json"),
       "",
       {{"/feed.xml", "Site"}, {"/rss.xml", "Site"}, {"/feed.json", "Site"}},
       {"/feed.xml"},
       1,
       ""},
      {"Discourse",
       "/",
       rss("Latest posts", "/posts.rss") + rss("Latest topics", "/latest.rss"),
       "",
       {{"/posts.rss", "Posts"}, {"/latest.rss", "Topics"}},
       {"/posts.rss", "/latest.rss"},
       2,
       ""},
      {"Mastodon",
       "/@ada",
       rss("", "/@ada.rss") + link("application/activity+json", "", "/users/ada"),
       "",
       {{"/@ada.rss", "Ada"}},
       {"/@ada.rss"},
       1,
       ""},
      {"YouTube",
       "/@ada",
       "",
       rss("RSS", "/feeds/videos.xml?channel_id=UC1"),
       {{"/feeds/videos.xml", "Ada"}},
       {"/feeds/videos.xml?channel_id=UC1"},
       1,
       ""},
      {"GitHub",
       "/a/b",
       atom("Recent Commits to b:main", "/a/b/commits/main.atom"),
       "",
       {{"/a/b/commits/main.atom", "Commits"}},
       {"/a/b/commits/main.atom"},
       1,
       ""},
      {"GitLab", "/a/b", atom("b activity", "/a/b.atom"), "", {{"/a/b.atom", "b"}}, {"/a/b.atom"}, 1, ""},
      {"Reddit", "/r/x/", atom("RSS", "/r/x/.rss"), "", {{"/r/x/.rss", "x"}}, {"/r/x/.rss"}, 1, ""},
      {"PodcastHost",
       "/show",
       rss("Show", "/show/feed.xml") + link("application/json+oembed", "", "/oembed"),
       "",
       {{"/show/feed.xml", "Show"}},
       {"/show/feed.xml"},
       1,
       ""},
      {"LinkHeader",
       "/",
       "",
       "<p>x</p>",
       {{"/a", "A"}},
       {"/a"},
       1,
       "</a>; rel=alternate; type=\"application/rss+xml\""},
      {"AlternateWithoutType",
       "/",
       "<link rel=alternate href=/news><link rel=alternate hreflang=de href=/de>",
       "",
       {{"/news", "News"}, {"/de", "German"}},
       {"/news"},
       1,
       ""},
      {"PlainXml", "/", link("text/xml", "News", "/export/42"), "", {{"/export/42", "News"}}, {"/export/42"}, 1, ""},
      {"RdfTwin",
       "/",
       link("application/rdf+xml", "Site", "/site.rdf"),
       "",
       {{"/site.rdf", "Site"}},
       {"/site.rdf"},
       1,
       ""},
      {"BaseAndUnquoted",
       "/",
       "<base href=/sub/ ><link rel=alternate type=application/rss+xml href=f>",
       "",
       {{"/sub/f", "F"}},
       {"/sub/f"},
       1,
       ""},
      {"EntitiesInAddress", "/", rss("x", "/f?a=1&amp;b=2"), "", {{"/f", "F"}}, {"/f?a=1&b=2"}, 1, ""},
      {"Anchor", "/", "", "<a href=\"/n/rss\">RSS</a>", {{"/n/rss", "N"}}, {"/n/rss"}, 1, ""},
      {"FeedScheme",
       "/",
       "",
       "<a href=\"feed:HERE/subscribe\">Subscribe</a>",
       {{"/subscribe", "N"}},
       {"/subscribe"},
       1,
       ""},
      {"PodcastScheme",
       "/",
       "",
       "<a href=\"podcast://HERE/listen\">Listen</a>",
       {{"/listen", "N"}},
       {"/listen"},
       1,
       ""},
  };
}

class PageShapes : public testing::TestWithParam<Shape> {
 protected:
  PageShapes() {
    Config config = *load_config(ConfigSources());
    config.egress.allow = {"127.0.0.0/8:1024-65535"};
    config.host.spacing = {};
    options = probe_options(config);
  }
  static std::string document(const std::string& name) {
    return "<rss version=\"2.0\"><channel><title>" + name + "</title><item><title>P</title><link>https://example.org/" +
           name.substr(0, 1) + "/1</link></item></channel></rss>";
  }
  std::string here(std::string text) const {
    for (std::size_t at; (at = text.find("HERE")) != text.npos;)
      text.replace(at, 4, text.find("podcast://HERE") != text.npos ? "http://" + http.server() : http.url(""));
    return text;
  }

  test::HttpServer http;
  ProbeOptions options;
};

TEST_P(PageShapes, LeadToTheSitesOwnFeed) {
  const Shape& shape = GetParam();
  test::Response page{.headers = {{"Content-Type", "text/html"}},
                      .body = "<html><head>" + shape.head + "</head><body>" + here(shape.body) + "</body></html>"};
  if (!shape.header.empty()) page.headers.emplace_back("Link", shape.header);
  http.serve(shape.at, page);
  for (const Answer& feed : shape.feeds) http.serve(feed.path, test::Response{.body = document(feed.name)});
  Probe probe(options);
  Discovery found;
  discover(probe, http.url(shape.at), found);
  Paths paths;
  for (const FoundFeed& feed : found.feeds) paths.push_back(feed.url.substr(http.url("").size()));
  EXPECT_EQ(paths, shape.found);
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(found.feeds, false, &FoundFeed::comments)), shape.own);
}

INSTANTIATE_TEST_SUITE_P(All, PageShapes, testing::ValuesIn(shapes()),
                         [](const auto& test) { return std::string(test.param.name); });

/// HTTP P15, P9: a page that leads its readers to another host, with a store (true) or without.
class ProbeGates : public testing::TestWithParam<bool> {
 protected:
  ProbeGates() {
    Config config = *load_config(ConfigSources());
    config.egress.allow = {"127.0.0.0/8:1024-65535"};
    config.host.spacing = {};
    config.hosts["127.0.0.2"].spacing = std::chrono::minutes(1);
    options = probe_options(config);
    EXPECT_TRUE(store.open());
    EXPECT_TRUE(Hosts(store).set(options.hosts.settings()));
    if (GetParam()) options.store = StoreOptions{.url = redis.url()};
  }
  std::string at_victim(const std::string& path) const { return victim.url("127.0.0.2", path); }
  std::string gate() const { return "state:host:" + victim.server("127.0.0.2"); }
  /// Discovers the feeds of a page with links to `urls`. Returns the reasons of the refused ones among them.
  std::vector<std::string> reasons(const std::vector<std::string>& urls) {
    std::string head;
    for (const std::string& url : urls) head += rss("x", url);
    http.serve("/", test::Response{.headers = {{"Content-Type", "text/html"}}, .body = "<html><head>" + head});
    Probe probe(options);
    Discovery found;
    discover(probe, http.url("/"), found);
    std::vector<std::string> all;
    for (const RefusedCandidate& refused : found.refused) {
      if (std::ranges::find(urls, refused.url) != urls.end()) all.push_back(refused.reason);
    }
    return all;
  }

  test::RedisServer redis;
  Store store{StoreOptions{.url = redis.url()}};
  test::HttpServer http, victim{0, boost::asio::ip::make_address_v4("127.0.0.2")};
  ProbeOptions options;
};

TEST_P(ProbeGates, AHostIsAskedAtItsPaceWhereverRedirectsComeFrom) {
  const auto lead = test::Response{.status = 302, .headers = {{"Location", at_victim("/hop")}}};
  for (const char* const path : {"/e0", "/e1", "/e2"}) http.serve(path, lead);
  const auto all = reasons({http.url("/e0"), http.url("/e1"), http.url("/e2"), at_victim("/feed")});
  EXPECT_EQ(victim.requests().size(), 1U);
  ASSERT_EQ(all.size(), 4U);
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_NE(all[i].find("127.0.0.2 may not be asked before "), all[i].npos) << all[i];
  }
}

TEST_P(ProbeGates, AHostThatAsksForAPauseIsNotAskedAgain) {
  options.hosts = HostRules(HostLimits{1, {}, ""});
  EXPECT_TRUE(Hosts(store).set({}));
  victim.serve_rest([](const auto&) { return test::Response{.status = 429, .headers = {{"Retry-After", "86400"}}}; });
  const auto all = reasons({at_victim("/1"), at_victim("/2"), at_victim("/3")});
  EXPECT_EQ(victim.requests().size(), 1U);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_NE(all[0].find("429"), all[0].npos) << all[0];
  EXPECT_NE(all[2].find("127.0.0.2 asked for a pause until "), all[2].npos) << all[2];
}

INSTANTIATE_TEST_SUITE_P(All, ProbeGates, testing::Bool(),
                         [](const auto& test) { return test.param ? "AtTheStore" : "Alone"; });

/// Probes and workers at one host.
class ProbesInTheFleet : public ProbeGates {};

TEST_P(ProbesInTheFleet, StayAwayFromAClosedGate) {
  const std::string later = std::to_string((*store.now() + std::chrono::hours(1)).count());
  test::redis_command(redis, {"HSET", gate(), "not_before", later, "refusals", "1", "closed", "1"});
  http.serve("/e0", test::Response{.status = 302, .headers = {{"Location", at_victim("/hop")}}});
  const auto all = reasons({at_victim("/feed"), http.url("/e0")});
  EXPECT_TRUE(victim.requests().empty());
  ASSERT_EQ(all.size(), 2U);
  for (const std::string& one : all) EXPECT_NE(one.find("may not be asked before "), one.npos) << one;
}

TEST_P(ProbesInTheFleet, CountTheirRequestsAndEndTheirSlots) {
  reasons({at_victim("/feed")});
  EXPECT_EQ(victim.requests().size(), 1U);
  // All ports of a host share its slots and starts.
  EXPECT_EQ(test::redis_command(redis, {"HKEYS", "state:host:127.0.0.2"}), "last_start");
  Claim other;
  other.id = std::string(32, 'a');
  const auto wait =
      Ingest(store).take_slot_for(other, victim.server("127.0.0.2"), options.host, std::chrono::seconds(5));
  ASSERT_TRUE(wait);
  EXPECT_GT(*wait, std::chrono::seconds(10));
}

INSTANTIATE_TEST_SUITE_P(AtTheStore, ProbesInTheFleet, testing::Values(true));

}  // namespace
}  // namespace feedmill::discover_test
