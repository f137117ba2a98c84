#include "worker/words/explanation.hpp"

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "worker/base/redact.hpp"

namespace feedmill::explanation_test {
namespace {

using namespace std::chrono_literals;

constexpr Milliseconds due{1'772'370'432'000};  // 2026-03-01T13:07:12Z
constexpr Milliseconds now = due - 26min - 20s;

FeedRecord record_of_the_specification() {
  FeedRecord record;
  record.feed_url = "https://example.org/feed.xml";
  record.due = due;
  FeedState& state = record.state;
  state.state = "healthy";
  state.last.status = 304;
  state.last.outcome = "not_modified";
  state.last.at = state.last.success = now - 41min - 10s;
  state.counts.polls = 212;
  state.counts.polls_with_new = 40;
  state.counts.polls_failed = 3;
  state.due.reason = "max_age";
  state.due.why = "adaptive 3200 S=54.50\nfloor 3600\nmax_age 3900 max-age=4000, Age 100\nttl 1800\nphase 131";
  return record;
}

std::string text(const FeedRecord& record, const HostView& host, bool numbers = false) {
  std::string lines;
  for (const auto& [name, value] : explain_lines({record, host, now}, numbers)) {
    lines += name + std::string(9 - name.size(), ' ') + value + "\n";
  }
  return lines;
}

TEST(Explain, MatchesTheExampleOfTheSpecification) {
  const std::string shown = text(record_of_the_specification(), {"example.org", {}, {}}, true);
  const std::string golden =  // HTTP §11
      "state    healthy; last 304 (not_modified) 41 min ago, 3 failures ever, hit rate 19 % of 212 polls\n"
      "next     2026-03-01T13:07:12Z, in 26 min, because of max_age\n"
      "why      At its own pace about every 53 min: 54.5 posts a week. Its server declares the answer fresh for 65 "
      "min. At most once every 60 min. Delayed by 2 min so that feeds do not all come due together.\n"
      "inputs   adaptive 3 200 s (S = 54.5)  floor 3 600 s  max_age 3 900 s (max-age=4000, Age 100)  ttl 1 800 s  "
      "phase +131 s\n"
      "host     example.org: 1 of 1 slots free, next start now, no back-off\n"
      "websub   none advertised\n";
  EXPECT_EQ(shown.substr(0, golden.size()), golden);
}

TEST(Explain, HasTheSameSentencesInJson) {
  const Explained explained{record_of_the_specification(), {"example.org", {}, {}}, now};
  const boost::json::object row = explain_json(explained);
  const auto lines = explain_lines(explained);
  EXPECT_EQ(row.at("text").as_object().size(), lines.size());
  for (const auto& [name, value] : lines) EXPECT_EQ(row.at("text").at(name).as_string(), value);
}

// HTTP H10
TEST(Explain, NamesAQuota) {
  HostView host{"example.org", {}, {}};
  host.state.quotas.push_back({"", 1min, now - 30s, now - 5s, true});
  host.feeds = 60;
  const std::string quota =
      "quota    60 feeds share 1 request a minute: each at best every 60 min; announced by the host\n";
  EXPECT_NE(text(record_of_the_specification(), host).find(quota), std::string::npos) << quota_text(host, now);
  EXPECT_NE(host_text(host, now).find("next start in 30 s"), std::string::npos) << host_text(host, now);
  host.state.quotas[0].told = false;
  host.state.quotas.push_back({"two", 2min, now - 30s, now + 5min, false});
  EXPECT_EQ(quota_text(host, now).substr(0, 72),
            "60 feeds share 1.5 requests a minute over 2 egress names: each at best e");
  host.feeds = 1;
  host.state.quotas.resize(1);
  host.state.quotas[0].pace = 2h;
  EXPECT_EQ(quota_text(host, now),
            "1 feed shares 0.5 requests an hour: each at best every 2 h; learned from its rejections");
  host.by_hand = true;
  EXPECT_EQ(quota_text(host, now), "") << "its operator's spacing wins";
  EXPECT_NE(host_text(host, now).find("next start now"), std::string::npos) << host_text(host, now);
}

TEST(Explain, SpeaksToPeopleInSentences) {
  const std::string shown = text(record_of_the_specification(), {"example.org", {}, {}});
  EXPECT_NE(shown.find("next     2026-03-01T13:07:12Z, in 26 min\n"
                       "why      At its own pace about every 53 min: 54.5 posts a week. Its server declares the answer "
                       "fresh for 65 min."),
            std::string::npos)
      << shown;
  EXPECT_EQ(shown.find("inputs"), std::string::npos) << shown;
}

TEST(Explain, NamesWhatToDoAboutAFailure) {
  FeedRecord record = record_of_the_specification();
  record.feed_url = "https://example.org/a;b$(c)'d";
  for (const auto& [reason, remedy] : std::vector<std::pair<std::string, std::string>>{
           {"tls.verify", "feedmill set 'https://example.org/a;b$(c)'\\''d' ca_file=FILE"},
           {"egress.blocked", "policy=NAME"},
           {"status.forbidden", "fetch.contact"},
           {"status.not_found", "feedmill discover"},
           {"status.gone", "marks it gone if this persists for a day; then: feedmill remove"},
           {"parse.not_a_feed", "feedmill check 'https://"},
           {"limit.body", "larger than fetch.max_body"},
           {"limit.header", "too large a header"},
           {"limit.ratio", "compression ratio is suspiciously high"},
           {"limit.coding", "Content-Encoding"}}) {
    record.state.last.error = reason;
    EXPECT_NE(text(record, {"example.org", {}, {}}).find(remedy), std::string::npos) << reason;
  }
  record.state.last.error = "parse.not_a_feed";
  record.state.last.detail = "an HTML page";
  EXPECT_NE(text(record, {"example.org", {}, {}}).find("The URL is a web page, not a feed"), std::string::npos);
  record.state.last.error = "status.server";  // waiting is the only remedy
  EXPECT_EQ(text(record, {"example.org", {}, {}}).find("do  "), std::string::npos);
}

TEST(Explain, DoesNotAdviseToSetALoginThatIsSet) {
  FeedRecord record = record_of_the_specification();
  record.state.last.error = "status.auth";
  record.state.last.status = 401;
  EXPECT_NE(text(record, {"example.org", {}, {}}).find(" auth="), std::string::npos);
  record.state.settings = R"({"auth":"news"})";
  const std::string shown = text(record, {"example.org", {}, {}});
  EXPECT_NE(shown.find("Correct the secret of news, or its origin"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("feedmill set"), std::string::npos) << shown;
  record.state.last.status = 0;  // nothing was sent
  EXPECT_EQ(text(record, {"example.org", {}, {}}).find("do  "), std::string::npos) << "the detail says why";
}

// SECURITY K1
TEST(Explain, TellsTheWordsToWriteAndNoSecretOfTheAddress) {
  const std::string remedy = remedy_words("status.auth", "https://me:canary@example.org/feed?token=canary");
  EXPECT_EQ(remedy.find("canary"), std::string::npos) << remedy;
  EXPECT_NE(redact(remedy).find("' auth=OWNER/NAME."), std::string::npos)
      << "whoever shows it redacts it: " << redact(remedy);
}

TEST(Explain, ShowsOtherFactorsOfTheSchedule) {
  FeedRecord record = record_of_the_specification();
  record.state.validators.etag = "W/\"a\"";
  record.state.validators.last_modified = "Sun, 01 Mar 2026 10:00:00 GMT";
  record.state.validators.url = "https://cdn.example/feed.xml";
  record.state.address.fetch_url = "https://new.example/feed.xml";
  record.state.settings = R"({"keep":7})";
  record.state.due.not_before = now + 3h;
  const std::string shown = text(record, {"new.example", {}, {}});
  EXPECT_NE(shown.find("cache    ETag W/\"a\", Last-Modified Sun, 01 Mar 2026 10:00:00 GMT, of https://cdn.example/"),
            std::string::npos)
      << shown;
  EXPECT_NE(shown.find("fetched  from https://new.example/feed.xml\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("settings keep=7\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("held     the server accepts no request until"), std::string::npos) << shown;
}

TEST(Explain, ReportsAFailingFeedThatWasNeverFetched) {
  FeedRecord record = record_of_the_specification();
  record.state.state = "degraded";
  record.state.last.status = 0;
  record.state.last.outcome = "failed";
  record.state.last.error = "dns.timeout";
  record.state.last.detail = "no name server answered";
  record.state.failures.count = 3;
  record.state.failures.since = now - 3h;
  const std::string failing = text(record, {"example.org", {}, {}});
  EXPECT_EQ(failing.find("state    degraded; last dns.timeout 41 min ago, 3 failures in a row since 2026-"), 0U)
      << failing;
  EXPECT_NE(failing.find("detail   no name server answered\n"), std::string::npos) << failing;
  record.state = FeedState();
  record.state.due.reason = "spread";
  const std::string fresh = text(record, {"example.org", {}, {}});
  EXPECT_EQ(
      fresh.find("state    new; never fetched\nnext     2026-03-01T13:07:12Z, in 26 min\nwhy      It has not been "
                 "fetched yet"),
      0U)
      << fresh;
  record.due.reset();
  EXPECT_NE(text(record, {"example.org", {}, {}}).find("next     never"), std::string::npos);
  record.claim = "0123456789abcdef0123456789abcdef:7-1";
  record.due = now - 1s;
  EXPECT_EQ(text(record, {"example.org", {}, {}}).find("being fetched"), std::string::npos) << "its lease is over";
  record.due = now + 60s;
  EXPECT_NE(
      text(record, {"example.org", {}, {}}).find("next     being fetched now, by 0123456789abcdef0123456789abcdef\n"),
      std::string::npos);
}

TEST(Explain, ReportsTheCauseOfAHostsDelay) {
  HostView host{"example.org", {}, {2, 1000ms}};
  host.state.in_flight = 1;
  host.state.last_start = now - 100ms;
  host.state.waiting = 3;
  host.state.not_before = now + 15min;
  const std::string shown = text(record_of_the_specification(), host);
  EXPECT_NE(shown.find("host     example.org: 1 of 2 slots free, next start in 15 min, 3 feeds waiting, the last in 15 "
                       "min, back-off until 2026-03-01T12:55:52Z, in 15 min\n"),
            std::string::npos)
      << shown;
  host.state.slow = 4;
  host.state.waiting = 0;
  host.state.not_before = Milliseconds(0);
  const std::string slowed = text(record_of_the_specification(), host);
  EXPECT_NE(slowed.find("next start in 3 s (4 times its usual spacing), no back-off\n"), std::string::npos) << slowed;
}

const FeedRecord& with_reason(FeedRecord& record, std::string_view why, std::string_view reason) {
  record.state.due.why = why;
  record.state.due.reason = reason;
  return record;
}

std::string why(const FeedRecord& record) {
  std::string found;
  for (const auto& [name, value] : explain_lines({record, {"example.org", {}, {}}, now})) {
    if (name == "why") found = value;
  }
  return found;
}

// Each code has an explanation, alone and with every kind of input: interval, failure, remaining interval, none, and
// rubbish.
TEST(Explain, HasASentenceForEachReason) {
  FeedRecord record = record_of_the_specification();
  std::set<std::string> sentences;
  for (const std::string_view code : due_codes()) {
    const std::string alone = why(with_reason(record, "", code));
    EXPECT_TRUE(sentences.insert(alone).second) << code << " is explained like another: " << alone;
    EXPECT_EQ(alone.find("Because of"), std::string::npos) << code;
    const std::string own = std::string(code) + " 25200";
    for (const std::string& inputs :
         {own, own + " n=3", own + " resumed", own + " one at a time", own + " killed the worker", own + " moved",
          "adaptive 3200 S=54.50\nfloor 3600\n" + own, own + "\nphase 131", std::string("rubbish")}) {
      const std::string text = why(with_reason(record, inputs, code));
      EXPECT_TRUE(text.ends_with('.')) << code << " of " << inputs << ": " << text;
      for (const char* const gap : {": .", " .", "..", "{}", "  "}) {
        EXPECT_EQ(text.find(gap), std::string::npos) << code << " of " << inputs << ": " << text;
      }
    }
  }
  EXPECT_EQ(why(with_reason(record, "", "")), "No reason is stored for its due time.");
  EXPECT_EQ(why(with_reason(record, "later 60", "later")), "Because of later.") << "of a newer version";
}

TEST(Explain, HasAReasonInEachState) {
  FeedRecord record = record_of_the_specification();
  for (const char* const state : {"new", "healthy", "degraded", "failing", "never_read", "blocked", "gone",
                                  "quarantined", "paused", "what a newer version knows"}) {
    record.state.state = state;
    for (const std::string_view code : due_codes()) {
      with_reason(record, "", code);
      for (const bool claimed : {false, true}) {
        record.claim = claimed ? "0123456789abcdef0123456789abcdef:7-1" : "";
        for (const std::optional<Milliseconds> at :
             {std::optional(now + 60s), std::optional(now - 60s), std::optional<Milliseconds>()}) {
          record.due = at;
          EXPECT_TRUE(why(record).ends_with('.')) << state << ' ' << code;
        }
      }
    }
  }
  record.state.state = "paused";
  EXPECT_TRUE(why(with_reason(record, "ping 0", "ping")).starts_with("Its operator paused it"));
}

TEST(Explain, TakesNoRemainderForAnInterval) {
  EXPECT_EQ(schedule_words("adaptive 25200", "adaptive"), "It follows its own pace.");
  EXPECT_EQ(schedule_words("max_age 25200", "max_age"), "Its server gives a freshness lifetime (max-age).");
  EXPECT_EQ(schedule_words("adaptive 10800 S=16.00\nfloor 3600\nwebsub_fallback 21600\nphase 0", "websub_fallback"),
            "At its own pace about every 3 h: 16 posts a week. Its hub pushes new posts, so it is polled only every 6 "
            "h. At most once every 60 min.");
  EXPECT_EQ(schedule_words("host_spacing 3600 n=1\nphase 0", "host_spacing"),
            "Other feeds of its host are fetched first, one at a time.")
      << "that is no failure";
}

TEST(DueText, GroupsDigitsAndToleratesUnreadableInput) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1 000");
  EXPECT_EQ(grouped(1234567), "1 234 567");
  EXPECT_EQ(grouped(-1234), "-1 234");
  EXPECT_EQ(due_inputs_text(""), "");
  EXPECT_EQ(due_inputs_text("rubbish"), "");
  EXPECT_EQ(due_inputs_text("[1,{\"code\":7}]\ngone\ngone 86400"), "gone 86 400 s");
  EXPECT_EQ(boost::json::serialize(due_inputs_json("expires 60 caf\xE9\nphase 7")),
            "[{\"code\":\"expires\",\"s\":60,\"from\":\"caf\xEF\xBF\xBD\"},{\"code\":\"phase\",\"s\":7}]")
      << "a server may say what is no UTF-8";
  EXPECT_TRUE(due_inputs_json("").is_null());
}

}  // namespace
}  // namespace feedmill::explanation_test
