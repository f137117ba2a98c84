// Pushed content: how much of it is written, how much is left to a fetch, and when that is due.
#include <gtest/gtest.h>

#include "tests/worker/policy/decide_fixture.hpp"
#include "worker/policy/feed_identity.hpp"

namespace feedmill::decide_test::decide_push_test {
namespace {

/// A claim made for a push, two hours before the feed is due.
Claim pushed_claim(FeedState state = healthy()) {
  Claim claim = claim_of(std::move(state));
  claim.now = now;
  claim.due = now + hours(2);
  return claim;
}

PushDecision push_on(const Claim& claim, const Document& document, const StoredSnapshot& known) {
  return decide_push(claim, Document(document), known, PolicyOptions());
}

EntryRecord dated_post(const std::string& guid, std::int64_t timestamp) {
  EntryRecord record = post(guid, timestamp);
  record.fields.insert(record.fields.begin(), {"date_published", "as the timestamp says"});
  return record;
}

// RELIABILITY I16
TEST(DecidePush, PutsThePollOffForNewsAlone) {
  Claim claim = pushed_claim();
  claim.state.due.reason = "websub_push";
  StoredSnapshot known = unknown_guids(1);
  const Decision news = push_on(claim, document_of({dated_post("a", now_s)}), known).decision;
  EXPECT_GT(news.commit.next_due, claim.due);
  EXPECT_EQ(news.commit.state.last.at, now);
  EXPECT_EQ(news.commit.state.push.standing.last_push, now);
  known.guids[0] = {StoredSnapshot::Is::same, "Entry:1", {}, ""};
  const Decision again = push_on(claim, document_of({dated_post("a", now_s)}), known).decision;
  EXPECT_TRUE(again.commit.entries.empty());
  EXPECT_EQ(again.commit.next_due, claim.due);
  EXPECT_EQ(again.commit.state.due.reason, "pushed");
  EXPECT_EQ(again.commit.state.due.why, "pushed 7200");
  EXPECT_EQ(again.commit.state.last.at, claim.state.last.at);
  EXPECT_EQ(again.commit.state.push.standing.last_push, claim.state.push.standing.last_push)
      << "the next poll's finds are its own";
  EXPECT_EQ(again.commit.state.rhythm.new_per_week, claim.state.rhythm.new_per_week);
}

TEST(DecidePush, LeavesPostsOlderThanTombstonesToAFetch) {
  const std::int64_t grace_s = Retention().grace / seconds(1);
  const Document document =
      document_of({dated_post("just", now_s - grace_s), dated_post("old", now_s - grace_s - 1), post("undated", {})});
  const PushDecision pushed = push_on(pushed_claim(), document, unknown_guids(3));
  std::vector<std::string> written;
  for (const EntryWrite& write : pushed.decision.commit.entries) written.push_back(write.guid);
  EXPECT_EQ(written, (std::vector<std::string>{"just", "undated"}));
  EXPECT_EQ(pushed.doubtful, 1U);
}

TEST(DecidePush, LeavesStoredPostsUnderOtherGuidsToAFetch) {
  StoredSnapshot known = unknown_guids(2);
  known.guids[0] = {StoredSnapshot::Is::different, "Entry:1", {{"title", "Before"}}, "as it is stored"};
  known.guids[1].is = StoredSnapshot::Is::tombstoned;
  const Document document = document_of({dated_post("as it is pushed", now_s), dated_post("trimmed", now_s)});
  const PushDecision pushed = push_on(pushed_claim(), document, known);
  EXPECT_TRUE(pushed.decision.commit.entries.empty());
  EXPECT_TRUE(pushed.decision.commit.rekeys.empty());
  EXPECT_EQ(pushed.doubtful, 1U);
}

TEST(DecidePush, CreatesNothingThatWasTakenBackBeforeItCame) {
  Document document = document_of({post("listed", now_s)});
  document.deleted = {{"late", now_s - 5}, {"gone", now_s - 9}, {"listed", now_s - 20}};
  StoredSnapshot known = unknown_guids(1);
  known.deletable = {"", "0", ""};
  const Commit commit = decide_on(healthy(), document, exchange_with(), known).commit;
  EXPECT_EQ(commit.deleted, std::vector<std::string>{"gone"});
  ASSERT_EQ(commit.state.identity.withdrawn.size(), 2U) << "and not what is listed";
  EXPECT_TRUE(was_withdrawn({commit.state.identity.withdrawn.back()}, "late")) << "the one taken back last";
  const PushDecision pushed =
      push_on(pushed_claim(commit.state), document_of({dated_post("late", now_s)}), unknown_guids(1));
  EXPECT_TRUE(pushed.decision.commit.entries.empty());
  EXPECT_EQ(pushed.doubtful, 1U);
}

/// A feed that has received a hint since its last poll.
FeedState hinted() {
  FeedState state = healthy();
  state.push.advert = {feed_url, {"https://hub.example/"}, 0};
  state.push.standing.state = "unproven";
  state.push.standing.last_push = now - seconds(3);
  return state;
}

PolicyOptions with_pushes() {
  PolicyOptions options;
  options.push.on = true;
  return options;
}

Decision poll(const FeedState& state, const Reading& reading = NotModified(), Headers headers = {}) {
  const auto* document = std::get_if<Document>(&reading);
  const StoredSnapshot known = document == nullptr ? StoredSnapshot() : unknown_guids(document->entries.size());
  return decide_on(state, reading, exchange_with(std::move(headers)), known, with_pushes());
}

// WEBSUB P6
TEST(SecondLook, ComesAMinuteAfterAPushThatCameBeforeItsPostAndOnce) {
  const Commit first = poll(hinted()).commit;
  EXPECT_EQ(first.next_due, now + minutes(1));
  EXPECT_EQ(first.state.due.reason, "second_look");
  EXPECT_TRUE(first.state.push.looks_again);
  FeedState later = first.state;
  later.push.standing.last_push = now - minutes(2);
  later.last.at = now - minutes(1);
  const Decision found = poll(later, document_of({post("a", now_s), post("b", now_s)}));
  EXPECT_TRUE(found.pushed_first);
  EXPECT_FALSE(found.poll_first);
  EXPECT_EQ(found.commit.state.push.empty_in_a_row, 0U);
  EXPECT_FALSE(found.commit.state.push.looks_again);
  EXPECT_GE(found.commit.next_due, now + hours(1));
  const Commit nothing = poll(later).commit;
  EXPECT_GE(nothing.next_due, now + hours(1)) << "once for a push";
  EXPECT_EQ(nothing.state.push.empty_in_a_row, 1U) << "one push, not two";
  EXPECT_FALSE(nothing.state.push.looks_again);
}

TEST(SecondLook, NeedsAPushThatBroughtNothing) {
  EXPECT_GE(poll(healthy()).commit.next_due, now + hours(1));
  const Commit news = poll(hinted(), document_of({post("a", now_s)})).commit;
  EXPECT_GE(news.next_due, now + hours(1));
  EXPECT_FALSE(news.state.push.looks_again);
  const Commit failed = poll(hinted(), HttpStatus{500}).commit;
  EXPECT_GE(failed.next_due, now + hours(1)) << "it has a back-off of its own";
  EXPECT_FALSE(failed.state.push.looks_again);
}

TEST(SecondLook, IsSkippedForBarrenPushesAndWhereSettingsForbidIt) {
  FeedState barren = hinted();
  barren.push.empty_in_a_row = 2;
  EXPECT_GE(poll(barren).commit.next_due, now + hours(1));
  FeedState rare = hinted();
  rare.settings = R"({"interval_min":7200})";
  EXPECT_GE(poll(rare).commit.next_due, now + hours(2));
  EXPECT_GE(poll(hinted(), NotModified(), {{"retry-after", "600"}}).commit.next_due, now + minutes(10));
}

TEST(SecondLook, IsOverWhenAPushBringsItsContent) {
  Claim claim = pushed_claim(hinted());
  claim.state.push.looks_again = true;
  claim.due = now + seconds(40);
  const PolicyOptions options = with_pushes();
  const Decision wrote = decide_push(claim, document_of({dated_post("a", now_s)}), unknown_guids(1), options).decision;
  EXPECT_FALSE(wrote.commit.state.push.looks_again);
  EXPECT_GE(wrote.commit.next_due, now + hours(1));
  StoredSnapshot known = unknown_guids(1);
  known.guids[0] = {StoredSnapshot::Is::same, "Entry:1", {}, ""};
  const Decision nothing = decide_push(claim, document_of({dated_post("a", now_s)}), known, options).decision;
  EXPECT_TRUE(nothing.commit.state.push.looks_again);
  EXPECT_EQ(nothing.commit.next_due, claim.due);
}

}  // namespace
}  // namespace feedmill::decide_test::decide_push_test
