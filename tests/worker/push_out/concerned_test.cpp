// Which subscribers an event concerns, when a receiver is retried, and how its intent is verified (WEBSUB U4, U12,
// U14).
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/push_out/dispatcher.hpp"
#include "worker/push_out/fan_out.hpp"
#include "worker/push_out/sender.hpp"

namespace feedmill::concerned_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

OutsideEvent event_of(const std::string& feed, std::vector<std::string> channels = {},
                      const std::string& type = "post_created") {
  OutsideEvent event;
  event.event.type = type;
  event.event.feed_url = feed;
  event.told = true;
  event.channels = std::move(channels);
  return event;
}

SubscriberChanges::Row row(const std::string& id, EventFilter filter, bool with_private = false) {
  return {id, Subscriber::Kind::webhook, std::move(filter), with_private};
}

SubscriberChanges changed(std::vector<SubscriberChanges::Row> rows) {
  SubscriberChanges changes;
  changes.changed = std::move(rows);
  return changes;
}
SubscriberChanges gone(std::vector<std::string> ids) {
  SubscriberChanges changes;
  changes.gone = std::move(ids);
  return changes;
}

TEST(ConcernedIndex, FindsThoseOfAFeedOfAChannelAndOfAll) {
  ConcernedIndex index;
  EXPECT_THAT(index.of(event_of("a")).told, IsEmpty());
  index.take(changed(
      {row("all", {}), row("a", {.feeds = {"a"}}), row("b", {.feeds = {"b"}}), row("news", {.channels = {"news"}})}));
  EXPECT_EQ(index.size(), 4U);
  EXPECT_THAT(index.of(event_of("a")).told, UnorderedElementsAre("all", "a"));
  EXPECT_THAT(index.of(event_of("b", {"news", "other"})).told, UnorderedElementsAre("all", "b", "news"));
  EXPECT_THAT(index.of(event_of("c", {"new"})).told, ElementsAre("all"));
  EXPECT_THAT(index.all(), UnorderedElementsAre("all", "a", "b", "news"));
}

TEST(ConcernedIndex, NamesEachOnceHoweverItIsConcerned) {
  ConcernedIndex index;
  index.take(changed({row("x", {.feeds = {"a", "b", "a"}, .channels = {"one", "two"}})}));
  EXPECT_THAT(index.of(event_of("a", {"one", "two"})).told, ElementsAre("x"));
  EXPECT_THAT(index.of(event_of("c", {"two", "one"})).told, ElementsAre("x"));
}

TEST(ConcernedIndex, DropsRemovedSubscribersAndFormerFilters) {
  ConcernedIndex index;
  index.take(changed({row("x", {.feeds = {"a"}, .channels = {"one"}}), row("y", {})}));
  index.take(changed({row("x", {.feeds = {"b"}})}));
  EXPECT_EQ(index.size(), 2U);
  EXPECT_THAT(index.of(event_of("a", {"one"})).told, ElementsAre("y"));
  EXPECT_THAT(index.of(event_of("b")).told, UnorderedElementsAre("x", "y"));
  index.take(changed({row("y", {.feeds = {"a"}})}));
  EXPECT_THAT(index.of(event_of("b")).told, ElementsAre("x"));
  index.take(gone({"x", "nobody"}));
  EXPECT_THAT(index.of(event_of("b", {"one"})).told, IsEmpty());
  EXPECT_THAT(index.all(), ElementsAre("y"));
}

TEST(ConcernedIndex, RestartsOnRequest) {
  ConcernedIndex index;
  index.take(changed({row("all", {}), row("a", {.feeds = {"a"}}), row("news", {.channels = {"news"}})}));
  SubscriberChanges anew;
  anew.anew = true;
  index.take(anew);
  EXPECT_EQ(index.size(), 0U);
  EXPECT_THAT(index.of(event_of("a", {"news"})).told, IsEmpty());
  index.take(changed({row("a", {.feeds = {"a"}})}));
  EXPECT_THAT(index.of(event_of("a", {"news"})).told, ElementsAre("a"));
}

TEST(ConcernedIndex, KeepsPrivateEventsFromOthers) {
  ConcernedIndex index;
  index.take(changed(
      {row("all", {}), row("trusted", {}, true), row("feed", {.feeds = {"a"}}), row("owner", {.feeds = {"a"}}, true)}));
  OutsideEvent event = event_of("a");
  event.is_private = true;
  EXPECT_THAT(index.of(event).told, UnorderedElementsAre("trusted", "owner"));
  EXPECT_THAT(index.of(event).withheld, UnorderedElementsAre("all", "feed"));
}

TEST(ConcernedIndex, LooksAtTypesAndFirstImports) {
  ConcernedIndex index;
  index.take(changed({row("new", {.types = {"post_created"}}), row("gone", {.feeds = {"a"}, .types = {"feed_gone"}}),
                      row("first", {.initial = true})}));
  EXPECT_THAT(index.of(event_of("a")).told, UnorderedElementsAre("new", "first"));
  EXPECT_THAT(index.of(event_of("a", {}, "feed_gone")).told, UnorderedElementsAre("gone", "first"));
  OutsideEvent initial = event_of("a");
  initial.event.initial = true;
  EXPECT_THAT(index.of(initial).told, ElementsAre("first"));
  EXPECT_THAT(index.of(event_of("a", {}, "post_mended")).told, IsEmpty()) << "stays inside";
  OutsideEvent inside = event_of("a");
  inside.told = false;
  EXPECT_THAT(index.of(inside).told, IsEmpty());
}

struct BackOffCase {
  const char* name;
  std::uint32_t failures;
  std::int64_t asked_s, expected_s;
};
class ReceiverBackOff : public testing::TestWithParam<BackOffCase> {};
TEST_P(ReceiverBackOff, DoublesUpToADay) {
  EXPECT_EQ(receiver_back_off(GetParam().failures, std::chrono::seconds(GetParam().asked_s)),
            std::chrono::seconds(GetParam().expected_s));
}
INSTANTIATE_TEST_SUITE_P(
    All, ReceiverBackOff,
    testing::Values(BackOffCase{"None", 0, 0, 60}, BackOffCase{"First", 1, 0, 60}, BackOffCase{"Second", 2, 0, 120},
                    BackOffCase{"Third", 3, 0, 240}, BackOffCase{"Eleventh", 11, 0, 61'440},
                    BackOffCase{"Twelfth", 12, 0, 86'400}, BackOffCase{"Thirteenth", 13, 0, 86'400},
                    BackOffCase{"VeryMany", 4'294'967'295U, 0, 86'400}, BackOffCase{"AskedForLess", 3, 5, 240},
                    BackOffCase{"AskedForMore", 1, 3'600, 3'600}, BackOffCase{"AskedForAYear", 1, 31'536'000, 86'400},
                    BackOffCase{"AskedForThePast", 2, -7, 120}),
    [](const auto& test) { return std::string(test.param.name); });

Subscriber asking(const std::string& callback, const std::string& mode) {
  Subscriber subscriber;
  subscriber.kind = Subscriber::Kind::hub;
  subscriber.url = callback;
  subscriber.topic_url = "https://me.example/t/x.atom?a=1&b";
  subscriber.intent.mode = mode;
  subscriber.intent.lease = std::chrono::hours(24);
  return subscriber;
}

TEST(VerificationUrl, AppendsItsParametersToTheCallbacksQuery) {
  constexpr std::string_view topic = "&hub.topic=https%3A%2F%2Fme.example%2Ft%2Fx.atom%3Fa%3D1%26b";
  const auto of = [](const std::string& callback, const std::string& mode) {
    return verification_url(asking(callback, mode), "chall3nge");
  };
  const std::string rest = std::string(topic) + "&hub.challenge=chall3nge";
  EXPECT_EQ(of("https://a.example/cb", "subscribe"),
            "https://a.example/cb?hub.mode=subscribe" + rest + "&hub.lease_seconds=86400");
  EXPECT_EQ(of("https://a.example/cb?mine=1", "subscribe"),
            "https://a.example/cb?mine=1&hub.mode=subscribe" + rest + "&hub.lease_seconds=86400");
  EXPECT_EQ(of("https://a.example/cb?hub.mode=unsubscribe", "subscribe"),
            "https://a.example/cb?hub.mode=unsubscribe&hub.mode=subscribe" + rest + "&hub.lease_seconds=86400");
  EXPECT_EQ(of("https://a.example/", "unsubscribe"), "https://a.example/?hub.mode=unsubscribe" + rest);
}

TEST(VerificationUrl, OfADenialHasTheReasonAndNoChallenge) {
  Subscriber subscriber = asking("https://a.example/?x", "denied");
  EXPECT_EQ(verification_url(subscriber, "chall3nge"),
            "https://a.example/?x&hub.mode=denied&hub.topic=https%3A%2F%2Fme.example%2Ft%2Fx.atom%3Fa%3D1%26b");
  subscriber.intent.reason = "no longer & never";
  EXPECT_EQ(verification_url(subscriber, "chall3nge"),
            "https://a.example/?x&hub.mode=denied&hub.topic=https%3A%2F%2Fme.example%2Ft%2Fx.atom%3Fa%3D1%26b"
            "&hub.reason=no%20longer%20%26%20never");
}

}  // namespace
}  // namespace feedmill::concerned_test
