// Requests of strangers to the hub and for topics (WEBSUB U1, U2, U3, U8).
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/push_out/outside_requests.hpp"
#include "worker/push_out/topic_pages.hpp"

namespace feedmill::hub_request_test {
namespace {

using testing::HasSubstr;

constexpr std::string_view good =
    "hub.mode=subscribe&hub.topic=https%3A%2F%2Fme%2Ft&hub.callback=https%3A%2F%2Fa.example%2Fcb";

HubRequest read(const std::string& form) {
  const auto request = read_hub_request(form);
  EXPECT_TRUE(request) << form << ": " << request.error();
  return request ? *request : HubRequest();
}
HubRequest good_with(const std::string& more) {
  return read(std::string(good) + more);
}

struct WrongForm {
  const char* name;
  std::string form;
  const char* said;
};
class WrongHubForms : public testing::TestWithParam<WrongForm> {};
TEST_P(WrongHubForms, AreRefusedWithTheReason) {
  const auto request = read_hub_request(GetParam().form);
  ASSERT_FALSE(request) << GetParam().form;
  EXPECT_THAT(request.error(), HasSubstr(GetParam().said));
}

std::string with_callback(const std::string& callback) {
  return "hub.mode=subscribe&hub.topic=t&hub.callback=" + callback;
}
std::string good_and(const std::string& more) {
  return std::string(good) + more;
}
std::string so_many(std::size_t count) {
  std::string form;
  for (std::size_t i = 0; i < count; ++i) form += "x=1&";
  return form + std::string(good);
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongHubForms,
    testing::Values(
        WrongForm{"Nothing", "", "hub.mode"}, WrongForm{"OneName", "x", "hub.mode"},
        WrongForm{"OnlyAmpersands", "&&&&", "hub.mode"},
        WrongForm{"NoMode", "hub.topic=t&hub.callback=http://a.example/", "hub.mode"},
        WrongForm{"AnEmptyMode", "hub.mode=&hub.topic=t&hub.callback=http://a.example/", "hub.mode"},
        WrongForm{"AModeWithoutAValue", "hub.mode&hub.topic=t&hub.callback=http://a.example/", "hub.mode"},
        WrongForm{"Publish", "hub.mode=publish&hub.topic=t&hub.callback=http://a.example/", "hub.mode"},
        WrongForm{"Denied", "hub.mode=denied&hub.topic=t&hub.callback=http://a.example/", "hub.mode"},
        WrongForm{"UpperCase", "hub.mode=SUBSCRIBE&hub.topic=t&hub.callback=http://a.example/", "hub.mode"},
        WrongForm{"AModeWithASpace", "hub.mode=subscribe+&hub.topic=t&hub.callback=http://a.example/", "hub.mode"},
        WrongForm{"ANameInUpperCase", "HUB.MODE=subscribe&hub.topic=t&hub.callback=http://a.example/", "hub.mode"},
        WrongForm{"ModeWithoutItsPrefix", "mode=subscribe&hub.topic=t&hub.callback=http://a.example/", "hub.mode"},
        WrongForm{"DecodedTwice", "hub.mode=%2573ubscribe&hub.topic=t&hub.callback=http://a.example/", "hub.mode"},
        WrongForm{"NoTopic", "hub.mode=subscribe&hub.callback=http://a.example/", "hub.topic is missing"},
        WrongForm{"AnEmptyTopic", "hub.mode=subscribe&hub.topic=&hub.callback=http://a.example/",
                  "hub.topic is missing"},
        WrongForm{"NoCallback", "hub.mode=subscribe&hub.topic=t", "hub.callback is missing"},
        WrongForm{"AnEmptyCallback", with_callback(""), "hub.callback is missing"},
        WrongForm{"ARelativeCallback", with_callback("/cb"), "hub.callback: "},
        WrongForm{"Ftp", with_callback("ftp://a.example/cb"), "hub.callback: "},
        WrongForm{"AFile", with_callback("file:///etc/passwd"), "hub.callback: "},
        WrongForm{"Gopher", with_callback("gopher://a.example/"), "hub.callback: "},
        WrongForm{"Script", with_callback("javascript:alert(1)"), "hub.callback: "},
        WrongForm{"Credentials", with_callback("https://me:secret@a.example/cb"), "credentials"},
        WrongForm{"AName", with_callback("https://me@a.example/cb"), "credentials"},
        WrongForm{"ABackslash", with_callback("https://a.example%5Ccb"), "backslash"},
        WrongForm{"ALineBreak", with_callback("https://a.example/%0d%0aHost:x"), "control characters"},
        WrongForm{"AZero", with_callback("https://a.example/%00"), "control characters"},
        WrongForm{"AVeryLongCallback", with_callback("https://a.example/" + std::string(5'000, 'x')), "longer than"},
        WrongForm{"AnAddressWithAZone", with_callback("http://[fe80::1%2525eth0]/"), "hub.callback: "},
        WrongForm{"ModeTwice", good_and("&hub.mode=subscribe"), "hub.mode is given twice"},
        WrongForm{"TwoModes", good_and("&hub.mode=unsubscribe"), "hub.mode is given twice"},
        WrongForm{"TopicTwice", good_and("&hub.topic=u"), "hub.topic is given twice"},
        WrongForm{"CallbackTwice", good_and("&hub.callback=https://b.example/"), "hub.callback is given twice"},
        WrongForm{"SecretTwice", good_and("&hub.secret=a&hub.secret=a"), "hub.secret is given twice"},
        WrongForm{"LeaseTwice", good_and("&hub.lease_seconds=7&hub.lease_seconds=7"),
                  "hub.lease_seconds is given twice"},
        WrongForm{"TwiceInAnotherSpelling", good_and("&%68ub.mode=subscribe"), "hub.mode is given twice"},
        WrongForm{"ABrokenEscape", good_and("&hub.secret=%4"), "invalid percent-escape"},
        WrongForm{"ABrokenEscapeAtTheEnd", good_and("&hub.secret=%"), "invalid percent-escape"},
        WrongForm{"NoHexadecimal", good_and("&hub.lease_seconds=%zz"), "invalid percent-escape"},
        WrongForm{"ALongSecret", good_and("&hub.secret=" + std::string(200, 's')), "200 bytes"},
        WrongForm{"AVeryLongSecret", good_and("&hub.secret=" + std::string(100'000, 's')), "200 bytes"},
        WrongForm{"ALeaseOfNothing", good_and("&hub.lease_seconds=0"), "hub.lease_seconds is not a number"},
        WrongForm{"ANegativeLease", good_and("&hub.lease_seconds=-1"), "hub.lease_seconds is not a number"},
        WrongForm{"ALeaseInWords", good_and("&hub.lease_seconds=forever"), "hub.lease_seconds is not a number"},
        WrongForm{"ALeaseWithAFraction", good_and("&hub.lease_seconds=7200.5"), "hub.lease_seconds is not a number"},
        WrongForm{"ALeaseWithAPlus", good_and("&hub.lease_seconds=%2B7200"), "hub.lease_seconds is not a number"},
        WrongForm{"ALeaseWithASpace", good_and("&hub.lease_seconds=+7200"), "hub.lease_seconds is not a number"},
        WrongForm{"TooManyParameters", so_many(64), "64 parameters"},
        WrongForm{"VeryManyParameters", so_many(100'000), "64 parameters"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(HubForms, AreReadAsTheyAreMeant) {
  const HubRequest request = good_with("&hub.secret=s%26+%3d&hub.lease_seconds=7200&foo=bar&%zz=1");
  EXPECT_EQ(request.mode, "subscribe");
  EXPECT_EQ(request.topic, "https://me/t");
  EXPECT_EQ(request.callback, "https://a.example/cb");
  EXPECT_EQ(request.secret, "s& =");
  EXPECT_EQ(request.lease, Milliseconds(7'200'000));
  EXPECT_EQ(read("hub.mode=unsubscribe&hub.topic=t&hub.callback=http://a.example/").mode, "unsubscribe");
  EXPECT_EQ(good_with("&hub.secret=").secret, "");
  EXPECT_EQ(good_with("&hub.secret=" + std::string(199, 's')).secret.size(), 199U);
}

TEST(HubForms, KeepTheCallbacksQuery) {
  EXPECT_EQ(read(with_callback("https%3A%2F%2FA.Example%3A443%2Fcb%3Fmine%3D1%26b%3D%252F")).callback,
            "https://a.example/cb?mine=1&b=%2F");
}

TEST(HubForms, HaveSixtyFourParametersAtMost) {
  EXPECT_EQ(read(so_many(61)).mode, "subscribe");
}

struct LeaseCase {
  const char *name, *asked;
  std::int64_t seconds;
};
class HubLeases : public testing::TestWithParam<LeaseCase> {};
TEST_P(HubLeases, AreClampedAndNeverForEver) {
  const Milliseconds lease = good_with("&hub.lease_seconds=" + std::string(GetParam().asked)).lease;
  EXPECT_EQ(lease, Milliseconds(GetParam().seconds * 1000));
}
constexpr std::int64_t usual = 864'000, least = 3'600, most = 2'592'000;
INSTANTIATE_TEST_SUITE_P(All, HubLeases,
                         testing::Values(LeaseCase{"None", "", usual}, LeaseCase{"OneSecond", "1", least},
                                         LeaseCase{"AnHour", "3600", 3'600}, LeaseCase{"ADay", "86400", 86'400},
                                         LeaseCase{"AMonth", "2592000", most}, LeaseCase{"AYear", "31536000", most},
                                         LeaseCase{"AllThereIs", "9223372036854775807", most},
                                         LeaseCase{"BeyondAllNumbers", "99999999999999999999", most}),
                         [](const auto& test) { return std::string(test.param.name); });

const std::string token = "abcdefghijklmnopqrstuvwxyz";

TEST(TopicTargets, NameATokenAFormatAndAPage) {
  const auto atom = read_topic_target("/t/" + token + ".atom", "");
  ASSERT_TRUE(atom);
  EXPECT_EQ(atom->token, token);
  EXPECT_EQ(atom->format, TopicFormat::atom);
  EXPECT_FALSE(atom->before);
  const auto json = read_topic_target("/t/" + token + ".json", "x=1&before=-17%3AEntry%3A42");
  ASSERT_TRUE(json && json->before);
  EXPECT_EQ(json->format, TopicFormat::json);
  EXPECT_EQ(json->before->score, -17);
  EXPECT_EQ(json->before->id, "Entry:42");
  // With a key prefix.
  const auto prefixed = read_topic_target("/t/" + token + ".atom", "before=17:mine:Entry:42");
  ASSERT_TRUE(prefixed && prefixed->before);
  EXPECT_EQ(prefixed->before->id, "mine:Entry:42");
}

struct TargetCase {
  const char* name;
  std::string path, query;
};
class NoTopicTargets : public testing::TestWithParam<TargetCase> {};
TEST_P(NoTopicTargets, AreNone) {
  EXPECT_FALSE(read_topic_target(GetParam().path, GetParam().query));
}
INSTANTIATE_TEST_SUITE_P(
    All, NoTopicTargets,
    testing::Values(TargetCase{"Nothing", "", ""}, TargetCase{"TheRoot", "/", ""}, TargetCase{"NoToken", "/t/", ""},
                    TargetCase{"AnEndingAlone", "/t/.atom", ""}, TargetCase{"NoEnding", "/t/" + token, ""},
                    TargetCase{"AnotherEnding", "/t/" + token + ".rss", ""},
                    TargetCase{"MoreBehindIt", "/t/" + token + ".atom/", ""},
                    TargetCase{"AShortToken", "/t/" + token.substr(1) + ".atom", ""},
                    TargetCase{"ALongToken", "/t/a" + token + ".atom", ""},
                    TargetCase{"UpperCase", "/t/A" + token.substr(1) + ".atom", ""},
                    TargetCase{"OtherDigits", "/t/0" + token.substr(1) + ".atom", ""},
                    TargetCase{"AZero", "/t/" + std::string(1, '\0') + token.substr(1) + ".atom", ""},
                    TargetCase{"AnotherPath", "/w/" + token + ".atom", ""},
                    TargetCase{"APathBefore", "/x/t/" + token + ".atom", ""},
                    TargetCase{"APathBeforeAndAPlace", "/x/t/" + token + ".atom", "before="}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(TopicTargets, SayWhereAPlaceCannotBeRead) {
  EXPECT_FALSE(read_topic_target("/t/" + token + ".atom", "x=1")->unreadable_place);
  for (const std::string& place : {std::string(), std::string("17"), std::string("17:"), std::string(":Entry:1"),
                                   std::string("x:Entry:1"), "1:" + std::string(10'000, 'x')}) {
    const auto target = read_topic_target("/t/" + token + ".atom", "before=" + place);
    ASSERT_TRUE(target) << place;
    EXPECT_TRUE(target->unreadable_place) << place;
    EXPECT_FALSE(target->before) << place;
  }
}

struct TagCase {
  const char *name, *field;
  bool named;
};
class NamedTags : public testing::TestWithParam<TagCase> {};
TEST_P(NamedTags, AreFoundInTheList) {
  EXPECT_EQ(names_etag(GetParam().field, "\"abc\""), GetParam().named) << GetParam().field;
}
INSTANTIATE_TEST_SUITE_P(
    All, NamedTags,
    testing::Values(TagCase{"Nothing", "", false}, TagCase{"It", "\"abc\"", true}, TagCase{"Weak", "W/\"abc\"", true},
                    TagCase{"Any", "*", true}, TagCase{"AnyAmongOthers", "\"x\", *", true},
                    TagCase{"Another", "\"abd\"", false}, TagCase{"TheLast", "\"x\",\"y\" , W/\"abc\"", true},
                    TagCase{"TheFirst", "\"abc\", \"x\"", true}, TagCase{"WithoutQuotes", "abc", false},
                    TagCase{"ItsBeginning", "\"ab\"", false}, TagCase{"MoreThanIt", "\"abcd\"", false},
                    TagCase{"Commas", ",,,", false}, TagCase{"AWeakOneInLowerCase", "w/\"abc\"", false},
                    TagCase{"Spaces", "  \"abc\"  ", true}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace feedmill::hub_request_test
