#include "worker/observe/notices.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace feedmill::notices_test {
namespace {

TEST(Notices, OfAPostNameThePostAndTheReason) {
  Event signal;
  signal.id = "17-3";
  signal.type = "post_created";
  signal.entity_id = "Entry:4";
  signal.feed_url = "https://a.org/";
  signal.guid = "g\"4";
  signal.timestamp = 1700;
  signal.data = {{"title", "T\u2028"}};
  const std::vector<std::string> why{"feed", "words redis"};
  const Notice notice = post_notice(signal, "anna", why);
  EXPECT_EQ(notice.user, "anna");
  EXPECT_EQ(notice.id, "17-3");
  EXPECT_EQ(boost::json::parse(notice.json), boost::json::parse(R"({"id":"17-3","type":"post_created",
      "entity_id":"Entry:4","feed_url":"https://a.org/","guid":"g\"4","title":"T\u2028","link":"","timestamp":1700,
      "why":["feed","words redis"]})"));
}

TEST(Notices, OperatorsHearOfEveryStepInAFeedsLifeAndOfNothingElse) {
  Event signal;
  signal.id = "17-3";
  signal.feed_url = "https://a.org/";
  signal.data = {{"reason", "http.not_found"}};
  for (const char* type : {"feed_failing", "feed_gone", "feed_recovered", "feed_moved", "feed_rekeyed", "feed_gap"}) {
    signal.type = type;
    const auto notice = operator_notice(signal);
    ASSERT_TRUE(notice) << type;
    EXPECT_EQ(notice->user, operator_user);
    const auto object = boost::json::parse(notice->json).as_object();
    EXPECT_EQ(object.at("type"), type);
    EXPECT_EQ(object.at("reason"), "http.not_found");
    EXPECT_FALSE(object.at("text").as_string().empty());
    EXPECT_FALSE(object.at("remedy").as_string().empty());
  }
  signal.type = "feed_rekeyed";
  signal.continued = true;
  EXPECT_FALSE(operator_notice(signal)) << "one that is told in parts is told once";
  signal.continued = false;
  signal.type = "feed_failing";
  signal.data.emplace_back("state", "blocked");
  const auto blocked = boost::json::parse(operator_notice(signal)->json).as_object();
  EXPECT_EQ(blocked.at("text"), "feed is blocked") << "as the log says";
  for (const char* type : {"feed_created", "feed_modified", "post_created", "post_trimmed", ""}) {
    signal.type = type;
    EXPECT_FALSE(operator_notice(signal)) << type;
  }
}

// HTTP §4: one notice for each change of state, unless a signal already brings one.
TEST(Notices, OperatorsHearOfEveryChangeOfStateOnce) {
  struct Row {
    const char* from;
    const char* to;
    const char* type;  ///< nullptr: none, or the signal's
  };
  const Row rows[] = {{"new", "healthy", nullptr},
                      {"new", "degraded", "feed_degraded"},
                      {"healthy", "healthy", nullptr},
                      {"healthy", "degraded", "feed_degraded"},
                      {"degraded", "degraded", nullptr},
                      {"degraded", "healthy", "feed_recovered"},
                      {"degraded", "failing", nullptr},
                      {"degraded", "blocked", nullptr},
                      {"failing", "healthy", nullptr},
                      {"blocked", "healthy", nullptr},
                      {"gone", "healthy", nullptr},
                      {"quarantined", "healthy", "feed_recovered"},
                      {"quarantined", "quarantined", nullptr}};
  for (const Row& row : rows) {
    Report report;
    report.feed_url = "https://a.org/";
    report.state_from = row.from;
    report.state_to = row.to;
    report.reason = std::string_view(row.to) == "healthy" ? Reason::none : Reason::http_timeout;
    const auto notice = state_notice(report, Milliseconds(1'700'000'000'123));
    ASSERT_EQ(notice.has_value(), row.type != nullptr) << row.from << " " << row.to;
    if (!notice) continue;
    EXPECT_EQ(notice->user, operator_user);
    const auto object = boost::json::parse(notice->json).as_object();
    EXPECT_EQ(object.at("type"), row.type);
    EXPECT_EQ(object.at("state"), row.to);
    EXPECT_EQ(object.at("feed_url"), "https://a.org/");
    EXPECT_EQ(object.contains("reason"), report.reason != Reason::none);
    EXPECT_EQ(object.at("text").as_string(), std::string("feed is ") + row.to);
    EXPECT_FALSE(object.at("remedy").as_string().empty());
    EXPECT_NE(state_notice(report, Milliseconds(1'700'000'000'124))->id, notice->id) << "each time";
  }
}

TEST(Notices, OperatorsHearOfWhatNoSignalTells) {
  const Milliseconds now(1'700'000'000'123);
  const Notice quarantined = quarantine_notice("https://a.org/", "workers died", now);
  EXPECT_EQ(quarantined.user, operator_user);
  EXPECT_NE(quarantined.id, quarantine_notice("https://a.org/", "workers died", now + Milliseconds(1)).id)
      << "each time";
  const auto object = boost::json::parse(quarantined.json).as_object();
  EXPECT_EQ(object.at("id").as_string(), quarantined.id);
  EXPECT_EQ(object.at("type"), "feed_quarantined");
  EXPECT_EQ(object.at("text"), "workers died");
  EXPECT_EQ(object.at("feed_url"), "https://a.org/");
  EXPECT_EQ(object.at("timestamp"), 1'700'000'000);
  EXPECT_FALSE(object.at("remedy").as_string().empty());

  const Notice collided = collision_notice("https://a.org/", "https://b.org/", now);
  EXPECT_EQ(collided.id, collision_notice("https://a.org/", "https://b.org/", now + Milliseconds(1)).id) << "once";
  EXPECT_EQ(boost::json::parse(collided.json).at("to"), "https://b.org/");
}

// HTTP H11
TEST(Notices, OperatorsHearOfAStormOnce) {
  const Notice notice = storm_notice("host.test", "status.not_found", Milliseconds(1'772'366'400'000));
  EXPECT_EQ(notice.user, "_operator");
  const auto said = boost::json::parse(notice.json).as_object();
  EXPECT_EQ(said.at("type"), "host_storm");
  EXPECT_EQ(said.at("host"), "host.test");
  EXPECT_EQ(said.at("reason"), "status.not_found");
  EXPECT_NE(said.at("remedy").as_string().find("after 7 days"), std::string::npos);
}

}  // namespace
}  // namespace feedmill::notices_test
