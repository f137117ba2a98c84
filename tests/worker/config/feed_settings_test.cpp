#include "worker/config/feed_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace feedmill::feed_settings_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string pin = "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";

TEST(FeedSettings, AreSetShownAndTakenAway) {
  const std::vector<std::string> all = {"keep=10",
                                        "keep_age=90d",
                                        "keep_bytes=512KiB",
                                        "texts=10",
                                        "backfill=100",
                                        "interval_min=15min",
                                        "interval_max=1d",
                                        "html_policy=raw",
                                        "auth=news",
                                        "policy=intranet",
                                        "proxy=http://proxy.example:3128",
                                        "user_agent=AcmeReader/2.1",
                                        "http_version=1.1",
                                        "republish=no",
                                        "websub=off",
                                        "hub=https://hub.example/?a=b",
                                        "topic=http://example.org/xml/feed?channel_id=1",
                                        "ca_file=/etc/ssl/own.pem",
                                        "pin=" + pin + ";" + pin,
                                        "subscribers=0",
                                        "header.Accept-Language=de, en;q=0.5",
                                        "header.X-Client=a=b"};
  FeedSettings settings;
  for (const std::string& one : all) EXPECT_EQ(change_setting(settings, one), "") << one;
  EXPECT_EQ(setting_texts(settings), all);
  const std::string json = settings_json(settings);
  EXPECT_EQ(settings_json(read_settings(json)), json);
  EXPECT_EQ(setting_texts(read_settings(json)), all);
  EXPECT_EQ(check_settings(settings), "");
  for (const std::string& one : all) {
    EXPECT_EQ(change_setting(settings, one.substr(0, one.find('=') + 1)), "") << one;
  }
  EXPECT_EQ(settings_json(settings), "");
  EXPECT_EQ(feed_setting_table().size() + 2, all.size()) << "a setting without a test";
}

TEST(FeedSettings, TextsMayBeAllOrNone) {
  FeedSettings settings;
  EXPECT_EQ(change_setting(settings, "texts=all"), "");
  EXPECT_THAT(setting_texts(read_settings(settings_json(settings))), ElementsAre("texts=all"));
  EXPECT_EQ(change_setting(settings, "texts=0"), "");
  EXPECT_THAT(setting_texts(read_settings(settings_json(settings))), ElementsAre("texts=0"));
}

TEST(FeedSettings, KeepOneHeaderOfAName) {
  FeedSettings settings;
  EXPECT_EQ(change_setting(settings, "header.X-Client=one"), "");
  EXPECT_EQ(change_setting(settings, "header.x-client=two"), "");
  EXPECT_THAT(setting_texts(settings), ElementsAre("header.x-client=two"));
}

TEST(FeedSettings, LeaveTheListsAlone) {
  FeedSettings settings = read_settings(R"({"keep":7,"folders":[["News"]],"opml":{"text":"A"}})");
  EXPECT_EQ(change_setting(settings, "keep="), "");
  EXPECT_EQ(settings_json(settings), R"({"folders":[["News"]],"opml":{"text":"A"}})");
}

TEST(FeedSettings, MustNotContradictEachOther) {
  FeedSettings settings;
  EXPECT_EQ(change_setting(settings, "interval_min=2h"), "");
  EXPECT_EQ(change_setting(settings, "interval_max=1h"), "");
  EXPECT_THAT(check_settings(settings), HasSubstr("interval_min is longer"));
}

TEST(FeedSettings, HaveATopicForAHubAlone) {
  FeedSettings settings;
  EXPECT_EQ(change_setting(settings, "topic=https://example.org/feed"), "");
  EXPECT_THAT(check_settings(settings), HasSubstr("set hub as well"));
  EXPECT_EQ(change_setting(settings, "hub=https://hub.example/"), "");
  EXPECT_EQ(check_settings(settings), "");
}

struct WrongCase {
  const char* text;
  const char* remedy;
};

TEST(FeedSettings, AreRefusedWithARemedy) {
  const WrongCase cases[] = {
      {"keep", "write key=value"},
      {"=1", "write key=value"},
      {"kep=1", "did you mean keep?"},
      {"nonsense=1",
       "no such setting; one of: keep keep_age keep_bytes texts backfill interval_min interval_max html_policy auth "
       "policy proxy "
       "user_agent http_version republish websub hub topic ca_file pin subscribers header.NAME"},
      {"keep=0", "from 1 to 1000000"},
      {"keep=-1", "from 1 to"},
      {"keep=1.5", "from 1 to"},
      {"keep=10x", "from 1 to"},
      {"keep_age=90", "24h 30d, or 0"},
      {"keep_age=500ms", "24h 30d, or 0"},
      {"keep_bytes=12kB", "512KiB 16MiB, or 0"},
      {"texts=-1", "from 0 to 1000000, or all"},
      {"backfill=0", "from 1 to 100000"},
      {"interval_min=15", "15min"},
      {"interval_min=0", "from 1s to 30d"},
      {"interval_max=31d", "from 1s to 30d"},
      {"html_policy=classic", "expected one of strict raw"},
      {"proxy=proxy.example", "http://host:port, or none"},
      {"proxy=http://me:pw@proxy.example:3128", "not stored with feeds"},
      {"user_agent=Mozilla/5.0", "does not imitate browsers"},
      {"user_agent=Acme (https://acme.example)", "AcmeReader/2.1"},
      {"user_agent=Acme\r\nX: y", "AcmeReader/2.1"},
      {"http_version=2", "expected 1.1"},
      {"hub=hub.example", "absolute http or https URL"},
      {"hub=ftp://hub.example/", "absolute http or https URL"},
      {"hub=https://me:pw@hub.example/", "without credentials"},
      {"hub=https://hub.example/#a", "fragment"},
      {"topic=https://example.org/a b", "absolute http or https URL"},
      {"ca_file=own.pem", "absolute path"},
      {"pin=sha1//abc", "sha256//BASE64"},
      {"subscribers=many", "from 0 to"},
      {"header.=x", "letters, digits and -"},
      {"header.X Y=x", "letters, digits and -"},
      {"header.X-A=x\r\nY: z", "visible characters"},
      {"header.X-A= x", "visible characters"},
      {"header.User-Agent=x", "user_agent="},
      {"header.Authorization=x", "[feed_auth."},
      {"header.Cookie=x", "[feed_auth."},
      {"header.X-Api-Key=x", "[feed_auth."},
      {"header.X-Auth-Token=x", "[feed_auth."},
  };
  for (const WrongCase& c : cases) {
    FeedSettings settings;
    EXPECT_THAT(change_setting(settings, c.text), HasSubstr(c.remedy)) << c.text;
    EXPECT_EQ(settings_json(settings), "") << c.text;
  }
}

// SECURITY K5
TEST(FeedSettings, RefuseHeadersThatAreNotAnOperators) {
  for (const char* name : {"Host",
                           "Content-Length",
                           "Transfer-Encoding",
                           "Connection",
                           "TE",
                           "Upgrade",
                           "Proxy-Authorization",
                           "proxy-connection",
                           "X-Forwarded-For",
                           "x-forwarded-host",
                           "Forwarded",
                           "Remote-User",
                           "X-Remote-User",
                           "X-WebAuth-User",
                           "Accept-Encoding",
                           "If-None-Match",
                           "If-Modified-Since",
                           "Range",
                           "Expect",
                           "A-IM",
                           "Referer"}) {
    FeedSettings settings;
    EXPECT_NE(change_setting(settings, "header." + std::string(name) + "=x"), "") << name;
    // They are not sent either if another program wrote them into the store.
    EXPECT_TRUE(read_settings("{\"headers\":{\"" + std::string(name) + "\":\"x\"}}").headers.empty()) << name;
  }
  EXPECT_TRUE(read_settings("{\"headers\":{\"X-A\":\"a\\r\\nB: c\"}}").headers.empty());
}

TEST(FeedSettings, IgnoreValuesOfTheWrongShape) {
  for (const char* text :
       {"", "{}", "[]", "nonsense", R"({"auth":7,"headers":[],"html_policy":"lax","interval_max":"1h"})",
        R"({"headers":{"X-A":1},"folders":{},"opml":[],"xmlns":0,"subscribers":-1})"}) {
    EXPECT_EQ(settings_json(read_settings(text)), "") << text;
  }
}

}  // namespace
}  // namespace feedmill::feed_settings_test
