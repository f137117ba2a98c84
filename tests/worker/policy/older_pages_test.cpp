// Which claims are for a page of older posts, and the consequences of a page.
#include <gtest/gtest.h>

#include "tests/worker/policy/decide_fixture.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill::decide_test::older_pages_test {
namespace {

const std::string page_url = feed_url + "?paged=2";

/// Two pages have been read; the feed was polled before that, and is due in an hour.
FeedState walking() {
  FeedState state = healthy();
  PageWalk& walk = state.older.walk;
  walk.next = page_url;
  walk.back_to = now_s - 10 * day;
  walk.pages = 2;
  walk.posts = 10;
  walk.last = now - minutes(1);
  walk.poll_due = now + hours(1);
  walk.poll_reason = "adaptive";
  state.document.listed = 15;
  state.due.reason = "pages";
  return state;
}

StoredSnapshot known_as(std::vector<StoredSnapshot::Is> marks) {
  StoredSnapshot known;
  for (const auto mark : marks) known.guids.push_back({mark, "", {}, ""});
  known.stored = 20;
  return known;
}

Decision page(const FeedState& state, Document document, const StoredSnapshot& known,
              const PolicyOptions& options = {}) {
  Exchange exchange = exchange_with();
  exchange.requested_url = page_url;
  exchange.hops = {{page_url, 200, ""}};
  return decide_page(claim_of(state), Reading(std::move(document)), exchange, known, options, now);
}

EntryRecord dated(const std::string& guid, std::int64_t timestamp) {
  EntryRecord record = post(guid, timestamp);
  record.fields.insert(record.fields.begin(), {"date_published", "as the timestamp says"});
  return record;
}

Document page_of(std::vector<EntryRecord> entries, const std::string& next = feed_url + "?paged=9") {
  Document document = document_of(std::move(entries));
  document.older.next = next;
  return document;
}

constexpr auto unknown = StoredSnapshot::Is::unknown, same = StoredSnapshot::Is::same;

TEST(PageClaims, AreForTheFeedIfItIsRequestedOrWaitsInLine) {
  EXPECT_TRUE(is_for_page(claim_of(walking())));
  EXPECT_FALSE(is_for_page(claim_of(healthy())));
  const auto with = [](const std::function<void(FeedState&)>& change) {
    FeedState state = walking();
    change(state);
    return is_for_page(claim_of(state));
  };
  EXPECT_FALSE(with([](FeedState& state) { state.due.reason = "manual"; }));
  EXPECT_FALSE(with([](FeedState& state) { state.push.hinted = true; }));
  EXPECT_FALSE(with([](FeedState& state) { state.state = "degraded"; }));
  EXPECT_FALSE(with([](FeedState& state) { state.quarantine.strikes = 2; })) << "somebody died of it, perhaps";
  EXPECT_FALSE(with([](FeedState& state) { state.address.fetch_url = "https://elsewhere.example/"; }));
  EXPECT_FALSE(with([](FeedState& state) { state.older.walk.poll_due = now - minutes(1); })) << "a page was last";
  EXPECT_TRUE(with([](FeedState& state) {
    state.older.walk.poll_due = now - minutes(1);
    state.last.at = now - seconds(30);
  })) << "the feed was last";
}

TEST(Page, CreatesOnlyUnknownPosts) {
  FeedState state = walking();
  const Decision decision =
      page(state, page_of({dated("a", now_s - 2 * day), dated("b", now_s - 3 * day)}), known_as({unknown, same}));
  const Commit& commit = decision.commit;
  ASSERT_EQ(commit.entries.size(), 1U);
  EXPECT_EQ(commit.entries[0].guid, "a");
  EXPECT_TRUE(commit.healed);
  EXPECT_FALSE(commit.initial);
  EXPECT_EQ(commit.retention.listed, 16U);
  EXPECT_EQ(commit.state.last, state.last);
  EXPECT_EQ(commit.state.validators, state.validators);
  EXPECT_EQ(commit.state.older.walk.next, feed_url + "?paged=9") << "b is newer than the gap";
  EXPECT_EQ(commit.next_due, now + seconds(1));
}

TEST(Page, EndsTheWalkAtPostsOlderThanTheGap) {
  const Document meets = page_of(
      {dated("a", now_s - 9 * day), dated("b", now_s - 10 * day), dated("c", now_s - 11 * day), post("undated", {})});
  const Commit commit = page(walking(), meets, known_as({unknown, same, unknown, unknown})).commit;
  ASSERT_EQ(commit.entries.size(), 1U) << "c may have been trimmed long ago, and so may what stands behind";
  EXPECT_EQ(commit.entries[0].guid, "a");
  EXPECT_EQ(commit.state.older, OlderPosts());
  EXPECT_EQ(commit.next_due, now + hours(1));
  EXPECT_EQ(commit.state.due.reason, "adaptive");
}

// DESIGN §5
TEST(Page, DatesUndatedPostsBeforeThoseOfEarlierPages) {
  FeedState state = walking();
  state.older.walk.since = now - minutes(5);
  state.older.walk.purpose = PageWalk::For::backfill;
  std::int64_t last = now_s - 5 * minute;
  for (std::uint32_t pages = 0; pages < 3; ++pages) {
    state.older.walk.pages = pages;
    state.last.at = now - minutes(1);  // polled between pages
    const Commit commit = page(state, page_of({post("a", {}), post("b", {})}), known_as({unknown, unknown})).commit;
    ASSERT_EQ(commit.entries.size(), 2U);
    EXPECT_LT(commit.entries[1].timestamp, last) << "the newest stands last";
    EXPECT_LT(commit.entries[0].timestamp, commit.entries[1].timestamp);
    last = commit.entries[0].timestamp;
  }
  state.older.walk.purpose = PageWalk::For::gap;
  state.older.walk.back_to = now_s - minute;
  const Commit healed = page(state, page_of({post("a", {}), post("b", {})}), known_as({unknown, unknown})).commit;
  ASSERT_EQ(healed.entries.size(), 2U);
  EXPECT_EQ(healed.entries[0].timestamp, now_s - minute) << "no older than what they are newer than";
}

TEST(Page, IsTheLastOfSoMany) {
  FeedState state = walking();
  state.older.walk.pages = 9;
  const Document more = page_of({dated("a", now_s - day)});
  EXPECT_EQ(page(state, more, known_as({unknown})).commit.state.older, OlderPosts());
  state = walking();
  state.document.listed = 1999;
  EXPECT_EQ(page(state, more, known_as({unknown})).commit.state.older, OlderPosts()) << "no more may be kept";
  EXPECT_EQ(page(walking(), page_of({dated("a", now_s - day)}, page_url), known_as({unknown})).commit.state.older,
            OlderPosts())
      << "it leads to itself";
  EXPECT_EQ(page(walking(), page_of({dated("a", now_s - day)}, "http://example.org/2"), known_as({unknown}))
                .commit.state.older,
            OlderPosts())
      << "without TLS";
}

TEST(Page, ThatFailsIsTriedThreeTimesAndDoesNotDelayTheFeed) {
  FeedState state = walking();
  const auto fails = [&] {
    return decide_page(claim_of(state), error_of(Reason::connect_timeout), exchange_with(), {}, {}, now).commit;
  };
  Commit commit = fails();
  EXPECT_EQ(commit.state.older.walk.failures, 1U);
  EXPECT_EQ(commit.next_due, now + minutes(15));
  EXPECT_EQ(commit.state.failures, state.failures) << "it is no failure of the feed";
  state.older.walk.failures = 1;
  EXPECT_EQ(fails().next_due, now + minutes(30));
  state.older.walk.poll_due = now + minutes(20);
  EXPECT_EQ(fails().next_due, now + minutes(20)) << "the feed itself";
  state.older.walk.failures = 2;
  EXPECT_EQ(fails().state.older, OlderPosts());
}

/// HTTP H10, H11: a page is one of the requests that a host counts.
TEST(Page, TellsItsHostsQuotaAndNoEndOfAStorm) {
  Exchange exchange = exchange_with();
  exchange.requested_url = page_url;
  exchange.hops = {{page_url, 404, ""}};
  exchange.headers = {{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "60"}};
  Claim claim = claim_of(walking());
  claim.egress = "north";
  const auto told = [&] {
    HttpStatus answer;
    answer.status = exchange.hops.back().status;
    return decide_page(claim, Reading(answer), exchange, {}, {}, now).commit.host;
  };
  HostAnswer host = told();
  EXPECT_EQ(host.egress, "north");
  ASSERT_TRUE(host.quota);
  EXPECT_GE(host.quota->gap, Milliseconds(60'000));
  EXPECT_EQ(host.cause, "") << "the host serves";
  claim.host_storm = now - hours(1);
  EXPECT_NE(told().cause, "") << "no page that is missing says that a storm is over";
  exchange.hops = {{page_url, 429, ""}};
  host = told();
  EXPECT_EQ(host.is, HostAnswer::Is::refused);
  EXPECT_TRUE(host.over_quota);
}

TEST(Page, ThatAWorkerDiedOfIsGivenUpAfterThreeTimes) {
  FeedState state = walking();
  state.quarantine.strikes = 2;
  for (std::uint32_t died = 1; died < 3; ++died) {
    state.older = decide_on(state, NotModified()).commit.state.older;
    EXPECT_EQ(state.older.walk.failures, died);
  }
  EXPECT_EQ(decide_on(state, NotModified()).commit.state.older, OlderPosts());
}

TEST(Page, WaitsWhileTheFeedIsRefused) {
  const Commit refused = decide_on(walking(), HttpStatus{429}).commit;
  EXPECT_EQ(refused.state.older.walk.next, page_url);
  EXPECT_GE(refused.next_due, now + hours(4));
  const Commit polled = decide_on(walking(), NotModified()).commit;
  EXPECT_EQ(polled.next_due, now + seconds(1));
  EXPECT_GE(polled.state.older.walk.poll_due, now + hours(1));
}

}  // namespace
}  // namespace feedmill::decide_test::older_pages_test
