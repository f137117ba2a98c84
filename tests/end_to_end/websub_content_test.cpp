// Deliveries from authorised senders, against the program: their content stays within their feed, and neither their
// form nor their number harms others (WEBSUB §6; SECURITY W1, W6).
#include <algorithm>
#include <set>
#include <string_view>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/end_to_end/push_world.hpp"
#include "tests/support/coders.hpp"
#include "tests/support/dates.hpp"
#include "tests/support/hostile_server.hpp"
#include "tests/support/sanitized.hpp"

namespace feedmill::test::websub_content_test {
namespace {

using Headers = PushWorld::Headers;

class GenuineDeliveries : public testing::Test {
 protected:
  PushWorld world;
};

TEST_F(GenuineDeliveries, AreTheContentOfTheirFeedOnly) {
  const std::string url = world.subscribed_feed(), victim = world.subscribed_feed("/victim", {{"v", "of the victim"}});
  const HubSubscriber to = world.subscriber(url);
  const std::string victim_before = world.redis_text({"HGETALL", "state:feed:" + victim});
  int marker = 0;
  /// Sends a delivery and waits until its effects are done.
  const auto push = [&](const std::string& body, Headers headers) {
    headers.emplace_back("X-Hub-Signature", hub_signature("sha256", to.secret, body));
    EXPECT_EQ(PushWorld::deliver(to.callback, body, std::move(headers)).status, 202);
    EXPECT_TRUE(world.push_and_wait(url, {"marker " + std::to_string(++marker), "marker"}));
  };
  const std::size_t asked = world.http.requests().size();
  // Links (in the header and the body) and a guid of another feed; a future date; scripts.
  push(atom({{"v", "taken over", "2030-01-01T00:00:00Z"}}, world.hub_links(victim)),
       {{"Link", "<" + victim + ">; rel=\"self\""}, {"Content-Type", "application/atom+xml"}});
  EXPECT_EQ(world.title(victim, "v"), "of the victim");
  EXPECT_EQ(world.redis_text({"HGETALL", "state:feed:" + victim}), victim_before);
  push(atom({{"future", "to come", "2999-01-01T00:00:00Z"}}), {});
  EXPECT_EQ(world.title(url, "future"), "to come");
  const std::string future = world.redis_text({"HGET", url + ":guidmap", "future"});
  EXPECT_LE(std::stoll(world.redis_text({"ZSCORE", url + ":sort", future})), std::stoll(world.redis_text({"TIME"})));
  push(atom({{"script", "harmless", days_ago(6),
              "<p onclick=\"evil()\">Text<script>evil()</script><img src=\"javascript:evil()\"></p>"}}),
       {});
  const std::string number = world.redis_text({"HGET", url + ":guidmap", "script"});
  const std::string stored = world.redis_text({"HGETALL", number});
  EXPECT_NE(stored.find("Text"), std::string::npos) << stored;
  EXPECT_EQ(stored.find("evil"), std::string::npos) << stored;
  // A wrong content type does not change the format of a feed; no request is made for any of this.
  push(atom({{"typed", "a feed all the same"}}), {{"Content-Type", "image/png"}});
  EXPECT_EQ(world.title(url, "typed"), "a feed all the same");
  push(gzip(atom({{"packed", "unpacked"}})), {{"Content-Encoding", "gzip"}});
  EXPECT_EQ(world.title(url, "packed"), "unpacked");
  EXPECT_EQ(world.http.requests().size(), asked);
  EXPECT_EQ(world.redis_text({"SCARD", "feeds"}), "2");
}

TEST_F(GenuineDeliveries, CountInEveryFigure) {
  const std::string url = world.subscribed_feed();
  const HubSubscriber to = world.subscriber(url);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(world.push_and_wait(url, {"new " + std::to_string(i), "pushed"}));
  ASSERT_TRUE(world.push_and_wait(url, {"new 0", "edited", days_ago(1)}));
  const std::size_t created = world.count("post_created"), modified = world.count("post_modified");
  EXPECT_EQ(created, 21U) << "one came with the first fetch";
  EXPECT_EQ(modified, 1U);
  const PushWorker& worker = world.worker();
  EXPECT_EQ(worker.metric("feedmill_entries_total{action=\"created\"}"), static_cast<std::int64_t>(created));
  EXPECT_EQ(worker.metric("feedmill_entries_total{action=\"modified\"}"), static_cast<std::int64_t>(modified));
  EXPECT_EQ(worker.metric("feedmill_publish_delay_seconds_count"), 20) << "all but the first import";
  boost::json::value status;
  ASSERT_TRUE(eventually([&] {  // responses are cached briefly
    const std::string answer = worker.page("/status.json");
    status = boost::json::parse(answer.substr(answer.find("\r\n\r\n") + 4)).at("worker");
    return status.at("last_1h").at("pushes").to_number<int>() == 21;
  })) << status;
  for (const char* span : {"since_start", "last_10min", "last_1h", "last_24h"}) {
    const boost::json::value& figures = status.at(span);
    EXPECT_EQ(figures.at("entries_created").to_number<std::size_t>(), created) << span;
    EXPECT_EQ(figures.at("entries_modified").to_number<std::size_t>(), modified) << span;
    EXPECT_EQ(figures.at("refreshes").to_number<int>(), 1) << span;
    EXPECT_EQ(figures.at("commits").to_number<std::int64_t>(), worker.metric("feedmill_commits_total{result=\"ok\"}"));
  }
  const boost::json::value& newest = status.at("stretches").as_array().back();
  EXPECT_EQ(newest.at("pushes").to_number<int>(), 21);
  EXPECT_EQ(newest.at("entries_created").to_number<std::size_t>(), created);
  EXPECT_LE(status.at("last_commit_age_seconds").to_number<int>(), 60);
  EXPECT_THAT(worker.page("/status"),
              testing::ContainsRegex(">21</dd><dd class=\"sub\">by this worker in [^<;]+; 21 pushes"));
}

TEST_F(GenuineDeliveries, AreHintsWhereTheyCannotBeRead) {
  const std::vector<std::string> bodies = {"",
                                           "nothing",
                                           "<html><body><script>evil()</script></body></html>",
                                           std::string(1 << 20, '\0'),
                                           "{\"version\": 1",
                                           "\x1f\x8b broken"};
  std::vector<std::string> urls;
  for (std::size_t i = 0; i < bodies.size(); ++i) urls.push_back(world.subscribed_feed("/feed" + std::to_string(i)));
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    EXPECT_EQ(PushWorld::push(world.subscriber(urls[i]), bodies[i]).status, 202) << i;
    // Genuine but unreadable: a hint to poll the origin, which is authoritative.
    EXPECT_TRUE(eventually([&] { return world.http.count("/feed" + std::to_string(i)) == 2; })) << i;
    EXPECT_EQ(world.redis_text({"ZCARD", urls[i] + ":sort"}), "1") << i;
  }
  // Bombs have no effect, and the worker continues. Unknown codings are refused at once.
  const std::set<std::string_view> unknown = {"gzip_in_gzip", "gzip_in_brotli", "gzip_ten_times",
                                              "deflate",      "compress",       "unknown_coding"};
  const std::string url = world.subscribed_feed("/bombed");
  const HubSubscriber to = world.subscriber(url);
  for (const Behaviour& bomb : bombs()) {
    const std::string& body = bomb.response.body;
    Headers headers = bomb.response.headers;
    headers.emplace_back("X-Hub-Signature", hub_signature("sha256", to.secret, body));
    const int answer = unknown.contains(bomb.name) ? 415 : 202;
    EXPECT_EQ(PushWorld::deliver(to.callback, body, std::move(headers)).status, answer) << bomb.name;
  }
  EXPECT_TRUE(world.push_until_written(url, {"2", "after the bombs"}));
  EXPECT_EQ(world.redis_text({"ZCARD", url + ":sort"}), "2");
  // Ten thousand posts at once do no harm.
  const std::string many = world.subscribed_feed("/many");
  std::vector<PushedPost> posts;
  for (int i = 0; i < 10'000; ++i) posts.push_back({"post " + std::to_string(i), "one of many"});
  EXPECT_EQ(PushWorld::push(world.subscriber(many), atom(posts)).status, 202);
  EXPECT_TRUE(eventually([&] { return std::stoul(world.redis_text({"ZCARD", many + ":sort"})) >= 1'000; }));
  EXPECT_LE(std::stoul(world.redis_text({"ZCARD", many + ":sort"})), 10'001U);
  EXPECT_FALSE(world.worker().program().ended());
}

TEST_F(GenuineDeliveries, AreNotWaitedForWithoutEnd) {
  const std::string url = world.subscribed_feed();
  const std::uint16_t port = world.worker().port();
  const std::string post = "POST " + world.target_of(world.subscriber(url).callback) + " HTTP/1.1\r\nHost: x\r\n";
  const auto patience = std::chrono::seconds(60);
  const std::string before = world.everything();
  EXPECT_EQ(ask_raw(port, post + "Content-Length: 4194305\r\n\r\nx").status, 413);
  EXPECT_EQ(PushWorld::deliver(world.subscriber(url).callback, std::string((4U << 20U) + 1, 'x')).status, 413);
  std::string endless = post + "Transfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 80; ++i) endless += "10000\r\n" + std::string(65536, 'x') + "\r\n";
  EXPECT_EQ(ask_raw(port, endless).status, 413);
  std::string fields;
  for (int i = 0; i < 101; ++i) fields += "X-" + std::to_string(i) + ": y\r\n";
  EXPECT_EQ(ask_raw(port, post + fields + "Content-Length: 0\r\n\r\n").status, 431);
  EXPECT_EQ(ask_raw(port, post + "X: " + std::string(70'000, 'y') + "\r\n\r\n").status, 431);
  EXPECT_EQ(ask_raw(port, "nonsense\r\n\r\n").status, 400);
  EXPECT_EQ(ask_raw(port, post + "Content-Length: -1\r\n\r\n").status, 400);
  EXPECT_EQ(ask_raw(port, post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx").status, 400);
  EXPECT_EQ(world.worker().deliveries("limited"), 8);
  // A request that never ends is closed without an answer. Other clients are served at the same time.
  const std::vector<std::string> slow = {"", "POST /w", post, post + "Content-Length: 10\r\n\r\nabc",
                                         post + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"};
  std::vector<HttpAnswer> answers(slow.size());
  {
    std::vector<std::jthread> askers;
    for (std::size_t i = 0; i < slow.size(); ++i) {
      askers.emplace_back([&, i] { answers[i] = ask_raw(port, slow[i], patience); });
    }
    // More connections than are served at once; each ends at its timeout.
    boost::asio::io_context loop;
    std::vector<boost::asio::ip::tcp::socket> idle;
    for (int i = 0; i < 300; ++i) {
      idle.emplace_back(loop).connect({boost::asio::ip::address_v4::loopback(), port});
    }
    EXPECT_EQ(world.everything(), before);
    EXPECT_TRUE(eventually([&] {
      return PushWorld::push(world.subscriber(url), atom({{"2", "second"}})).status == 202;
    }));
    EXPECT_TRUE(eventually([&] { return world.title(url, "2") == "second"; }));
  }
  for (const HttpAnswer& answer : answers) EXPECT_EQ(answer.status, 0) << answer.head;
}

TEST_F(GenuineDeliveries, AsAFloodOfPingsLeadToFewFetches) {
  constexpr std::size_t pings = 5'000;
  const std::string url = world.subscribed_feed();
  const HubSubscriber to = world.subscriber(url);
  PushWorker& worker = world.worker();
  const HttpAsk ping{
      "POST", world.target_of(to.callback), {{"X-Hub-Signature", hub_signature("sha256", to.secret, "")}}};
  ask_often(worker.port(), ping, 100);
  const std::int64_t resident = worker.resident();
  const auto from = std::chrono::steady_clock::now();
  const auto statuses = ask_often(worker.port(), ping, pings - 100);
  EXPECT_EQ(statuses, (std::map<int, std::size_t>{{202, pings - 100}}));
  EXPECT_EQ(worker.deliveries("thin"), static_cast<std::int64_t>(pings));
  EXPECT_TRUE(eventually([&] { return world.http.count("/feed") >= 2; }));
  // The first fetch, a burst of three, then one a minute.
  const auto minutes =
      std::chrono::duration_cast<std::chrono::minutes>(std::chrono::steady_clock::now() - from).count();
  EXPECT_LE(world.http.count("/feed"), static_cast<std::size_t>(4 + minutes + 1));
  if (!is_sanitized) {
    EXPECT_LE(worker.resident(), resident + (16 << 10));
  }
  // The last one was not dropped: the feed will be fetched.
  const std::string due = world.redis_text({"ZSCORE", "schedule", url}), now = world.redis_text({"TIME"});
  EXPECT_LE(std::stoll(due) / 1000, std::stoll(now) + 300);
  EXPECT_EQ(world.signals().size(), 2U);  // from the first fetch
}

TEST_F(GenuineDeliveries, ChangeNothingWhenTheyAreReplayed) {
  constexpr std::size_t times = 1'000;
  const std::string url = world.subscribed_feed();
  const HubSubscriber to = world.subscriber(url);
  const PushedPost second{"2", "second"};
  const std::string body = atom({second});
  world.serve_posts("/feed", {{"1", "first"}, second}, world.hub_links(url));
  ASSERT_TRUE(world.push_and_wait(url, second));
  ASSERT_TRUE(world.push_and_wait(url, {"2", "second, corrected", days_ago(1)}));
  world.serve_posts("/feed", {{"1", "first"}, {"2", "second, corrected", days_ago(1)}}, world.hub_links(url));
  const std::size_t signals = world.signals().size();
  const auto statuses = ask_often(
      world.worker().port(),
      {"POST", world.target_of(to.callback), {{"X-Hub-Signature", hub_signature("sha256", to.secret, body)}}, body},
      times);
  EXPECT_EQ(statuses, (std::map<int, std::size_t>{{202, times}}));
  ASSERT_TRUE(world.push_until_written(url, {"3", "the end"}));
  EXPECT_EQ(world.title(url, "2"), "second, corrected");
  EXPECT_EQ(world.signals().size(), signals + 1);
}

}  // namespace
}  // namespace feedmill::test::websub_content_test
