// The API on its own port over a real Redis, with a worker that executes requests.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "storage/feeds/feeds.hpp"
#include "tests/support/http_ask.hpp"
#include "tests/support/redis_server.hpp"
#include "worker/api/api.hpp"
#include "worker/listener/listener.hpp"
#include "worker/operations/request_work.hpp"
#include "worker/process/run_options.hpp"

namespace feedmill::test {

inline constexpr std::string_view asking_token = "asking-token-0123456789", reading_token = "reading-token-012345678";

/// One API call.
struct ApiTalk {
  std::string method = "GET", target, body{};
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string token{asking_token};
};

class ServedApi {
 public:
  /// Allows discovery at loopback addresses, where tests serve sites. `patience`: time limit of a discovery.
  ServedApi(const RedisServer& redis, Api::Options options = {},
            std::chrono::milliseconds patience = std::chrono::seconds(20)) {
    Config config = *load_config(ConfigSources());
    Config open = config;
    open.egress.allow = {"127.0.0.0/8:1024-65535"};
    open.host.spacing = {};
    looks.emplace(Looks::Options{.probe = probe_options(open), .patience = patience}, memory);
    config.api_tokens["app"] = {.file = {}, .asks = true, .token = std::string(asking_token)};
    config.api_tokens["reader"] = {.file = {}, .asks = false, .token = std::string(reading_token)};
    options.store.url = redis.url();
    api = std::make_unique<Api>(
        loop_.get_executor(), options, config, *looks, memory, [](bool) {},
        [](const char* what) { ADD_FAILURE() << what; });
    const boost::asio::ip::tcp::endpoint any(boost::asio::ip::address_v4::loopback(), 0);
    listener_ = *Listener::open(loop_.get_executor(), any, "here");
    Listener::Host host;
    host.answer = [this](Visit& visit) { return api->answer(visit); };
    host.bug = [](const char* what) { ADD_FAILURE() << what; };
    boost::asio::co_spawn(loop_, listener_->serve({}, {}, std::move(host)),
                          boost::asio::bind_cancellation_slot(cancel_.slot(), [](const std::exception_ptr&) {}));
    serving_ = std::thread([this] { loop_.run(); });
    working_ = std::thread([this, url = redis.url(), open] { work(url, open); });
  }
  ~ServedApi() {
    ending_ = true;
    working_.join();
    boost::asio::post(loop_, [this] { cancel_.emit(boost::asio::cancellation_type::all); });
    serving_.join();
  }
  ServedApi(const ServedApi&) = delete;
  ServedApi& operator=(const ServedApi&) = delete;

  std::uint16_t port() const { return listener_->endpoint().port(); }

  HttpAnswer call(const ApiTalk& talk) const {
    HttpAsk asked{talk.method, "http://127.0.0.1:" + std::to_string(port()) + talk.target, talk.headers, talk.body};
    if (!talk.token.empty()) asked.headers.emplace_back("Authorization", "Bearer " + talk.token);
    const auto says_type = [](const auto& header) { return header.first == "Content-Type"; };
    if (!talk.body.empty() && std::none_of(asked.headers.begin(), asked.headers.end(), says_type)) {
      asked.headers.emplace_back("Content-Type", "application/json");
    }
    return ask(asked);
  }
  HttpAnswer get(const std::string& path) const { return call({"GET", "/api/v1" + path}); }
  HttpAnswer post(const std::string& path, const std::string& body) const {
    return call({"POST", "/api/v1" + path, body});
  }

  /// Applies a configuration as a reload does, on the loop's thread.
  void set_config(const Config& config) {
    boost::asio::post(loop_, boost::asio::use_future([this, config] { api->set_config(config); })).get();
  }

  MemoryBudget memory{std::uint64_t{1} << 30U};
  std::optional<Looks> looks;
  std::unique_ptr<Api> api;
  std::atomic<bool> resting = false;  ///< the worker takes no requests

 private:
  void work(const std::string& url, const Config& config) {
    Requests::Options options;
    options.token = std::string(32, 'a');
    RequestWork work(StoreOptions{.url = url}, options);
    const RequestRules rules = request_rules(config);
    while (!ending_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(resting ? 10 : 1));
      const auto step = resting ? StoreResult<RequestStep>(RequestStep{}) : work.step(rules);
      if (!step) continue;
      for (const SoughtPage& page : step->pages) {
        Probe probe(probe_options(config));
        Discovery discovery;
        discover(probe, page.url, discovery);
        work.found(page.request, found_page(discovery, true));
      }
    }
  }

  boost::asio::io_context loop_{1};
  boost::asio::cancellation_signal cancel_;
  std::unique_ptr<Listener> listener_;
  std::atomic<bool> ending_ = false;
  std::thread serving_, working_;
};

inline boost::json::object object_of(const HttpAnswer& answer) {
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse(answer.body, error);
  return value.is_object() ? value.as_object() : boost::json::object();
}

/// Status with the reason, result or state: "200 added", "404 no_such_feed", "200".
inline std::string outcome(const HttpAnswer& answer) {
  const boost::json::object object = object_of(answer);
  for (const char* name : {"reason", "result", "state"}) {
    const boost::json::value* const found = object.if_contains(name);
    if (found != nullptr && found->is_string() && !object.contains("entries")) {
      return std::to_string(answer.status) + " " + std::string(found->as_string());
    }
  }
  return std::to_string(answer.status);
}

/// The API over a store that starts empty, without limits for its tokens.
class ServedApiTest : public testing::Test {
 protected:
  ServedApiTest() {
    EXPECT_TRUE(store.open());
    Api::Options options;
    options.burst = 1e9;
    served = std::make_unique<ServedApi>(redis, options);
  }

  std::string command(const std::vector<std::string>& words) { return redis_command(redis, words); }

  static std::string url(int number) { return "https://example.org/" + std::to_string(number); }

  void add(int from, int to) {
    std::vector<NewFeed> feeds;
    for (int i = from; i < to; ++i) feeds.push_back({.feed_url = url(i), .after = std::chrono::hours(1)});
    ASSERT_TRUE(Feeds(store).add(feeds));
  }

  RedisServer redis;
  Store store{StoreOptions{.url = redis.url()}};
  std::unique_ptr<ServedApi> served;
};

}  // namespace feedmill::test
