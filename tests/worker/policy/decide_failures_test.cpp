// The consequences of failures: back-off, states, reports (HTTP §4).
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "tests/worker/policy/decide_fixture.hpp"
#include "worker/policy/answers.hpp"

namespace feedmill::decide_test::decide_failures_test {
namespace {

// HTTP §4, first failure of a healthy feed.
struct Row {
  const char* name;
  Reading reading;
  Headers headers;
  Reason reason;
  std::int64_t interval_s;
  const char* code;
  const char* state = "healthy";
  int last_status = 0;
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name << ", " << to_string(row.reason);
}

class Rows : public testing::TestWithParam<Row> {};

std::vector<Row> all_rows() {
  const auto status = [](int number) { return Reading(HttpStatus{number}); };
  const auto error = [](Reason reason, bool sent = false, int number = 0) {
    return Reading(error_of(reason, sent, number));
  };
  const auto unreadable = [](Reason reason) { return Reading(Unreadable{reason, "what was found", {}}); };
  const auto retry_after = [](const char* value) { return Headers{{"retry-after", value}}; };
  const Headers a_year{{"cache-control", "max-age=31536000"}}, six_hours{{"cache-control", "max-age=21600"}};
  std::vector<Row> rows{
      {"NotAFeed", unreadable(Reason::parse_not_a_feed), {}, Reason::parse_not_a_feed, hour, "backoff", "healthy", 200},
      {"Empty", unreadable(Reason::parse_empty), {}, Reason::parse_empty, hour, "backoff", "healthy", 200},
      {"Malformed", unreadable(Reason::parse_malformed), {}, Reason::parse_malformed, hour, "backoff", "healthy", 200},
      {"Charset", unreadable(Reason::parse_charset), {}, Reason::parse_charset, hour, "backoff", "healthy", 200},
      {"TooDeep", unreadable(Reason::parse_limit), {}, Reason::parse_limit, hour, "backoff", "healthy", 200},
      {"BrokenCompression",
       unreadable(Reason::http_truncated),
       {},
       Reason::http_truncated,
       hour,
       "backoff",
       "healthy",
       200},
      {"BodyLimit", unreadable(Reason::limit_body), {}, Reason::limit_body, hour, "backoff", "healthy", 200},
      {"FreshnessOfANonFeed", unreadable(Reason::parse_not_a_feed), six_hours, Reason::parse_not_a_feed, 6 * hour,
       "max_age", "healthy", 200},
      {"RedirectInvalid",
       error(Reason::redirect_invalid, true, 302),
       {},
       Reason::redirect_invalid,
       hour,
       "backoff",
       "healthy",
       302},
      {"RedirectRetryAfter", error(Reason::redirect_invalid, true, 300), retry_after("7200"), Reason::redirect_invalid,
       2 * hour, "retry_after", "healthy", 300},
      {"RedirectLoop", error(Reason::redirect_loop, true), {}, Reason::redirect_loop, hour, "backoff"},
      {"RedirectLimit", error(Reason::redirect_limit, true), {}, Reason::redirect_limit, hour, "backoff"},
      {"RedirectDowngrade", error(Reason::redirect_downgrade, true), {}, Reason::redirect_downgrade, hour, "backoff"},
      {"UrlInvalid", error(Reason::url_invalid), {}, Reason::url_invalid, 4 * hour, "backoff"},
      {"EgressBlocked", error(Reason::egress_blocked), {}, Reason::egress_blocked, 4 * hour, "backoff"},
      {"EgressPort", error(Reason::egress_port), {}, Reason::egress_port, 4 * hour, "backoff"},
      {"Forbidden403RetryAfter", status(403), retry_after("86400"), Reason::status_forbidden, day, "retry_after",
       "healthy", 403},
      {"Challenge403",
       Reading(HttpStatus{403, true}),
       {},
       Reason::status_challenge,
       4 * hour,
       "challenge",
       "healthy",
       403},
      {"Challenge503",
       Reading(HttpStatus{503, true}),
       {},
       Reason::status_challenge,
       4 * hour,
       "challenge",
       "healthy",
       503},
      {"RateLimitedFor2h", status(429), retry_after("7200"), Reason::status_rate_limited, 2 * hour, "retry_after",
       "healthy", 429},
      {"RateLimitedShortly", status(429), retry_after("60"), Reason::status_rate_limited, hour, "rate_limited",
       "healthy", 429},
      {"RateLimitedZero", status(429), retry_after("0"), Reason::status_rate_limited, hour, "rate_limited", "healthy",
       429},
      {"RateLimitedDate", status(429), retry_after("Sun, 01 Mar 2026 15:00:00 GMT"), Reason::status_rate_limited,
       3 * hour, "retry_after", "healthy", 429},
      {"RateLimitedNonsense", status(429), retry_after("soon"), Reason::status_rate_limited, 4 * hour, "rate_limited",
       "healthy", 429},
      {"RateLimitedTenDigits", status(429), retry_after("9999999999"), Reason::status_rate_limited, 7 * day,
       "retry_after_clamped", "healthy", 429},
      {"ServerRetryAfter", status(503), retry_after("10800"), Reason::status_server, 3 * hour, "retry_after", "healthy",
       503},
      {"ServerRetryAfterBelow", status(503), retry_after("5"), Reason::status_server, hour, "backoff", "healthy", 503},
      {"NotFoundRetryAfter", status(404), retry_after("172800"), Reason::status_not_found, 2 * day, "retry_after",
       "healthy", 404},
      {"NotFoundFresh", status(404), six_hours, Reason::status_not_found, 6 * hour, "max_age", "healthy", 404},
      {"NotFoundFreshForAYear", status(404), a_year, Reason::status_not_found, day, "fresh_clamped", "healthy", 404},
      {"ServerFresh", status(500), six_hours, Reason::status_server, 6 * hour, "max_age", "healthy", 500},
      {"ForbiddenFreshnessIgnored", status(403), six_hours, Reason::status_forbidden, 4 * hour, "forbidden", "healthy",
       403},
      {"TeapotFreshnessIgnored", status(418), six_hours, Reason::status_client, hour, "backoff", "healthy", 418},
      {"Legal", status(451), {}, Reason::status_legal, day, "legal", "blocked", 451},
  };
  const auto add_statuses = [&](std::initializer_list<int> numbers, Reason reason, std::int64_t interval_s,
                                const char* code) {
    for (const int number : numbers) {
      rows.push_back({"Status", status(number), {}, reason, interval_s, code, "healthy", number});
    }
  };
  add_statuses({201, 202, 203, 204, 205, 206, 226, 299, 304}, Reason::http_unexpected, hour, "backoff");
  add_statuses({401, 407}, Reason::status_auth, 4 * hour, "auth");
  add_statuses({403}, Reason::status_forbidden, 4 * hour, "forbidden");
  add_statuses({404}, Reason::status_not_found, hour, "not_found");
  add_statuses({410}, Reason::status_gone, day, "gone");
  add_statuses({408, 425}, Reason::status_server, hour, "backoff");
  add_statuses({429}, Reason::status_rate_limited, 4 * hour, "rate_limited");
  add_statuses({431}, Reason::status_client, 4 * hour, "backoff");
  add_statuses({400, 402, 405, 406, 409, 412, 414, 415, 416, 418, 421, 422, 426, 428, 499}, Reason::status_client, hour,
               "backoff");
  add_statuses({500, 501, 502, 503, 504, 505, 508, 511, 520, 522, 530, 599}, Reason::status_server, hour, "backoff");
  for (const Reason reason :
       {Reason::dns_not_found, Reason::dns_timeout, Reason::dns_failed, Reason::connect_refused,
        Reason::connect_timeout, Reason::connect_failed, Reason::tls_verify, Reason::tls_handshake}) {
    rows.push_back({"NothingGotOut", error(reason), {}, reason, 15 * minute, "backoff"});
    rows.push_back({"BehindARedirect", error(reason, true), {}, reason, hour, "backoff"});
  }
  for (const Reason reason : {Reason::http_timeout, Reason::http_stalled, Reason::http_truncated,
                              Reason::http_malformed, Reason::http_stream, Reason::limit_body, Reason::limit_header}) {
    rows.push_back({"Exchange", error(reason, true), {}, reason, hour, "backoff"});
  }
  return rows;
}

TEST_P(Rows, DecideTheConsequences) {
  const Row& row = GetParam();
  const FeedState before = healthy();
  const Decision decision = decide_on(before, row.reading, exchange_with(row.headers));
  const FeedState& state = decision.commit.state;
  const std::string name = std::string(row.name) + " " + std::string(to_string(row.reason));
  EXPECT_EQ(decision.outcome, Outcome::failed) << name;
  EXPECT_EQ(decision.reason, row.reason) << to_string(decision.reason) << " is not " << name;
  EXPECT_FALSE(decision.detail.empty()) << name;
  expect_due_after(decision, row.interval_s, name);
  EXPECT_EQ(state.due.reason, row.code) << name;
  EXPECT_EQ(state.state, row.state) << name;
  EXPECT_EQ(state.last.status, row.last_status) << name;
  EXPECT_EQ(state.last.error, to_string(row.reason)) << name;
  EXPECT_EQ(state.last.outcome, "failed") << name;
  EXPECT_EQ(state.last.detail, decision.detail) << name;
  EXPECT_EQ(state.failures.count, 1) << name;
  EXPECT_EQ(state.failures.since, now) << name;
  EXPECT_EQ(state.counts.polls_failed, before.counts.polls_failed + 1) << name;
  EXPECT_EQ(state.last.at, now) << name;
  EXPECT_EQ(state.last.success, before.last.success) << name;
  EXPECT_LT(state.rhythm.new_per_week, before.rhythm.new_per_week) << name << ": S keeps decaying";
  // HTTP P2: nothing from a refused answer is kept.
  EXPECT_EQ(state.validators.etag, before.validators.etag) << name;
  EXPECT_EQ(state.validators.last_modified, before.validators.last_modified) << name;
  EXPECT_EQ(state.validators.url, before.validators.url) << name;
  EXPECT_EQ(state.document.wire_hash, before.document.wire_hash) << name;
  EXPECT_EQ(state.document.body_hash, before.document.body_hash) << name;
  EXPECT_FALSE(decision.commit.document) << name;
  EXPECT_TRUE(decision.commit.entries.empty()) << name;
  EXPECT_EQ(event_types(decision), row.state == std::string("blocked") ? Types{"feed_failing"} : Types{}) << name;
  EXPECT_FALSE(decode_due_inputs(state.due.why).empty()) << name;
}

/// Base and cap of HTTP §4, in seconds.
std::pair<std::int64_t, std::int64_t> back_off_of(const Row& row) {
  const auto* error = std::get_if<FetchError>(&row.reading);
  const bool told_when =
      !row.headers.empty() && row.headers[0].first == "retry-after" && row.headers[0].second != "soon";
  const std::string_view reason = to_string(row.reason);
  if (reason == "status.auth" || reason == "status.forbidden" || reason == "status.challenge")
    return {4 * hour, 7 * day};
  if (reason == "status.rate_limited") return told_when ? std::pair(hour, hour) : std::pair(4 * hour, 7 * day);
  if (reason == "status.not_found") return {hour, 7 * day};
  if (reason == "status.gone") return {day, day};
  if (reason == "status.legal") return {day, 30 * day};
  if (reason == "status.client") return {row.last_status == 431 ? 4 * hour : hour, 7 * day};
  if (reason.starts_with("egress.") || reason == "url.invalid") return {4 * hour, 7 * day};
  const bool nothing_sent = error != nullptr && !error->sent;
  if (reason.starts_with("dns.") || reason.starts_with("connect.") || reason.starts_with("tls.")) {
    return {nothing_sent ? 15 * minute : hour, day};
  }
  return {hour, day};
}

TEST_P(Rows, SayItTwiceInARow) {
  const Row& row = GetParam();
  const FeedState once = decide_on(healthy(), row.reading, exchange_with(row.headers)).commit.state;
  const Decision twice = decide_on(once, row.reading, exchange_with(row.headers));
  const FeedState& state = twice.commit.state;
  const auto [base, cap] = back_off_of(row);
  const std::int64_t doubled = std::min(cap, 2 * base);
  expect_due_after(twice, std::max(row.interval_s == base ? 0 : row.interval_s, doubled), row.name);
  EXPECT_EQ(state.failures.count, 2);
  EXPECT_EQ(state.state, row.state);
  if (row.interval_s > doubled || row.interval_s == base) {
    EXPECT_EQ(state.due.reason, row.code);
  }
  EXPECT_EQ(state.validators.etag, healthy().validators.etag);
  EXPECT_EQ(state.document.body_hash, healthy().document.body_hash);
  EXPECT_EQ(event_types(twice), Types{}) << "it is no news";
}

TEST_P(Rows, RepeatTheReportAfterASuccess) {
  const Row& row = GetParam();
  const FeedState before = failed("status.server", 5, days(1), "degraded");
  const FeedState between = decide_on(before, NotModified()).commit.state;
  EXPECT_EQ(between.state, "healthy");
  const Decision first = decide_on(between, row.reading, exchange_with(row.headers));
  expect_due_after(first, row.interval_s, row.name);
  EXPECT_EQ(first.commit.state.failures.count, 1);
  EXPECT_EQ(first.commit.state.due.reason, row.code);
  EXPECT_EQ(first.commit.state.state, row.state);
  const Decision after = decide_on(first.commit.state, NotModified());
  EXPECT_EQ(after.commit.state.failures.count, 0);
  EXPECT_EQ(after.commit.state.state, "healthy");
  EXPECT_EQ(event_types(after), row.state == std::string("blocked") ? Types{"feed_recovered"} : Types{});
}

INSTANTIATE_TEST_SUITE_P(All, Rows, testing::ValuesIn(all_rows()), [](const auto& test) {
  const int status = test.param.last_status;
  return std::to_string(test.index) + test.param.name + (status == 0 ? "" : std::to_string(status));
});

TEST(Decide, BacksOffFurtherAfterEachFailureOfAKind) {
  struct Case {
    const char* name;
    const char* group;
    Reading reading;
    int failures;  // before
    std::int64_t interval_s;
    int failures_after;
  };
  const Case cases[] = {
      {"second 500", "status.server", HttpStatus{500}, 1, 2 * hour, 2},
      {"503 after 500", "status.server", HttpStatus{503}, 1, 2 * hour, 2},
      {"500 after 404", "status.not_found", HttpStatus{500}, 9, hour, 1},
      {"tenth 500", "status.server", HttpStatus{500}, 9, day, 10},
      {"second 404", "status.not_found", HttpStatus{404}, 1, 2 * hour, 2},
      {"tenth 404", "status.not_found", HttpStatus{404}, 9, 7 * day, 10},
      {"third 429", "status.rate_limited", HttpStatus{429}, 2, 16 * hour, 3},
      {"tenth 429", "status.rate_limited", HttpStatus{429}, 9, 7 * day, 10},
      {"second 401", "status.auth", HttpStatus{401}, 1, 8 * hour, 2},
      {"fifth 431", "status.client", HttpStatus{431}, 4, 64 * hour, 5},
      {"second 451", "status.legal", HttpStatus{451}, 1, 2 * day, 2},
      {"tenth 451", "status.legal", HttpStatus{451}, 9, 30 * day, 10},
      {"dns after dns", "dns", error_of(Reason::dns_timeout), 1, 30 * minute, 2},
      {"tenth dns", "dns", error_of(Reason::dns_not_found), 9, day, 10},
      {"connect after dns", "dns", error_of(Reason::connect_refused), 3, 15 * minute, 1},
      {"parse after parse", "parse", Unreadable{Reason::parse_empty, "", {}}, 2, 4 * hour, 3},
      {"egress", "egress", error_of(Reason::egress_blocked), 6, 7 * day, 7},
      {"unexpected after a timeout", "http", HttpStatus{204}, 1, 2 * hour, 2},
  };
  for (const Case& c : cases) {
    const Decision decision = decide_on(failed(c.group, c.failures, hours(20)), c.reading);
    expect_due_after(decision, c.interval_s, c.name);
    EXPECT_EQ(decision.commit.state.failures.count, c.failures_after) << c.name;
    EXPECT_EQ(decision.commit.state.failures.since, now - hours(20)) << c.name << ": since the first of any kind";
  }
}

TEST(Decide, MovesThroughTheStates) {
  struct Case {
    const char* name;
    FeedState before;
    Reading reading;
    const char* state;
    Types signals;
  };
  const Reading server = HttpStatus{500}, forbidden = HttpStatus{403}, auth = HttpStatus{401}, gone = HttpStatus{410},
                legal = HttpStatus{451}, missing = HttpStatus{404}, good = NotModified();
  FeedState fresh;
  const Case cases[] = {
      {"new fails", fresh, server, "never_read", {"feed_failing"}},
      {"never read fails again", never_read(), server, "never_read", {}},
      {"never read for a month", never_read(days(30)), missing, "never_read", {}},
      {"never read, of an earlier version", never_read(hours(9), "degraded"), server, "never_read", {"feed_failing"}},
      {"never read is refused", never_read(hours(9), "never_read", "status.auth"), auth, "blocked", {"feed_failing"}},
      {"never read, refused and then something else", never_read(days(1), "blocked"), server, "blocked", {}},
      {"never read is read", never_read(), good, "healthy", {"feed_recovered"}},
      {"new succeeds", fresh, good, "healthy", {}},
      {"second failure", failed("status.server", 1, hours(1)), server, "healthy", {}},
      {"third failure", failed("status.server", 2, hours(3)), server, "degraded", {}},
      {"third failure of another kind", failed("dns", 2, hours(3)), server, "healthy", {}},
      {"just short of seven days",
       failed("status.server", 9, days(7) - Milliseconds(1), "degraded"),
       server,
       "degraded",
       {}},
      {"seven days", failed("status.server", 9, days(7), "degraded"), server, "failing", {"feed_failing"}},
      {"seven days of 404", failed("status.not_found", 9, days(7), "degraded"), missing, "failing", {"feed_failing"}},
      {"seven days, kinds mixed", failed("dns", 1, days(7), "degraded"), server, "failing", {"feed_failing"}},
      {"failing already", failed("status.server", 20, days(30), "failing"), server, "failing", {}},
      {"second 403", failed("status.forbidden", 1, hours(5)), forbidden, "healthy", {}},
      {"third 403", failed("status.forbidden", 2, hours(5)), forbidden, "blocked", {"feed_failing"}},
      {"third 401", failed("status.auth", 2, hours(5), "degraded"), auth, "blocked", {"feed_failing"}},
      {"451", healthy(), legal, "blocked", {"feed_failing"}},
      {"451 of a new feed", fresh, legal, "blocked", {"feed_failing"}},
      {"blocked already", failed("status.forbidden", 3, hours(20), "blocked"), forbidden, "blocked", {}},
      {"blocked, then something else", failed("status.forbidden", 3, hours(20), "blocked"), server, "blocked", {}},
      {"failing, then blocked", failed("status.auth", 2, days(8), "failing"), auth, "blocked", {"feed_failing"}},
      {"first 410", healthy(), gone, "healthy", {}},
      {"gone, then not found", failed("status.gone", 2, days(60), "gone"), missing, "gone", {}},
      {"gone, then no such host", failed("dns", 5, days(60), "gone"), error_of(Reason::dns_not_found), "gone", {}},
      {"gone, then forbidden", failed("status.forbidden", 9, days(60), "gone"), forbidden, "gone", {}},
      {"degraded recovers", failed("status.server", 3, hours(9), "degraded"), good, "healthy", {}},
      {"failing recovers", failed("status.server", 30, days(9), "failing"), good, "healthy", {"feed_recovered"}},
      {"blocked recovers", failed("status.legal", 1, days(9), "blocked"), good, "healthy", {"feed_recovered"}},
      {"gone recovers", failed("status.gone", 3, days(90), "gone"), good, "healthy", {"feed_recovered"}},
  };
  for (const Case& c : cases) {
    const Decision decision = decide_on(c.before, c.reading);
    const FeedState& state = decision.commit.state;
    EXPECT_EQ(state.state, c.state) << c.name;
    EXPECT_EQ(event_types(decision), c.signals) << c.name;
    EXPECT_EQ(state.state_since, c.before.state == c.state ? c.before.state_since : now) << c.name;
    EXPECT_EQ(decision.commit.before, c.before) << c.name;
  }
}

TEST(Decide, TellsTheFirstFailureOfAFeedThatWasNeverRead) {
  const auto data_of = [](const Decision& decision) {
    return decision.commit.events.size() == 1 ? boost::json::parse(decision.commit.events[0].data)
                                              : boost::json::value();
  };
  EXPECT_EQ(
      data_of(decide_on(FeedState(), HttpStatus{404})),
      boost::json::parse(R"({"state":"never_read","reason":"status.not_found","since":1772366400,"first":true})"));
  EXPECT_EQ(data_of(decide_on(FeedState(), HttpStatus{451})).at("first"), boost::json::value(true));
  EXPECT_TRUE(decide_on(never_read(), HttpStatus{404}).commit.events.empty()) << "once";
}

TEST(Decide, SaysInTheSignalWhyAFeedFails) {
  const Decision decision = decide_on(failed("status.auth", 2, hours(9)), HttpStatus{401});
  ASSERT_EQ(decision.commit.events.size(), 1U);
  const FeedEvent& signal = decision.commit.events[0];
  EXPECT_EQ(signal.action, "updated");
  EXPECT_EQ(boost::json::parse(signal.data),
            boost::json::parse(R"({"state":"blocked","reason":"status.auth","since":1772366400})"));
  const Decision recovered = decide_on(failed("status.auth", 5, days(9), "blocked"), NotModified());
  ASSERT_EQ(recovered.commit.events.size(), 1U);
  EXPECT_EQ(boost::json::parse(recovered.commit.events[0].data),
            boost::json::parse(R"({"state":"healthy","since":1772366400})"));
}

TEST(Decide, BlocksAfterThreeChallengesAndNeverCountsThemAsGone) {
  EXPECT_EQ(decide_on(failed("status.challenge", 1, hours(9)), HttpStatus{403, true}).commit.state.state, "healthy");
  const Decision third = decide_on(failed("status.challenge", 2, hours(9)), HttpStatus{503, true});
  EXPECT_EQ(third.commit.state.state, "blocked");
  expect_due_after(third, 16 * hour, "third challenge");
}

// HTTP §4, row 403
TEST(Decide, TakesA403ForThrottlingWhereTheHostServesOthers) {
  FeedState state = healthy();
  for (int answer = 1; answer <= 5; ++answer) {
    Claim claim = claim_of(state);
    claim.host_served_at = now - days(6);
    const Decision decision = decide(claim, HttpStatus{403}, exchange_with(), {}, {}, now);
    EXPECT_EQ(decision.commit.host.is, answer <= 3 ? HostAnswer::Is::refused : HostAnswer::Is::served) << answer;
    EXPECT_EQ(decision.commit.host.cause, answer <= 3 ? "forbidden" : "") << answer;
    EXPECT_EQ(decision.commit.state.state == "blocked", answer > 3) << answer;
    EXPECT_EQ(decision.commit.state.due.reason, "forbidden");
    state = decision.commit.state;
  }
  Claim strange = claim_of(healthy());
  strange.host_served_at = now - days(8);
  EXPECT_EQ(decide(strange, HttpStatus{403}, exchange_with(), {}, {}, now).commit.host.is, HostAnswer::Is::served);
}

// HTTP H3
TEST(Decide, SaysOfTheHostHowItAnswered) {
  using Is = HostAnswer::Is;
  struct Case {
    const char* name;
    Reading reading;
    Headers headers;
    Is is;
    const char* cause;
    Milliseconds retry_at;
    bool document;
  };
  const Headers hour_long{{"retry-after", "3600"}};
  const Case cases[] = {
      {"200", document_of({}), {}, Is::served, "", {}, true},
      {"304", NotModified(), {}, Is::served, "", {}, false},
      {"404", HttpStatus{404}, {}, Is::served, "status.not_found", {}, false},
      {"429", HttpStatus{429}, {}, Is::refused, "rate_limited", {}, false},
      {"429 for an hour", HttpStatus{429}, hour_long, Is::refused, "rate_limited", now + hours(1), false},
      {"503", HttpStatus{503}, {}, Is::refused, "unavailable", {}, false},
      {"500", HttpStatus{500}, {}, Is::silent, "status.server", {}, false},
      {"500 for an hour", HttpStatus{500}, hour_long, Is::refused, "unavailable", now + hours(1), false},
      {"200 for an hour", document_of({}), hour_long, Is::refused, "unavailable", now + hours(1), true},
      {"Retry-After 0", document_of({}), {{"retry-after", "0"}}, Is::served, "", {}, true},
      {"no feed", Unreadable{Reason::parse_not_a_feed, "x", {}}, {}, Is::served, "parse.not_a_feed", {}, true},
      {"no answer", error_of(Reason::connect_refused), {}, Is::silent, "", {}, false},
  };
  for (const Case& c : cases) {
    const HostAnswer host = decide_on(healthy(), c.reading, exchange_with(c.headers)).commit.host;
    EXPECT_EQ(host.is, c.is) << c.name;
    EXPECT_EQ(host.cause, c.cause) << c.name;
    EXPECT_EQ(host.retry_at, c.retry_at) << c.name;
    EXPECT_EQ(host.document, c.document) << c.name;
    EXPECT_EQ(host.server, "") << c.name;
  }
  Exchange led = exchange_with();
  led.hops = {{feed_url, 302, "https://cdn.example.org/feed.xml"}, {"https://cdn.example.org/feed.xml", 429, ""}};
  EXPECT_EQ(decide_on(healthy(), HttpStatus{429}, led).commit.host.server, "cdn.example.org");
  led.fell_back = led.identity = true;
  EXPECT_TRUE(decide_on(healthy(), NotModified(), led).commit.host.needs_http1);
  EXPECT_TRUE(decide_on(healthy(), NotModified(), led).commit.host.needs_identity);
  EXPECT_FALSE(decide_on(healthy(), HttpStatus{500}, led).commit.host.needs_identity);
}

// HTTP H3: an answer reached through another site's redirect affects no server, not even the first one if the redirect
// leads back to it. Only the feed waits.
TEST(Decide, TellsNoServerOfAnotherSite) {
  const Headers day_long{{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "86000"}};
  const std::string evil = "https://evil.example/";
  for (const std::string& elsewhere :
       {std::string("https://victim.example/x"), std::string("https://example.org:8443/x"),
        std::string("https://192.0.2.1/x"), feed_url}) {
    for (const Reading& reading : {Reading(HttpStatus{429}), Reading(HttpStatus{503}), Reading(HttpStatus{404}),
                                   Reading(HttpStatus{403}), Reading(error_of(Reason::http_truncated)),
                                   Reading(Unreadable{Reason::parse_not_a_feed, "x", {}}), Reading(NotModified())}) {
      Exchange led = exchange_with(day_long);
      led.headers.push_back({"retry-after", "3600"});
      led.hops = {{feed_url, 302, elsewhere}, {elsewhere, 200, ""}};
      if (elsewhere == feed_url) led.hops = {{feed_url, 302, evil}, {evil, 302, feed_url}, {feed_url, 200, ""}};
      led.fell_back = led.identity = true;
      const Commit commit = decide_on(healthy(), reading, led).commit;
      const HostAnswer host = commit.host;
      EXPECT_EQ(host.is, HostAnswer::Is::served) << "the first one has answered";
      EXPECT_EQ(host.server, "") << elsewhere;
      EXPECT_EQ(host.cause, "") << elsewhere;
      EXPECT_EQ(host.retry_at.count(), 0) << elsewhere;
      EXPECT_FALSE(host.quota || host.over_quota || host.document || host.needs_http1 || host.needs_identity);
      EXPECT_GE(commit.next_due, now + seconds(86'000)) << "but for this feed";
    }
  }
}

// HTTP H3: after an accepted redirect, a stranger's feed still does not speak for the host.
TEST(Decide, TellsNoServerOfAFeedThatHasMovedThereFromAnotherSite) {
  Exchange exchange =
      exchange_with({{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "86000"}, {"retry-after", "60"}});
  exchange.requested_url = "https://victim.example/x";
  for (const int status : {200, 304, 403, 404, 429, 503}) {
    exchange.hops = {{exchange.requested_url, status, ""}};
    const Reading reading = status == 304 ? Reading(NotModified()) : Reading(HttpStatus{status});
    const Commit commit = decide_on(healthy(), reading, exchange).commit;
    const HostAnswer& host = commit.host;
    EXPECT_NE(host.is, HostAnswer::Is::refused) << status;
    EXPECT_EQ(host.cause, "") << status;
    EXPECT_FALSE(host.quota || host.over_quota) << status;
    EXPECT_GE(commit.next_due, now + seconds(86'000)) << "but for this feed";
  }
}

TEST(Decide, AppliesAQuotaOverAnHourToTheFeedFirst) {
  Exchange told = exchange_with({{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "7200"}});
  told.hops = {{feed_url, 304, ""}};
  const Commit commit = decide_on(healthy(), NotModified(), told).commit;
  EXPECT_EQ(commit.host.quota->gap, seconds(7201)) << "the gate waits for a second feed that says so";
  EXPECT_GE(commit.next_due, now + seconds(7201));
  EXPECT_EQ(commit.state.due.not_before.count(), 0) << "an operator may try";
  FeedState tried = healthy();
  tried.due.reason = "manual";
  EXPECT_EQ(decide_on(tried, NotModified(), told).commit.state.due.not_before, now + seconds(7201)) << "once";
  Exchange paced = exchange_with({{"x-ratelimit-remaining", "2"}, {"x-ratelimit-reset", "72000"}});
  paced.hops = told.hops;
  EXPECT_EQ(decide_on(tried, NotModified(), paced).commit.state.due.not_before.count(), 0) << "some are left";
}

// HTTP H3: anyone may add any URL of a host.
TEST(Decide, DoubtsUrlsThatAreNoFeedsAboutTheirHost) {
  Exchange told = exchange_with({{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "3500"}});
  told.hops = {{feed_url, 404, ""}};
  const Exchange away = exchange_with({{"retry-after", "604800"}});
  const FeedState unread;
  EXPECT_FALSE(decide_on(unread, HttpStatus{404}, told).commit.host.quota);
  EXPECT_TRUE(decide_on(unread, HttpStatus{404}).commit.host.shows_no_limits) << "nor does it end a quota";
  EXPECT_GE(decide_on(unread, HttpStatus{404}, told).commit.next_due, now + seconds(3500)) << "but for itself";
  EXPECT_TRUE(decide_on(unread, document_of({}), told).commit.host.quota) << "it has become one";
  EXPECT_TRUE(decide_on(healthy(), HttpStatus{404}, told).commit.host.quota) << "it was one";
  const HostAnswer refused = decide_on(unread, HttpStatus{503}, away).commit.host;
  EXPECT_EQ(refused.is, HostAnswer::Is::refused) << "of this host nothing better is known";
  EXPECT_EQ(refused.retry_at, now + hours(1));
  EXPECT_EQ(decide_on(healthy(), HttpStatus{503}, away).commit.host.retry_at, now + hours(168));
  Claim claim = claim_of(unread);
  claim.host_served_at = now - hours(24);
  const HostAnswer other = decide(claim, HttpStatus{503}, away, {}, {}, now).commit.host;
  EXPECT_EQ(other.is, HostAnswer::Is::served);
  EXPECT_EQ(other.cause, "") << "no failure of a healthy feed, five of which are a storm";
  EXPECT_EQ(decide(claim, HttpStatus{429}, away, {}, {}, now).commit.host.is, HostAnswer::Is::refused);
}

TEST(Site, IsARegistrableDomainAndAPort) {
  EXPECT_TRUE(is_one_site("http://a.example/x", "https://www.a.example/y"));
  EXPECT_TRUE(is_one_site("https://feeds.a.co.uk/x", "https://a.co.uk/"));
  EXPECT_TRUE(is_one_site("http://a.example:8080/x", "http://b.a.example:8080/"));
  EXPECT_TRUE(is_one_site("http://www.github.io/", "http://github.io/"));
  EXPECT_FALSE(is_one_site("https://a.co.uk/x", "https://b.co.uk/x"));
  EXPECT_FALSE(is_one_site("https://one.github.io/", "https://two.github.io/"));
  EXPECT_FALSE(is_one_site("http://a.example/x", "http://a.example:8080/x"));
  EXPECT_FALSE(is_one_site("http://192.0.2.1/", "http://192.0.2.2/"));
  EXPECT_FALSE(is_one_site("http://[2001:db8::1]/", "http://[2001:db8::2]/"));
}

// HTTP H6
TEST(Decide, PutsOffWhatCannotBeFollowedNow) {
  const FeedState before = failed("status.server", 2, hours(3));
  const Decision decision = decide_on(before, error_of(Reason::worker_host_wait, true, 302));
  EXPECT_EQ(decision.outcome, Outcome::deferred);
  EXPECT_EQ(decision.commit.state.last.error, "worker.host_wait");
  EXPECT_EQ(decision.commit.state.failures.count, before.failures.count) << "nobody's failure";
  EXPECT_EQ(decision.commit.state.counts.polls_failed, before.counts.polls_failed);
  EXPECT_EQ(decision.commit.state.due.reason, "host_spacing");
  expect_due_after(decision, hour, "the first hop was asked");
}

// HTTP §4
TEST(Decide, RemembersADocumentThatCouldNotBeRead) {
  const BodyPrint print{std::string(32, 'e'), std::string(32, 'f'), 9, 9};
  const FeedState state = decide_on(healthy(), Unreadable{Reason::parse_not_a_feed, "x", print}).commit.state;
  EXPECT_EQ(state.refused.hash, print.body_hash);
  EXPECT_EQ(state.refused.reason, "parse.not_a_feed");
  EXPECT_EQ(state.refused.by, FEEDMILL_VERSION);
  EXPECT_EQ(decide_on(state, HttpStatus{500}).commit.state.refused.hash, print.body_hash);
  EXPECT_EQ(decide_on(state, document_of({})).commit.state.refused.hash, "");
  EXPECT_EQ(decide_on(healthy(), Unreadable{Reason::limit_body, "x", print}).commit.state.refused.hash, "")
      << "another limit may let it pass";
}

// SECURITY Q2: a document that takes more steps than allowed is treated like one that kills the worker.
TEST(Decide, QuarantinesWhatTakesTooLongThreeTimesInARow) {
  const Unreadable endless{Reason::parse_limit, "more steps than are taken", {}};
  FeedState state = healthy();
  for (int i = 0; i < 2; ++i) state = decide_on(state, endless).commit.state;
  EXPECT_EQ(state.state, "healthy");
  EXPECT_EQ(state.due.reason, "backoff");
  Decision third = decide_on(state, endless);
  state = third.commit.state;
  EXPECT_EQ(state.state, "quarantined");
  EXPECT_EQ(state.quarantine.count, 1u);
  EXPECT_EQ(state.quarantine.since, now);
  EXPECT_EQ(state.last.detail, "more steps than are taken");
  EXPECT_EQ(state.due.reason, "quarantine");
  EXPECT_GE(third.retry_in_s, day);
  EXPECT_EQ(event_types(third), Types{});
  third = decide_on(state, endless);
  EXPECT_GE(third.retry_in_s, 2 * day) << "twice as long each time";
  EXPECT_EQ(third.commit.state.quarantine.since, now);
  EXPECT_EQ(decide_on(state, document_of({})).commit.state.state, "healthy");
  state = decide_on(failed("parse", 5, hours(9)), endless).commit.state;
  EXPECT_EQ(state.failures.count, 1) << "what cannot be read for other reasons does not count";
}

// SECURITY Q3
TEST(Decide, OnlyASuccessEndsAQuarantine) {
  FeedState before = healthy();
  before.state = "quarantined";
  EXPECT_EQ(decide_on(before, HttpStatus{500}).commit.state.state, "quarantined");
  const Decision success = decide_on(before, NotModified());
  EXPECT_EQ(success.commit.state.state, "healthy");
  EXPECT_EQ(success.commit.state.state_since, now);
  EXPECT_EQ(event_types(success), Types{}) << "it gave none when it began";
}

TEST(Decide, TakesASecond410ADayLaterForGood) {
  struct Case {
    const char* name;
    const char* group;
    Milliseconds last, failing_since;
    bool gone;
  };
  const Case cases[] = {
      {"first", "", hours(1), Milliseconds(0), false},
      {"an hour later", "status.gone", hours(1), hours(1), false},
      {"just short of a day", "status.gone", hours(24) - Milliseconds(1), hours(24) - Milliseconds(1), false},
      {"a day later", "status.gone", hours(24), hours(24), true},
      {"an hour later, after a week of other failures", "status.gone", hours(1), days(7) - hours(1), false},
      {"a day later, after other failures", "status.gone", hours(25), days(3), true},
      {"first, after a week of not found", "status.not_found", days(6), days(6), false},
  };
  for (const Case& c : cases) {
    FeedState before = failed(c.group, 1, c.failing_since);
    before.last.at = before.failures.group_since = now - c.last;
    const Decision decision = decide_on(before, HttpStatus{410});
    EXPECT_EQ(decision.commit.state.state, c.gone ? "gone" : "healthy") << c.name;
    EXPECT_EQ(event_types(decision), c.gone ? Types{"feed_gone"} : Types{}) << c.name;
    EXPECT_EQ(decision.commit.state.due.reason, "gone") << c.name;
    expect_due_after(decision, c.gone ? 30 * day : day, c.name);
  }
  FeedState asked_between = failed("status.gone", 2, hours(25));
  asked_between.failures.group_since = now - hours(25);
  asked_between.last.at = now - hours(1);
  EXPECT_EQ(decide_on(asked_between, HttpStatus{410}).commit.state.state, "gone") << "a day after the first";
  FeedState gone = failed("status.server", 1, days(60), "gone");
  const Decision again = decide_on(gone, HttpStatus{410});
  EXPECT_EQ(again.commit.next_due, now + days(30)) << "checked once a month, whatever came between";
  EXPECT_TRUE(again.commit.events.empty());
}

TEST(Decide, EndsARowOfFailures) {
  for (const Reading& reading : {Reading(NotModified()), Reading(SameBody()), Reading(document_of({}))}) {
    FeedState before = failed("status.server", 4, days(1), "degraded");
    before.last.error = "status.server";
    before.last.detail = "the server answered 500";
    const FeedState state = decide_on(before, reading).commit.state;
    EXPECT_EQ(state.failures.count, 0) << reading.index();
    EXPECT_EQ(state.failures.group, "") << reading.index();
    EXPECT_EQ(state.failures.since, Milliseconds(0)) << reading.index();
    EXPECT_EQ(state.last.error, "") << reading.index();
    EXPECT_EQ(state.last.detail, "") << reading.index();
    EXPECT_EQ(state.last.success, now) << reading.index();
    EXPECT_EQ(state.state, "healthy") << reading.index();
  }
}

TEST(Decide, CutsDetailsBetweenCharacters) {
  const std::string text = std::string(199, 'x') + "\xC3\xA4 and so on";
  const Decision decision = decide_on(healthy(), Unreadable{Reason::parse_malformed, text, {}});
  EXPECT_EQ(decision.commit.state.last.detail, std::string(199, 'x'));
  EXPECT_EQ(decision.detail, text);
}

}  // namespace
}  // namespace feedmill::decide_test::decide_failures_test
