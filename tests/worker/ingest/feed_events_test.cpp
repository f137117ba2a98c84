// Changes of a feed's record become events, so that a copy of the store built from them stays equal (DESIGN §4):
// documents in sequence on a real store.
#include <set>

#include "tests/worker/ingest/polling_fixture.hpp"

namespace feedmill::test::feed_events_test {
namespace {

using Record = std::map<std::string, std::string>;

std::string channel(const std::string& more) {
  return "<rss version='2.0' xmlns:atom='http://www.w3.org/2005/Atom' xmlns:media='http://search.yahoo.com/mrss/' "
         "xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd' "
         "xmlns:cc='http://backend.userland.com/creativeCommonsRssModule' "
         "xmlns:thr='http://purl.org/syndication/thread/1.0'>"
         "<channel><title>Feed</title><link>https://example.org/</link>" +
         more + "<item><guid isPermaLink='false'>a</guid><title>A</title></item></channel></rss>";
}
std::string atom(const std::string& more) {
  return "<feed xmlns='http://www.w3.org/2005/Atom'><title>Feed</title><link href='https://example.org/'/>"
         "<logo>https://example.org/l.png</logo>" +
         more + "<entry><id>urn:a</id><title>A</title></entry></feed>";
}

class FeedEvents : public Polling {
 protected:
  FeedEvents() : Polling(EventDetail{.content = true}) {}

  Record stored() {
    const auto all =
        Redis(*parse_redis_url(server.admin_url()), Milliseconds(5000)).command({"HGETALL", "Feed:" + url});
    Record record;
    for (auto& [name, value] : all->pairs()) record[name] = value;
    return record;
  }
  /// The record in the newest event about it.
  Record told(const std::string& type) {
    Record record;
    const auto all = signals(type);
    if (all.empty()) return record;
    for (const auto& [name, value] : all.back().at("feed").as_object()) record[name] = std::string(value.as_string());
    return record;
  }
  /// `fields` of the newest feed_mended.
  std::set<std::string> mended() {
    std::set<std::string> names;
    const auto all = signals("feed_mended");
    if (all.empty()) return names;
    for (const auto& name : all.back().at("data").at("fields").as_array()) names.emplace(name.as_string());
    return names;
  }
};

struct OneField {
  const char* field;
  std::string (*document)(const std::string& more);
  const char* before;
  const char* after;
};
std::ostream& operator<<(std::ostream& out, const OneField& test) {
  return out << test.field;
}

class FeedField : public FeedEvents, public testing::WithParamInterface<OneField> {};

TEST_P(FeedField, ReachesCopiesWhenAddedChangedAndRemoved) {
  const OneField& test = GetParam();
  poll(test.document(""));
  EXPECT_EQ(told("feed_created"), stored());
  std::size_t times = 0;
  for (const char* more : {test.before, test.after, ""}) {
    poll(test.document(more));
    EXPECT_EQ(count("feed_mended"), ++times) << more;
    EXPECT_TRUE(mended().contains(test.field)) << more;
    EXPECT_EQ(told("feed_mended"), stored()) << more;
    EXPECT_EQ(stored().contains(test.field), *more != '\0') << more;
    EXPECT_EQ(poll(test.document(more) + "<!-- again -->").events, 0U) << more;
  }
  EXPECT_EQ(count("feed_modified"), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Each, FeedField,
    testing::Values(
        OneField{"authors", channel, "<managingEditor>a@example.org (Ann)</managingEditor>",
                 "<managingEditor>b@example.org (Bob)</managingEditor>"},
        OneField{"categories", channel, "<category>news</category>", "<category>sport</category>"},
        OneField{"contributors", channel, "<dc:contributor>Ann</dc:contributor>",
                 "<dc:contributor>Bob</dc:contributor>"},
        OneField{"extensions", channel, "<itunes:explicit>true</itunes:explicit>",
                 "<itunes:explicit>false</itunes:explicit>"},
        OneField{"icon", atom, "<icon>https://example.org/a.ico</icon>", "<icon>https://example.org/b.ico</icon>"},
        OneField{"id", atom, "<id>urn:one</id>", "<id>urn:two</id>"},
        OneField{"license", channel, "<cc:license>https://example.org/by/1.0</cc:license>",
                 "<cc:license>https://example.org/by/2.0</cc:license>"},
        OneField{"links", channel, "<atom:link rel='related' href='https://example.org/a'/>",
                 "<atom:link rel='related' href='https://example.org/b'/>"},
        OneField{"media", channel, "<media:rating>adult</media:rating>", "<media:rating>nonadult</media:rating>"},
        OneField{"published", channel, "<pubDate>Wed, 01 Jan 2025 09:00:00 GMT</pubDate>",
                 "<pubDate>Thu, 02 Jan 2025 09:00:00 GMT</pubDate>"},
        OneField{"publisher", channel, "<webMaster>a@example.org (Ann)</webMaster>",
                 "<webMaster>b@example.org (Bob)</webMaster>"},
        OneField{"rights", channel, "<copyright>2025 Ann</copyright>", "<copyright>2026 Bob</copyright>"}),
    [](const auto& test) { return std::string(test.param.field); });

TEST_F(FeedEvents, AreNoneForFieldsThatChangeWithoutThem) {
  poll(channel("<lastBuildDate>Wed, 01 Jan 2025 09:00:00 GMT</lastBuildDate><generator>One</generator>"));
  EXPECT_EQ(
      poll(channel("<lastBuildDate>Fri, 03 Jan 2025 09:00:00 GMT</lastBuildDate><generator>Two</generator>")).events,
      0U);
  EXPECT_EQ(stored()["generator"], "Two");
  poll(
      channel("<lastBuildDate>Sat, 04 Jan 2025 09:00:00 GMT</lastBuildDate><generator>Two</generator>"
              "<copyright>Ann</copyright>"));
  EXPECT_EQ(mended(), std::set<std::string>{"rights"});
  EXPECT_EQ(told("feed_mended"), stored());
}

TEST_F(FeedEvents, OfNewsHaveTheWholeRecord) {
  poll(channel("<copyright>2025 Ann</copyright>"));
  poll(channel("<copyright>2026 Bob</copyright><description>News</description>"));
  ASSERT_EQ(count("feed_modified"), 1U);
  const boost::json::object changed = signals("feed_modified").back().at("changed").as_object();
  EXPECT_EQ(changed.at("description"), boost::json::parse(R"(["","News"])"));
  EXPECT_FALSE(changed.contains("rights"));
  EXPECT_EQ(told("feed_modified"), stored());
  EXPECT_EQ(stored()["rights"], "2026 Bob");
  EXPECT_EQ(count("feed_mended"), 0U);
}

// Counters, and a publication date that is the time of rendering.
TEST_F(FeedEvents, WaitADayForIdleValuesOrFollowTheNextChange) {
  const auto at = [](const std::string& hour, const std::string& total, const std::string& more = "") {
    return channel("<pubDate>Wed, 01 Jan 2025 " + hour + ":00:00 GMT</pubDate><thr:total>" + total + "</thr:total>" +
                   more);
  };
  poll(at("08", "1"));
  const Record first = stored();
  EXPECT_NE(first.at("extensions").find("\"1\""), std::string::npos);
  EXPECT_EQ(poll(at("09", "2")).events, 0U);
  EXPECT_EQ(poll(at("10", "3")).events, 0U);
  EXPECT_EQ(stored(), first);

  redis({"HSET", "state:feed:" + url, "compared_at", "1"});  // a day later
  poll(at("11", "4"));
  EXPECT_EQ(mended(), (std::set<std::string>{"extensions", "published"}));
  EXPECT_EQ(told("feed_mended"), stored());
  EXPECT_NE(stored().at("extensions").find("\"4\""), std::string::npos);
  EXPECT_EQ(poll(at("12", "5")).events, 0U) << "a day begins again";

  poll(at("13", "6", "<copyright>Ann</copyright>"));
  EXPECT_EQ(mended(), (std::set<std::string>{"extensions", "published", "rights"}));
  EXPECT_EQ(told("feed_mended"), stored());
  EXPECT_EQ(count("feed_mended"), 2U);

  poll(at("14", "7", "<copyright>Ann</copyright><item><guid isPermaLink='false'>b</guid><title>B</title></item>"));
  EXPECT_EQ(count("feed_mended"), 3U) << "with a new post, too";
  EXPECT_EQ(told("feed_mended"), stored());
  EXPECT_NE(stored().at("extensions").find("\"7\""), std::string::npos);
}

TEST_F(FeedEvents, NameWhatACutDocumentAdds) {
  const std::string document = channel("<copyright>Ann</copyright>");
  poll(channel(""));
  poll_cut(document, document.find("</channel>"));
  EXPECT_EQ(mended(), std::set<std::string>{"rights"});
  EXPECT_EQ(told("feed_mended"), stored());
  EXPECT_EQ(poll(document).events, 0U);
}

}  // namespace
}  // namespace feedmill::test::feed_events_test
