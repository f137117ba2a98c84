// Content that was pushed: what of it is written, what is left to a fetch, and when that comes.
#include <gtest/gtest.h>

#include "tests/worker/policy/decide_fixture.hpp"
#include "worker/policy/withdrawal.hpp"

namespace feedmill::decide_test::decide_push_test {
namespace {

/// Looked at by push, and due in two hours.
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
  const Claim claim = pushed_claim();
  StoredSnapshot known = unknown_guids(1);
  const Decision news = push_on(claim, document_of({dated_post("a", now_s)}), known).decision;
  EXPECT_GT(news.commit.next_due, claim.due);
  EXPECT_EQ(news.commit.state.last.at, now);
  EXPECT_EQ(news.commit.state.push.standing.last_push, now);
  known.guids[0] = {StoredSnapshot::Is::same, "Entry:1", {}, ""};
  const Decision again = push_on(claim, document_of({dated_post("a", now_s)}), known).decision;
  EXPECT_TRUE(again.commit.entries.empty());
  EXPECT_EQ(again.commit.next_due, claim.due);
  EXPECT_EQ(again.commit.state.last.at, claim.state.last.at);
  EXPECT_EQ(again.commit.state.push.standing.last_push, claim.state.push.standing.last_push)
      << "the next poll's finds are its own";
  EXPECT_EQ(again.commit.state.rhythm.new_per_week, claim.state.rhythm.new_per_week);
}

TEST(DecidePush, LeavesWhatIsOlderThanTombstonesToAFetch) {
  const std::int64_t grace_s = Retention().grace / seconds(1);
  const Document document =
      document_of({dated_post("just", now_s - grace_s), dated_post("old", now_s - grace_s - 1), post("undated", {})});
  const PushDecision pushed = push_on(pushed_claim(), document, unknown_guids(3));
  std::vector<std::string> written;
  for (const EntryWrite& write : pushed.decision.commit.entries) written.push_back(write.guid);
  EXPECT_EQ(written, (std::vector<std::string>{"just", "undated"}));
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

}  // namespace
}  // namespace feedmill::decide_test::decide_push_test
