#include "worker/websub/callback.hpp"

#include <gtest/gtest.h>

namespace feedmill::callback_test {
namespace {

const std::string token = "abcdefghijklmnopqrstuvwx27";

struct Target {
  const char* name;
  std::string target, base;
  bool ours;
};
class CallbackTargets : public testing::TestWithParam<Target> {};

TEST_P(CallbackTargets, AreMatchedExactly) {
  const CallbackTarget read = read_callback_target(GetParam().target, GetParam().base);
  EXPECT_EQ(read.token, GetParam().ours ? token : "");
  const bool of_one = GetParam().target.find("/p3/") != std::string::npos;
  if (GetParam().ours) {
    EXPECT_EQ(read.partition.value_or(0), of_one ? 3U : 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, CallbackTargets,
    testing::Values(
        Target{"Plain", "/w/" + token, "", true}, Target{"WithQuery", "/w/" + token + "?a=b", "", true},
        Target{"BehindABase", "/hooks/w/" + token, "/hooks", true},
        Target{"BaseTakenOff", "/w/" + token, "/hooks", true}, Target{"OtherBase", "/hook/w/" + token, "/hooks", false},
        Target{"BaseGrown", "/hooksx/w/" + token, "/hooks", false},
        Target{"BaseTwice", "/hooks/hooks/w/" + token, "/hooks", false},
        Target{"OfAPartition", "/p3/w/" + token, "", true},
        Target{"BehindBoth", "/hooks/p3/w/" + token, "/hooks", true},
        Target{"PartitionWithZeros", "/p03/w/" + token, "", false},
        Target{"PartitionTwice", "/p3/p3/w/" + token, "", false},
        Target{"PartitionWithoutNumber", "/p/w/" + token, "", false},
        Target{"PartitionBeforeBase", "/p3/hooks/w/" + token, "/hooks", false},
        Target{"EscapedOnce", "/%77/" + token, "", true}, Target{"EscapedTwice", "/%2577/" + token, "", false},
        Target{"BrokenEscape", "/w/" + token.substr(0, 24) + "%2", "", false},
        Target{"UpperCase", "/w/ABCDEFGHIJKLMNOPQRSTUVWX27", "", false},
        Target{"Short", "/w/" + token.substr(1), "", false}, Target{"Long", "/w/" + token + "a", "", false},
        Target{"OtherDigits", "/w/abcdefghijklmnopqrstuvwx18", "", false},
        Target{"SlashBehind", "/w/" + token + "/", "", false}, Target{"TwoSlashes", "//w/" + token, "", false},
        Target{"Dots", "/x/../w/" + token, "", false}, Target{"EscapedDots", "/x/%2e%2e/w/" + token, "", false},
        Target{"Backslash", "\\w\\" + token, "", false}, Target{"Absolute", "http://x/w/" + token, "", false},
        Target{"Root", "/", "", false}, Target{"Empty", "", "", false}, Target{"Star", "*", "", false},
        Target{"Nul", std::string("/w/\0", 4) + token, "", false}, Target{"EscapedNul", "/w/%00" + token, "", false},
        Target{"Huge", "/w/" + std::string(100'000, 'a'), "", false}),
    [](const auto& test) { return test.param.name; });

const std::string good = "hub.mode=subscribe&hub.topic=http%3A%2F%2Fa%2Ff&hub.challenge=xyz";

TEST(Verifications, AreParsed) {
  const auto read = read_verification(good + "&hub.lease_seconds=864000");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->mode, "subscribe");
  EXPECT_EQ(read->topic, "http://a/f");
  EXPECT_EQ(read->challenge, "xyz");
  EXPECT_EQ(read->lease_seconds, "864000");
}

TEST(Verifications, MayHaveExtraAndEmptyParameters) {
  EXPECT_TRUE(read_verification(good + "&foo=bar&foo=bar&&x"));
  EXPECT_TRUE(read_verification("hub%2Emode=unsubscribe&hub.topic=t&hub.challenge=c"));
  EXPECT_TRUE(read_verification("hub.challenge=" + std::string(1024, '~') + "&hub.topic=t&hub.mode=subscribe"));
}

TEST(Verifications, AreDecodedOnce) {
  EXPECT_EQ(read_verification("hub.mode=subscribe&hub.topic=a%2520b+c&hub.challenge=x")->topic, "a%20b c");
}

TEST(Verifications, OfDenialsNeedNoChallenge) {
  const auto read = read_verification("hub.mode=denied&hub.topic=t&hub.reason=go+away");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->reason, "go away");
}

struct BadQuery {
  const char* name;
  std::string query;
};
class BadVerifications : public testing::TestWithParam<BadQuery> {};

TEST_P(BadVerifications, AreRefused) {
  EXPECT_FALSE(read_verification(GetParam().query));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadVerifications,
    testing::Values(BadQuery{"Empty", ""}, BadQuery{"NoMode", "hub.topic=t&hub.challenge=c"},
                    BadQuery{"NoTopic", "hub.mode=subscribe&hub.challenge=c"},
                    BadQuery{"EmptyTopic", "hub.mode=subscribe&hub.topic=&hub.challenge=c"},
                    BadQuery{"NoChallenge", "hub.mode=subscribe&hub.topic=t"},
                    BadQuery{"EmptyChallenge", "hub.mode=subscribe&hub.topic=t&hub.challenge="},
                    BadQuery{"UnknownMode", "hub.mode=publish&hub.topic=t&hub.challenge=c"},
                    BadQuery{"UpperCaseMode", "hub.mode=Subscribe&hub.topic=t&hub.challenge=c"},
                    BadQuery{"EmptyMode", "hub.mode=&hub.topic=t&hub.challenge=c"},
                    BadQuery{"TwoModes", good + "&hub.mode=subscribe"},
                    BadQuery{"TwoTopics", good + "&hub.topic=http://a/f"},
                    BadQuery{"TwoChallenges", good + "&hub.challenge=xyz"},
                    BadQuery{"TwoLeases", good + "&hub.lease_seconds=1&hub.lease_seconds=2"},
                    BadQuery{"TwoReasons", "hub.mode=denied&hub.topic=t&hub.reason=a&hub.reason=b"},
                    BadQuery{"EscapedTwin", good + "&hub%2emode=unsubscribe"},
                    BadQuery{"DeniedWithoutTopic", "hub.mode=denied&hub.reason=x"},
                    BadQuery{"BrokenEscape", "hub.mode=subscribe&hub.topic=%zz&hub.challenge=c"},
                    BadQuery{"CutEscape", "hub.mode=subscribe&hub.topic=t&hub.challenge=c%2"},
                    BadQuery{"BrokenEscapeInAName", good + "&%=1"},
                    BadQuery{"ChallengeWithSpace", "hub.mode=subscribe&hub.topic=t&hub.challenge=a+b"},
                    BadQuery{"ChallengeWithMarkup8Bit", "hub.mode=subscribe&hub.topic=t&hub.challenge=%C3%A9"},
                    BadQuery{"ChallengeWithNul", "hub.mode=subscribe&hub.topic=t&hub.challenge=a%00"},
                    BadQuery{"ChallengeWithLineBreak", "hub.mode=subscribe&hub.topic=t&hub.challenge=a%0d%0aX:1"},
                    BadQuery{"ChallengeTooLong",
                             "hub.mode=subscribe&hub.topic=t&hub.challenge=" + std::string(1025, 'x')},
                    BadQuery{"Semicolons", "hub.mode=subscribe;hub.topic=t;hub.challenge=c"},
                    BadQuery{"TooMany", good +
                                            [] {
                                              std::string more;
                                              for (int i = 0; i < 100; ++i) more += "&a=b";
                                              return more;
                                            }()},
                    BadQuery{"Huge", good + "&x=" + std::string(1 << 20, 'x')},
                    BadQuery{"OtherNames", "mode=subscribe&topic=t&challenge=c"}),
    [](const auto& test) { return test.param.name; });

TEST(SubscriptionForms, AreThoseBytes) {
  PushRecord record;
  record.topic = "https://example.org/f?a=b&c=d";
  record.secret = "s3";
  EXPECT_EQ(subscription_form(record, "subscribe", "https://me.example/w/x"),
            "hub.callback=https%3A%2F%2Fme.example%2Fw%2Fx&hub.mode=subscribe&"
            "hub.topic=https%3A%2F%2Fexample.org%2Ff%3Fa%3Db%26c%3Dd&hub.lease_seconds=864000&hub.secret=s3");
  record.secret.clear();
  EXPECT_EQ(subscription_form(record, "unsubscribe", "https://me.example/w/x"),
            "hub.callback=https%3A%2F%2Fme.example%2Fw%2Fx&hub.mode=unsubscribe&"
            "hub.topic=https%3A%2F%2Fexample.org%2Ff%3Fa%3Db%26c%3Dd");
}

TEST(Reasons, AreOneVisibleLine) {
  EXPECT_EQ(one_line("  no\r\n\tthank \x01you\x7f ", 500), "no thank you");
  EXPECT_EQ(one_line(std::string(1000, 'x'), 500).size(), 500U);
  EXPECT_EQ(one_line("aé", 2), "a");
  EXPECT_EQ(one_line("a\xFF", 500).find('\xFF'), std::string::npos);
}

TEST(Reasons, HoldNoSecret) {
  PushRecord record;
  record.token = std::string(26, 'q');
  record.secret = std::string(64, '7');
  EXPECT_EQ(reason_of_hub("no " + record.token + " nor " + record.secret + record.secret, record),
            "no <redacted> nor <redacted><redacted>");
  EXPECT_EQ(reason_of_hub("see https://me.example/w/" + std::string(26, 'x') + "\n?token=abc", record),
            "see https://me.example/w/<redacted> ?token=<redacted>");
  EXPECT_LE(reason_of_hub(std::string(10'000, 'n'), record).size(), 500U);
  EXPECT_EQ(reason_of_hub(record.secret.substr(0, 5) + "\x01" + record.secret.substr(5), record), "<redacted>");
  EXPECT_EQ(reason_of_hub("", PushRecord()), "");
}

}  // namespace
}  // namespace feedmill::callback_test
