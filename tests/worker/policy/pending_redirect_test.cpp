#include <gtest/gtest.h>

#include "worker/policy/answers.hpp"

namespace feedmill::pending_redirect_test {
namespace {

using std::chrono::hours;

const std::string old_url = "https://a.example/feed", target = "https://b.example/feed",
                  other = "https://c.example/feed";
constexpr Milliseconds start = hours(500'000);

std::vector<Hop> chain(std::initializer_list<std::pair<int, std::string>> redirects,
                       const std::string& from = old_url) {
  std::vector<Hop> hops;
  std::string url = from;
  for (const auto& [status, location] : redirects) {
    hops.push_back({url, status, location});
    url = location;
  }
  hops.push_back({url, 200, ""});
  return hops;
}

/// One poll: its time, its redirects, and the identity of the document.
struct Poll {
  Milliseconds after;
  std::vector<Hop> hops;
  Identity identity = {true, false, ""};
};

/// Target of the move that the last poll makes; "" if none, "early" if an earlier poll makes it.
std::string moved(const std::vector<Poll>& polls, FeedAddress address = {}, const std::string& requested = old_url) {
  std::string to;
  for (const Poll& poll : polls) {
    if (!to.empty()) return "early";
    const Judgement judgement = judge(address, requested, poll.hops, poll.identity, start + poll.after);
    address.moving = judgement.moving;
    to = judgement.move_to;
  }
  return to;
}

// HTTP R5
TEST(PendingRedirect, TakesOverThePermanentBeginningOfAChain) {
  EXPECT_EQ(permanent_target(chain({})), "");
  EXPECT_EQ(permanent_target(chain({{301, target}})), target);
  EXPECT_EQ(permanent_target(chain({{308, target}})), target);
  EXPECT_EQ(permanent_target(chain({{301, target}, {308, other}})), other);
  EXPECT_EQ(permanent_target(chain({{301, target}, {302, other}})), target);
  EXPECT_EQ(permanent_target(chain({{302, target}, {301, other}})), "");
  for (const int status : {302, 303, 307}) EXPECT_EQ(permanent_target(chain({{status, target}})), "") << status;
  EXPECT_EQ(permanent_target({}), "");
}

struct Case {
  const char* name;
  std::vector<Poll> polls;
  std::string to;  // "": it stays

  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

class Probations : public testing::TestWithParam<Case> {};

TEST_P(Probations, End) {
  EXPECT_EQ(moved(GetParam().polls), GetParam().to);
}

const std::vector<Hop> there = chain({{301, target}}), direct = chain({}), elsewhere = chain({{301, other}}),
                       passing = chain({{302, target}});
const Identity foreign{false, false, ""}, says_old{false, true, ""}, says_target{true, false, target};

INSTANTIATE_TEST_SUITE_P(
    R5, Probations,
    testing::Values(
        Case{"ThreeSightingsOverADay", {{hours(0), there}, {hours(12), there}, {hours(24), there}}, target},
        Case{"ThreeSightingsTooSoon", {{hours(0), there}, {hours(1), there}, {hours(23), there}}, ""},
        Case{"AFourthInTime", {{hours(0), there}, {hours(1), there}, {hours(2), there}, {hours(24), there}}, target},
        Case{"TwoSightingsOverAWeek", {{hours(0), there}, {hours(168), there}}, ""},
        Case{"Flapping",
             {{hours(0), there}, {hours(12), direct}, {hours(24), there}, {hours(36), direct}, {hours(48), there}},
             ""},
        Case{"AnotherTargetBetween",
             {{hours(0), there}, {hours(12), there}, {hours(18), elsewhere}, {hours(24), there}, {hours(30), there}},
             ""},
        Case{"ATemporaryOneBetween",
             {{hours(0), there}, {hours(12), passing}, {hours(18), there}, {hours(24), there}},
             target},
        Case{"OnlyTemporary", {{hours(0), passing}, {hours(24), passing}, {hours(48), passing}}, ""},
        Case{"AForeignFeed",
             {{hours(0), there, foreign}, {hours(12), there}, {hours(24), there}, {hours(48), there}},
             ""},
        Case{"AStrangerThatNamesTheOld",
             {{hours(0), there, foreign}, {hours(12), there, foreign}, {hours(24), there, says_old}},
             target},
        Case{"ThroughTwoPermanentHops",
             {{hours(0), chain({{301, target}, {301, other}})},
              {hours(12), chain({{308, target}, {301, other}})},
              {hours(24), chain({{301, target}, {308, other}})}},
             other},
        Case{"ToThePermanentPart",
             {{hours(0), chain({{301, target}, {302, other}})},
              {hours(12), chain({{301, target}, {302, other}})},
              {hours(24), chain({{301, target}, {302, other}})}},
             target},
        Case{"TheDocumentAlone",
             {{hours(0), direct, says_target}, {hours(24), direct, says_target}, {hours(48), direct, says_target}},
             ""},
        Case{"TheDocumentAndTwoRedirects",
             {{hours(0), direct, says_target}, {hours(12), there, says_target}, {hours(24), there, says_target}},
             target},
        Case{"TheDocumentAndAForeignTarget",
             {{hours(0), direct, says_target}, {hours(12), there, foreign}, {hours(24), there}, {hours(30), there}},
             ""},
        Case{"TheDocumentAtTheTarget", {{hours(0), there, says_target}, {hours(24), there, says_target}}, target},
        Case{"TheDocumentSaysSomethingElse",
             {{hours(0), direct, {true, false, other}}, {hours(12), there}, {hours(24), there}},
             ""}),
    [](const auto& test) { return test.param.name; });

TEST(PendingRedirect, OneSightingIsEnoughForHttps) {
  const std::string plain = "http://a.example/feed?x=1", secure = "https://a.example/feed?x=1";
  const auto one = [&](const std::string& to, Identity identity = {true, false, ""}) {
    return moved({{hours(0), chain({{301, to}}, plain), std::move(identity)}}, {}, plain);
  };
  EXPECT_EQ(one(secure), secure);
  EXPECT_EQ(one(secure, foreign), "") << "with the identity check";
  EXPECT_EQ(one(secure, {false, true, ""}), secure);
  EXPECT_EQ(one("https://a.example/feed"), "") << "another path";
  EXPECT_EQ(one("https://www.a.example/feed?x=1"), "") << "another host";
  EXPECT_EQ(moved({{hours(0), chain({{301, plain}}, secure)}}, {}, secure), "") << "not the other way round";
  EXPECT_EQ(moved({{hours(0), chain({{302, secure}}, plain)}}, {}, plain), "");
}

// HTTP R8
TEST(PendingRedirect, NeverMovesWhereItMustNot) {
  FeedAddress address;
  address.no_move_to = target;
  EXPECT_EQ(moved({{hours(0), there}, {hours(12), there}, {hours(24), there}, {hours(48), there}}, address), "");
  EXPECT_EQ(moved({{hours(0), elsewhere}, {hours(12), elsewhere}, {hours(24), elsewhere}}, address), other);
}

}  // namespace
}  // namespace feedmill::pending_redirect_test
