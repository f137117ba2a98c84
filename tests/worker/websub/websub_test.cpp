// A worker's WebSub parts with a real hub, a real store and real feeds: which pushes reach the store, and which do not.
#include <algorithm>
#include <mutex>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/timelines/notifications.hpp"
#include "tests/support/dates.hpp"
#include "tests/support/eventually.hpp"
#include "tests/worker/websub/websub_fixture.hpp"

namespace feedmill::test::websub_test {
namespace {

TEST_F(WebSubTest, SubscribesToTheSelfThatIsNamed) {
  const std::string topic = publisher.url("/self?a=b&c");
  const std::string url = add_feed("/feed", {{"1", "first"}}, hub_links("SELF"));
  publisher.serve("/feed", Response{.body = atom({{"1", "first"}}, hub_links(publisher.url("/self?a=b&amp;c")))});
  refresh(url);
  start();
  ASSERT_TRUE(hub.await_subscribers(topic, 1));
  const HubRequest asked = hub.requests().back();
  EXPECT_EQ(asked.topic, topic);
  EXPECT_EQ(asked.lease_seconds, "864000");
  EXPECT_EQ(asked.secret.size(), 64U);
  ASSERT_EQ(asked.fields.size(), 5U);
  EXPECT_EQ(asked.fields[0].first, "hub.callback");
  EXPECT_EQ(asked.fields[4].first, "hub.secret");
  EXPECT_EQ(asked.request.header("Content-Type"), "application/x-www-form-urlencoded");
  EXPECT_EQ(asked.request.header("Expect"), "");
  EXPECT_TRUE(asked.request.header("User-Agent").starts_with("feedmill/"));
  EXPECT_TRUE(asked.callback.starts_with("http://127.0.0.1:" + std::to_string(port) + "/w/"));
  EXPECT_EQ(record(url).state.push.standing.state, "unproven");
  EXPECT_EQ(Feeds(store).urls_after("", 10'000)->size(), 1U);
}

/// Changes the settings as `feedmill set` does.
void set(Store& store, const std::string& url, const std::string& settings) {
  const std::string before = Feeds(store).records(std::span(&url, 1))->front()->state.settings;
  const auto changed = Feeds(store).change_settings(url, before, settings, true);
  ASSERT_TRUE(changed && *changed == SettingsChange::done);
}

// WEBSUB §2, D5: needed for YouTube's feeds, which name a hub that does not push them.
TEST_F(WebSubTest, SettingAHubSwitchesToItAndClearingItSwitchesBack) {
  const std::string topic = publisher.url("/xml/feeds?channel_id=1");
  HttpServer other_server{authority.issue({.names = {"IP:127.0.0.1"}})};
  WebSubHub other(other_server);
  const std::string url = subscribed_feed();
  set(store, url, R"({"hub":")" + other.url() + R"(","topic":")" + topic + R"("})");
  ASSERT_TRUE(other.await_subscribers(topic, 1));
  EXPECT_TRUE(becomes([&] { return hub.subscribers(url).empty(); })) << "no poll was needed";
  EXPECT_EQ(other.publish(topic, atom({{"2", "second"}}, hub_links(url))).at(0).status, 202);
  EXPECT_TRUE(becomes([&] { return title(url, "2") == "second"; }));
  refresh(url);
  EXPECT_EQ(other.subscribers(topic).size(), 1U) << "whatever the document names";
  set(store, url, "");
  ASSERT_TRUE(hub.await_subscribers(url, 1));
  EXPECT_TRUE(becomes([&] { return other.subscribers(topic).empty(); }));
}

TEST_F(WebSubTest, ASetHubWorksWithoutAnAdvertisedOneAndIsLeftWhenCleared) {
  const std::string url = add_feed("/feed", {{"1", "first"}}, "");
  start();
  set(store, url, R"({"hub":")" + hub.url() + R"("})");
  ASSERT_TRUE(hub.await_subscribers(url, 1)) << "by its own address";
  set(store, url, "");
  EXPECT_TRUE(becomes([&] { return hub.subscribers(url).empty(); }));
  EXPECT_EQ(record(url).state.push.standing.state, "");
}

// WEBSUB P6
TEST_F(WebSubTest, APushThatCameBeforeItsPostIsLookedIntoOnceMore) {
  const std::string url = subscribed_feed();
  push(url, "something has changed");
  ASSERT_TRUE(
      becomes([&] { return record(url).state.due.reason == "websub_push" && *record(url).due <= *store.now(); }));
  EXPECT_EQ(refresh(url).outcome, Outcome::not_modified) << "its cache lags";
  EXPECT_EQ(record(url).state.due.reason, "second_look");
  EXPECT_LE(*record(url).due, *store.now() + 1min);
  publisher.serve("/feed", Response{.body = atom({{"2", "second"}, {"1", "first"}}, hub_links(url))});
  EXPECT_TRUE(refresh(url).pushed_first);
  EXPECT_EQ(record(url).state.push.health.pushed_first, 1U);
  EXPECT_GT(*record(url).due, *store.now() + 50min);
}

TEST_F(WebSubTest, AnHttpHubIsAskedWithoutASecretAndItsPushesAreHints) {
  HttpServer plain;
  WebSubHub plain_hub(plain);
  const std::string url = publisher.url("/feed");
  add_feed("/feed", {{"1", "first"}}, hub_links(url, plain_hub.url()));
  start();
  ASSERT_TRUE(plain_hub.await_subscribers(url, 1));
  EXPECT_EQ(plain_hub.subscribers(url).at(0).secret, "");
  const auto answers = plain_hub.publish(url, atom({{"2", "forged"}}));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].status, 202);
  EXPECT_EQ(title(url, "2"), "(none)");
  EXPECT_EQ(record(url).state.due.reason, "websub_push");
}

TEST_F(WebSubTest, APushIsWrittenLikeAFetchWithoutAskingTheOrigin) {
  const std::string url = subscribed_feed();
  const std::size_t asked = publisher.count("/feed");
  const FeedState before = record(url).state;
  const std::string document = atom({{"2", "second"}, {"1", "first"}}, hub_links(url));
  push_and_wait(url, document);
  EXPECT_EQ(publisher.count("/feed"), asked);
  EXPECT_EQ(title(url, "2"), "second");
  const FeedRecord after = record(url);
  EXPECT_EQ(after.state.validators.etag, before.validators.etag);
  EXPECT_EQ(after.state.document.body_hash, before.document.body_hash);
  EXPECT_EQ(after.state.counts.polls, before.counts.polls);
  EXPECT_EQ(after.state.push.health.pushed_first, 1U);
  EXPECT_EQ(after.claim, "");
  EXPECT_GT(*after.due, *store.now() + 50min);
  // A poll of the same document changes nothing.
  publisher.serve("/feed", Response{.headers = {{"Content-Type", "application/atom+xml"}}, .body = document});
  const Report report = refresh(url);
  EXPECT_EQ(report.outcome, Outcome::unchanged);
  EXPECT_EQ(report.unchanged, 2U);
}

TEST_F(WebSubTest, WhatAPushDoesNotListStays) {
  const std::string url = subscribed_feed("/feed", {{"1", "first"}, {"2", "second"}});
  push_and_wait(url, atom({{"3", "third"}}));
  EXPECT_EQ(record(url).entries, 3U);
  EXPECT_EQ(record(url).feed, record(url).feed);
  for (const EventRecord& signal : *EventStream(store).read("0", 100, Milliseconds(0))) {
    EXPECT_TRUE(signal.type == "post_created" || signal.type == "feed_created") << signal.type;
  }
}

TEST_F(WebSubTest, APushThatEndsInTheMiddleIsAHint) {
  const std::string url = subscribed_feed();
  const std::size_t before = signals();
  const std::string document = atom({{"2", "second"}, {"3", "third"}});
  for (const HttpAnswer& answer : push(url, document.substr(0, document.rfind("<entry>") + 20)))
    EXPECT_EQ(answer.status, 202);
  EXPECT_TRUE(becomes([&] {
    const auto due = record(url).due;
    return due && *due <= *store.now();
  })) << "it is fetched at once";
  EXPECT_EQ(signals(), before);
}

TEST_F(WebSubTest, AReplayedPushChangesNothing) {
  const std::string url = subscribed_feed();
  const std::string document = atom({{"2", "second"}});
  push_and_wait(url, document);
  const std::size_t before = signals();
  for (int i = 0; i < 100; ++i) push(url, document);
  // Content above the limit for one feed counts as a hint only, so the end is pushed until it is read.
  EXPECT_TRUE(becomes([&] {
    push(url, atom({{"3", "the end"}}));
    return signals() > before;
  }));
  EXPECT_EQ(signals(), before + 1);
}

TEST_F(WebSubTest, AnOlderVersionNeverOverwritesAndANewerDoes) {
  const std::string url = subscribed_feed("/feed", {{"1", "of March", days_ago(4)}});
  push(url, atom({{"1", "of February", days_ago(5)}}));
  push_and_wait(url, atom({{"2", "marker"}}));
  EXPECT_EQ(title(url, "1"), "of March");
  push_and_wait(url, atom({{"1", "of April", days_ago(3)}}));
  EXPECT_EQ(title(url, "1"), "of April");
}

TEST_F(WebSubTest, AChangeThatDoesNotSayItIsNewerIsLeftToAFetch) {
  const std::string url = subscribed_feed();
  push(url, atom({{"1", "changed, perhaps"}}));
  EXPECT_TRUE(
      becomes([&] { return record(url).state.due.reason == "websub_push" && *record(url).due <= *store.now(); }));
  EXPECT_EQ(title(url, "1"), "first");
}

std::string deletion(const std::string& id, const std::string& when) {
  return R"(<at:deleted-entry xmlns:at="http://purl.org/atompub/tombstones/1.0" ref=")" + id + "\" when=\"" + when +
         "\"/>";
}

TEST_F(WebSubTest, APushBringsNoPostBackThatMayHaveBeenTrimmed) {
  const std::string url = subscribed_feed();
  push(url, atom({{"2", "old", days_ago(8)}}));
  EXPECT_TRUE(becomes([&] {
    return record(url).state.due.reason == "websub_push" && *record(url).due <= *store.now();
  })) << "the publisher says whether it is there";
  EXPECT_EQ(title(url, "2"), "(none)");
  push_and_wait(url, atom({{"2", "old", days_ago(8)}, {"3", "third"}}));
  EXPECT_EQ(title(url, "2"), "(none)");
  EXPECT_EQ(title(url, "3"), "third");
}

// RFC 6721
TEST_F(WebSubTest, APushDeletesNothingAndTheFetchDecides) {
  const std::string url = subscribed_feed("/feed", {{"1", "first"}, {"2", "second", days_ago(4)}});
  const std::string none = deletion("other", days_ago(1)) + deletion("2", days_ago(5));
  push_and_wait(url, atom({{"3", "third"}}, none));
  EXPECT_GT(*record(url).due, *store.now() + 50min) << "no such post, and one that is newer";
  const std::string gone = deletion("1", days_ago(5));
  push_and_wait(url, atom({{"4", "fourth"}}, gone));
  EXPECT_TRUE(
      becomes([&] { return record(url).state.due.reason == "websub_push" && *record(url).due <= *store.now(); }));
  EXPECT_EQ(title(url, "1"), "first");
  publisher.serve("/feed", Response{.body = atom({{"4", "fourth"}}, hub_links(url) + gone)});
  EXPECT_EQ(refresh(url).events,
            (std::vector<std::pair<std::string, std::uint32_t>>{{"post_deleted", 1}, {"feed_mended", 1}}))
      << "the deletion is an extension of the feed, too";
  EXPECT_EQ(title(url, "1"), "(none)");
}

TEST_F(WebSubTest, APushCreatesNothingThatItTakesBackItself) {
  const std::string url = subscribed_feed();
  push(url, atom({{"2", "second"}}, deletion("2", days_ago(5))));
  push_and_wait(url, atom({{"3", "marker"}}));
  EXPECT_EQ(title(url, "2"), "(none)");
  EXPECT_GT(*record(url).due, *store.now() + 50min) << "nor is there anything to ask";
}

// WEBSUB §6: correctly signed, but sent before the publisher withdrew the post.
TEST_F(WebSubTest, ALatePushBringsNoPostBackThatWasTakenBack) {
  const std::string url = subscribed_feed();
  const std::string push_of_2 = atom({{"2", "second"}});
  push_and_wait(url, push_of_2);
  publisher.serve("/feed", Response{.body = atom({{"1", "first"}}, hub_links(url) + deletion("2", days_ago(5)))});
  refresh(url);
  ASSERT_EQ(title(url, "2"), "(none)");
  ASSERT_GT(*record(url).due, *store.now() + 50min);
  const std::size_t before = signals();
  push(url, push_of_2);
  EXPECT_TRUE(becomes([&] {
    return record(url).state.due.reason == "websub_push" && *record(url).due <= *store.now();
  })) << "the publisher has the last word";
  EXPECT_EQ(title(url, "2"), "(none)");
  EXPECT_EQ(signals(), before);
  push_and_wait(url, atom({{"2", "second"}, {"3", "third"}}));
  EXPECT_EQ(title(url, "3"), "third") << "what is really new is written";
  EXPECT_EQ(title(url, "2"), "(none)");
  publisher.serve("/feed", Response{.body = atom({{"2", "second"}, {"1", "first"}}, hub_links(url))});
  refresh(url);
  EXPECT_EQ(title(url, "2"), "second") << "and it lists it again";
  EXPECT_TRUE(record(url).state.identity.withdrawn.empty());
}

// WEBSUB H1
TEST_F(WebSubTest, PushesProvenAgainByANewSubscriptionAreReportedOnce) {
  const std::string url = subscribed_feed();
  int post = 10;
  const auto prove = [&] {
    for (int i = 0; i < 3; ++i) push_and_wait(url, atom({{std::to_string(++post), "one more"}}));
    EXPECT_TRUE(becomes([&] { return record(url).state.push.standing.state == "healthy"; }));
  };
  const auto told = [&](const std::string& state) {
    const auto notices = Notifications(store).list(std::string(operator_user));
    EXPECT_TRUE(notices);
    return std::ranges::count_if(*notices, [&](const auto& notice) {
      return notice.json.find("\"state\":\"" + state + "\"") != std::string::npos;
    });
  };
  prove();
  EXPECT_EQ(told("healthy"), 0) << "nobody had heard that they are not";
  for (int times = 1; times <= 2; ++times) {
    ASSERT_TRUE(Pushes(store).settle({url, PushSettlement::How::lost, 0ms, "", "its lease is over", "", ""}));
    ASSERT_TRUE(becomes([&] { return record(url).state.push.standing.state == "unproven"; }));
    EXPECT_EQ(told("healthy"), times - 1);
    prove();
    EXPECT_TRUE(becomes([&] { return told("healthy") == times; })) << told("healthy");
    push_and_wait(url, atom({{std::to_string(++post), "one more"}}));
    EXPECT_EQ(told("healthy"), times);
    EXPECT_EQ(metric("feedmill_websub_turns_total{state=\"healthy\"}"), std::to_string(1 + times));
  }
}

TEST_F(WebSubTest, BadSignaturesAreIgnoredAndCounted) {
  const std::string url = subscribed_feed();
  const std::string callback = callback_of(url), body = atom({{"2", "forged"}});
  const FeedRecord before = record(url);
  EXPECT_EQ(deliver(callback, body).status, 202);
  EXPECT_EQ(deliver(callback, body, {{"X-Hub-Signature", "sha256=" + std::string(64, '0')}}).status, 202);
  EXPECT_EQ(deliver(callback, body, {{"X-Hub-Signature", hub_signature("sha256", "other", body)}}).status, 202);
  const std::string right = hub_signature("sha256", secret_of(url), body);
  EXPECT_EQ(deliver(callback, body, {{"X-Hub-Signature", right}, {"X-Hub-Signature", right}}).status, 202);
  EXPECT_EQ(metric("feedmill_websub_deliveries_total{result=\"bad_signature\"}"), "4");
  EXPECT_EQ(record(url).due, before.due);
  EXPECT_EQ(record(url).state, before.state);
  push_and_wait(url, atom({{"3", "marker"}}));
  EXPECT_EQ(title(url, "2"), "(none)");
}

TEST_F(WebSubTest, ASha1SignatureIsAHint) {
  const std::string url = subscribed_feed();
  push(url, atom({{"2", "second"}}), "sha1");
  EXPECT_LE(*record(url).due, *store.now());
  EXPECT_EQ(title(url, "2"), "(none)");
  EXPECT_EQ(metric("feedmill_websub_deliveries_total{result=\"thin\"}"), "1");
}

TEST_F(WebSubTest, AllStrongMethodsCarryContent) {
  const std::string url = subscribed_feed();
  int id = 10;
  for (const char* method : {"sha256", "sha384", "sha512"}) {
    const auto last = EventStream(store).last_id();
    push(url, atom({{std::to_string(++id), method}}), method);
    await_signal(*last);
    EXPECT_EQ(title(url, std::to_string(id)), method);
  }
}

TEST_F(WebSubTest, WhatCannotBeReadIsAHint) {
  const std::string url = subscribed_feed();
  for (const std::string body : {"<html><body>ping</body></html>", "nothing", "\x1f\x8b broken"}) {
    push(url, body);
    EXPECT_TRUE(becomes([&] { return *record(url).due <= *store.now() && record(url).claim.empty(); })) << body;
    refresh(url);
  }
}

TEST_F(WebSubTest, APushForAFeedBeingFetchedIsFetchedForAfterIt) {
  const std::string url = subscribed_feed();
  const Claim claimed = claim(url);
  push(url, atom({{"2", "second"}}));
  EXPECT_TRUE(becomes([&] { return redis_command(redis, {"HGET", "state:feed:" + url, "push_wake"}) != "(nil)"; }));
  EXPECT_EQ(title(url, "2"), "(none)");
  refresh(claimed);
  EXPECT_LE(*record(url).due, *store.now() + 61s);
  EXPECT_EQ(record(url).state.due.reason, "websub_push");
}

TEST_F(WebSubTest, ContentGoesToTheFeedOfThePathWhateverItClaims) {
  const std::string url = subscribed_feed("/mine"), victim = subscribed_feed("/victim", {{"v", "of the victim"}});
  const FeedRecord before = record(victim);
  push_and_wait(url, atom({{"v", "taken over", "2030-01-01T00:00:00Z"}}, hub_links(victim)));
  EXPECT_EQ(title(victim, "v"), "of the victim");
  EXPECT_EQ(record(victim).state, before.state);
  EXPECT_EQ(title(url, "v"), "taken over");
}

TEST_F(WebSubTest, UnknownPathsAllLookTheSame) {
  const std::string url = subscribed_feed();
  const std::string base = "http://127.0.0.1:" + std::to_string(port), callback = callback_of(url);
  const std::string unknown = base + "/w/" + std::string(26, 'a');
  const HttpAnswer model = ask({.url = unknown});
  EXPECT_EQ(model.status, 404);
  const auto question = "?hub.mode=subscribe&hub.challenge=x&hub.topic=" + percent_encoded(url);
  for (const std::string& target : {base + "/", unknown + question, callback, callback + question, callback + "?x=y",
                                    base + "/w/", base + "/w/../w", base + "/etc/passwd"}) {
    const HttpAnswer answer = ask({.url = target});
    EXPECT_EQ(answer.head + answer.body, model.head + model.body) << target;
  }
  for (const std::string& target : {base + "/", unknown, callback + "?a=b"}) {
    const HttpAnswer answer = deliver(target, "x");
    EXPECT_EQ(answer.head + answer.body, model.head + model.body) << target;
  }
  const HttpAnswer put = ask({.method = "PUT", .url = unknown, .body = "x"});
  const HttpAnswer put_ours = ask({.method = "PUT", .url = callback, .body = "x"});
  EXPECT_EQ(put.status, 405);
  EXPECT_EQ(put.head + put.body, put_ours.head + put_ours.body);
  EXPECT_EQ(ask({.method = "HEAD", .url = callback}).status, 405);
}

TEST_F(WebSubTest, OversizedAndSlowRequestsAreRejected) {
  const std::string url = subscribed_feed();
  const std::string target = callback_of(url).substr(("http://127.0.0.1:" + std::to_string(port)).size());
  EXPECT_EQ(deliver(callback_of(url), std::string((4U << 20U) + 1, 'x')).status, 413);
  std::string fields;
  for (int i = 0; i < 101; ++i) fields += "X-" + std::to_string(i) + ": y\r\n";
  const auto status = [](const std::string& reply) { return reply.substr(0, std::string("HTTP/1.1 431").size()); };
  EXPECT_EQ(
      status(ask_raw(port, "POST " + target + " HTTP/1.1\r\nHost: x\r\n" + fields + "Content-Length: 0\r\n\r\n").head),
      "HTTP/1.1 431");
  EXPECT_EQ(status(ask_raw(port, "GET / HTTP/1.1\r\nX: " + std::string(70'000, 'y') + "\r\n\r\n").head),
            "HTTP/1.1 431");
  EXPECT_EQ(status(ask_raw(port, "nonsense\r\n\r\n").head), "HTTP/1.1 400");
  // Requests that never end: closed without an answer at the time limit.
  EXPECT_EQ(ask_raw(port, "POST " + target + " HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc").status, 0);
  EXPECT_EQ(ask_raw(port, "POST " + target + " HT").status, 0);
  EXPECT_EQ(
      ask_raw(port, "POST " + target + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n").status,
      0);
}

// SECURITY M4
TEST_F(WebSubTest, BodiesThatDoNotComeReserveAQuarterOfTheMemory) {
  const std::string callback = callback_of(subscribed_feed());
  const std::string target = callback.substr(("http://127.0.0.1:" + std::to_string(port)).size());
  const std::string announced = "POST " + target + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n";
  boost::asio::io_context io;
  std::vector<boost::asio::ip::tcp::socket> hubs;
  for (int i = 0; i < 20; ++i) {
    hubs.emplace_back(io).connect({boost::asio::ip::address_v4::loopback(), port});
    boost::asio::write(hubs.back(), boost::asio::buffer(announced));
  }
  EXPECT_EQ(ask_raw(port, announced).status, 503);
  EXPECT_GT(memory.used(), memory.total() / 5);
  EXPECT_LE(memory.used(), memory.total() / 4 + (1U << 20U));
  hubs.clear();
  EXPECT_TRUE(eventually([&] { return deliver(callback, "x").status == 202; }));
}

TEST_F(WebSubTest, WhatCannotBeStoredIsNotAccepted) {
  const std::string url = subscribed_feed();
  const std::string callback = callback_of(url);
  redis.kill();
  const HttpAnswer answer = deliver(callback, "x");
  EXPECT_EQ(answer.status, 503);
  EXPECT_NE(answer.header("Retry-After"), "");
  const HttpAnswer question =
      ask({.url = callback + "?hub.mode=subscribe&hub.challenge=x&hub.topic=" + percent_encoded(url)});
  EXPECT_EQ(question.status, 503);
  redis.start();
  EXPECT_TRUE(becomes([&] { return deliver(callback, "x").status == 404; }));  // the new server has no data
}

TEST_F(WebSubTest, AHubThatMovesIsAskedAgainWhereItIs) {
  for (const int status : {307, 308}) {
    const std::string path = "/old" + std::to_string(status), feed = "/feed" + std::to_string(status);
    std::mutex mutex;
    std::string first;
    hub_server.serve(path, [&](const ServedRequest& request) {
      const std::lock_guard lock(mutex);
      first = request.body;
      return Response{.status = status, .headers = {{"Location", "/hub"}}};
    });
    const std::string url = publisher.url(feed);
    add_feed(feed, {{"1", "first"}}, hub_links(url, hub_server.url(path)));
    if (!websub) start();
    ASSERT_TRUE(hub.await_subscribers(url, 1)) << status;
    const std::lock_guard lock(mutex);
    EXPECT_EQ(hub.requests().back().request.body, first);
    EXPECT_TRUE(becomes([&] {
      const std::string hash = record(url).state.push.standing.subscription;
      const std::string expected = status == 308 ? hub.url() : hub_server.url(path);
      return (*Pushes(store).find(std::span(&hash, 1)).front())->hub_url == expected;
    }));
  }
}

TEST_F(WebSubTest, AHubThatRefusesFailsAndTheReasonIsKept) {
  hub.behave({.status = 403, .body = "not\nyou"});
  const std::string url = publisher.url("/feed");
  add_feed("/feed", {{"1", "first"}}, hub_links(url));
  start();
  EXPECT_TRUE(becomes([&] { return record(url).state.push.standing.state == "failed"; }));
  EXPECT_EQ(record(url).state.push.standing.note, "answered 403: not you");
  EXPECT_TRUE(becomes([&] { return !Notifications(store).list(std::string(operator_user))->empty(); }));
  EXPECT_EQ(hub.requests().size(), 1U);
}

TEST_F(WebSubTest, WhatAHubRepeatsOfASecretIsNotKept) {
  std::mutex mutex;
  std::string sent;
  hub_server.serve("/echo", [&](const ServedRequest& request) {
    const std::lock_guard lock(mutex);
    sent = request.body;
    return Response{.status = 400, .body = "cannot do " + request.body};
  });
  const std::string url = publisher.url("/feed");
  add_feed("/feed", {{"1", "first"}}, hub_links(url, hub_server.url("/echo")));
  start();
  ASSERT_TRUE(becomes([&] { return record(url).state.push.standing.state == "failed"; }));
  const std::lock_guard lock(mutex);
  std::string token, secret;
  for (const auto& [name, value] : form_fields(sent)) {
    if (name == "hub.callback") token = value.substr(value.rfind('/') + 1);
    if (name == "hub.secret") secret = value;
  }
  ASSERT_EQ(token.size(), 26U);
  ASSERT_EQ(secret.size(), 64U);
  const std::string note = record(url).state.push.standing.note;
  EXPECT_NE(note.find("answered 400: cannot do"), std::string::npos);
  EXPECT_EQ(note.find(token), std::string::npos);
  EXPECT_EQ(note.find(secret), std::string::npos);
}

TEST_F(WebSubTest, ADenialIsHeeded) {
  hub.behave({.denies = "no such feed here"});
  const std::string url = publisher.url("/feed");
  add_feed("/feed", {{"1", "first"}}, hub_links(url));
  start();
  ASSERT_TRUE(hub.await_requests(1));
  EXPECT_EQ(record(url).state.push.standing.state, "denied");
  EXPECT_EQ(record(url).state.push.standing.note, "no such feed here");
  EXPECT_EQ(hub.verifications().at(0).status, 200);
}

TEST_F(WebSubTest, WhatADenialRepeatsOfASecretIsNotKept) {
  const std::string url = subscribed_feed();
  const std::string callback = callback_of(url), token = callback.substr(callback.rfind('/') + 1);
  const std::string reason = "not for " + secret_of(url) + " at " + token + ", password=12345";
  const HttpAnswer answer =
      WebSubHub::verify(callback, {{"hub.mode", "denied"}, {"hub.topic", url}, {"hub.reason", reason}});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(record(url).state.push.standing.note, "not for <redacted> at <redacted>, password=<redacted>");
  const auto notices = Notifications(store).list(std::string(operator_user));
  ASSERT_TRUE(notices);
  ASSERT_FALSE(notices->empty());
  EXPECT_NE(notices->front().json.find("not for <redacted>"), std::string::npos);
  EXPECT_EQ(metric("feedmill_websub_turns_total{state=\"denied\"}"), "1");
}

TEST_F(WebSubTest, RequestsAboveTheRateAreRejectedForAWhile) {
  start(0, 3);  // the verification is one of these
  const std::string url = subscribed_feed();
  const std::string callback = callback_of(url);
  EXPECT_EQ(deliver(callback, "x").status, 202);
  // Unknown paths cost nothing and do not count.
  for (int i = 0; i < 5; ++i) EXPECT_EQ(deliver("http://127.0.0.1:" + std::to_string(port) + "/w/", "x").status, 404);
  EXPECT_EQ(deliver("http://127.0.0.1:" + std::to_string(port) + "/w/" + std::string(26, 'a'), "x").status, 404);
  for (const std::string& path : {callback, callback.substr(0, callback.size() - 26) + std::string(26, 'a')}) {
    const HttpAnswer answer = deliver(path, "x");
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.header("Retry-After"), "10");
  }
  EXPECT_EQ(metric("feedmill_websub_deliveries_total{result=\"limited\"}"), "2");
}

TEST_F(WebSubTest, VerificationsOfSomethingElseAreRefused) {
  hub.behave({.topic = "https://else.example/"});
  const std::string url = publisher.url("/feed");
  add_feed("/feed", {{"1", "first"}}, hub_links(url));
  start();
  ASSERT_TRUE(hub.await_requests(1));
  EXPECT_EQ(hub.verifications().at(0).status, 404);
  EXPECT_EQ(record(url).state.push.standing.state, "pending");
  EXPECT_EQ(metric("feedmill_websub_verifications_total{result=\"refused\"}"), "1");
}

TEST_F(WebSubTest, RemovingAFeedUnsubscribes) {
  const std::string url = subscribed_feed();
  const std::string callback = callback_of(url);
  ASSERT_TRUE(*Feeds(store).remove(url));
  EXPECT_TRUE(hub.await_subscribers(url, 0));
  EXPECT_TRUE(hub.await_requests(2));
  EXPECT_EQ(hub.requests().back().mode, "unsubscribe");
  EXPECT_EQ(deliver(callback, "x").status, 410);
}

TEST_F(WebSubTest, SwitchingItOffForAFeedUnsubscribes) {
  const std::string url = subscribed_feed();
  ASSERT_EQ(*Feeds(store).change_settings(url, "", R"({"websub":"off"})"), SettingsChange::done);
  refresh(url);
  EXPECT_TRUE(hub.await_requests(2));
  EXPECT_EQ(hub.requests().back().mode, "unsubscribe");
  EXPECT_EQ(record(url).state.push.standing.state, "");
}

TEST_F(WebSubTest, StoppingAnswersCallbacksForAWhileAndWritesAcceptedPushes) {
  const std::string url = subscribed_feed();
  asio::post(loop, [this] { websub->stop(); });
  push_and_wait(url, atom({{"2", "second"}}));
  EXPECT_EQ(title(url, "2"), "second");
}

}  // namespace
}  // namespace feedmill::test::websub_test
