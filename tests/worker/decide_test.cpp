#include "worker/decide.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "worker/config/feed_settings.hpp"

namespace feedmill {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Headers = std::vector<Header>;

constexpr Milliseconds now = seconds(1'772'366'400);  // Sun, 01 Mar 2026 12:00:00 GMT
constexpr std::int64_t now_s = now / seconds(1);
constexpr std::int64_t minute = 60, hour = 3600, day = 24 * hour;
const std::string feed_url = "https://example.org/feed.xml";

/// A feed that has been read before, last an hour ago.
FeedState healthy() {
  FeedState state;
  state.state = "healthy";
  state.state_since = now - days(100);
  state.etag = "\"old\"";
  state.last_modified = "Sun, 01 Mar 2026 10:00:00 GMT";
  state.wire_hash = std::string(32, 'a');
  state.body_hash = std::string(32, 'b');
  state.wire_bytes = 10;
  state.body_bytes = 20;
  state.last_status = 200;
  state.last_outcome = "updated";
  state.last_at = now - hours(1);
  state.last_success = now - hours(1);
  state.new_per_week = 10;
  state.last_new = now - days(1);
  state.imported = now - days(100);
  return state;
}

/// The same after `failures` answers of one kind, the first of them `since` ago.
FeedState failed(const std::string& group, int failures, Milliseconds since, const std::string& name = "healthy") {
  FeedState state = healthy();
  state.state = name;
  state.failures = failures;
  state.failure_group = group;
  state.failing_since = now - since;
  state.last_success = state.failing_since - hours(1);
  return state;
}

Claim claim_of(FeedState state) {
  return Claim{"worker:1-1", feed_url, now - seconds(5), now - seconds(1), std::move(state)};
}

Exchange exchange_with(Headers headers = {}, Validators validators = {}) {
  Exchange exchange;
  exchange.requested_url = feed_url;
  exchange.headers = std::move(headers);
  exchange.validators = std::move(validators);
  if (exchange.validators.url.empty()) exchange.validators.url = feed_url;
  exchange.wire_bytes = 500;
  return exchange;
}

EntryRecord post(const std::string& guid, std::optional<std::int64_t> timestamp) {
  return {guid, "digest", timestamp, {{"title", "About " + guid}}};
}

Document document_of(std::vector<EntryRecord> entries,
                     Fields feed = {{"link", "https://example.org/"}, {"title", "T"}}) {
  Document document;
  document.print = {std::string(32, 'c'), std::string(32, 'd'), 400, 900};
  document.entries = std::move(entries);
  document.feed = std::move(feed);
  return document;
}

Known unknown_guids(std::size_t count, Fields feed = {}) {
  Known known;
  known.guids.resize(count);
  known.feed = std::move(feed);
  return known;
}

Decision decide_on(const FeedState& state, const Reading& reading, const Exchange& exchange = exchange_with(),
                   const Known& known = {}, const PolicyOptions& options = {}) {
  return decide(claim_of(state), reading, exchange, known, options, now);
}

FetchError error_of(Reason reason, bool sent = false, int status = 0) {
  FetchError error;
  error.reason = reason;
  error.detail = "what happened";
  error.sent = sent;
  error.status = status;
  return error;
}

void expect_due_after(const Decision& decision, std::int64_t interval_s, const std::string& name) {
  const Milliseconds due = decision.commit.next_due;
  EXPECT_GE(due, std::min<Milliseconds>(now + seconds(interval_s), now + days(30))) << name;
  EXPECT_LE(due, now + seconds(interval_s) +
                     std::clamp<Milliseconds>(Milliseconds(seconds(interval_s)) / 10, seconds(6), minutes(30)))
      << name;
  EXPECT_EQ(decision.retry_in_s, (due - now) / seconds(1)) << name;
}

std::vector<std::string> signal_types(const Decision& decision) {
  std::vector<std::string> types;
  for (const FeedSignal& signal : decision.commit.signals) types.push_back(signal.type);
  return types;
}

using Types = std::vector<std::string>;

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

TEST_P(Rows, SayWhatFollows) {
  const Row& row = GetParam();
  const FeedState before = healthy();
  const Decision decision = decide_on(before, row.reading, exchange_with(row.headers));
  const FeedState& state = decision.commit.state;
  const std::string name = std::string(row.name) + " " + std::string(to_string(row.reason));
  EXPECT_EQ(decision.outcome, Outcome::failed) << name;
  EXPECT_EQ(decision.reason, row.reason) << to_string(decision.reason) << " is not " << name;
  EXPECT_FALSE(decision.detail.empty()) << name;
  expect_due_after(decision, row.interval_s, name);
  EXPECT_EQ(state.won, row.code) << name;
  EXPECT_EQ(state.state, row.state) << name;
  EXPECT_EQ(state.last_status, row.last_status) << name;
  EXPECT_EQ(state.last_error, to_string(row.reason)) << name;
  EXPECT_EQ(state.last_outcome, "failed") << name;
  EXPECT_EQ(state.last_detail, decision.detail) << name;
  EXPECT_EQ(state.failures, 1) << name;
  EXPECT_EQ(state.failing_since, now) << name;
  EXPECT_EQ(state.polls_failed, before.polls_failed + 1) << name;
  EXPECT_EQ(state.last_at, now) << name;
  EXPECT_EQ(state.last_success, before.last_success) << name;
  EXPECT_LT(state.new_per_week, before.new_per_week) << name << ": S keeps decaying";
  // HTTP P2: nothing of a refused answer is kept.
  EXPECT_EQ(state.etag, before.etag) << name;
  EXPECT_EQ(state.last_modified, before.last_modified) << name;
  EXPECT_EQ(state.validators_url, before.validators_url) << name;
  EXPECT_EQ(state.wire_hash, before.wire_hash) << name;
  EXPECT_EQ(state.body_hash, before.body_hash) << name;
  EXPECT_FALSE(decision.commit.document) << name;
  EXPECT_TRUE(decision.commit.entries.empty()) << name;
  EXPECT_EQ(signal_types(decision), row.state == std::string("blocked") ? Types{"feed_failing"} : Types{}) << name;
  const boost::json::value why = boost::json::parse(state.why);
  EXPECT_FALSE(why.as_array().empty()) << name;
}

/// base and cap of HTTP §4, seconds.
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
  EXPECT_EQ(state.failures, 2);
  EXPECT_EQ(state.state, row.state);
  if (row.interval_s > doubled || row.interval_s == base) {
    EXPECT_EQ(state.won, row.code);
  }
  EXPECT_EQ(state.etag, healthy().etag);
  EXPECT_EQ(state.body_hash, healthy().body_hash);
  EXPECT_EQ(signal_types(twice), Types{}) << "it is no news";
}

TEST_P(Rows, SayItAnewAfterASuccess) {
  const Row& row = GetParam();
  const FeedState before = failed("status.server", 5, days(1), "degraded");
  const FeedState between = decide_on(before, NotModified()).commit.state;
  EXPECT_EQ(between.state, "healthy");
  const Decision first = decide_on(between, row.reading, exchange_with(row.headers));
  expect_due_after(first, row.interval_s, row.name);
  EXPECT_EQ(first.commit.state.failures, 1);
  EXPECT_EQ(first.commit.state.won, row.code);
  EXPECT_EQ(first.commit.state.state, row.state);
  const Decision after = decide_on(first.commit.state, NotModified());
  EXPECT_EQ(after.commit.state.failures, 0);
  EXPECT_EQ(after.commit.state.state, "healthy");
  EXPECT_EQ(signal_types(after), row.state == std::string("blocked") ? Types{"feed_recovered"} : Types{});
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
    EXPECT_EQ(decision.commit.state.failures, c.failures_after) << c.name;
    EXPECT_EQ(decision.commit.state.failing_since, now - hours(20)) << c.name << ": since the first of any kind";
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
      {"new fails", fresh, server, "new", {}},
      {"new succeeds", fresh, good, "healthy", {}},
      {"second failure", failed("status.server", 1, hours(1)), server, "healthy", {}},
      {"third failure", failed("status.server", 2, hours(3)), server, "degraded", {}},
      {"third failure of a new feed", failed("status.server", 2, hours(3), "new"), server, "degraded", {}},
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
    EXPECT_EQ(signal_types(decision), c.signals) << c.name;
    EXPECT_EQ(state.state_since, c.before.state == c.state ? c.before.state_since : now) << c.name;
    EXPECT_EQ(decision.commit.before, c.before) << c.name;
  }
}

TEST(Decide, SaysInTheSignalWhyAFeedFails) {
  const Decision decision = decide_on(failed("status.auth", 2, hours(9)), HttpStatus{401});
  ASSERT_EQ(decision.commit.signals.size(), 1U);
  const FeedSignal& signal = decision.commit.signals[0];
  EXPECT_EQ(signal.action, "updated");
  EXPECT_EQ(boost::json::parse(signal.data),
            boost::json::parse(R"({"state":"blocked","reason":"status.auth","since":1772366400})"));
  const Decision recovered = decide_on(failed("status.auth", 5, days(9), "blocked"), NotModified());
  ASSERT_EQ(recovered.commit.signals.size(), 1U);
  EXPECT_EQ(boost::json::parse(recovered.commit.signals[0].data),
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
    EXPECT_EQ(decision.commit.state.won, "forbidden");
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
      {"404", HttpStatus{404}, {}, Is::served, "", {}, false},
      {"429", HttpStatus{429}, {}, Is::refused, "rate_limited", {}, false},
      {"429 for an hour", HttpStatus{429}, hour_long, Is::refused, "rate_limited", now + hours(1), false},
      {"503", HttpStatus{503}, {}, Is::refused, "unavailable", {}, false},
      {"500", HttpStatus{500}, {}, Is::silent, "", {}, false},
      {"500 for an hour", HttpStatus{500}, hour_long, Is::refused, "unavailable", now + hours(1), false},
      {"200 for an hour", document_of({}), hour_long, Is::refused, "unavailable", now + hours(1), true},
      {"Retry-After 0", document_of({}), {{"retry-after", "0"}}, Is::served, "", {}, true},
      {"no feed", Unreadable{Reason::parse_not_a_feed, "x", {}}, {}, Is::served, "", {}, true},
      {"no answer", error_of(Reason::connect_refused), {}, Is::silent, "", {}, false},
  };
  for (const Case& c : cases) {
    const HostAnswer host = decide_on(healthy(), c.reading, exchange_with(c.headers)).commit.host;
    EXPECT_EQ(host.is, c.is) << c.name;
    EXPECT_EQ(host.cause, c.cause) << c.name;
    EXPECT_EQ(host.retry_at, c.retry_at) << c.name;
    EXPECT_EQ(host.document, c.document) << c.name;
    EXPECT_EQ(host.host, "") << c.name;
  }
  Exchange led = exchange_with();
  led.hops = {{feed_url, 302, "https://cdn.example/feed.xml"}, {"https://cdn.example/feed.xml", 429, ""}};
  EXPECT_EQ(decide_on(healthy(), HttpStatus{429}, led).commit.host.host, "cdn.example");
  led.fell_back = led.identity = true;
  EXPECT_TRUE(decide_on(healthy(), NotModified(), led).commit.host.needs_http1);
  EXPECT_TRUE(decide_on(healthy(), NotModified(), led).commit.host.needs_identity);
  EXPECT_FALSE(decide_on(healthy(), HttpStatus{500}, led).commit.host.needs_identity);
}

// HTTP H6
TEST(Decide, PutsOffWhatCannotBeFollowedNow) {
  const FeedState before = failed("status.server", 2, hours(3));
  const Decision decision = decide_on(before, error_of(Reason::worker_host_wait, true, 302));
  EXPECT_EQ(decision.outcome, Outcome::deferred);
  EXPECT_EQ(decision.commit.state.last_error, "worker.host_wait");
  EXPECT_EQ(decision.commit.state.failures, before.failures) << "nobody's failure";
  EXPECT_EQ(decision.commit.state.polls_failed, before.polls_failed);
  EXPECT_EQ(decision.commit.state.won, "host_spacing");
  expect_due_after(decision, hour, "the first hop was asked");
}

// HTTP §4
TEST(Decide, RemembersADocumentThatCouldNotBeRead) {
  const BodyPrint print{std::string(32, 'e'), std::string(32, 'f'), 9, 9};
  const FeedState state = decide_on(healthy(), Unreadable{Reason::parse_not_a_feed, "x", print}).commit.state;
  EXPECT_EQ(state.refused_hash, print.body_hash);
  EXPECT_EQ(state.refused_reason, "parse.not_a_feed");
  EXPECT_EQ(state.refused_by, FEEDMILL_VERSION);
  EXPECT_EQ(decide_on(state, HttpStatus{500}).commit.state.refused_hash, print.body_hash);
  EXPECT_EQ(decide_on(state, document_of({})).commit.state.refused_hash, "");
  EXPECT_EQ(decide_on(healthy(), Unreadable{Reason::limit_body, "x", print}).commit.state.refused_hash, "")
      << "another limit may let it pass";
}

// HTTP P5
TEST(Decide, ProbesAServerThatAlwaysSays304) {
  FeedState state = healthy();
  state.new_per_week = 3;
  EXPECT_FALSE(wants_probe(state, now));
  state = decide_on(state, NotModified()).commit.state;
  EXPECT_EQ(state.not_modified_since, now);
  state.not_modified_since = now - days(14);
  EXPECT_TRUE(wants_probe(state, now));
  FeedState quiet = state;
  quiet.new_per_week = 2;
  EXPECT_FALSE(wants_probe(quiet, now)) << "nothing is missed there";
  FeedState unknown = state;
  unknown.etag = unknown.last_modified = "";
  EXPECT_FALSE(wants_probe(unknown, now)) << "it is asked without validators anyhow";

  Exchange probe = exchange_with({}, {"\"p\"", "", feed_url});
  probe.unconditional = Unconditional::probe;
  const FeedState honest = decide_on(state, SameBody{{"e", std::string(32, 'b'), 1, 1}}, probe).commit.state;
  EXPECT_EQ(honest.last_probe, now);
  EXPECT_EQ(honest.unconditional_probe, 1U);
  EXPECT_FALSE(honest.validators_broken);
  EXPECT_FALSE(wants_probe(honest, now + days(13)));
  const FeedState denied = decide_on(state, HttpStatus{304}, probe).commit.state;
  EXPECT_FALSE(wants_probe(denied, now + hours(23))) << "one a day";
  EXPECT_TRUE(wants_probe(denied, now + hours(24)));

  FeedState caught = decide_on(state, document_of({post("n", now_s)}), probe, unknown_guids(1)).commit.state;
  EXPECT_TRUE(caught.validators_broken);
  caught.new_per_week = 0;
  EXPECT_FALSE(wants_probe(caught, now + hours(23)));
  EXPECT_TRUE(wants_probe(caught, now + hours(24))) << "the daily probe stays";
  const FeedState cured =
      decide_on(caught, document_of({post("m", now_s)}), exchange_with(), unknown_guids(1)).commit.state;
  EXPECT_FALSE(cured.validators_broken) << "a conditional request brought something";
}

// HTTP P24
TEST(Decide, CountsUnconditionalRequestsByReason) {
  const auto count = [](Unconditional why) {
    Exchange exchange = exchange_with();
    exchange.unconditional = why;
    const FeedState s = decide_on(healthy(), NotModified(), exchange).commit.state;
    return std::vector<std::uint64_t>{s.polls_unconditional, s.unconditional_first, s.unconditional_none,
                                      s.unconditional_target, s.unconditional_probe};
  };
  using Counts = std::vector<std::uint64_t>;
  EXPECT_EQ(count(Unconditional::no), (Counts{0, 0, 0, 0, 0}));
  EXPECT_EQ(count(Unconditional::first), (Counts{1, 1, 0, 0, 0}));
  EXPECT_EQ(count(Unconditional::no_validators), (Counts{1, 0, 1, 0, 0}));
  EXPECT_EQ(count(Unconditional::target_changed), (Counts{1, 0, 0, 1, 0}));
  EXPECT_EQ(count(Unconditional::probe), (Counts{1, 0, 0, 0, 1}));
}

// SECURITY Q3
TEST(Decide, OnlyASuccessEndsAQuarantine) {
  FeedState before = healthy();
  before.state = "quarantined";
  EXPECT_EQ(decide_on(before, HttpStatus{500}).commit.state.state, "quarantined");
  const Decision success = decide_on(before, NotModified());
  EXPECT_EQ(success.commit.state.state, "healthy");
  EXPECT_EQ(success.commit.state.state_since, now);
  EXPECT_EQ(signal_types(success), Types{}) << "it gave none when it began";
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
    before.last_at = before.group_since = now - c.last;
    const Decision decision = decide_on(before, HttpStatus{410});
    EXPECT_EQ(decision.commit.state.state, c.gone ? "gone" : "healthy") << c.name;
    EXPECT_EQ(signal_types(decision), c.gone ? Types{"feed_gone"} : Types{}) << c.name;
    EXPECT_EQ(decision.commit.state.won, "gone") << c.name;
    expect_due_after(decision, c.gone ? 30 * day : day, c.name);
  }
  FeedState asked_between = failed("status.gone", 2, hours(25));
  asked_between.group_since = now - hours(25);
  asked_between.last_at = now - hours(1);
  EXPECT_EQ(decide_on(asked_between, HttpStatus{410}).commit.state.state, "gone") << "a day after the first";
  FeedState gone = failed("status.server", 1, days(60), "gone");
  const Decision again = decide_on(gone, HttpStatus{410});
  EXPECT_EQ(again.commit.next_due, now + days(30)) << "checked once a month, whatever came between";
  EXPECT_TRUE(again.commit.signals.empty());
}

// HTTP P2, P3
TEST(Decide, KeepsTheValidatorsOfWhatItStored) {
  const std::string other = "https://cdn.example.org/feed.xml";
  const SameBody same{{std::string(32, 'e'), std::string(32, 'b'), 11, 20}};
  struct Case {
    const char* name;
    Reading reading;
    Validators sent, kept;
  };
  const FeedState old = healthy();
  const Case cases[] = {
      {"both replaced", document_of({}), {"W/\"x\"", "Mon", feed_url}, {"W/\"x\"", "Mon", ""}},
      {"a missing date is deleted", document_of({}), {"\"x\"", "", feed_url}, {"\"x\"", "", ""}},
      {"a missing tag is deleted", document_of({}), {"", "Mon", feed_url}, {"", "Mon", ""}},
      {"both deleted", document_of({}), {"", "", feed_url}, {"", "", ""}},
      {"of the redirect's target", document_of({}), {"\"x\"", "Mon", other}, {"\"x\"", "Mon", other}},
      {"none of the redirect's target", document_of({}), {"", "", other}, {"", "", ""}},
      {"of the same body", same, {"\"x\"", "Mon", feed_url}, {"\"x\"", "Mon", ""}},
      {"the same body deletes too", same, {"\"x\"", "", feed_url}, {"\"x\"", "", ""}},
      {"the same body elsewhere", same, {"\"x\"", "", other}, {"\"x\"", "", other}},
      {"304 renews both", NotModified(), {"\"x\"", "Mon", feed_url}, {"\"x\"", "Mon", ""}},
      {"304 renews the tag", NotModified(), {"\"x\"", "", feed_url}, {"\"x\"", old.last_modified, ""}},
      {"304 renews the date", NotModified(), {"", "Mon", feed_url}, {old.etag, "Mon", ""}},
      {"304 with nothing keeps both", NotModified(), {"", "", feed_url}, {old.etag, old.last_modified, ""}},
      {"bytes stay as they are",
       document_of({}),
       {"\"\xE4 ,;\"", "in a while", feed_url},
       {"\"\xE4 ,;\"", "in a while", ""}},
  };
  for (const Case& c : cases) {
    const FeedState state = decide_on(old, c.reading, exchange_with({}, c.sent)).commit.state;
    EXPECT_EQ(state.etag, c.kept.etag) << c.name;
    EXPECT_EQ(state.last_modified, c.kept.last_modified) << c.name;
    EXPECT_EQ(state.validators_url, c.kept.url) << c.name;
  }
}

TEST(Decide, KeepsForeignValidatorsThroughA304) {
  FeedState before = healthy();
  before.validators_url = "https://cdn.example.org/feed.xml";
  const Exchange exchange = exchange_with({}, {"\"x\"", "", before.validators_url});
  const FeedState state = decide_on(before, NotModified(), exchange).commit.state;
  EXPECT_EQ(state.validators_url, before.validators_url);
  EXPECT_EQ(state.etag, "\"x\"");
}

TEST(Decide, LeavesValidatorsAndHashesAloneWhenTheAnswerIsRefused) {
  const FeedState before = healthy();
  const Exchange with_new = exchange_with({}, {"\"new\"", "Tue", "https://cdn.example.org/"});
  const BodyPrint print{std::string(32, 'e'), std::string(32, 'f'), 1, 2};
  for (const Reading& reading :
       {Reading(HttpStatus{404}), Reading(HttpStatus{500}), Reading(HttpStatus{204}), Reading(HttpStatus{304}),
        Reading(HttpStatus{410}), Reading(error_of(Reason::http_truncated, true)),
        Reading(Unreadable{Reason::parse_malformed, "", print}), Reading(Unreadable{Reason::limit_body, "", print})}) {
    const FeedState state = decide_on(before, reading, with_new).commit.state;
    EXPECT_EQ(state.etag, before.etag) << reading.index();
    EXPECT_EQ(state.last_modified, before.last_modified) << reading.index();
    EXPECT_EQ(state.validators_url, "") << reading.index();
    EXPECT_EQ(state.wire_hash + state.body_hash, before.wire_hash + before.body_hash) << reading.index();
    EXPECT_EQ(state.wire_bytes, before.wire_bytes) << reading.index();
    EXPECT_EQ(state.hints, before.hints) << reading.index();
  }
}

// HTTP P5
TEST(Decide, RemembersTheHashesOfWhatItRead) {
  const FeedState stored = decide_on(healthy(), document_of({})).commit.state;
  EXPECT_EQ(stored.wire_hash, std::string(32, 'c'));
  EXPECT_EQ(stored.body_hash, std::string(32, 'd'));
  EXPECT_EQ(stored.wire_bytes, 400U);
  EXPECT_EQ(stored.body_bytes, 900U);
  const Decision same = decide_on(healthy(), SameBody{{std::string(32, 'e'), std::string(32, 'b'), 11, 20}});
  EXPECT_EQ(same.outcome, Outcome::unchanged);
  EXPECT_EQ(same.commit.state.wire_hash, std::string(32, 'e')) << "compressed in another way";
  EXPECT_EQ(same.commit.state.body_hash, std::string(32, 'b'));
  EXPECT_EQ(same.commit.state.wire_bytes, 11U);
  EXPECT_FALSE(same.commit.document);
  EXPECT_TRUE(same.commit.signals.empty());
  const FeedState renewed = decide_on(healthy(), NotModified()).commit.state;
  EXPECT_EQ(renewed.wire_hash, healthy().wire_hash);
}

TEST(Decide, ImportsAFeedOnItsFirstDocument) {
  FeedState fresh;
  fresh.settings = "{}";
  const auto document = document_of(
      {post("c", now_s + day), post("b", now_s - 7 * day), post("a", now_s - 14 * day), post("undated", std::nullopt)});
  const Decision decision = decide_on(fresh, document, exchange_with(), unknown_guids(4, {{"title", "by OPML"}}));
  const Commit& commit = decision.commit;
  EXPECT_EQ(decision.outcome, Outcome::updated);
  EXPECT_EQ(decision.reason, Reason::none);
  EXPECT_EQ(decision.detail, "");
  EXPECT_TRUE(commit.document);
  EXPECT_TRUE(commit.initial);
  EXPECT_EQ(commit.feed_url, feed_url);
  EXPECT_EQ(commit.claim, "worker:1-1");
  EXPECT_EQ(commit.entries.size(), 4U);
  EXPECT_EQ(commit.state.state, "healthy");
  EXPECT_EQ(commit.state.imported, now);
  EXPECT_EQ(commit.state.last_success, now);
  EXPECT_EQ(commit.state.total_new, 4U);
  EXPECT_NEAR(commit.state.new_per_week, 1 + 0.5 + 0.25, 1e-6);
  EXPECT_EQ(commit.state.last_new, now) << "the newest date, and not in the future";
  ASSERT_EQ(signal_types(decision), Types{"feed_created"});
  EXPECT_EQ(commit.signals[0].action, "created");
  EXPECT_EQ(boost::json::parse(commit.signals[0].data),
            boost::json::parse(R"({"title":"T","link":"https://example.org/"})"));
  EXPECT_EQ(commit.signals[0].changed, "");
  EXPECT_EQ(commit.feed, (Fields{{"link", "https://example.org/"}, {"title", "T"}}));
  expect_due_after(decision, day, "1.75 a week");
}

TEST(Decide, ImportsEmptyFeedsAndOldOnes) {
  const Decision empty = decide_on(FeedState(), document_of({}));
  EXPECT_TRUE(empty.commit.initial);
  EXPECT_EQ(signal_types(empty), Types{"feed_created"});
  EXPECT_EQ(empty.commit.state.imported, now);
  EXPECT_EQ(empty.commit.state.last_new, now);
  EXPECT_EQ(empty.commit.state.polls_with_new, 0U);
  const Decision old =
      decide_on(FeedState(), document_of({post("a", now_s - 90 * day)}), exchange_with(), unknown_guids(1));
  EXPECT_EQ(old.commit.state.last_new, now - days(90));
  EXPECT_EQ(old.commit.state.won, "dormant");
  expect_due_after(old, 3 * day, "three months old");
  const Decision ancient = decide_on(FeedState(), document_of({post("a", -5)}), exchange_with(), unknown_guids(1));
  EXPECT_EQ(ancient.commit.state.last_new, Milliseconds(1)) << "0 means never";
}

TEST(Decide, ImportsAfterFailuresToo) {
  FeedState before = failed("status.server", 4, days(8), "failing");
  before.imported = Milliseconds(0);
  before.new_per_week = 0;
  const Decision decision = decide_on(before, document_of({post("a", now_s)}), exchange_with(), unknown_guids(1));
  EXPECT_TRUE(decision.commit.initial);
  EXPECT_EQ(signal_types(decision), (Types{"feed_created", "feed_recovered"}));
  EXPECT_EQ(decision.commit.state.failures, 0);
  EXPECT_EQ(decision.commit.state.failure_group, "");
  EXPECT_EQ(decision.commit.state.failing_since, Milliseconds(0));
  EXPECT_EQ(decision.commit.state.last_error, "");
}

TEST(Decide, CountsNewEntriesIntoTheRate) {
  const Decision two =
      decide_on(healthy(), document_of({post("b", now_s), post("a", now_s - 60)}), exchange_with(), unknown_guids(2));
  EXPECT_FALSE(two.commit.initial);
  EXPECT_EQ(two.outcome, Outcome::updated);
  EXPECT_NEAR(two.commit.state.new_per_week, 10 * std::exp2(-1.0 / 168) + 2, 1e-9);
  EXPECT_EQ(two.commit.state.last_new, now);
  EXPECT_EQ(two.commit.state.total_new, 2U);
  EXPECT_EQ(two.commit.state.polls_with_new, 1U);
  EXPECT_EQ(two.commit.state.imported, healthy().imported);
  ASSERT_EQ(two.commit.entries.size(), 2U);
  EXPECT_EQ(two.commit.entries[0].guid, "a") << "oldest first";

  Known known = unknown_guids(2);
  known.guids[0].is = Known::Is::different;
  known.guids[0].id = "Entry:7";
  known.guids[1].is = Known::Is::same;
  known.left = {"gone"};
  known.back = {"returned"};
  const Decision changed =
      decide_on(healthy(), document_of({post("b", now_s), post("a", now_s - 60)}), exchange_with(), known);
  EXPECT_EQ(changed.outcome, Outcome::updated);
  EXPECT_EQ(changed.unchanged, 1U);
  EXPECT_EQ(changed.commit.state.total_new, 0U) << "a change is no new entry";
  EXPECT_EQ(changed.commit.state.polls_with_new, 0U);
  EXPECT_EQ(changed.commit.state.last_new, healthy().last_new);
  EXPECT_LT(changed.commit.state.new_per_week, 10);
  EXPECT_EQ(changed.commit.tombs_left, std::vector<std::string>{"gone"});
  EXPECT_EQ(changed.commit.tombs_back, std::vector<std::string>{"returned"});
  EXPECT_EQ(changed.commit.retention.listed, 2U);
}

TEST(Decide, TellsOfTheFeedOnlyWhatAReaderWouldNotice) {
  const Fields stored{{"generator", "A"}, {"link", "https://example.org/"}, {"title", "T"}, {"updated", "1"}};
  struct Case {
    const char* name;
    Fields read;
    const char* changed;  // "": no signal
    Fields write;
  };
  const Case cases[] = {
      {"nothing", stored, "", {}},
      {"build date and generator",
       {{"generator", "B"}, {"link", "https://example.org/"}, {"title", "T"}, {"updated", "2"}},
       "",
       {{"generator", "B"}, {"updated", "2"}}},
      {"title",
       {{"generator", "A"}, {"link", "https://example.org/"}, {"title", "U"}, {"updated", "2"}},
       R"({"title":["T","U"]})",
       {{"title", "U"}, {"updated", "2"}}},
      {"a description more, the link gone",
       {{"description", "D"}, {"generator", "A"}, {"title", "T"}, {"updated", "1"}},
       R"({"description":["","D"],"link":["https://example.org/",""]})",
       {{"description", "D"}, {"link", ""}}},
  };
  for (const Case& c : cases) {
    const Decision decision = decide_on(healthy(), document_of({}, c.read), exchange_with(), unknown_guids(0, stored));
    EXPECT_EQ(decision.commit.feed, c.write) << c.name;
    if (*c.changed == '\0') {
      EXPECT_EQ(signal_types(decision), Types{}) << c.name;
      continue;
    }
    ASSERT_EQ(signal_types(decision), Types{"feed_modified"}) << c.name;
    EXPECT_EQ(decision.commit.signals[0].action, "updated") << c.name;
    EXPECT_EQ(boost::json::parse(decision.commit.signals[0].changed), boost::json::parse(c.changed)) << c.name;
  }
}

// HTTP P24
TEST(Decide, Counts) {
  FeedState before = healthy();
  before.polls = 100;
  before.polls_not_modified = 50;
  before.polls_same_body = 20;
  before.polls_unconditional = 10;
  before.polls_failed = 5;
  before.total_wire_bytes = 1000;
  before.total_body_bytes = 2000;
  struct Case {
    const char* name;
    Reading reading;
    bool sent_validators;
    std::uint64_t not_modified, same_body, unconditional, failed, body_bytes;
  };
  const SameBody same{{"", "", 11, 20}};
  for (const Case& c :
       {Case{"304", NotModified(), true, 51, 20, 10, 5, 2000}, Case{"same", same, true, 50, 21, 10, 5, 2020},
        Case{"same without validators", same, false, 50, 21, 11, 5, 2020},
        Case{"document", document_of({}), false, 50, 20, 11, 5, 2900},
        Case{"404", HttpStatus{404}, true, 50, 20, 10, 6, 2000},
        Case{"no answer", error_of(Reason::dns_failed), true, 50, 20, 10, 6, 2000}}) {
    Exchange exchange = exchange_with();
    if (!c.sent_validators) exchange.unconditional = Unconditional::no_validators;
    const FeedState state = decide_on(before, c.reading, exchange).commit.state;
    EXPECT_EQ(state.polls, 101U) << c.name;
    EXPECT_EQ(state.polls_not_modified, c.not_modified) << c.name;
    EXPECT_EQ(state.polls_same_body, c.same_body) << c.name;
    EXPECT_EQ(state.polls_unconditional, c.unconditional) << c.name;
    EXPECT_EQ(state.polls_failed, c.failed) << c.name;
    EXPECT_EQ(state.total_wire_bytes, 1500U) << c.name;
    EXPECT_EQ(state.total_body_bytes, c.body_bytes) << c.name;
  }
}

TEST(Decide, EndsARowOfFailures) {
  for (const Reading& reading : {Reading(NotModified()), Reading(SameBody()), Reading(document_of({}))}) {
    FeedState before = failed("status.server", 4, days(1), "degraded");
    before.last_error = "status.server";
    before.last_detail = "the server answered 500";
    const FeedState state = decide_on(before, reading).commit.state;
    EXPECT_EQ(state.failures, 0) << reading.index();
    EXPECT_EQ(state.failure_group, "") << reading.index();
    EXPECT_EQ(state.failing_since, Milliseconds(0)) << reading.index();
    EXPECT_EQ(state.last_error, "") << reading.index();
    EXPECT_EQ(state.last_detail, "") << reading.index();
    EXPECT_EQ(state.last_success, now) << reading.index();
    EXPECT_EQ(state.state, "healthy") << reading.index();
  }
}

TEST(Decide, NamesTheOutcomeOfASuccess) {
  const Decision renewed = decide_on(healthy(), NotModified());
  EXPECT_EQ(renewed.outcome, Outcome::not_modified);
  EXPECT_EQ(renewed.commit.state.last_outcome, "not_modified");
  EXPECT_EQ(renewed.commit.state.last_status, 304);
  expect_due_after(renewed, 17522, "adaptive");
  EXPECT_EQ(renewed.commit.state.won, "adaptive");
  const Decision nothing_new = decide_on(healthy(), document_of({}));
  EXPECT_EQ(nothing_new.outcome, Outcome::unchanged);
  EXPECT_EQ(nothing_new.commit.state.last_status, 200);
  EXPECT_TRUE(nothing_new.commit.document) << "retention still applies";
}

// HTTP P9, P22
TEST(Decide, RemembersUntilWhenNotToAsk) {
  struct Case {
    const char* name;
    Milliseconds before;
    const char* retry_after;  // "": none
    Milliseconds after;
  };
  for (const Case& c :
       {Case{"none", {}, "", {}}, Case{"an hour", {}, "3600", now + hours(1)}, Case{"zero", {}, "0", {}},
        Case{"nonsense", {}, "later", {}}, Case{"a past one ends", now - hours(1), "", {}},
        Case{"one that ends now", now, "", {}}, Case{"an earlier one holds", now + days(2), "", now + days(2)},
        Case{"an earlier one is not shortened", now + days(2), "3600", now + days(2)},
        Case{"an earlier one is prolonged", now + hours(1), "86400", now + days(1)},
        Case{"a week at most", {}, "99999999", now + days(7)}}) {
    FeedState before = healthy();
    before.not_before = c.before;
    Headers headers;
    if (*c.retry_after != '\0') headers.emplace_back("retry-after", c.retry_after);
    for (const Reading& reading : {Reading(HttpStatus{503}), Reading(NotModified())}) {
      const Decision decision = decide_on(before, reading, exchange_with(headers));
      EXPECT_EQ(decision.commit.state.not_before, c.after) << c.name;
      EXPECT_GE(decision.commit.next_due, c.after) << c.name;
    }
  }
}

// HTTP F8
TEST(Decide, KeepsADocumentsHintsThrough304) {
  Document document = document_of({});
  document.hints.ttl_s = 10 * hour;
  const Decision read = decide_on(healthy(), document);
  EXPECT_EQ(read.commit.state.won, "ttl");
  expect_due_after(read, 10 * hour, "ttl");
  EXPECT_EQ(read.commit.state.hints, to_text(document.hints));
  const Decision renewed = decide_on(read.commit.state, NotModified());
  EXPECT_EQ(renewed.commit.state.won, "ttl");
  EXPECT_EQ(renewed.commit.state.hints, read.commit.state.hints);
  const Decision without = decide_on(read.commit.state, document_of({}));
  EXPECT_EQ(without.commit.state.hints, "") << "the newest document says nothing any more";
}

TEST(Decide, LetsServersThatAreOpenedBeAskedOften) {
  PolicyOptions options;
  options.schedule = {seconds(1), seconds(1), seconds(2)};
  Exchange own = exchange_with();
  own.opened_by_allow = true;
  EXPECT_LE(decide_on(healthy(), NotModified(), own, {}, options).commit.next_due, now + seconds(8));
  expect_due_after(decide_on(healthy(), NotModified(), exchange_with(), {}, options), 10 * minute, "somebody else's");
}

TEST(Settings, AreReadAsFarAsTheyCanBe) {
  struct Case {
    const char* json;
    std::int64_t keep, interval_min_s;  // -1: not set
  };
  const Case cases[] = {
      {"", -1, -1},
      {"{}", -1, -1},
      {R"({"keep":10,"interval_min":7200})", 10, 7200},
      {R"({"keep":0})", 0, -1},
      {R"({"keep":10.0})", 10, -1},
      {R"({"interval_min":90,"folders":[["a"]],"opml":{"x":"y"}})", -1, 90},
      {R"({"keep":-1,"interval_min":-5})", -1, -1},
      {R"({"keep":"10","interval_min":"2h"})", -1, -1},
      {R"({"keep":1.5,"interval_min":null})", -1, -1},
      {R"({"keep":1e300,"interval_min":99999999999999999999})", -1, -1},
      {R"({"interval_min":9000000000000000000})", -1, 30 * day},
      {R"({"keep":10)", -1, -1},
      {R"([1,2])", -1, -1},
      {"null", -1, -1},
      {"\xFF", -1, -1},
      {R"({"keep":10} x)", -1, -1},
  };
  for (const Case& c : cases) {
    const FeedSettings settings = read_settings(c.json);
    EXPECT_EQ(settings.keep ? static_cast<std::int64_t>(*settings.keep) : -1, c.keep) << c.json;
    EXPECT_EQ(settings.interval_min ? static_cast<std::int64_t>(*settings.interval_min) : -1, c.interval_min_s)
        << c.json;
  }
}

TEST(Settings, GovernRetentionAndInterval) {
  PolicyOptions options;
  options.retention.entries = 50;
  options.retention.strict = true;
  FeedState before = healthy();
  before.settings = R"({"keep":7,"interval_min":43200})";
  const Decision decision = decide_on(before, document_of({}), exchange_with(), {}, options);
  EXPECT_EQ(decision.commit.retention.entries, 7U);
  EXPECT_TRUE(decision.commit.retention.strict);
  EXPECT_EQ(decision.commit.state.won, "override");
  expect_due_after(decision, 12 * hour, "success");
  expect_due_after(decide_on(before, HttpStatus{500}, exchange_with(), {}, options), 12 * hour, "failure");
  before.settings = "{broken";
  const Decision broken = decide_on(before, document_of({}), exchange_with(), {}, options);
  EXPECT_EQ(broken.commit.retention.entries, 50U);
  EXPECT_EQ(broken.commit.state.settings, "{broken") << "left for the operator to see";
}

TEST(Settings, GovernAgeAndBytesOfWhatIsKept) {
  PolicyOptions options;
  options.retention.age = hours(24);
  options.retention.bytes = 1000;
  FeedState before = healthy();
  const Retention configured = decide_on(before, document_of({}), exchange_with(), {}, options).commit.retention;
  EXPECT_EQ(configured.age, hours(24));
  EXPECT_EQ(configured.bytes, 1000U);
  before.settings = R"({"keep_age":60,"keep_bytes":5})";
  const Retention own = decide_on(before, document_of({}), exchange_with(), {}, options).commit.retention;
  EXPECT_EQ(own.age, seconds(60));
  EXPECT_EQ(own.bytes, 5U);
  before.settings = R"({"keep_age":0,"keep_bytes":0})";
  const Retention none = decide_on(before, document_of({}), exchange_with(), {}, options).commit.retention;
  EXPECT_EQ(none.age.count(), 0);
  EXPECT_EQ(none.bytes, 0U);
  before.settings = R"({"keep_age":18446744073709551615})";
  EXPECT_GT(decide_on(before, document_of({}), exchange_with(), {}, options).commit.retention.age,
            hours(24 * 365 * 99));
}

// RELIABILITY L7
TEST(Decide, TrimsWithoutADocumentOnlyWhereThereIsSomethingToTrim) {
  PolicyOptions options;
  options.retention.entries = 10;
  FeedState before = healthy();
  before.listed = 30;
  before.kept = 30;
  const auto trims = [&] {
    const Decision decision = decide_on(before, NotModified(), exchange_with(), {}, options);
    EXPECT_EQ(decision.commit.retention.listed, 30U);
    return decision.commit.trim;
  };
  EXPECT_FALSE(trims()) << "as many as the document lists";
  before.untrimmed = true;
  EXPECT_TRUE(trims()) << "the last trim left some";
  before.untrimmed = false;
  before.settings = R"({"keep":7})";
  EXPECT_FALSE(trims()) << "the document lists more";
  options.retention.strict = true;
  EXPECT_TRUE(trims()) << "fewer are to be kept than before";
  EXPECT_EQ(decide_on(before, NotModified(), exchange_with(), {}, options).commit.state.kept, 7U);
  before.kept = 7;
  EXPECT_FALSE(trims());
  options.retention.age = hours(1);
  EXPECT_TRUE(trims()) << "posts grow older without a document";
  before.kept = 0;
  EXPECT_FALSE(decide_on(before, NotModified(), exchange_with(), {}, options).commit.trim)
      << "what the document lists is not known";
}

TEST(Decide, TakesADocumentThatEndsInTheMiddleForNoFullList) {
  FeedState before = healthy();
  before.listed = 30;
  Document document = document_of({post("b", now_s)});
  Known known = unknown_guids(1);
  known.left = {"a"};
  EXPECT_EQ(decide_on(before, document, exchange_with(), known).commit.tombs_left, known.left);
  EXPECT_EQ(decide_on(before, document, exchange_with(), known).commit.state.listed, 1U);
  EXPECT_EQ(decide_on(before, document_of({}), exchange_with()).commit.state.listed, 30U) << "nor is an empty one";
  document.cut_short = true;
  const Decision decision = decide_on(before, document, exchange_with(), known);
  EXPECT_TRUE(decision.commit.tombs_left.empty());
  EXPECT_EQ(decision.commit.retention.listed, 30U);
}

// HTTP P2
TEST(Decide, TakesTheValidatorsOfADocumentThatEndsInTheMiddleWhenItComesAgain) {
  const FeedState before = healthy();
  const Exchange exchange = exchange_with({}, {"\"cut\"", "", ""});
  Document document = document_of({post("a", now_s)});
  document.cut_short = true;
  const FeedState after = decide_on(before, document, exchange, unknown_guids(1)).commit.state;
  EXPECT_EQ(after.etag, before.etag);
  EXPECT_EQ(after.last_modified, before.last_modified);
  EXPECT_EQ(after.body_hash, document.print.body_hash);
  EXPECT_EQ(after.state, "healthy");
  EXPECT_EQ(decide_on(after, SameBody{document.print}, exchange).commit.state.etag, "\"cut\"");
}

TEST(Decide, ConcludesNothingFromWhatADocumentThatEndsInTheMiddleDoesNotSay) {
  FeedState before = healthy();
  before.advert = {"https://example.org/feed.xml", {"https://hub.example/"}, 0};
  before.hints = to_text(ScheduleHints{.ttl_s = 7200});
  before.fresh_documents = before.replaced_documents = 2;
  Document document = document_of({post("new", now_s), post("b", now_s)}, {{"title", "Ti"}, {"language", "de"}});
  document.deleted = {{"gone", now_s}};
  document.cut_short = true;
  Known known = unknown_guids(2, {{"link", "https://example.org/"}, {"title", "Title"}});
  known.stored = 9;
  known.deletable = {"0"};
  known.left = {"left"};
  known.tombs_new = {"buried"};
  known.guids[1].stored_guid = "old b";
  known.guids[1].id = "Entry:2";
  known.rekeys = {{"Entry:7", "x", "y", "", {}}};
  const Decision decision = decide_on(before, document, exchange_with(), known);
  const Commit& commit = decision.commit;
  ASSERT_EQ(commit.entries.size(), 1U);
  EXPECT_EQ(commit.entries[0].guid, "new");
  EXPECT_TRUE(commit.rekeys.empty() && commit.deleted.empty() && commit.tombs_left.empty() && commit.tombs_new.empty());
  EXPECT_EQ(commit.feed, (Fields{{"language", "de"}})) << "what is known stays";
  EXPECT_EQ(commit.state.advert, before.advert);
  EXPECT_EQ(commit.state.hints, before.hints);
  EXPECT_EQ(commit.state.replaced_documents, 2U);
  EXPECT_EQ(signal_types(decision), Types{"feed_modified"});
}

// HTTP §4, http.truncated
TEST(Decide, StoresWhatCameWholeOfADocumentThatBrokeOff) {
  Document document = document_of({post("a", now_s)});
  document.cut_short = true;
  document.print = {"", "", 300, 700};
  document.failure = Unreadable{Reason::http_truncated, "12 bytes are missing", {}, false};
  const FeedState before = healthy();
  const Exchange exchange = exchange_with({}, {"\"new\"", "", ""});
  const Decision decision = decide_on(before, document, exchange, unknown_guids(1));
  const FeedState& after = decision.commit.state;
  EXPECT_EQ(decision.outcome, Outcome::failed);
  EXPECT_EQ(decision.reason, Reason::http_truncated);
  EXPECT_EQ(decision.detail, "12 bytes are missing");
  ASSERT_EQ(decision.commit.entries.size(), 1U);
  EXPECT_FALSE(decision.commit.initial);
  EXPECT_EQ(after.etag, before.etag);
  EXPECT_EQ(after.wire_hash, before.wire_hash);
  EXPECT_EQ(after.body_hash, before.body_hash);
  EXPECT_EQ(after.failures, 1);
  EXPECT_EQ(after.last_new, now);
  EXPECT_EQ(after.polls_failed, before.polls_failed + 1);
  expect_due_after(decision, hour, "broke off");

  const Decision first = decide_on(FeedState(), document, exchange, unknown_guids(1));
  EXPECT_TRUE(first.commit.initial);
  EXPECT_EQ(first.commit.state.imported.count(), 0) << "the whole document is the first import";
  EXPECT_EQ(first.commit.state.total_new, 1U);
  EXPECT_TRUE(first.commit.signals.empty());
}

// HTTP F8, H7
TEST(Settings, BoundTheIntervalFromAboveAndByHost) {
  FeedState before = healthy();
  before.new_per_week = 0.01;  // adaptive: as seldom as may be
  before.settings = R"({"interval_max":7200})";
  const Decision often = decide_on(before, NotModified());
  EXPECT_EQ(often.commit.state.won, "override");
  EXPECT_GE(often.commit.next_due, now + hours(2));
  EXPECT_LE(often.commit.next_due, now + hours(2) + minutes(12));
  const Decision told = decide_on(before, NotModified(), exchange_with({{"retry-after", "86400"}}));
  EXPECT_GE(told.commit.next_due, now + hours(24)) << "a Retry-After wins";

  PolicyOptions options;
  options.host_min_interval = {{"example.org", hours(30)}, {"other.example", hours(50)}};
  before.settings = R"({"interval_min":3600})";
  const Decision seldom = decide_on(before, NotModified(), exchange_with(), {}, options);
  EXPECT_GE(seldom.commit.next_due, now + hours(30));
  EXPECT_LE(seldom.commit.next_due, now + hours(31));
}

TEST(Decide, CutsDetailsBetweenCharacters) {
  const std::string text = std::string(199, 'x') + "\xC3\xA4 and so on";
  const Decision decision = decide_on(healthy(), Unreadable{Reason::parse_malformed, text, {}});
  EXPECT_EQ(decision.commit.state.last_detail, std::string(199, 'x'));
  EXPECT_EQ(decision.detail, text);
}

// HTTP N4
TEST(Decide, SurvivesClocksThatStep) {
  for (const Milliseconds step :
       {Milliseconds(hours(1)), Milliseconds(days(365)), Milliseconds(-hours(1)), Milliseconds(-days(365))}) {
    FeedState before = healthy();
    before.last_at = now + step;
    before.last_new = now + step;
    const Decision decision = decide_on(before, NotModified());
    EXPECT_GE(decision.commit.next_due, now + hours(1)) << step.count();
    EXPECT_LE(decision.commit.next_due, now + days(30)) << step.count();
    EXPECT_LE(decision.commit.state.new_per_week, 10) << step.count();
    EXPECT_GE(decision.commit.state.new_per_week, 0) << step.count();
  }
}

}  // namespace
}  // namespace feedmill
