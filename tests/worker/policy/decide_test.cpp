// The consequences of answers: values kept, counted and reported.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "tests/worker/policy/decide_fixture.hpp"

namespace feedmill::decide_test::decide_test {
namespace {

// HTTP P5
TEST(Decide, ProbesAServerThatAlwaysSays304) {
  FeedState state = healthy();
  state.rhythm.new_per_week = 3;
  EXPECT_FALSE(wants_probe(state, now));
  state = decide_on(state, NotModified()).commit.state;
  EXPECT_EQ(state.validators.not_modified_since, now);
  state.validators.not_modified_since = now - days(14);
  EXPECT_TRUE(wants_probe(state, now));
  FeedState quiet = state;
  quiet.rhythm.new_per_week = 2;
  EXPECT_FALSE(wants_probe(quiet, now)) << "nothing is missed there";
  FeedState unknown = state;
  unknown.validators.etag = unknown.validators.last_modified = "";
  EXPECT_FALSE(wants_probe(unknown, now)) << "it is asked without validators anyhow";

  Exchange probe = exchange_with({}, {"\"p\"", "", feed_url});
  probe.unconditional = Unconditional::probe;
  const FeedState honest = decide_on(state, SameBody{{"e", stored_body_hash, 1, 1}}, probe).commit.state;
  EXPECT_EQ(honest.validators.last_probe, now);
  EXPECT_EQ(honest.counts.unconditional_probe, 1U);
  EXPECT_FALSE(honest.validators.broken);
  EXPECT_FALSE(wants_probe(honest, now + days(13)));
  const FeedState denied = decide_on(state, HttpStatus{304}, probe).commit.state;
  EXPECT_FALSE(wants_probe(denied, now + hours(23))) << "one a day";
  EXPECT_TRUE(wants_probe(denied, now + hours(24)));

  FeedState caught = decide_on(state, document_of({post("n", now_s)}), probe, unknown_guids(1)).commit.state;
  EXPECT_TRUE(caught.validators.broken);
  caught.rhythm.new_per_week = 0;
  EXPECT_FALSE(wants_probe(caught, now + hours(23)));
  EXPECT_TRUE(wants_probe(caught, now + hours(24))) << "the daily probe stays";
  const FeedState cured =
      decide_on(caught, document_of({post("m", now_s)}), exchange_with(), unknown_guids(1)).commit.state;
  EXPECT_FALSE(cured.validators.broken) << "a conditional request brought something";
}

// RELIABILITY I11, L5
TEST(Decide, AsksAgainADayAfterChangesWereHeldBack) {
  Document idle = document_of({});
  idle.has_idle = true;
  const auto after = [](const FeedState& before, const Reading& reading, const StoredSnapshot& known = {}) {
    return decide_on(before, reading, exchange_with(), known).commit.state;
  };
  const FeedState fresh = after(FeedState(), idle);
  EXPECT_EQ(fresh.document.compared_at, now);
  EXPECT_FALSE(takes_held_back(fresh, now + days(2))) << "all was new";
  const FeedState held = after(fresh, idle);
  EXPECT_FALSE(takes_held_back(held, now + hours(23)));
  for (const FeedState& still : {held, after(held, NotModified()), after(held, SameBody{idle.print})}) {
    EXPECT_TRUE(takes_held_back(still, now + hours(24)));
  }
  FeedState due = held;
  due.document.compared_at = now - hours(25);
  EXPECT_TRUE(takes_held_back(after(due, HttpStatus{500}), now)) << "until a document comes";
  EXPECT_FALSE(takes_held_back(after(due, idle), now + days(2)));
  EXPECT_EQ(after(due, document_of({})).document.compared_at, Milliseconds(0)) << "it has no such values any more";
  EXPECT_FALSE(after(healthy(), document_of({})).document.holds_back);

  EntryRecord older = post("a", {});
  older.fields = {{"date_updated", "2026-02-01T00:00:00Z"}, {"title", "About a"}};
  StoredSnapshot known = unknown_guids(1);
  known.guids[0] = {StoredSnapshot::Is::different,
                    "Entry:1",
                    {{"date_updated", "2026-02-02T00:00:00Z"},
                     {"last_changed", std::to_string(now_s - hour)},
                     {"rev", "2"},
                     {"title", "Newer"}},
                    ""};
  for (const bool is_cut : {false, true}) {
    Document document = document_of({older});
    document.cut_short = is_cut;
    const FeedState stale = after(healthy(), document, known);
    EXPECT_FALSE(takes_held_back(stale, now + hours(23)));
    EXPECT_TRUE(takes_held_back(stale, now + hours(24)));
  }
}

// HTTP P24
TEST(Decide, CountsUnconditionalRequestsByReason) {
  const auto count = [](Unconditional why) {
    Exchange exchange = exchange_with();
    exchange.unconditional = why;
    const FeedState s = decide_on(healthy(), NotModified(), exchange).commit.state;
    return std::vector<std::uint64_t>{s.counts.polls_unconditional, s.counts.unconditional_first,
                                      s.counts.unconditional_none, s.counts.unconditional_target,
                                      s.counts.unconditional_probe};
  };
  using Counts = std::vector<std::uint64_t>;
  EXPECT_EQ(count(Unconditional::no), (Counts{0, 0, 0, 0, 0}));
  EXPECT_EQ(count(Unconditional::first), (Counts{1, 1, 0, 0, 0}));
  EXPECT_EQ(count(Unconditional::no_validators), (Counts{1, 0, 1, 0, 0}));
  EXPECT_EQ(count(Unconditional::target_changed), (Counts{1, 0, 0, 1, 0}));
  EXPECT_EQ(count(Unconditional::probe), (Counts{1, 0, 0, 0, 1}));
}

// HTTP P2, P3
TEST(Decide, KeepsTheValidatorsOfTheStoredDocument) {
  const std::string other = "https://cdn.example.org/feed.xml";
  const SameBody same{{std::string(32, 'e'), stored_body_hash, 11, 20}};
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
      {"304 renews the tag", NotModified(), {"\"x\"", "", feed_url}, {"\"x\"", old.validators.last_modified, ""}},
      {"304 renews the date", NotModified(), {"", "Mon", feed_url}, {old.validators.etag, "Mon", ""}},
      {"304 with nothing keeps both",
       NotModified(),
       {"", "", feed_url},
       {old.validators.etag, old.validators.last_modified, ""}},
      {"bytes stay as they are",
       document_of({}),
       {"\"\xE4 ,;\"", "in a while", feed_url},
       {"\"\xE4 ,;\"", "in a while", ""}},
  };
  for (const Case& c : cases) {
    const FeedState state = decide_on(old, c.reading, exchange_with({}, c.sent)).commit.state;
    EXPECT_EQ(state.validators.etag, c.kept.etag) << c.name;
    EXPECT_EQ(state.validators.last_modified, c.kept.last_modified) << c.name;
    EXPECT_EQ(state.validators.url, c.kept.url) << c.name;
  }
}

TEST(Decide, KeepsForeignValidatorsThroughA304) {
  FeedState before = healthy();
  before.validators.url = "https://cdn.example.org/feed.xml";
  const Exchange exchange = exchange_with({}, {"\"x\"", "", before.validators.url});
  const FeedState state = decide_on(before, NotModified(), exchange).commit.state;
  EXPECT_EQ(state.validators.url, before.validators.url);
  EXPECT_EQ(state.validators.etag, "\"x\"");
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
    EXPECT_EQ(state.validators.etag, before.validators.etag) << reading.index();
    EXPECT_EQ(state.validators.last_modified, before.validators.last_modified) << reading.index();
    EXPECT_EQ(state.validators.url, "") << reading.index();
    EXPECT_EQ(state.document.wire_hash + state.document.body_hash,
              before.document.wire_hash + before.document.body_hash)
        << reading.index();
    EXPECT_EQ(state.document.wire_bytes, before.document.wire_bytes) << reading.index();
    EXPECT_EQ(state.document.hints, before.document.hints) << reading.index();
  }
}

// HTTP P5
TEST(Decide, StoresTheHashesOfReadItems) {
  const FeedState stored = decide_on(healthy(), document_of({})).commit.state;
  EXPECT_EQ(stored.document.wire_hash, std::string(32, 'c'));
  EXPECT_EQ(stored.document.body_hash, std::string(32, 'd'));
  EXPECT_EQ(stored.document.wire_bytes, 400U);
  EXPECT_EQ(stored.document.body_bytes, 900U);
  const Decision same = decide_on(healthy(), SameBody{{std::string(32, 'e'), stored_body_hash, 11, 20}});
  EXPECT_EQ(same.outcome, Outcome::unchanged);
  EXPECT_EQ(same.commit.state.document.wire_hash, std::string(32, 'e')) << "compressed in another way";
  EXPECT_EQ(same.commit.state.document.body_hash, stored_body_hash);
  EXPECT_EQ(same.commit.state.document.wire_bytes, 11U);
  EXPECT_FALSE(same.commit.document);
  EXPECT_TRUE(same.commit.events.empty());
  const FeedState renewed = decide_on(healthy(), NotModified()).commit.state;
  EXPECT_EQ(renewed.document.wire_hash, healthy().document.wire_hash);
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
  EXPECT_EQ(commit.state.rhythm.imported, now);
  EXPECT_EQ(commit.state.last.success, now);
  EXPECT_EQ(commit.state.counts.total_new, 4U);
  EXPECT_NEAR(commit.state.rhythm.new_per_week, 1 + 0.5 + 0.25, 1e-6);
  EXPECT_EQ(commit.state.rhythm.last_new, now) << "the newest date, and not in the future";
  ASSERT_EQ(event_types(decision), Types{"feed_created"});
  EXPECT_EQ(commit.events[0].action, "created");
  EXPECT_EQ(boost::json::parse(commit.events[0].data),
            boost::json::parse(R"({"title":"T","link":"https://example.org/"})"));
  EXPECT_EQ(commit.events[0].changed, "");
  EXPECT_EQ(commit.feed, (Fields{{"link", "https://example.org/"}, {"title", "T"}}));
  expect_due_after(decision, day, "1.75 a week");
}

TEST(Decide, ImportsEmptyFeedsAndOldOnes) {
  const Decision empty = decide_on(FeedState(), document_of({}));
  EXPECT_TRUE(empty.commit.initial);
  EXPECT_EQ(event_types(empty), Types{"feed_created"});
  EXPECT_EQ(empty.commit.state.rhythm.imported, now);
  EXPECT_EQ(empty.commit.state.rhythm.last_new, now);
  EXPECT_EQ(empty.commit.state.counts.polls_with_new, 0U);
  const Decision old =
      decide_on(FeedState(), document_of({post("a", now_s - 90 * day)}), exchange_with(), unknown_guids(1));
  EXPECT_EQ(old.commit.state.rhythm.last_new, now - days(90));
  EXPECT_EQ(old.commit.state.due.reason, "dormant");
  expect_due_after(old, 3 * day, "three months old");
  const Decision ancient = decide_on(FeedState(), document_of({post("a", -5)}), exchange_with(), unknown_guids(1));
  EXPECT_EQ(ancient.commit.state.rhythm.last_new, Milliseconds(1)) << "0 means never";
}

TEST(Decide, ImportsAfterFailuresToo) {
  FeedState before = failed("status.server", 4, days(8), "failing");
  before.rhythm.imported = Milliseconds(0);
  before.rhythm.new_per_week = 0;
  const Decision decision = decide_on(before, document_of({post("a", now_s)}), exchange_with(), unknown_guids(1));
  EXPECT_TRUE(decision.commit.initial);
  EXPECT_EQ(event_types(decision), (Types{"feed_created", "feed_recovered"}));
  EXPECT_EQ(decision.commit.state.failures.count, 0);
  EXPECT_EQ(decision.commit.state.failures.group, "");
  EXPECT_EQ(decision.commit.state.failures.since, Milliseconds(0));
  EXPECT_EQ(decision.commit.state.last.error, "");
}

TEST(Decide, CountsNewEntriesIntoTheRate) {
  const Decision two =
      decide_on(healthy(), document_of({post("b", now_s), post("a", now_s - 60)}), exchange_with(), unknown_guids(2));
  EXPECT_FALSE(two.commit.initial);
  EXPECT_EQ(two.outcome, Outcome::updated);
  EXPECT_NEAR(two.commit.state.rhythm.new_per_week, 10 * std::exp2(-1.0 / 168) + 2, 1e-9);
  EXPECT_EQ(two.commit.state.rhythm.last_new, now);
  EXPECT_EQ(two.commit.state.counts.total_new, 2U);
  EXPECT_EQ(two.commit.state.counts.polls_with_new, 1U);
  EXPECT_EQ(two.commit.state.rhythm.imported, healthy().rhythm.imported);
  ASSERT_EQ(two.commit.entries.size(), 2U);
  EXPECT_EQ(two.commit.entries[0].guid, "a") << "oldest first";

  StoredSnapshot known = unknown_guids(2);
  known.guids[0].is = StoredSnapshot::Is::different;
  known.guids[0].id = "Entry:7";
  known.guids[1].is = StoredSnapshot::Is::same;
  known.left = {"gone"};
  known.back = {"returned"};
  const Decision changed =
      decide_on(healthy(), document_of({post("b", now_s), post("a", now_s - 60)}), exchange_with(), known);
  EXPECT_EQ(changed.outcome, Outcome::updated);
  EXPECT_EQ(changed.unchanged, 1U);
  EXPECT_EQ(changed.commit.state.counts.total_new, 0U) << "a change is no new entry";
  EXPECT_EQ(changed.commit.state.counts.polls_with_new, 0U);
  EXPECT_EQ(changed.commit.state.rhythm.last_new, healthy().rhythm.last_new);
  EXPECT_LT(changed.commit.state.rhythm.new_per_week, 10);
  EXPECT_EQ(changed.commit.tombs_left, std::vector<std::string>{"gone"});
  EXPECT_EQ(changed.commit.tombs_back, std::vector<std::string>{"returned"});
  EXPECT_EQ(changed.commit.retention.listed, 2U);
}

TEST(Decide, ReportsOnlyFeedChangesThatReadersNotice) {
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
      EXPECT_EQ(event_types(decision), Types{}) << c.name;
      continue;
    }
    ASSERT_EQ(event_types(decision), Types{"feed_modified"}) << c.name;
    EXPECT_EQ(decision.commit.events[0].action, "updated") << c.name;
    EXPECT_EQ(boost::json::parse(decision.commit.events[0].changed), boost::json::parse(c.changed)) << c.name;
  }
}

// A change of idle values alone waits for a day.
TEST(Decide, SendsStreamOnlyEventsForOtherFeedChanges) {
  const Fields stored{{"published", "100000"}, {"rights", "A"}, {"title", "T"}, {"updated", "1"}};
  FeedState day_old = healthy();
  day_old.document.compared_at = now - hours(25);
  struct Case {
    const char* name;
    FeedState before;
    Fields read;
    Fields write;
    const char* fields;  // "": no event
    Milliseconds compared_at;
  };
  const Case cases[] = {
      {"rights",
       healthy(),
       {{"published", "100000"}, {"rights", "B"}, {"title", "T"}, {"updated", "2"}},
       {{"rights", "B"}, {"updated", "2"}},
       R"({"fields":["rights"]})",
       {}},
      {"rights gone",
       healthy(),
       {{"published", "100000"}, {"title", "T"}, {"updated", "1"}},
       {{"rights", ""}},
       R"({"fields":["rights"]})",
       {}},
      {"published within a day",
       healthy(),
       {{"published", "186399"}, {"rights", "A"}, {"title", "T"}, {"updated", "2"}},
       {{"updated", "2"}},
       "",
       now},
      {"published and rights",
       healthy(),
       {{"published", "186399"}, {"rights", "B"}, {"title", "T"}, {"updated", "1"}},
       {{"published", "186399"}, {"rights", "B"}},
       R"({"fields":["published","rights"]})",
       {}},
      {"published by a day",
       healthy(),
       {{"published", "186400"}, {"rights", "A"}, {"title", "T"}, {"updated", "1"}},
       {{"published", "186400"}},
       R"({"fields":["published"]})",
       {}},
      {"published, after a day of waiting",
       day_old,
       {{"published", "100001"}, {"rights", "A"}, {"title", "T"}, {"updated", "1"}},
       {{"published", "100001"}},
       R"({"fields":["published"]})",
       {}},
  };
  for (const Case& c : cases) {
    const Decision decision = decide_on(c.before, document_of({}, c.read), exchange_with(), unknown_guids(0, stored));
    EXPECT_EQ(decision.commit.feed, c.write) << c.name;
    EXPECT_EQ(decision.commit.state.document.compared_at, c.compared_at) << c.name;
    const bool has_event = *c.fields != '\0';
    ASSERT_EQ(event_types(decision), has_event ? Types{"feed_mended"} : Types{}) << c.name;
    EXPECT_EQ(has_event ? decision.commit.events[0].data : "", c.fields) << c.name;
  }
}

// HTTP P24
TEST(Decide, Counts) {
  FeedState before = healthy();
  before.counts.polls = 100;
  before.counts.polls_not_modified = 50;
  before.counts.polls_same_body = 20;
  before.counts.polls_unconditional = 10;
  before.counts.polls_failed = 5;
  before.counts.total_wire_bytes = 1000;
  before.counts.total_body_bytes = 2000;
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
    EXPECT_EQ(state.counts.polls, 101U) << c.name;
    EXPECT_EQ(state.counts.polls_not_modified, c.not_modified) << c.name;
    EXPECT_EQ(state.counts.polls_same_body, c.same_body) << c.name;
    EXPECT_EQ(state.counts.polls_unconditional, c.unconditional) << c.name;
    EXPECT_EQ(state.counts.polls_failed, c.failed) << c.name;
    EXPECT_EQ(state.counts.total_wire_bytes, 1500U) << c.name;
    EXPECT_EQ(state.counts.total_body_bytes, c.body_bytes) << c.name;
  }
}

TEST(Decide, NamesTheOutcomeOfASuccess) {
  const Decision renewed = decide_on(healthy(), NotModified());
  EXPECT_EQ(renewed.outcome, Outcome::not_modified);
  EXPECT_EQ(renewed.commit.state.last.outcome, "not_modified");
  EXPECT_EQ(renewed.commit.state.last.status, 304);
  expect_due_after(renewed, 17522, "adaptive");
  EXPECT_EQ(renewed.commit.state.due.reason, "adaptive");
  const Decision nothing_new = decide_on(healthy(), document_of({}));
  EXPECT_EQ(nothing_new.outcome, Outcome::unchanged);
  EXPECT_EQ(nothing_new.commit.state.last.status, 200);
  EXPECT_TRUE(nothing_new.commit.document) << "retention still applies";
}

// HTTP N2
TEST(Decide, SurvivesClocksThatStep) {
  for (const Milliseconds step :
       {Milliseconds(hours(1)), Milliseconds(days(365)), Milliseconds(-hours(1)), Milliseconds(-days(365))}) {
    FeedState before = healthy();
    before.last.at = now + step;
    before.rhythm.last_new = now + step;
    const Decision decision = decide_on(before, NotModified());
    EXPECT_GE(decision.commit.next_due, now + hours(1)) << step.count();
    EXPECT_LE(decision.commit.next_due, now + days(30)) << step.count();
    EXPECT_LE(decision.commit.state.rhythm.new_per_week, 10) << step.count();
    EXPECT_GE(decision.commit.state.rhythm.new_per_week, 0) << step.count();
  }
}

}  // namespace
}  // namespace feedmill::decide_test::decide_test
