// Webhooks and hub subscribers, and the URLs of shared topics (WEBSUB §10).
#include <gtest/gtest.h>

#include "storage/queues/subscribers.hpp"
#include "storage/queues/topics.hpp"
#include "storage/records/tokens.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::test::push_out_test {
namespace {

using Then = SubscriberSettlement::Then;
constexpr Milliseconds lease{60'000};

class PushOutStore : public StoreTest {
 protected:
  Subscribers subscribers{store};
  Topics topics{store};
  const std::string token = "worker";

  std::string webhook(EventFilter filter = {}) {
    Subscriber one;
    one.url = "https://receiver.example/hook";
    one.secret = "whsec_c2VjcmV0";
    one.filter = std::move(filter);
    const auto id = subscribers.add(one);
    EXPECT_TRUE(id) << id.error().detail;
    return id ? *id : "";
  }

  bool ask(const std::string& callback, const std::string& mode = "subscribe") {
    Subscriber one;
    one.url = callback;
    one.topic = {TopicKind::feed, feed_url};
    one.topic_url = "https://me.example/t/x.atom";
    one.intent = {mode, "s3cret", Milliseconds(1000), "", 0};
    const auto taken = subscribers.ask(one);
    EXPECT_TRUE(taken) << taken.error().detail;
    return taken && *taken;
  }

  TakenSubscribers take() {
    auto taken = subscribers.take(100, lease, token);
    EXPECT_TRUE(taken) << taken.error().detail;
    return taken ? *taken : TakenSubscribers();
  }

  bool settle(const TakenSubscribers& taken, const std::string& id, const std::string& cursor, Then then,
              Milliseconds delay = {}, Fields fields = {}) {
    const SubscriberSettlement one{id, taken.claim, cursor, then, delay, std::move(fields)};
    const auto held = subscribers.settle(std::span(&one, 1), lease);
    EXPECT_TRUE(held) << held.error().detail;
    return held && held->front();
  }

  bool wake(const std::string& id, const std::string& before, const std::string& mark, bool is_last = true) {
    const Subscribers::Concerned one{id, before};
    const auto done = subscribers.wake(token, std::span(&one, 1), mark, is_last);
    EXPECT_TRUE(done) << done.error().detail;
    return done && *done;
  }

  void lead() {
    const auto held = subscribers.lead(token, Milliseconds(30'000));
    ASSERT_TRUE(held && *held);
    ASSERT_TRUE(subscribers.begin_leading());
  }
};

TEST_F(PushOutStore, KeepsAWebhookAsItWasGiven) {
  const EventFilter filter{{feed_url}, {"anna/news"}, {"post_created"}, true};
  const std::string id = webhook(filter);
  EXPECT_TRUE(id.starts_with("wh_"));
  auto read = subscribers.get(id);
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->filter, filter);
  EXPECT_EQ((*read)->state, Subscriber::State::active);
  EXPECT_EQ((*read)->secret, "whsec_c2VjcmV0");
  EXPECT_FALSE((*read)->due);
  Subscriber changed = **read;
  changed.url = "https://receiver.example/other";
  changed.filter = {};
  EXPECT_TRUE(*subscribers.edit(changed, **read));
  EXPECT_FALSE(*subscribers.edit(changed, **read)) << "these are no longer its settings";
  EXPECT_TRUE(*subscribers.rotate(id, "whsec_bmV3", std::chrono::hours(24)));
  read = subscribers.get(id);
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->url, "https://receiver.example/other");
  EXPECT_EQ((*read)->secret, "whsec_bmV3");
  EXPECT_EQ((*read)->old_secret, "whsec_c2VjcmV0");
  EXPECT_GT((*read)->old_until, (*read)->created);
  EXPECT_EQ(subscribers.counts()->webhooks_active, 1U);
  EXPECT_EQ(subscribers.list(Subscriber::Kind::webhook, "", 10)->size(), 1U);
  EXPECT_TRUE(subscribers.list(Subscriber::Kind::webhook, id, 10)->empty());
  EXPECT_TRUE(*subscribers.remove(id));
  EXPECT_FALSE(*subscribers.remove(id));
  EXPECT_FALSE(*subscribers.edit(changed, changed));
  EXPECT_FALSE(*subscribers.get(id));
  EXPECT_EQ(subscribers.counts()->webhooks_active, 0U);
}

TEST_F(PushOutStore, IdleSubscribersAreNotWritten) {
  lead();
  const std::string id = webhook();
  EXPECT_TRUE(wake("wh_unknown", "5-0", "7-0")) << "who is gone is passed over";
  EXPECT_TRUE(take().subscribers.empty());
  EXPECT_EQ(subscribers.get(id)->value().cursor, "0-0");
  // The cursor is just before the first relevant event, however many events came before it.
  EXPECT_TRUE(wake(id, "9-0", "10-0"));
  EXPECT_TRUE(wake(id, "11-0", "12-0")) << "it is due already";
  TakenSubscribers taken = take();
  ASSERT_EQ(taken.subscribers.size(), 1U);
  EXPECT_EQ(taken.subscribers[0].cursor, "9-0");
  EXPECT_TRUE(take().subscribers.empty()) << "in hand";
  // Events that arrived during the delivery make it due at once; otherwise it becomes idle.
  EXPECT_TRUE(settle(taken, id, "11-0", Then::idle));
  taken = take();
  ASSERT_EQ(taken.subscribers.size(), 1U);
  EXPECT_TRUE(settle(taken, id, "12-0", Then::idle));
  EXPECT_TRUE(take().subscribers.empty());
  EXPECT_FALSE(subscribers.get(id)->value().due);
  EXPECT_FALSE(settle(taken, id, "99-0", Then::later)) << "not in hand any more";
  EXPECT_EQ(subscribers.get(id)->value().cursor, "12-0");
}

/// An event can concern many subscribers: the first may be served, by a worker that has not read the event yet, before
/// the last are due.
TEST_F(PushOutStore, SubscriberServedBeforeAllAreDueIsDueAgain) {
  lead();
  const std::string first = webhook(), other = webhook(), last = webhook();
  ASSERT_TRUE(wake(other, "0-0", "4-0"));
  TakenSubscribers in_hand = take();
  ASSERT_TRUE(wake(first, "4-0", "5-0", false));
  TakenSubscribers taken = take();
  ASSERT_EQ(taken.subscribers.size(), 1U);
  EXPECT_TRUE(settle(taken, first, "", Then::idle)) << "it has seen nothing";
  ASSERT_TRUE(wake(other, "4-0", "5-0", false));
  EXPECT_TRUE(settle(in_hand, other, "4-0", Then::idle)) << "as of a moment before";
  ASSERT_TRUE(wake(last, "4-0", "5-0"));
  taken = take();
  EXPECT_EQ(taken.subscribers.size(), 3U);
  for (const std::string& id : {first, other, last}) EXPECT_TRUE(settle(taken, id, "5-0", Then::idle));
  EXPECT_TRUE(take().subscribers.empty());
}

TEST_F(PushOutStore, APlaceNeverGoesBack) {
  lead();
  const std::string id = webhook();
  ASSERT_TRUE(wake(id, "20-0", "21-0"));
  const TakenSubscribers taken = take();
  ASSERT_TRUE(settle(taken, id, "30-0", Then::idle));
  ASSERT_TRUE(wake(id, "25-0", "26-0"));
  const TakenSubscribers again = take();
  ASSERT_EQ(again.subscribers.size(), 1U);
  EXPECT_EQ(again.subscribers[0].cursor, "30-0");
  EXPECT_TRUE(settle(again, id, "28-0", Then::hold));
  EXPECT_EQ(subscribers.get(id)->value().cursor, "30-0");
}

TEST_F(PushOutStore, CountsWithheldEventsOncePerBatch) {
  lead();
  const std::string told = webhook(), quiet = webhook();
  const std::vector<Subscribers::Concerned> concerned{{told, "4-0", 2}, {quiet, "", 7}, {"wh_unknown", "", 1}};
  EXPECT_TRUE(*subscribers.wake(token, concerned, "9-0"));
  EXPECT_FALSE(*subscribers.wake("another", concerned, "9-0"));
  EXPECT_EQ(subscribers.get(told)->value().withheld, 2U);
  EXPECT_EQ(subscribers.get(quiet)->value().withheld, 7U);
  EXPECT_EQ(redis({"EXISTS", "push_out:subscriber:wh_unknown"}), "0");
  const TakenSubscribers taken = take();
  ASSERT_EQ(taken.subscribers.size(), 1U) << "nothing is sent to the other one";
  EXPECT_EQ(taken.subscribers[0].cursor, "4-0");
}

TEST_F(PushOutStore, FormerLeaderWritesNothing) {
  lead();
  const std::string id = webhook();
  EXPECT_FALSE(*subscribers.lead("another", Milliseconds(30'000)));
  redis({"SET", "lock:push_out", "another"});
  EXPECT_FALSE(wake(id, "5-0", "9-0"));
  EXPECT_TRUE(take().subscribers.empty());
  EXPECT_EQ(*subscribers.begin_leading(), "");
}

TEST_F(PushOutStore, SuspendedItKeepsItsPlaceAndWaits) {
  lead();
  const std::string id = webhook();
  ASSERT_TRUE(wake(id, "5-0", "6-0"));
  const TakenSubscribers taken = take();
  ASSERT_TRUE(settle(taken, id, "5-0", Then::suspend, {}, {{"failures", "9"}, {"last_error", "answered 500"}}));
  EXPECT_EQ(subscribers.counts()->webhooks_suspended, 1U);
  ASSERT_TRUE(wake(id, "7-0", "8-0"));
  EXPECT_TRUE(take().subscribers.empty());
  EXPECT_EQ(subscribers.get(id)->value().cursor, "5-0");
  EXPECT_TRUE(*subscribers.resume(id));
  const TakenSubscribers again = take();
  ASSERT_EQ(again.subscribers.size(), 1U);
  EXPECT_EQ(again.subscribers[0].cursor, "5-0");
  EXPECT_EQ(again.subscribers[0].failures, 0U);
  EXPECT_EQ(subscribers.counts()->webhooks_active, 1U);
}

TEST_F(PushOutStore, ASubscriptionHoldsUntilAnotherIsVerified) {
  EXPECT_FALSE(ask("https://b.example/cb", "unsubscribe")) << "there is nothing to end";
  ASSERT_TRUE(ask("https://b.example/cb"));
  TakenSubscribers taken = take();
  ASSERT_EQ(taken.subscribers.size(), 1U);
  const std::string id = taken.subscribers[0].id;
  EXPECT_EQ(taken.subscribers[0].intent.mode, "subscribe");
  EXPECT_EQ(taken.subscribers[0].state, Subscriber::State::pending);
  const std::string end = std::to_string(taken.now.count() + 600'000);
  ASSERT_TRUE(settle(taken, id, "", Then::idle, {},
                     {{"state", "active"}, {"secret", "s3cret"}, {"lease_end", end}, {"want_mode", ""}}));
  EXPECT_EQ(subscribers.counts()->hub_active, 1U);
  EXPECT_TRUE(take().subscribers.empty());
  // A repeated request changes nothing, but makes the subscriber due.
  ASSERT_TRUE(ask("https://b.example/cb", "unsubscribe"));
  taken = take();
  ASSERT_EQ(taken.subscribers.size(), 1U);
  EXPECT_EQ(taken.subscribers[0].state, Subscriber::State::active);
  EXPECT_EQ(taken.subscribers[0].secret, "s3cret");
  ASSERT_TRUE(ask("https://b.example/cb")) << "while it is in hand";
  EXPECT_TRUE(settle(taken, id, "", Then::idle));
  EXPECT_EQ(take().subscribers.size(), 1U) << "what it asked for meanwhile is seen";
  EXPECT_EQ(*subscribers.deny({TopicKind::feed, feed_url}, "", 10), "");
  EXPECT_EQ(subscribers.get(id)->value().intent.mode, "denied");
}

TEST_F(PushOutStore, OneSiteCannotTakeAllSubscriptions) {
  const SubscriberBounds bounds{3, 4, 2};
  const auto asks = [&](const std::string& site, int number, const std::string& mode = "subscribe") {
    Subscriber one;
    one.url = "https://" + site + "/" + std::to_string(number);
    one.site = site;
    one.topic = {TopicKind::feed, feed_url};
    one.topic_url = "https://me.example/t/x.atom";
    one.intent = {mode, "", Milliseconds(1000), "", 0};
    const auto asked = subscribers.ask(one, bounds);
    EXPECT_TRUE(asked) << asked.error().detail;
    return asked ? asked->is : AskedOfHub::Is::nothing;
  };
  const auto confirm_all = [&] {
    const TakenSubscribers taken = take();
    for (const Subscriber& one : taken.subscribers) {
      EXPECT_TRUE(settle(taken, one.id, "", Then::idle, {},
                         {{"state", "active"}, {"lease_end", "9999999999999"}, {"want_mode", ""}}));
    }
  };
  using Is = AskedOfHub::Is;
  EXPECT_EQ(asks("a.example", 1), Is::taken);
  EXPECT_EQ(asks("a.example", 2), Is::taken);
  EXPECT_EQ(asks("a.example", 3), Is::not_verified) << "two of a site wait to be verified";
  EXPECT_EQ(asks("a.example", 1), Is::taken) << "it is there";
  EXPECT_EQ(asks("b.example", 1), Is::taken);
  EXPECT_EQ(asks("b.example", 2), Is::taken);
  EXPECT_EQ(asks("c.example", 1), Is::not_verified) << "four of all";
  confirm_all();
  EXPECT_EQ(asks("c.example", 1), Is::taken);
  EXPECT_EQ(asks("a.example", 3), Is::taken);
  EXPECT_EQ(asks("a.example", 4), Is::of_site);
  confirm_all();
  EXPECT_EQ(asks("a.example", 4), Is::of_site);
  EXPECT_EQ(asks("a.example", 4, "unsubscribe"), Is::nothing);
  EXPECT_EQ(asks("a.example", 2, "unsubscribe"), Is::taken);
  const auto all = subscribers.list(Subscriber::Kind::hub, "", 100);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 6U);
  EXPECT_TRUE(*subscribers.remove(all->front().id));
  EXPECT_EQ(asks(all->front().site, 9), Is::taken) << "who goes makes room";
  for (const Subscriber& one : *subscribers.list(Subscriber::Kind::hub, "", 100))
    EXPECT_TRUE(*subscribers.remove(one.id));
  EXPECT_EQ(redis({"EXISTS", "push_out:sites"}), "0") << "nothing is counted any more";
}

// A callback may send another request while its first one is being verified.
TEST_F(PushOutStore, RequestChangedDuringVerificationIsVerifiedNext) {
  ASSERT_TRUE(ask("https://b.example/cb"));
  TakenSubscribers taken = take();
  const std::string id = taken.subscribers.at(0).id;
  const Fields subscribed{{"want_was", "subscribe\n1000\ns3cret"},
                          {"want_mode", ""},
                          {"want_lease", ""},
                          {"want_secret", ""},
                          {"want_tries", ""},
                          {"state", "active"}};
  ASSERT_TRUE(settle(taken, id, "", Then::idle, {}, subscribed));
  EXPECT_EQ(subscribers.get(id)->value().intent.mode, "");
  EXPECT_TRUE(take().subscribers.empty());
  // The callback confirms that it unsubscribes, but has asked to subscribe again.
  ASSERT_TRUE(ask("https://b.example/cb", "unsubscribe"));
  taken = take();
  ASSERT_TRUE(ask("https://b.example/cb", "subscribe"));
  const Fields left{{"want_was", "unsubscribe\n1000\ns3cret"}, {"want_mode", ""}, {"state", "pending"}};
  ASSERT_TRUE(settle(taken, id, "", Then::remove, {}, left));
  taken = take();
  ASSERT_EQ(taken.subscribers.size(), 1U) << "it is due at once";
  EXPECT_EQ(taken.subscribers[0].intent.mode, "subscribe");
  EXPECT_EQ(taken.subscribers[0].state, Subscriber::State::pending) << "until it has confirmed that, too";
  EXPECT_EQ(subscribers.counts()->hub_pending, 1U);
  EXPECT_EQ(subscribers.counts()->hub_active, 0U);
}

TEST_F(PushOutStore, SubscriberWithAnExpiredLeaseIsDue) {
  ASSERT_TRUE(ask("https://b.example/cb"));
  const TakenSubscribers taken = take();
  const std::string id = taken.subscribers.at(0).id;
  ASSERT_TRUE(settle(taken, id, "", Then::idle, {}, {{"state", "active"}, {"lease_end", "1"}, {"want_mode", ""}}));
  EXPECT_EQ(*subscribers.expire(10), 1U);
  EXPECT_EQ(*subscribers.expire(10), 0U);
  EXPECT_EQ(take().subscribers.size(), 1U);
}

TEST_F(PushOutStore, TheEngineLearnsOfEachChangeOnce) {
  std::vector<std::string> ids;
  for (int i = 0; i < 7; ++i) ids.push_back(webhook());
  ASSERT_TRUE(ask("https://b.example/cb"));
  ASSERT_TRUE(*subscribers.remove(ids[2]));
  std::size_t known = 0, gone = 0;
  std::uint64_t number = 0;
  for (bool more = true; more;) {
    const auto changes = subscribers.changes(number, 3);
    ASSERT_TRUE(changes) << changes.error().detail;
    known += changes->changed.size();
    gone += changes->gone.size();
    number = changes->number;
    more = changes->more;
    for (const auto& row : changes->changed) {
      if (row.kind == Subscriber::Kind::hub) {
        EXPECT_EQ(row.filter.feeds, std::vector{feed_url});
      }
    }
  }
  EXPECT_EQ(known, 7U);
  EXPECT_EQ(gone, 1U);
  EXPECT_TRUE(subscribers.changes(number, 3)->changed.empty());
  EXPECT_TRUE(*subscribers.resume(ids[0]));
  EXPECT_EQ(subscribers.changes(number, 3)->changed.size(), 1U);
}

TEST_F(PushOutStore, ATopicHasOneAddressUntilItIsTakenAway) {
  const Topic feed{TopicKind::feed, feed_url}, channel{TopicKind::channel, "anna/news"};
  const auto first = topics.share(feed);
  ASSERT_TRUE(first) << first.error().detail;
  EXPECT_TRUE(is_token(first->token));
  EXPECT_EQ(topics.share(feed)->token, first->token);
  ASSERT_TRUE(topics.share(channel));
  EXPECT_EQ(topics.find(first->token)->value(), feed);
  EXPECT_FALSE(*topics.find(random_token()));
  EXPECT_FALSE(*topics.find(std::string("../x")));
  const auto page = topics.list("", 1);
  ASSERT_EQ(page->topics.size(), 1U);
  EXPECT_EQ(page->topics[0].topic, channel);
  EXPECT_EQ(topics.list(page->next, 10)->topics.size(), 1U);
  EXPECT_EQ(*topics.title(channel), "");
  ASSERT_TRUE(topics.share(channel, "Harbour news"));
  ASSERT_TRUE(topics.share(channel));
  EXPECT_EQ(*topics.title(channel), "Harbour news");
  EXPECT_EQ(topics.list("", 1)->topics[0].title, "Harbour news");
  ASSERT_TRUE(topics.share(channel, ""));
  EXPECT_EQ(*topics.title(channel), "");
  ASSERT_TRUE(topics.share(channel, "=x"));
  EXPECT_TRUE(*topics.unshare(channel));
  ASSERT_TRUE(topics.share(channel));
  EXPECT_EQ(*topics.title(channel), "") << "a new topic of that name";
  EXPECT_TRUE(*topics.unshare(feed));
  EXPECT_FALSE(*topics.unshare(feed));
  EXPECT_FALSE(*topics.find(first->token));
  EXPECT_NE(topics.share(feed)->token, first->token);
}

TEST(EventFilters, MatchTypesFeedsAndChannels) {
  Event post{.id = "1-0", .type = "post_created", .feed_url = "https://a.example/", .initial = true};
  EXPECT_FALSE(EventFilter{}.wants(post, {}));
  EXPECT_TRUE((EventFilter{.initial = true}.wants(post, {})));
  post.initial = false;
  EXPECT_TRUE(EventFilter{}.wants(post, {}));
  EXPECT_FALSE((EventFilter{.feeds = {"https://b.example/"}}.wants(post, {})));
  const std::vector<std::string> holding{"news"};
  EXPECT_TRUE((EventFilter{.feeds = {"https://b.example/"}, .channels = {"news"}}.wants(post, holding)));
  EXPECT_FALSE((EventFilter{.types = {"feed_gone"}}.wants(post, {})));
  post.type = "post_trimmed";
  EXPECT_FALSE(EventFilter{}.wants(post, {})) << "for who keeps a copy alone";
  const EventFilter filter{{"https://a.example/"}, {"x\"y"}, {"post_created"}, true};
  EXPECT_EQ(read_filter(to_json(filter)), filter);
  EXPECT_EQ(read_filter("{broken"), EventFilter());
  EXPECT_EQ(objection_to(filter), "");
  EXPECT_NE(objection_to({.types = {"post_trimmed"}}), "");
  EXPECT_NE(objection_to({.feeds = std::vector<std::string>(1001, "https://a.example/")}), "");
}

TEST(Tokens, AreUnguessableAndOfOneShape) {
  EXPECT_NE(random_token(), random_token());
  EXPECT_EQ(token_of("a"), token_of("a"));
  EXPECT_NE(token_of("a"), token_of("b"));
  for (const std::string& token : {random_token(), token_of("a")}) EXPECT_TRUE(is_token(token)) << token;
  EXPECT_FALSE(is_token("short"));
  EXPECT_FALSE(is_token(std::string(26, 'A')));
}

}  // namespace
}  // namespace feedmill::test::push_out_test
