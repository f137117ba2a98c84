// The policy in virtual time: many feeds with arbitrary answers over a long time (HTTP P6, N2).
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/counts.hpp"
#include "tests/support/sanitized.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill::policy_walk_test {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr int feeds = 200;

/// What a server answers next, and the earliest poll that the answer allows.
struct Answer {
  Reading reading;
  std::vector<Header> headers;
  Milliseconds least;  ///< minimum delay until the next poll
};

class Servers {
 public:
  explicit Servers(unsigned seed) : random_(seed) {}

  Answer next() {
    Answer answer{NotModified(), {}, minutes(60)};
    switch (number(0, 9)) {
      case 0:
        answer.reading = HttpStatus{number(400, 599)};
        break;
      case 1:
        answer.reading = HttpStatus{429};
        break;
      case 2: {
        FetchError error;
        constexpr Reason reasons[] = {Reason::dns_timeout, Reason::connect_refused, Reason::tls_verify};
        error.reason = reasons[number(0, 2)];
        answer.reading = error;
        answer.least = minutes(15);
        return answer;
      }
      case 3: {
        FetchError error;
        error.reason = Reason::http_timeout;
        error.sent = true;
        answer.reading = error;
        return answer;
      }
      case 4:
        answer.reading = Unreadable{Reason::parse_malformed, "x", {}};
        break;
      case 5: {
        Document document;
        document.hints.ttl_s = number(0, 200'000);
        document.hints.sy_s = number(0, 3) * 86'400L;
        if (number(0, 1) == 1) document.hints.sy_base_s = number(0, 2'000'000'000);
        document.hints.skip_hours = static_cast<std::uint32_t>(random_());
        document.hints.skip_days = static_cast<std::uint32_t>(number(0, 127));
        answer.reading = document;
        break;
      }
      default:
        break;
    }
    if (number(0, 3) == 0) {
      const int fresh = number(1, 3'000'000);
      answer.headers.emplace_back("cache-control", "max-age=" + std::to_string(fresh));
      // Stated freshness may lower the floor after a success to 10 min; after a failure it lowers nothing.
      const bool success = answer.reading.index() <= 2;
      if (success) answer.least = std::clamp<Milliseconds>(seconds(fresh), minutes(10), minutes(60));
    }
    if (number(0, 9) == 0) {
      const int wait = number(0, 700'000);
      answer.headers.emplace_back("retry-after", std::to_string(wait));
      answer.least = std::max<Milliseconds>(answer.least, seconds(std::min(wait, 7 * 86'400)));
    }
    return answer;
  }

  int number(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }

 private:
  std::mt19937 random_;
};

struct Polled {
  std::string url;
  FeedState state;
  Milliseconds due{}, not_before{};
};

TEST(PolicyWalk, IsNeverEarly) {
  const unsigned seed = 20260301;
  Servers servers(seed);
  std::vector<Polled> all(feeds);
  for (int i = 0; i < feeds; ++i) {
    Polled& feed = all[static_cast<std::size_t>(i)];
    feed.url = "https://example.org/" + std::to_string(i);
    feed.due = hours(400'000) + minutes(i);
  }
  const int polls = test::is_sanitized ? 20'000 : test::tries(100'000, 1'000'000, 1'000'000);
  int early = 0, far = 0;
  for (int poll = 0; poll < polls; ++poll) {
    Polled& feed = all[static_cast<std::size_t>(poll % feeds)];
    const Milliseconds now = feed.due;  // exactly when due
    if (now < feed.not_before) ++early;
    const Answer answer = servers.next();
    Claim claim;
    claim.feed_url = feed.url;
    claim.due = claim.now = now;
    claim.state = feed.state;
    Exchange exchange;
    exchange.requested_url = feed.url;
    exchange.headers = answer.headers;
    exchange.hops = {{feed.url, 200, ""}};
    const Decision decision = decide(claim, Reading(answer.reading), exchange, {}, {}, now);
    feed.state = decision.commit.state;
    feed.due = decision.commit.next_due;
    feed.not_before = std::max(feed.not_before, now + answer.least);
    if (feed.due > now + days(30)) ++far;
    ASSERT_LT(early, 1) << "seed " << seed << ", poll " << poll << " of " << feed.url;
  }
  EXPECT_EQ(early, 0) << "of " << polls;
  EXPECT_EQ(far, 0) << "N1";
}

// HTTP §3: headers × document hints → interval and code.
struct Header2 {
  const char* name;
  std::vector<Header> headers;
  std::int64_t fresh_s;
  const char* code;
};
struct Hint {
  const char* name;
  ScheduleHints hints;
  std::int64_t hint_s;  // 0: none
  const char* code;
};

TEST(Hints, AndHeadersTogetherFixTheInterval) {
  const auto cache = [](const char* value) { return std::vector<Header>{{"cache-control", value}}; };
  const std::vector<Header2> header_sets = {
      {"nothing", {}, 0, ""},
      {"two hours", cache("max-age=7200"), 7200, "max_age"},
      {"quoted", cache("public, max-age=\"7300\", immutable"), 7300, "max_age"},
      {"aged", {{"cache-control", "max-age=9000"}, {"age", "1000"}}, 8000, "max_age"},
      {"older than fresh", {{"cache-control", "max-age=60"}, {"age", "1000"}}, 0, ""},
      {"no-cache", cache("no-cache, max-age=7200"), 0, ""},
      {"no-store", cache("max-age=7200, no-store"), 0, ""},
      {"zero", cache("max-age=0"), 0, ""},
      {"a year", cache("max-age=31536000"), 31536000, "max_age"},
      {"no digits", cache("max-age=2h"), 0, ""},
      {"shared caches only", cache("s-maxage=7200"), 0, ""},
      {"expires",
       {{"expires", "Sun, 01 Mar 2026 14:00:00 GMT"}, {"date", "Sun, 01 Mar 2026 12:00:00 GMT"}},
       7200,
       "expires"},
      {"expired", {{"expires", "-1"}}, 0, ""},
  };
  const auto ttl = [](std::int64_t s) {
    ScheduleHints hints;
    hints.ttl_s = s;
    return hints;
  };
  const auto sy = [](std::int64_t s) {
    ScheduleHints hints;
    hints.sy_s = s;
    return hints;
  };
  const std::vector<Hint> hint_sets = {
      {"none", {}, 0, ""},
      {"ttl of a minute", ttl(60), 60, "ttl"},
      {"ttl of two hours", ttl(7200), 7200, "ttl"},
      {"ttl of nine hours", ttl(32400), 32400, "ttl"},
      {"ttl of a week", ttl(7 * 86400L), 7 * 86400L, "ttl"},
      {"hourly", sy(3600), 3600, "sy"},
      {"twice a day", sy(43200), 43200, "sy"},
      {"daily", sy(86400), 86400, "sy"},
      {"yearly", sy(365 * 86400L), 365 * 86400L, "sy"},
      {"ttl and sy", {10000, 20000, 0, 0, {}}, 20000, "sy"},
  };
  constexpr std::int64_t day_s = 86'400;
  constexpr Milliseconds now = seconds(1'772'366'400);  // Sun, 01 Mar 2026 12:00:00 GMT
  std::size_t rows = 0;
  for (const Header2& header : header_sets) {
    for (const Hint& hint : hint_sets) {
      ++rows;
      DueContext context;
      context.phase = phase_of("https://example.org/feed");
      context.now = now;
      context.last_new = now - hours(1);
      context.fresh = freshness(header.headers, std::chrono::sys_seconds(seconds(now / seconds(1))));
      EXPECT_EQ(context.fresh.fresh.count(), header.fresh_s) << header.name;
      const NextDue next = due_after_success({}, context, 40, hint.hints);  // the adaptive interval is 73 minutes
      std::int64_t interval_s = 174'500 / 40;
      std::string code = "adaptive";
      for (const auto& [s, name] : {std::pair(header.fresh_s, header.code), std::pair(hint.hint_s, hint.code)}) {
        if (std::min(s, day_s) <= interval_s) continue;
        interval_s = std::min(s, day_s);
        code = s > day_s ? "fresh_clamped" : name;
      }
      const std::string row = std::string(header.name) + " × " + hint.name;
      EXPECT_EQ(next.due_reason, code) << row;
      EXPECT_GE(next.due, now + seconds(interval_s)) << row;
      EXPECT_LT(next.due, now + seconds(interval_s) + minutes(30)) << row;
    }
  }
  EXPECT_GE(rows, 120U);
}

// HTTP P11
TEST(Hints, WaitForTheTimesTheDocumentIsPublishedAt) {
  constexpr std::int64_t hour = 3600, now_s = 1'772'366'400;  // 12:00
  struct Case {
    const char* name;
    std::int64_t sy_s, base_s, at_s;  // at: 0: not moved
  };
  for (const Case& c :
       {Case{"daily at 18:00, long ago", 24 * hour, 18 * hour, now_s + 30 * hour},
        Case{"daily at 11:00", 24 * hour, now_s - hour, now_s + 47 * hour},
        Case{"daily at 12:00, from next year on", 24 * hour, now_s + 365L * 24 * hour, now_s + 24 * hour},
        Case{"every two hours at odd ones", 2 * hour, hour, now_s + 3 * hour},
        Case{"weekly: more than is heeded", 7L * 24 * hour, 0, 0}, Case{"never", 0, hour, 0}}) {
    DueContext context;
    context.phase = phase_of("https://example.org/feed");
    context.now = seconds(now_s);
    context.last_new = context.now - hours(1);
    ScheduleHints hints;
    hints.sy_s = c.sy_s;
    hints.sy_base_s = c.base_s;
    EXPECT_EQ(read_schedule_hints(to_text(hints)), hints) << c.name;
    const NextDue next = due_after_success({}, context, 40, hints);
    if (c.at_s == 0) {
      EXPECT_NE(next.due_reason, "sy") << c.name;
      continue;
    }
    EXPECT_EQ(next.due_reason, "sy") << c.name;
    EXPECT_GE(next.due, Milliseconds(seconds(c.at_s))) << c.name;
    EXPECT_LT(next.due, Milliseconds(seconds(c.at_s)) + minutes(30)) << c.name;
  }
  Feed feed;
  feed.syndication = Syndication{"daily", "2", "2000-01-01T06:00+00:00"};
  EXPECT_EQ(schedule_hints(feed).sy_base_s, 946'706'400);
  feed.syndication->update_base = "at six";
  EXPECT_FALSE(schedule_hints(feed).sy_base_s);
}

}  // namespace
}  // namespace feedmill::policy_walk_test
