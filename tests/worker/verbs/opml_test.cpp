#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pugixml.hpp>

#include "worker/operations/subscriptions.hpp"
#include "worker/words/moments.hpp"

namespace feedmill::opml_test {
namespace {

using Paths = std::vector<std::vector<std::string>>;

std::string opml(const std::string& outlines, const std::string& root = "") {
  return "<?xml version=\"1.0\"?>\n<opml version=\"2.0\"" + root + "><head/><body>\n" + outlines + "\n</body></opml>";
}

struct AddressCase {
  const char* name;
  const char* written;
  const char* read;  // "" = refused
  bool repaired;
};
class Addresses : public testing::TestWithParam<AddressCase> {};
TEST_P(Addresses, AreRepairedOrRefused) {
  const SubscriptionList list = read_subscriptions(std::string("# comment\n\n  ") + GetParam().written + "  \r\n");
  if (*GetParam().read == '\0') {
    EXPECT_TRUE(list.feeds.empty());
    ASSERT_EQ(list.refused.size(), 1U);
    EXPECT_EQ(list.refused[0].line, 3U);
    EXPECT_EQ(list.refused[0].text, GetParam().written);
    return;
  }
  ASSERT_EQ(list.feeds.size(), 1U);
  EXPECT_EQ(list.feeds[0].feed_url, GetParam().read);
  EXPECT_EQ(list.feeds[0].line, 3U);
  EXPECT_EQ(list.feeds[0].written, GetParam().repaired ? GetParam().written : "");
}
INSTANTIATE_TEST_SUITE_P(
    All, Addresses,
    testing::Values(
        AddressCase{"Http", "http://a.example/f", "http://a.example/f", false},
        AddressCase{"Spelling", "HTTP://A.Example:80", "http://a.example/", false},
        AddressCase{"Feed", "feed:https://a.example/f", "https://a.example/f", true},
        AddressCase{"FeedSlashes", "feed://a.example/f", "http://a.example/f", true},
        AddressCase{"FeedUpper", "FEED://a.example/f", "http://a.example/f", true},
        AddressCase{"FeedBare", "feed:a.example/f", "http://a.example/f", true},
        AddressCase{"BareHost", "a.example/f", "https://a.example/f", true},
        AddressCase{"BareHostWithPort", "a.example:8080/f", "http://a.example:8080/f", true},
        AddressCase{"NoScheme", "//a.example/f", "https://a.example/f", true},
        AddressCase{"Ftp", "ftp://a.example/f", "", false}, AddressCase{"File", "file:///etc/passwd", "", false},
        AddressCase{"Script", "javascript:alert(1)", "", false}, AddressCase{"Mail", "mailto:a@b.example", "", false},
        AddressCase{"Word", "nonsense", "", false}, AddressCase{"Sentence", "not a url", "", false},
        AddressCase{"Pipe", "|~/fetch_tweets.py", "", false}, AddressCase{"Path", "/feed.xml", "", false},
        AddressCase{"Dot", ".", "", false}, AddressCase{"Credentials", "http://user:secret@a.example/", "", false}),
    [](const auto& test) { return test.param.name; });

TEST(Subscriptions, MergeRowsOfOneFeedWithTheirFolders) {
  const SubscriptionList list =
      read_subscriptions(opml("<outline text=\"News\"><outline xmlUrl=\"http://a.example/\" text=\"A\"/></outline>\n"
                              "<outline text=\"Tech\"><outline xmlUrl=\"HTTP://A.example\" text=\"again\"/></outline>\n"
                              "<outline xmlUrl=\"http://a.example/#x\"/>"));
  ASSERT_EQ(list.feeds.size(), 1U);
  EXPECT_EQ(list.merged, 2U);
  EXPECT_EQ(list.feeds[0].folders, (Paths{{"News"}, {"Tech"}, {}}));
  EXPECT_EQ(list.feeds[0].attributes, (OpmlAttributes{{"text", "A"}}));
}

TEST(Subscriptions, GoThroughTheStoreUnchanged) {
  FeedSettings settings;
  settings.keep = 7;
  settings.interval_min = 5400;
  settings.folders = {{"News", "Tech/co"}, {}};
  settings.opml = {{"text", "A"}, {"x:id", "7"}};
  settings.namespaces = {{"x", "urn:x"}};
  const std::string json = settings_json(settings);
  EXPECT_EQ(
      json,
      R"({"keep":7,"interval_min":5400,"folders":[["News","Tech/co"],[]],"opml":{"text":"A","x:id":"7"},"xmlns":{"x":"urn:x"}})");
  EXPECT_EQ(settings_json(read_settings(json)), json);
  EXPECT_EQ(settings_json({}), "");
  EXPECT_EQ(settings_json(read_settings("{\"keep\":\"x\",\"folders\":7,\"opml\":[]}")), "");
  EXPECT_EQ(settings_json(read_settings("nonsense")), "");
}

std::string written(const std::vector<ExportedFeed>& feeds) {
  SubscriptionsWriter writer(1763690000);
  for (const ExportedFeed& feed : feeds) {
    if (feed.settings.folders.empty()) writer.row({}, feed);
    for (const auto& path : feed.settings.folders) writer.row(path, feed);
  }
  writer.end();
  return writer.take();
}

/// The export of an imported list.
std::string exported(const SubscriptionList& list) {
  std::vector<ExportedFeed> feeds;
  for (const Subscription& subscription : list.feeds) {
    feeds.push_back({subscription.feed_url, "title", "http://link.example/",
                     read_settings(settings_json(settings_of(subscription, list)))});
  }
  return written(feeds);
}

TEST(Subscriptions, SurviveTheRoundTripThroughOpml) {
  const std::string text = opml(
      "<outline type=\"rss\" text=\"A &amp; B\" title=\"a\" category=\"x,/y\" description=\"d\" language=\"de\" "
      "odd=\"1\" "
      "x:id=\"7\" htmlUrl=\"http://a.example/site\" xmlUrl=\"http://a.example/\"/>\n"
      "<outline text=\"Folder\"><outline text=\"Inner\"><outline type=\"rss\" text=\"C\" "
      "xmlUrl=\"http://c.example/\"/></outline></outline>",
      " xmlns:x=\"urn:x\"");
  const SubscriptionList list = read_subscriptions(text);
  const SubscriptionList again = read_subscriptions(exported(list));
  ASSERT_EQ(again.feeds.size(), list.feeds.size());
  EXPECT_TRUE(again.broken.empty() && again.refused.empty());
  for (std::size_t i = 0; i < list.feeds.size(); ++i) {
    EXPECT_EQ(again.feeds[i].feed_url, list.feeds[i].feed_url);
    EXPECT_EQ(settings_json(settings_of(again.feeds[i], again)), settings_json(settings_of(list.feeds[i], list)));
  }
  EXPECT_EQ(exported(again), exported(list));
}

TEST(Subscriptions, CarryOurOwnSettingsInANamespaceOfTheirOwn) {
  ExportedFeed feed{"http://a.example/", "A", "http://a.example/site", {}};
  feed.settings.keep = 7;
  feed.settings.interval_min = 5400;
  const std::string text = written(std::vector{feed});
  EXPECT_NE(text.find("xmlns:feedmill=\"urn:feedmill:opml:1\""), std::string::npos) << text;
  EXPECT_NE(text.find("<dateCreated>Fri, 21 Nov 2025 01:53:20 GMT</dateCreated>"), std::string::npos) << text;
  EXPECT_NE(text.find("text=\"A\""), std::string::npos) << text;
  const SubscriptionList list = read_subscriptions(text);
  ASSERT_EQ(list.feeds.size(), 1U);
  const FeedSettings settings = settings_of(list.feeds[0], list);
  EXPECT_EQ(settings.keep, 7U);
  EXPECT_EQ(settings.interval_min, 5400U);
  EXPECT_TRUE(settings.namespaces.empty());
}

// WEBSUB U15
TEST(Subscriptions, CloseWhatOthersMayHaveAndNeverOpenIt) {
  for (const std::string word : {"yes", "no"}) {
    SubscriptionsWriter writer(0);
    ExportedFeed feed{"https://example.org/feed", "t", "", {}};
    feed.settings.republish = word;
    writer.row({}, feed);
    writer.end();
    const std::string text = writer.take();
    EXPECT_NE(text.find("feedmill:republish=\"" + word + "\""), std::string::npos) << text;
    const SubscriptionList list = read_subscriptions(text);
    ASSERT_EQ(list.feeds.size(), 1U);
    EXPECT_EQ(settings_of(list.feeds[0], list).republish, word == "no" ? "no" : "");
  }
}

TEST(Subscriptions, TellPrefixesOfTwoListsApart) {
  std::vector<ExportedFeed> feeds(2);
  feeds[0] = {"http://a.example/", "A", "", {}};
  feeds[0].settings.opml = {{"text", "A"}, {"x:id", "1"}};
  feeds[0].settings.namespaces = {{"x", "urn:one"}};
  feeds[1] = {"http://b.example/", "B", "", {}};
  feeds[1].settings.opml = {{"text", "B"}, {"x:id", "2"}};
  feeds[1].settings.namespaces = {{"x", "urn:two"}};
  const std::string text = written(feeds);
  for (const char* const declared : {"xmlns:x=\"urn:one\"", "xmlns:x2=\"urn:two\""}) {
    EXPECT_NE(text.find(declared), std::string::npos) << text;
  }
  EXPECT_NE(text.find("x2:id=\"2\""), std::string::npos) << text;
}

// A feed list that is not XML is useless to other programs.
TEST(Subscriptions, AreAlwaysWrittenAsXml) {
  const SubscriptionList list = read_subscriptions(
      opml("<outline type=\"rss\" text=\"a&#xFFFE;b\xEF\xBF\xBF\" 1x=\"2\" -x=\"1\" .y=\"1\" \xC2\xB7x=\"1\" "
           "x\xE2\x80\xAEy=\"1\" n:k=\"1\" m:k=\"2\" z:a=\"1\" :b=\"1\" n:=\"1\" n:1=\"1\" "
           "xmlUrl=\"http://a.example/\"/>",
           " xmlns:n=\"urn:n\" xmlns:m=\"urn:n\" xmlns:z=\"http://www.w3.org/XML/1998/namespace\""));
  std::string text = exported(list);
  pugi::xml_document document;
  EXPECT_TRUE(document.load_string(text.c_str())) << text;
  EXPECT_NE(text.find("text=\"ab\""), std::string::npos) << text;
  EXPECT_NE(text.find("n:k=\"1\""), std::string::npos) << text;
  for (const char* const lost : {"1x", "-x", ".y", "\xC2\xB7x", "\xAEy", "m:k", "k=\"2\"", "z:a", "n:1", "XML/1998"})
    EXPECT_EQ(text.find(lost), std::string::npos) << lost << "\n" << text;
  ExportedFeed stored{"http://a.example/", "\xEF\xBF\xBE", "", {}};  // by an earlier build
  stored.settings.opml = {{"1x", "2"}, {"z:a", "1"}};
  stored.settings.namespaces = {{"z", "http://www.w3.org/2000/xmlns/"}};
  text = written(std::vector{stored});
  EXPECT_EQ(text.find("1x"), std::string::npos) << text;
  EXPECT_EQ(text.find("z:a"), std::string::npos) << text;
  EXPECT_EQ(text.find("\xEF\xBF\xBE"), std::string::npos) << text;
}

TEST(Subscriptions, KeepReadableRowsOfABrokenFile) {
  const SubscriptionList list = read_subscriptions(
      "<opml><body>\n<outline xmlUrl=\"http://a.example/\"/>\n<outline type=\"rss\"/>\n<outline "
      "xmlUrl=\"ftp://b/\"/>\n<out");
  ASSERT_EQ(list.feeds.size(), 1U);
  ASSERT_EQ(list.refused.size(), 2U);
  EXPECT_EQ(list.refused[0].line, 3U);
  EXPECT_EQ(list.refused[1].line, 4U);
  ASSERT_EQ(list.broken.size(), 2U);
  EXPECT_EQ(list.broken[0].line, 5U);
}

TEST(Subscriptions, ReadAByteOrderMark) {
  EXPECT_EQ(read_subscriptions("\xEF\xBB\xBF"
                               "http://a.example/\n")
                .feeds.size(),
            1U);
  EXPECT_EQ(read_subscriptions("\xEF\xBB\xBF\n" + opml("<outline xmlUrl=\"http://a.example/\"/>")).feeds.size(), 1U);
}

TEST(Moments, AreWrittenForPeopleAndPrograms) {
  EXPECT_EQ(rfc3339(Milliseconds(1763690000123)), "2025-11-21T01:53:20Z");
  EXPECT_EQ(rfc822(Milliseconds(1763690000123)), "Fri, 21 Nov 2025 01:53:20 GMT");
  EXPECT_EQ(from_now(Milliseconds(1'000'000), Milliseconds(1'030'000)), "30 s ago");
  EXPECT_EQ(from_now(Milliseconds(1'000'000 + 15 * 60'000), Milliseconds(1'000'000)), "in 15 min");
  EXPECT_EQ(from_now(Milliseconds(0), Milliseconds(1)), "never");
}

TEST(Folders, AreChannelsAndChannelsFolders) {
  using Path = std::vector<std::string>;
  const std::vector<Path> folders{{"Tech", "TCP/IP"}, {}, {"News\n!"}, {"Tech", "TCP/IP"}, {std::string(2000, 'x')}};
  const auto channels = channels_of(folders, "anna");
  ASSERT_EQ(channels.size(), 3U);
  EXPECT_EQ(channels[0], "anna/Tech/TCP/IP");
  EXPECT_EQ(channels[1], "anna/News !");
  EXPECT_EQ(channels[2].size(), 1024U);
  EXPECT_EQ(channels_of(folders, "")[0], "Tech/TCP/IP");
  EXPECT_TRUE(channels_of(std::vector<Path>{{}}, "anna").empty());

  const std::vector<std::string> held{"anna/Tech/TCP/IP", "anna/own/list", "bob/his"};
  EXPECT_EQ(folders_of(held, folders, "anna"), (std::vector<Path>{{"Tech", "TCP/IP"}, {}, {"own", "list"}}))
      << "as the list named it, at the top as well, and what was added since";
  EXPECT_EQ(folders_of(held, {}, ""),
            (std::vector<Path>{{"anna", "Tech", "TCP", "IP"}, {"anna", "own", "list"}, {"bob", "his"}}));
  EXPECT_EQ(folders_of({}, std::vector<Path>{{"Tech"}}, ""), std::vector<Path>{}) << "taken out since";
}

}  // namespace
}  // namespace feedmill::opml_test
