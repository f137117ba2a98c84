// How an operator's settings, the server and the clock affect a decision.
#include <cstdint>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "tests/worker/policy/decide_fixture.hpp"
#include "worker/config/feed_settings.hpp"

namespace feedmill::decide_test::decide_settings_test {
namespace {

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
    before.due.not_before = c.before;
    Headers headers;
    if (*c.retry_after != '\0') headers.emplace_back("retry-after", c.retry_after);
    for (const Reading& reading : {Reading(HttpStatus{503}), Reading(NotModified())}) {
      const Decision decision = decide_on(before, reading, exchange_with(headers));
      EXPECT_EQ(decision.commit.state.due.not_before, c.after) << c.name;
      EXPECT_GE(decision.commit.next_due, c.after) << c.name;
    }
  }
}

// HTTP F8
TEST(Decide, KeepsADocumentsHintsThrough304) {
  Document document = document_of({});
  document.hints.ttl_s = 10 * hour;
  const Decision read = decide_on(healthy(), document);
  EXPECT_EQ(read.commit.state.due.reason, "ttl");
  expect_due_after(read, 10 * hour, "ttl");
  EXPECT_EQ(read.commit.state.document.hints, to_text(document.hints));
  const Decision renewed = decide_on(read.commit.state, NotModified());
  EXPECT_EQ(renewed.commit.state.due.reason, "ttl");
  EXPECT_EQ(renewed.commit.state.document.hints, read.commit.state.document.hints);
  const Decision without = decide_on(read.commit.state, document_of({}));
  EXPECT_EQ(without.commit.state.document.hints, "") << "the newest document says nothing any more";
}

TEST(Decide, LetsServersThatAreOpenedBeAskedOften) {
  PolicyOptions options;
  options.schedule = {seconds(1), seconds(1), seconds(2)};
  Exchange own = exchange_with();
  own.opened_by_allow = true;
  EXPECT_LE(decide_on(healthy(), NotModified(), own, {}, options).commit.next_due, now + seconds(8));
  expect_due_after(decide_on(healthy(), NotModified(), exchange_with(), {}, options), 10 * minute, "somebody else's");
}

// WEBSUB U15
TEST(Decide, RecordsWhetherAnyClientCouldHaveFetchedIt) {
  using enum Exposure;
  struct Case {
    Exposure before, seen, after;
  };
  for (const Case& c :
       {Case{unknown, unknown, unknown}, Case{unknown, open_to_all, open_to_all},
        Case{unknown, opened_by_allow, opened_by_allow}, Case{open_to_all, unknown, open_to_all},
        Case{open_to_all, opened_by_allow, opened_by_allow}, Case{opened_by_allow, open_to_all, opened_by_allow}}) {
    FeedState before = healthy();
    before.exposure = c.before;
    Exchange exchange = exchange_with();
    exchange.exposure = c.seen;
    for (const Reading& reading : {Reading(NotModified()), Reading(document_of({})), Reading(HttpStatus{503})}) {
      EXPECT_EQ(decide_on(before, reading, exchange).commit.state.exposure, c.after);
    }
  }
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
  EXPECT_EQ(decision.commit.state.due.reason, "override");
  expect_due_after(decision, 12 * hour, "success");
  expect_due_after(decide_on(before, HttpStatus{500}, exchange_with(), {}, options), 12 * hour, "failure");
  before.settings = "{broken";
  const Decision broken = decide_on(before, document_of({}), exchange_with(), {}, options);
  EXPECT_EQ(broken.commit.retention.entries, 50U);
  EXPECT_EQ(broken.commit.state.settings, "{broken") << "left for the operator to see";
}

TEST(Settings, GovernAgeAndBytesOfRetention) {
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

// RELIABILITY L34
TEST(Settings, GovernTexts) {
  PolicyOptions options;
  FeedState before = healthy();
  before.document.listed = before.trim.kept = 50;
  const auto commit = [&](Reading&& reading) {
    return decide_on(before, std::move(reading), exchange_with(), {}, options).commit;
  };
  EXPECT_EQ(commit(document_of({})).retention.texts, Retention::all_texts);
  EXPECT_FALSE(commit(NotModified()).trim);
  EXPECT_EQ(texts_to_read(before, options.retention).newest, std::nullopt);
  options.retention.texts = 10;
  EXPECT_TRUE(commit(NotModified()).trim) << "any post may have texts";
  before.trim.texts = 10;
  EXPECT_FALSE(commit(NotModified()).trim);
  EXPECT_EQ(texts_to_read(before, options.retention).newest, 10U);
  EXPECT_FALSE(texts_to_read(before, options.retention).again);
  before.settings = R"({"texts":2})";
  EXPECT_TRUE(commit(NotModified()).trim) << "its own setting wins";
  before.settings = R"({"texts":20})";
  EXPECT_TRUE(texts_to_read(before, options.retention).again);
  EXPECT_EQ(commit(HttpStatus{500}).retention.texts, 10U) << "until a document brings them";
  const Commit more = commit(document_of({}));
  EXPECT_EQ(more.retention.texts, 20U);
  EXPECT_FALSE(more.nothing_to_trim) << "or the next poll would ask for the texts again";
  before.settings = R"({"texts":1000000})";
  EXPECT_TRUE(texts_to_read(before, options.retention).again);
  const Commit all = commit(document_of({}));
  EXPECT_EQ(all.retention.texts, Retention::all_texts);
  EXPECT_EQ(all.state.trim.texts, std::nullopt);
}

// RELIABILITY L7
TEST(Decide, TrimsWithoutADocumentOnlyWhereThereIsSomethingToTrim) {
  PolicyOptions options;
  options.retention.entries = 10;
  FeedState before = healthy();
  before.document.listed = 30;
  before.trim.kept = 30;
  const auto trims = [&] {
    const Decision decision = decide_on(before, NotModified(), exchange_with(), {}, options);
    EXPECT_EQ(decision.commit.retention.listed, 30U);
    return decision.commit.trim;
  };
  EXPECT_FALSE(trims()) << "as many as the document lists";
  before.trim.unfinished = true;
  EXPECT_TRUE(trims()) << "the last trim left some";
  before.trim.unfinished = false;
  before.settings = R"({"keep":7})";
  EXPECT_FALSE(trims()) << "the document lists more";
  options.retention.strict = true;
  EXPECT_TRUE(trims()) << "fewer are to be kept than before";
  EXPECT_EQ(decide_on(before, NotModified(), exchange_with(), {}, options).commit.state.trim.kept, 7U);
  before.trim.kept = 7;
  EXPECT_FALSE(trims());
  options.retention.age = hours(1);
  EXPECT_TRUE(trims()) << "posts grow older without a document";
  before.trim.kept = 0;
  EXPECT_FALSE(decide_on(before, NotModified(), exchange_with(), {}, options).commit.trim)
      << "what the document lists is not known";
}

// HTTP F8, H7
TEST(Settings, BoundTheIntervalFromAboveAndByHost) {
  FeedState before = healthy();
  before.rhythm.new_per_week = 0.01;  // adaptive: as rarely as allowed
  before.settings = R"({"interval_max":7200})";
  const Decision often = decide_on(before, NotModified());
  EXPECT_EQ(often.commit.state.due.reason, "override");
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

}  // namespace
}  // namespace feedmill::decide_test::decide_settings_test
