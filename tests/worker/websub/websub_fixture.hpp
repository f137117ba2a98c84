// A worker's WebSub parts with a real hub, a real store and real feeds.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "storage/entries/entries.hpp"
#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/ingest/ingest.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/dates.hpp"
#include "tests/support/dns_server.hpp"
#include "tests/support/free_port.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/websub_hub.hpp"
#include "worker/websub/callbacks.hpp"
#include "worker/websub/websub.hpp"

namespace feedmill::test {

namespace asio = boost::asio;
using namespace std::chrono_literals;

struct Post {
  std::string id, title;
  std::string updated = days_ago(6);
};

inline std::string atom(const std::vector<Post>& posts, const std::string& links = "") {
  std::string text = R"(<feed xmlns="http://www.w3.org/2005/Atom"><title>A feed</title>)" + links;
  for (const Post& post : posts) {
    text += "<entry><id>" + post.id + "</id><title>" + post.title + "</title><updated>" + post.updated +
            "</updated><link href=\"https://example.org/" + post.id + "\"/></entry>";
  }
  return text + "</feed>";
}

/// A worker's WebSub parts with a publisher, a hub and a store, all real.
class WebSubTest : public testing::Test {
 protected:
  WebSubTest() : store(StoreOptions{.url = redis.url()}) {
    const auto opened = store.open();
    EXPECT_TRUE(opened) << opened.error().detail;
  }
  ~WebSubTest() override {
    if (websub) asio::post(loop, [this] { websub->hurry(); });
    if (runner.joinable()) {
      running.wait();
      asio::post(loop, [this] { work.reset(); });
      runner.join();
    }
    threads.pool().join();
  }

  void start(std::size_t per_second = 1'000'000, std::size_t burst = 1'000'000) {
    WebSub::Options options;
    CallbackListener::Options at;
    at.listen = {asio::ip::address_v4::loopback(), port};
    at.limits.head_time = 2000ms;
    at.limits.body_time = 2000ms;
    at.per_second = per_second;
    at.burst = burst;
    options.intake.worker = std::string(32, 'b');
    options.subscriber.public_url = "http://127.0.0.1:" + std::to_string(port);
    options.subscriber.spacing = 0ms;
    options.subscriber.poll = 20ms;
    if (configure) configure(options);
    websub.emplace(loop.get_executor(), StoreOptions{.url = redis.url(), .timeout = 1s}, options,
                   WebSub::Parts{refresher, threads, fetcher, pool, memory, metrics, log});
    ByPartition<Callbacks> callbacks;
    callbacks.add({}, *websub->callbacks());
    auto opened = CallbackListener::open(loop.get_executor(), at, {callbacks, metrics, log});
    ASSERT_TRUE(opened) << opened.error().detail;
    listener = std::move(*opened);
    running = asio::co_spawn(loop, serve(), asio::use_future);
    runner = std::thread([this] { loop.run(); });
  }

  asio::awaitable<void> serve() {
    using namespace asio::experimental::awaitable_operators;
    co_await (websub->run() || listener->serve());
  }

  static PolicyOptions policy() {
    PolicyOptions options;
    options.push.on = true;
    return options;
  }
  static RefreshOptions refresh_options() {
    RefreshOptions options;
    options.policy = policy();
    options.host = {64, Milliseconds(0)};
    return options;
  }
  FetchOptions fetch_options() {
    FetchOptions options;
    options.egress = *EgressPolicy::parse(std::vector<std::string>{"127.0.0.0/8:1024-65535"}, {}, {});
    options.ca_bundle = authority.file();
    options.resolver.servers = names.address();
    return options;
  }

  std::string hub_links(const std::string& topic, const std::string& at = "") const {
    return "<link rel=\"hub\" href=\"" + (at.empty() ? hub.url() : at) + "\"/><link rel=\"self\" href=\"" + topic +
           "\"/>";
  }
  /// Adds the feed at `path`, reads it once, and returns its URL.
  std::string add_feed(const std::string& path, const std::vector<Post>& posts, const std::string& links) {
    const std::string url = publisher.url(path);
    publisher.serve(
        path,
        Response{.headers = {{"Content-Type", "application/atom+xml"}}, .body = atom(posts, links), .etag = "\"1\""});
    EXPECT_TRUE(Feeds(store).add(std::vector{NewFeed{.feed_url = url}}));
    refresh(url);
    return url;
  }
  /// Adds a feed and subscribes it at the hub, with its own URL as the topic; returns the URL.
  std::string subscribed_feed(const std::string& path = "/feed", const std::vector<Post>& posts = {{"1", "first"}}) {
    const std::string url = publisher.url(path);
    EXPECT_EQ(add_feed(path, posts, hub_links(url)), url);
    if (!websub) start();
    EXPECT_TRUE(hub.await_subscribers(url, 1));
    return url;
  }

  Claim claim(const std::string& url) {
    ClaimRequest request;
    request.worker = std::string(32, 'a');
    request.request = ++claims;
    request.host = {64, Milliseconds(0)};
    request.only = {url};
    auto batch = Ingest(store).claim(request);
    EXPECT_TRUE(batch && batch->claims.size() == 1) << url;
    return batch && !batch->claims.empty() ? batch->claims.front() : Claim();
  }
  Report refresh(const std::string& url) { return refresh(claim(url)); }
  Report refresh(const Claim& claimed) {
    std::future<Report> done = asio::co_spawn(loop, refresher.refresh(claimed), asio::use_future);
    if (runner.joinable()) return done.get();
    while (done.wait_for(0s) != std::future_status::ready) loop.run_one();
    return done.get();
  }

  FeedRecord record(const std::string& url) { return *Feeds(store).records(std::span(&url, 1))->front(); }
  std::string title(const std::string& url, const std::string& guid) {
    const auto entry = Entries(store).get_by_guid(url, guid);
    EXPECT_TRUE(entry);
    return *entry ? (*entry)->get("title") : "(none)";
  }
  std::size_t signals() { return EventStream(store).read("0", 100'000, Milliseconds(0))->size(); }
  /// Waits for the next event after id `after`.
  void await_signal(const std::string& after) {
    for (int i = 0; i < 30; ++i) {
      const auto more = EventStream(store).read(after, 1, 1000ms);
      ASSERT_TRUE(more);
      if (!more->empty()) return;
    }
    FAIL() << "nothing was written";
  }
  /// Waits until the condition holds, for changes of the store without an event.
  template <class Condition>
  bool becomes(Condition condition) {
    const auto until = std::chrono::steady_clock::now() + 30s;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(2ms);
    }
    return true;
  }
  std::vector<HttpAnswer> push(const std::string& url, const std::string& body, std::string_view method = "sha256") {
    return hub.publish(url, body, "application/atom+xml", method);
  }
  /// Pushes content and waits for the event of storing it.
  void push_and_wait(const std::string& url, const std::string& body) {
    const auto last = EventStream(store).last_id();
    for (const HttpAnswer& answer : push(url, body)) EXPECT_EQ(answer.status, 202);
    await_signal(*last);
  }
  HttpAnswer deliver(const std::string& callback, const std::string& body,
                     std::vector<std::pair<std::string, std::string>> headers = {}) {
    return ask({.method = "POST", .url = callback, .headers = std::move(headers), .body = body});
  }
  std::string callback_of(const std::string& topic) { return hub.subscribers(topic).at(0).callback; }
  std::string secret_of(const std::string& topic) { return hub.subscribers(topic).at(0).secret; }
  std::string metric(const std::string& line) {
    const std::string text = metrics.text();
    const auto at = text.find("\n" + line + " ");
    return at == std::string::npos ? ""
                                   : text.substr(at + line.size() + 2, text.find('\n', at + 1) - at - line.size() - 2);
  }

  RedisServer redis;
  DnsServer names;  ///< serves all host names
  Authority authority;
  HttpServer publisher;
  HttpServer hub_server{authority.issue({.names = {"IP:127.0.0.1"}})};
  WebSubHub hub{hub_server};
  Store store;
  std::uint16_t port = free_port();
  asio::io_context loop{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{loop.get_executor()};
  Metrics metrics{{"test", "test", ""}};
  int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  Log log{{.level = LogLevel::info, .format = LogFormat::json, .worker = "", .fd = nowhere}};
  StorePool pool{loop.get_executor(), StoreOptions{.url = redis.url()}, 2};
  MemoryBudget memory{512U << 20U};
  ReadingThreads threads{2, memory};
  Fetcher fetcher{loop.get_executor(), fetch_options()};
  Refresher refresher{fetcher, threads,           pool,
                      memory,  refresh_options(), [](const StoreResult<Committed>&, std::chrono::duration<double>) {}};
  std::function<void(WebSub::Options&)> configure;  ///< changes the options in start()
  std::optional<WebSub> websub;
  std::unique_ptr<CallbackListener> listener;
  std::future<void> running;
  std::thread runner;
  std::uint64_t claims = 0;
};

}  // namespace feedmill::test
