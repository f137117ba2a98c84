#include <gtest/gtest.h>

#include "parsers/feed/read_feed.hpp"
#include "parsers/text/date.hpp"

namespace feedmill::normalise_test {
namespace {

Feed read(const std::string& items, HtmlPolicy html = HtmlPolicy::strict) {
  DocumentHints hints;
  hints.url = "http://mirror.example/feed";
  hints.html = html;
  auto feed =
      read_feed("<rss version='2.0'><channel><link>http://site.example/</link>" + items + "</channel></rss>", hints);
  return std::move(feed.value());
}

TEST(Identity, IsTheGuidThenTheLinkThenADigest) {
  const Feed feed = read(
      "<item><guid>g</guid><link>http://l/</link></item><item><link>http://l/</link></item>"
      "<item><title>t</title></item><item><title>t</title></item><item><title>u</title></item>");
  EXPECT_EQ(feed.entries[0].guid, "g");
  EXPECT_EQ(feed.entries[1].guid, "http://l/");
  EXPECT_TRUE(feed.entries[2].guid.starts_with("digest:"));
  EXPECT_EQ(feed.entries[2].guid, feed.entries[3].guid);
  EXPECT_NE(feed.entries[2].guid, feed.entries[4].guid);
}

TEST(Deletions, NameEntriesOfTheirOwnDocument) {
  const std::string long_id(2000, 'x');
  const auto read_atom = [](const std::string& children) {
    return read_feed(
               "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:gone='http://purl.org/atompub/tombstones/1.0'>"
               "<id>f</id>" +
                   children + "</feed>",
               {})
        .value();
  };
  const Feed feed = read_atom(
      "<gone:deleted-entry ref='tag:a\n,1' when='2026-03-01T12:00:00+01:00'><gone:by><name>N</name></gone:by>"
      "</gone:deleted-entry><gone:deleted-entry ref='" +
      long_id +
      "' when='?'/><gone:deleted-entry/>"
      "<entry><id>e</id><gone:deleted-entry ref='b' when='2026-03-01T12:00:00Z'/></entry>");
  ASSERT_EQ(feed.deleted.size(), 2U) << "one without ref and one inside of an entry say nothing";
  EXPECT_EQ(feed.deleted[0].guid, "tag:a ,1");
  EXPECT_EQ(iso8601(feed.deleted[0].when.time), "2026-03-01T11:00:00Z");
  EXPECT_TRUE(feed.deleted[1].guid.starts_with("sha256:")) << "as the guid of the entry would be";
  EXPECT_FALSE(feed.deleted[1].when.time);
  EXPECT_TRUE(
      read_atom("<x:deleted-entry xmlns:x='http://example.org/' ref='a' when='2026-03-01T12:00:00Z'/>").deleted.empty())
      << "another namespace";
}

TEST(Identity, DependsOnNoPolicy) {
  const std::string item = "<item><description>&lt;p onclick='x'&gt;a&lt;/p&gt;</description></item>";
  EXPECT_EQ(read(item).entries[0].guid, read(item, HtmlPolicy::raw).entries[0].guid);
}

TEST(Identity, IsHashedWhenLong) {
  const Feed feed = read("<item><guid>" + std::string(2000, 'x') + "</guid></item>");
  EXPECT_TRUE(feed.entries[0].guid.starts_with("sha256:"));
  EXPECT_EQ(feed.entries[0].guid.size(), 7U + 64U);
}

TEST(Identity, OfTwoItemsWithOneGuidDependsOnTheirLinks) {
  const Feed feed = read(
      "<item><guid isPermaLink='false'>g</guid><link>http://a/</link></item>"
      "<item><guid isPermaLink='false'>g</guid><link>http://b/</link></item>");
  EXPECT_NE(feed.entries[0].guid, feed.entries[1].guid);
}

TEST(Bases, AreTheEntrysPageThenTheSites) {
  const Feed feed = read(
      "<item><link>http://site.example/2020/post</link><description>&lt;a href='x'&gt;y&lt;/a&gt;"
      "</description></item><item><enclosure url='/e.mp3'/></item>");
  EXPECT_EQ(feed.entries[0].summary.value, "<a href=\"http://site.example/2020/x\">y</a>");
  EXPECT_EQ(feed.entries[1].enclosures[0].url, "http://site.example/e.mp3");
}

TEST(Enclosures, AreListedOnce) {
  const Feed feed = read(
      "<item><enclosure url='http://e/1' length='5'/><enclosure url='http://e/1'/>"
      "<enclosure url='http://e/2'/></item>");
  ASSERT_EQ(feed.entries[0].enclosures.size(), 2U);
  EXPECT_EQ(feed.entries[0].enclosures[0].length, 5U);
}

TEST(Addresses, AreOfAClosedListByWhateverRoadTheyCome) {
  DocumentHints hints;
  hints.url = "https://site.example/feed";
  const char* document = R"(<rss version='2.0' xmlns:fb='http://rssnamespace.org/feedburner/ext/1.0'
    xmlns:feedburner='http://evil.example/' xmlns:i='http://www.itunes.com/dtds/podcast-1.0.dtd'
    xmlns:m='http://search.yahoo.com/mrss/' xmlns:a='http://www.w3.org/2005/Atom' xmlns:p='http://podlove.org/simple-chapters'
    xmlns:admin='http://webns.net/mvcb/'>
    <channel><link>ssh://-oProxyCommand=x/</link><docs>telnet://h/</docs><image><url>ftp://h/a.png</url><title>t</title>
      <link>afp://h/</link></image><i:new-feed-url>javascript:1</i:new-feed-url><admin:errorReportsTo>data:x</admin:errorReportsTo>
      <a:icon>gopher://h/</a:icon><a:author><a:name>n</a:name><a:uri>svn+ssh://h/</a:uri></a:author>
    <item><guid isPermaLink='false'>1</guid><link>feed:javascript:alert(1)</link><comments>nfs://h/</comments>
      <enclosure url='https://h/a.mp3'/><fb:origEnclosureLink>javascript:alert(15)</fb:origEnclosureLink>
      <m:content url='ssh://h/'/><m:player url='telnet://h/'/><i:image href='gopher://h/'/>
      <p:chapters><p:chapter start='1' title='c' href='afp://h/'/></p:chapters></item>
    <item><guid isPermaLink='false'>2</guid><enclosure url='https://h/b.mp3'/>
      <feedburner:origEnclosureLink>javascript:alert(16)</feedburner:origEnclosureLink><enclosure url='ftp://h/c.mp3'/>
      <enclosure url='magnet:?xt=d'/></item>
    <item><guid isPermaLink='false'>3</guid><link>feed://h/post</link><enclosure url='https://h/e.mp3'/>
      <fb:origEnclosureLink>https://orig.example/e.mp3</fb:origEnclosureLink></item></channel></rss>)";
  const auto read = read_feed(document, hints);
  const Feed& feed = read.value();
  EXPECT_EQ(feed.link, "");
  EXPECT_EQ(feed.docs, "");
  EXPECT_EQ(feed.image->url, "");
  EXPECT_EQ(feed.image->link, "");
  EXPECT_EQ(feed.icon, "");
  EXPECT_EQ(feed.itunes->new_feed_url, "");
  EXPECT_EQ(feed.error_reports_to, "");
  EXPECT_EQ(feed.authors->at(0).uri, "");
  const Entry& first = feed.entries.at(0);
  EXPECT_EQ(first.link, "");
  EXPECT_EQ(first.comments, "");
  ASSERT_EQ(first.enclosures.size(), 1U);
  EXPECT_EQ(first.enclosures[0].url, "https://h/a.mp3") << "its own: the other one runs";
  EXPECT_TRUE(first.media->content.empty() || first.media->content[0].empty());
  EXPECT_TRUE(first.media->player.empty());
  EXPECT_EQ(first.itunes ? first.itunes->image : "", "");
  EXPECT_EQ(first.chapters.at(0).href, "");
  const Entry& second = feed.entries.at(1);
  ASSERT_EQ(second.enclosures.size(), 2U);
  EXPECT_EQ(second.enclosures[0].url, "https://h/b.mp3") << "somebody else's namespace";
  EXPECT_EQ(second.enclosures[1].url, "magnet:?xt=d");
  EXPECT_EQ(second.truncated, "") << "nothing was too long";
  EXPECT_EQ(feed.entries.at(2).link, "http://h/post");
  EXPECT_EQ(feed.entries.at(2).enclosures.at(0).url, "https://orig.example/e.mp3");
}

TEST(Dates, ThatCannotBeReadKeepTheirText) {
  const Entry entry = read("<item><pubDate> gestern </pubDate></item>").entries.at(0);
  EXPECT_FALSE(entry.published.time.has_value());
  EXPECT_EQ(entry.published.raw, "gestern");
}

TEST(Caps, NameEachFieldThatLostSomething) {  // SECURITY §3
  std::string item = "<item><title>" + std::string(8191, 'a') + "\xC3\xA9</title><link>http://a.example/" +
                     std::string(2048, 'b') + "</link><author>" + std::string(2000, 'c') +
                     "</author><comments>http://c/" + std::string(2048, 'd') + "</comments><description>" +
                     std::string(70'000, 'e') + "</description>";
  for (int i = 0; i < 70; ++i) item += "<category>" + std::string(300, 'f') + std::to_string(i) + "</category>";
  for (int i = 0; i < 40; ++i) item += "<enclosure url='http://e.example/" + std::to_string(i) + "'/>";
  const Entry entry = read(item + "</item>").entries.at(0);
  EXPECT_EQ(entry.title.value, std::string(8191, 'a'));  // the cap falls inside the é
  EXPECT_EQ(entry.link, "");
  EXPECT_EQ(entry.author->size(), 1024U);
  EXPECT_EQ(entry.comments, "");
  EXPECT_LE(entry.summary.value.size(), 65'536U);
  EXPECT_EQ(entry.categories.size(), 64U);
  EXPECT_EQ(entry.categories.front().term.size(), 256U);
  EXPECT_EQ(entry.enclosures.size(), 32U);
  EXPECT_EQ(entry.links.size(), 32U);
  EXPECT_EQ(entry.truncated, "title link categories enclosures author authors summary comments");
}

TEST(Caps, CutRawMarkupOutsideOfTags) {
  const std::string tail = "&lt;b title=&quot;x&quot;&gt;y&lt;/b&gt;";
  const Feed feed =
      read("<item><description>" + std::string(65'533, 'x') + tail + "</description></item>", HtmlPolicy::raw);
  EXPECT_EQ(feed.entries[0].summary.value, std::string(65'533, 'x'));
  EXPECT_EQ(feed.entries[0].truncated, "summary");
}

TEST(Caps, OfAFeedsDescriptionEndOutsideOfTags) {
  DocumentHints hints;
  const auto read = read_feed("<rss version='2.0'><channel><description>&lt;p&gt;" + std::string(8150, 'x') +
                                  "&lt;/p&gt;&lt;a href=\"https://h/" + std::string(100, 'b') +
                                  "\"&gt;y&lt;/a&gt;</description></channel></rss>",
                              hints);
  EXPECT_EQ(read.value().subtitle.value, "<p>" + std::string(8150, 'x') + "</p>");
}

TEST(Caps, HoldWithAllEndTags) {
  std::string markup;
  for (int i = 0; i < 100; ++i) markup += "&lt;blockquote&gt;";
  markup += std::string(1'100'000, 'x');
  const Feed feed = read("<item><title>" + markup + "&lt;/b&gt;</title><description>" + markup +
                         "</description><body>" + markup + "</body></item>");
  const Entry& entry = feed.entries.at(0);
  EXPECT_EQ(entry.content.at(0).value.size(), std::size_t{1} << 20);
  EXPECT_EQ(entry.summary.value.size(), std::size_t{64} << 10);
  EXPECT_EQ(entry.title.value.size(), std::size_t{8} << 10);
  EXPECT_TRUE(entry.content.at(0).value.ends_with("</blockquote></blockquote>"));
}

TEST(Caps, HashALongGuidCombinedWithItsLink) {
  const std::string guid = "<guid isPermaLink='false'>" + std::string(1000, 'g') + "</guid>";
  const Feed feed = read("<item>" + guid + "<link>http://a/</link></item><item>" + guid + "<link>http://b/" +
                         std::string(100, 'b') + "</link></item>");
  EXPECT_TRUE(feed.entries[1].guid.starts_with("sha256:"));
}

TEST(Values, AreCutUnlessRequestedWhole) {
  const std::string document =
      "<rss version='2.0'><channel><title>" + std::string(20000, 'x') + "</title></channel></rss>";
  DocumentHints hints;
  EXPECT_EQ(read_feed(document, hints).value().title.value.size(), 8192U);
  hints.whole_values = true;
  EXPECT_EQ(read_feed(document, hints).value().title.value.size(), 20000U);
}

}  // namespace
}  // namespace feedmill::normalise_test
