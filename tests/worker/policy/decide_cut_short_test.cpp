// Truncated documents and interrupted transfers: complete items count, missing ones mean nothing.
#include <gtest/gtest.h>

#include "tests/worker/policy/decide_fixture.hpp"

namespace feedmill::decide_test::decide_cut_short_test {
namespace {

TEST(Decide, DoesNotTakeATruncatedDocumentForAFullList) {
  FeedState before = healthy();
  before.document.listed = 30;
  Document document = document_of({post("b", now_s)});
  StoredSnapshot known = unknown_guids(1);
  known.left = {"a"};
  EXPECT_EQ(decide_on(before, document, exchange_with(), known).commit.tombs_left, known.left);
  EXPECT_EQ(decide_on(before, document, exchange_with(), known).commit.state.document.listed, 1U);
  EXPECT_EQ(decide_on(before, document_of({}), exchange_with()).commit.state.document.listed, 30U)
      << "nor is an empty one";
  document.cut_short = true;
  const Decision decision = decide_on(before, document, exchange_with(), known);
  EXPECT_TRUE(decision.commit.tombs_left.empty());
  EXPECT_EQ(decision.commit.retention.listed, 30U);
}

// HTTP P2
TEST(Decide, StoresValidatorsOfATruncatedDocumentOnlyWhenItRepeats) {
  const FeedState before = healthy();
  const Exchange exchange = exchange_with({}, {"\"cut\"", "", ""});
  Document document = document_of({post("a", now_s)});
  document.cut_short = true;
  const FeedState after = decide_on(before, document, exchange, unknown_guids(1)).commit.state;
  EXPECT_EQ(after.validators.etag, before.validators.etag);
  EXPECT_EQ(after.validators.last_modified, before.validators.last_modified);
  EXPECT_EQ(after.document.body_hash, document.print.body_hash);
  EXPECT_EQ(after.state, "healthy");
  EXPECT_EQ(decide_on(after, SameBody{document.print}, exchange).commit.state.validators.etag, "\"cut\"");
}

TEST(Decide, InfersNothingFromWhatATruncatedDocumentLacks) {
  FeedState before = healthy();
  before.push.advert = {"https://example.org/feed.xml", {"https://hub.example/"}, 0};
  before.document.hints = to_text(ScheduleHints{.ttl_s = 7200});
  before.identity.fresh_documents = before.identity.replaced_documents = 2;
  Document document = document_of({post("new", now_s), post("b", now_s)}, {{"title", "Ti"}, {"language", "de"}});
  document.deleted = {{"gone", now_s}};
  document.cut_short = true;
  StoredSnapshot known = unknown_guids(2, {{"link", "https://example.org/"}, {"title", "Title"}});
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
  EXPECT_EQ(commit.state.push.advert, before.push.advert);
  EXPECT_EQ(commit.state.document.hints, before.document.hints);
  EXPECT_EQ(commit.state.identity.replaced_documents, 2U);
  EXPECT_EQ(event_types(decision), Types{"feed_modified"});
}

// HTTP §4, http.truncated
TEST(Decide, StoresCompletePostsOfADocumentThatBrokeOff) {
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
  EXPECT_EQ(after.validators.etag, before.validators.etag);
  EXPECT_EQ(after.document.wire_hash, before.document.wire_hash);
  EXPECT_EQ(after.document.body_hash, before.document.body_hash);
  EXPECT_EQ(after.failures.count, 1);
  EXPECT_EQ(after.rhythm.last_new, now);
  EXPECT_EQ(after.counts.polls_failed, before.counts.polls_failed + 1);
  expect_due_after(decision, hour, "broke off");

  const Decision first = decide_on(FeedState(), document, exchange, unknown_guids(1));
  EXPECT_TRUE(first.commit.initial);
  EXPECT_EQ(first.commit.state.rhythm.imported.count(), 0) << "the whole document is the first import";
  EXPECT_EQ(first.commit.state.counts.total_new, 1U);
  EXPECT_EQ(first.commit.state.state, "degraded") << "it was tried, and there is something to read";
  EXPECT_TRUE(first.commit.events.empty());
}

TEST(Decide, TreatsLaterPostsOfAnAlwaysCutFeedAsNews) {
  Document document = document_of({post("b", now_s)});
  document.cut_short = true;
  document.failure = Unreadable{Reason::http_truncated, "12 bytes are missing", {}, false};
  FeedState before;
  EXPECT_TRUE(decide_on(before, document, exchange_with(), unknown_guids(1)).commit.initial);
  before.counts.total_new = 1;
  EXPECT_FALSE(decide_on(before, document, exchange_with(), unknown_guids(1)).commit.initial);
}

TEST(Decide, CreatesNoPostThatACutDocumentItselfTakesAway) {
  Document document = document_of({post("a", now_s - 10), post("b", now_s)});
  document.deleted = {{"a", now_s}};
  document.cut_short = true;
  const Commit commit = decide_on(healthy(), document, exchange_with(), unknown_guids(2)).commit;
  ASSERT_EQ(commit.entries.size(), 1U);
  EXPECT_EQ(commit.entries[0].guid, "b");
  EXPECT_TRUE(commit.deleted.empty());
}

TEST(Decide, TakesThePostThatADocumentAlwaysEndsInForNewAlone) {
  Document document = document_of({post("b", now_s), post("a", now_s)});
  document.cut_short = true;
  const FeedState waiting = decide_on(healthy(), document, exchange_with(), unknown_guids(2)).commit.state;
  EXPECT_TRUE(waiting.document.ends_early);
  document.cut_post = "a";
  const Exchange exchange = exchange_with({}, {"\"cut\"", "", ""});
  const Commit fresh = decide_on(waiting, document, exchange, unknown_guids(2)).commit;
  EXPECT_EQ(fresh.entries.size(), 2U);
  EXPECT_FALSE(fresh.state.document.ends_early);
  EXPECT_EQ(fresh.state.validators.etag, "\"cut\"");
  StoredSnapshot stored = unknown_guids(2);
  for (StoredSnapshot::Guid& guid : stored.guids)
    guid = {StoredSnapshot::Is::different, "Entry:1", {{"title", "Whole"}}, ""};
  const Commit known = decide_on(waiting, document, exchange, stored).commit;
  ASSERT_EQ(known.entries.size(), 1U) << "what is stored of it may be all of it";
  EXPECT_EQ(known.entries[0].guid, "b");
  EXPECT_FALSE(decide_on(waiting, SameBody{document.print}, exchange).commit.state.document.ends_early);
}

}  // namespace
}  // namespace feedmill::decide_test::decide_cut_short_test
