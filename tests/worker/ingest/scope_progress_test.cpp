// Workers limited to some feeds, or to one pass over all, know when they are done.
#include "worker/ingest/scope_progress.hpp"

#include <gtest/gtest.h>

#include "storage/ingest/ingest.hpp"

namespace feedmill::scope_progress_test {
namespace {

using Urls = std::vector<std::string>;

constexpr Milliseconds lease{90'000}, now{1'000'000};

Claim claim_of(const std::string& url) {
  return Claim{"worker:1-1", url, now, now, {}};
}
ClaimBatch::Deferred deferred(const std::string& url, const std::string& code, Milliseconds due) {
  ClaimBatch::Deferred one;
  one.feed_url = url;
  one.code = code;
  one.due = due;
  return one;
}
ClaimBatch batch_of(const Urls& claimed, std::vector<ClaimBatch::Deferred> put_off, bool exhausted) {
  ClaimBatch batch;
  batch.now = now;
  for (const std::string& url : claimed) batch.claims.push_back(claim_of(url));
  batch.deferred = std::move(put_off);
  batch.exhausted = exhausted;
  return batch;
}
ClaimRequest request_of(ScopeProgress& scope, bool repeated = false, Milliseconds at = now) {
  ClaimRequest request;
  scope.narrow(request, repeated, at);
  return request;
}

TEST(ScopeProgress, OfADaemonNeverEnds) {
  ScopeProgress scope({}, lease);
  EXPECT_FALSE(scope.is_limited());
  EXPECT_FALSE(scope.needs_start());
  EXPECT_TRUE(request_of(scope).only.empty());
  ClaimBatch batch = batch_of({}, {deferred("a", "host_backoff", now + lease * 2)}, true);
  batch.next_due = now + Milliseconds(7);
  EXPECT_TRUE(scope.note(batch).empty());
  EXPECT_FALSE(scope.is_done());
  EXPECT_EQ(scope.next_wanted(batch), now + Milliseconds(7));
}

TEST(ScopeProgress, OfNamedFeedsEndsWhenAllWereLookedAt) {
  ScopeProgress scope({false, {"a", "b", "c", "d"}}, lease);
  EXPECT_TRUE(scope.is_limited());
  EXPECT_EQ(request_of(scope).only, (Urls{"a", "b", "c", "d"}));
  EXPECT_TRUE(scope.note(batch_of({"a"}, {}, false)).empty());
  EXPECT_EQ(request_of(scope).only, (Urls{"b", "c", "d"})) << "there were more than it may take at once";
  // b waits for its host's spacing, c's host is backing off for long, and another worker has d.
  const ClaimBatch batch = batch_of(
      {}, {deferred("b", "host_spacing", now + lease * 2), deferred("c", "host_backoff", now + lease * 2)}, true);
  const auto given_up = scope.note(batch);
  ASSERT_EQ(given_up.size(), 1U);
  EXPECT_EQ(given_up[0].feed_url, "c");
  EXPECT_EQ(request_of(scope).only, Urls{"b"});
  EXPECT_FALSE(scope.is_done());
  EXPECT_TRUE(scope.note(batch_of({"b"}, {}, true)).empty());
  EXPECT_TRUE(scope.is_done());
}

Urls feeds_of(const std::string& host, int first, int count) {
  Urls feeds;
  for (int i = first; i < first + count; ++i) feeds.push_back("https://" + host + "/" + std::to_string(i));
  return feeds;
}

TEST(ScopeProgress, NamesAHundredFeedsAtATime) {
  Urls many;
  for (int i = 0; i < 130; ++i) many.push_back("https://" + std::to_string(i) + ".example/");
  ScopeProgress scope({false, many}, lease);
  EXPECT_EQ(request_of(scope).only.size(), 100U);
  scope.note(batch_of({}, {}, true));
  EXPECT_EQ(request_of(scope).only.size(), 30U);
}

TEST(ScopeProgress, AsksOtherHostsWhileManyWaitForOne) {
  Urls all = feeds_of("crowd.example", 0, 1000);
  all.push_back("https://other.example/");
  ScopeProgress scope({false, all}, lease);
  Urls wanted = feeds_of("crowd.example", 0, 4);
  wanted.insert(wanted.begin() + 1, "https://other.example/");
  EXPECT_EQ(request_of(scope).only, wanted) << "of each host in turn";
  std::vector<ClaimBatch::Deferred> waiting;
  const Milliseconds later = now + Milliseconds(500);
  for (const std::string& url : feeds_of("crowd.example", 1, 3))
    waiting.push_back(deferred(url, "host_spacing", later));
  const ClaimBatch batch = batch_of({wanted[0], "https://other.example/"}, waiting, true);
  EXPECT_TRUE(scope.note(batch).empty());
  EXPECT_EQ(scope.next_wanted(batch), later);
  EXPECT_EQ(request_of(scope, false, later).only, feeds_of("crowd.example", 4, 4));
  EXPECT_EQ(request_of(scope, true, now).only, feeds_of("crowd.example", 4, 4)) << "the answer was lost";
  EXPECT_FALSE(scope.finished("https://other.example/")) << "nobody waits for that host";
  EXPECT_TRUE(scope.finished(wanted[0])) << "while the claim is under way";
  waiting.clear();
  for (const std::string& url : feeds_of("crowd.example", 4, 4))
    waiting.push_back(deferred(url, "host_concurrency", later + Milliseconds(1000)));
  const ClaimBatch too_soon = batch_of({}, waiting, true);
  scope.note(too_soon);
  EXPECT_EQ(scope.next_wanted(too_soon), now) << "it may have been asked before the other was done";
}

TEST(ScopeProgress, OfARunOnceClaimsFeedsDueAtItsStart) {
  ScopeProgress scope({true, {}}, lease);
  EXPECT_TRUE(scope.needs_start());
  scope.start_at(now);
  EXPECT_FALSE(scope.needs_start());
  EXPECT_EQ(request_of(scope).due_by, now);
  ClaimBatch batch = batch_of(
      {"a"}, {deferred("b", "quarantine", now + Milliseconds(5)), deferred("c", "host_backoff", now + lease * 2)},
      true);
  batch.next_awaited = now + Milliseconds(3);
  EXPECT_TRUE(scope.note(batch).empty());
  EXPECT_EQ(scope.next_wanted(batch), now + Milliseconds(3)) << "somebody of it is in a line";
  batch.next_awaited.reset();
  EXPECT_TRUE(scope.note(batch).empty());
  EXPECT_FALSE(scope.is_done()) << "b is waited for, to be alone";
  EXPECT_EQ(scope.next_wanted(batch), now + Milliseconds(5));
  EXPECT_TRUE(request_of(scope, false, now).only.empty()) << "not yet";
  EXPECT_EQ(request_of(scope, false, now + Milliseconds(5)).only, Urls{"b"});
  EXPECT_EQ(request_of(scope, true, now).only, Urls{"b"}) << "what was asked for is asked for again";
  scope.note(batch_of({}, {}, true));  // another worker has taken it
  EXPECT_TRUE(scope.is_done());
}

}  // namespace
}  // namespace feedmill::scope_progress_test
