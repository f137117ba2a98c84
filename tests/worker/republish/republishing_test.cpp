// Which feeds' posts must not be republished (WEBSUB U15).
#include <gtest/gtest.h>

#include "worker/base/redact.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/republish/topic_page.hpp"

namespace feedmill::republishing_test {
namespace {

struct Case {
  std::string name;
  std::string url = "https://example.org/feed.xml";
  std::vector<std::string> settings{};
  Exposure exposure = Exposure::open_to_all;
  std::string fetch_url{};
};

Republishing judged(const Case& one) {
  FeedSettings settings;
  for (const std::string& setting : one.settings) EXPECT_EQ(change_setting(settings, setting), "") << setting;
  FeedState state;
  state.settings = settings_json(settings);
  state.exposure = one.exposure;
  state.address.fetch_url = one.fetch_url;
  return republishing_of(one.url, state);
}

// WEBSUB U15
TEST(WhatMayBeRepublished, IsLimitedToPublicFeeds) {
  EXPECT_EQ(judged({.name = "public"}), (Republishing{true, true, ""}));
  EXPECT_TRUE(judged({.name = "other settings", .settings = {"keep=10", "user_agent=Acme/1"}}).allowed);
  const std::vector<Case> closed{
      {.name = "credentials", .settings = {"auth=work"}},
      {.name = "headers", .settings = {"header.X-Team=a"}},
      {.name = "policy", .settings = {"policy=office"}},
      {.name = "opened", .exposure = Exposure::opened_by_allow},
      {.name = "unknown", .exposure = Exposure::unknown},
      {.name = "password", .url = "https://anna:s3cret@example.org/feed.xml"},
      {.name = "token", .url = "https://example.org/feed.xml?a=1&token=s3cret"},
      {.name = "moved to a token", .fetch_url = "https://example.org/feed.xml?key=s3cret"},
      {.name = "no", .settings = {"republish=no"}},
  };
  for (Case one : closed) {
    const Republishing verdict = judged(one);
    EXPECT_FALSE(verdict.allowed) << one.name;
    EXPECT_NE(verdict.why_not, "") << one.name;
    EXPECT_EQ(verdict.why_not.find("s3cret"), std::string::npos) << verdict.why_not;
    if (one.name == "no") continue;
    EXPECT_NE(verdict.why_not.find("republish=yes"), std::string::npos) << verdict.why_not;
    one.settings.emplace_back("republish=yes");
    EXPECT_TRUE(judged(one).allowed) << one.name;
  }
}

TEST(WhatMayBeRepublished, KnowsSecretsAsTheLogDoes) {
  const Case one{.name = "own name", .url = "https://example.org/feed.xml?ticket=abc"};
  EXPECT_TRUE(judged(one).allowed);
  set_secret_parameters({"ticket"});
  EXPECT_FALSE(judged(one).allowed);
  std::vector<std::string> usual;
  for (std::string_view rest = usual_secret_parameters; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    usual.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  set_secret_parameters(usual);
}

TEST(WhatMayBeRepublished, OfARemovedFeedIsWhatItsLastEventSays) {
  const Republishing gone{false, false, "no such feed"};
  const auto removed = [](const std::string& republish, const std::string& url = "https://example.org/feed.xml") {
    Event event;
    event.type = "feed_removed";
    event.feed_url = url;
    if (!republish.empty()) event.data = {{"republish", republish}};
    return event;
  };
  EXPECT_TRUE(may_be_told(removed("yes"), gone));
  EXPECT_TRUE(may_be_told(removed("public"), gone));
  EXPECT_FALSE(may_be_told(removed("no"), gone));
  EXPECT_FALSE(may_be_told(removed(""), gone)) << "of an older build";
  EXPECT_FALSE(may_be_told(removed("public", "https://example.org/feed.xml?token=s3cret"), gone));
  EXPECT_FALSE(may_be_told(removed("yes"), Republishing{false, true, "republish=no"})) << "it is there again";
  Event post = removed("yes");
  post.type = "post_created";
  EXPECT_FALSE(may_be_told(post, gone));
}

TEST(WhatMayBeRepublished, IsWrittenAsASetting) {
  FeedSettings settings;
  EXPECT_EQ(change_setting(settings, "republish=perhaps"), "expected yes or no");
  EXPECT_EQ(change_setting(settings, "republish=yes"), "");
  EXPECT_EQ(setting_texts(settings), std::vector<std::string>{"republish=yes"});
  EXPECT_EQ(settings_json(settings), R"({"republish":"yes"})");
  EXPECT_EQ(read_settings(settings_json(settings)).republish, "yes");
  EXPECT_EQ(change_setting(settings, "republish="), "");
  EXPECT_EQ(settings_json(settings), "");
}

}  // namespace
}  // namespace feedmill::republishing_test
