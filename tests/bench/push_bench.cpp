// The cost of receiving pushes on one loop: deliveries verified and recorded in Redis per second, compared with a loop
// that answers the same requests without processing them; and memory after a flood.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <fcntl.h>

#include "storage/feeds/feeds.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/records/tokens.hpp"
#include "tests/support/dates.hpp"
#include "tests/support/http_server.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/websub_hub.hpp"
#include "worker/websub/callbacks.hpp"
#include "worker/websub/signature.hpp"
#include "worker/websub/websub.hpp"

namespace {

using namespace feedmill;
using namespace boost::asio::experimental::awaitable_operators;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using tcp = asio::ip::tcp;

constexpr int connections = 32, feeds = 64;

struct Load {
  double per_second = 0, p50_ms = 0, p99_ms = 0;
  std::uint64_t accepted = 0, others = 0;
};

/// Sends `requests` in rotation over all connections, `total` in all.
Load send(const tcp::endpoint& to, const std::vector<std::string>& requests, std::size_t total) {
  std::vector<std::vector<double>> times(connections);
  std::atomic<std::size_t> next = 0;
  std::atomic<std::uint64_t> accepted = 0, others = 0;
  const auto from = Clock::now();
  // One thread, so that the loop loses as little CPU as possible.
  asio::io_context client(1);
  const auto talk = [&](std::size_t which) -> asio::awaitable<void> {
    const auto quietly = asio::as_tuple(asio::use_awaitable);
    tcp::socket socket(client);
    co_await socket.async_connect(to, asio::use_awaitable);
    std::string reply;
    for (std::size_t i = next++; i < total; i = next++) {
      const std::string& request = requests[i % requests.size()];
      const auto sent = Clock::now();
      const auto [unsent, bytes] = co_await asio::async_write(socket, asio::buffer(request), quietly);
      const auto [unread, head] =
          co_await asio::async_read_until(socket, asio::dynamic_buffer(reply), "\r\n\r\n", quietly);
      times[which].push_back(std::chrono::duration<double, std::milli>(Clock::now() - sent).count());
      ++(!unread && reply.starts_with("HTTP/1.1 202") ? accepted : others);
      if (unsent || unread || !reply.starts_with("HTTP/1.1 202")) {  // the server closes the connection
        socket = tcp::socket(client);
        co_await socket.async_connect(to, asio::use_awaitable);
        reply.clear();
      } else {
        reply.erase(0, head);
      }
    }
  };
  for (std::size_t i = 0; i < connections; ++i) {
    asio::co_spawn(client, talk(i), [](const std::exception_ptr& error) {
      if (error) std::rethrow_exception(error);
    });
  }
  client.run();
  const double took = std::chrono::duration<double>(Clock::now() - from).count();
  std::vector<double> all;
  for (const auto& some : times) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  return {static_cast<double>(all.size()) / took, all[all.size() / 2], all[all.size() * 99 / 100], accepted, others};
}

/// Reads requests and answers 202.
asio::awaitable<HttpReply> answer_blindly(Visit& visit) {
  co_await visit.read_body();
  co_return HttpReply(boost::beast::http::status::accepted, 11);
}

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * 4096;
}

std::string document(std::size_t bytes, int guid) {
  std::string text = R"(<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><entry><id>)" + std::to_string(guid) +
                     "</id><title>t</title><updated>" + test::days_ago(1) + "</updated><content>";
  const std::string end = "</content></entry></feed>";
  text.append(bytes - std::min(bytes, text.size() + end.size()), 'x');
  return text + end;
}

struct Bench {
  Bench() : store(StoreOptions{.url = redis.url()}) {
    if (!store.open()) std::abort();
    WebSub::Options options;
    CallbackListener::Options at;
    at.listen = {asio::ip::address_v4::loopback(), 0};
    at.per_second = at.burst = 1'000'000'000;  // no rate limit: measures the maximum
    options.intake.worker = std::string(32, 'b');
    options.subscriber.public_url = "http://127.0.0.1";
    websub.emplace(loop.get_executor(), StoreOptions{.url = redis.url()}, options,
                   WebSub::Parts{refresher, threads, fetcher, pool, memory, metrics, log});
    ByPartition<Callbacks> answers;
    answers.add({}, *websub->callbacks());
    callbacks = CallbackListener::open(loop.get_executor(), at, {answers, metrics, log}).value();
    for (int i = 0; i < feeds; ++i) subscribe("http://example.org/" + std::to_string(i));
    blind = Listener::open(loop.get_executor(), {asio::ip::address_v4::loopback(), 0}, "").value();
    running = asio::co_spawn(loop, serve(), asio::use_future);
    Listener::Host host;
    host.answer = answer_blindly;
    host.bug = [](const char*) { std::abort(); };
    asio::co_spawn(loop, blind->serve({connections, connections}, at.limits, host), asio::detached);
    runner = std::thread([this] { loop.run(); });
  }
  asio::awaitable<void> serve() { co_await (websub->run() || callbacks->serve()); }
  ~Bench() {
    asio::post(loop, [this] { websub->hurry(); });
    running.wait();
    loop.stop();
    runner.join();
    threads.pool().join();
  }

  static RefreshOptions refresh_options() {
    RefreshOptions options;
    options.policy.push.on = true;
    return options;
  }

  /// Adds a feed that has been fetched, and its subscription.
  void subscribe(const std::string& url) {
    Feeds(store).add(std::vector{NewFeed{.feed_url = url}});
    ClaimRequest request;
    request.worker = std::string(32, 'a');
    request.request = ++claims;
    request.host = {1000, Milliseconds(0)};
    request.only = {url};
    const Claim claim = Ingest(store).claim(request)->claims.at(0);
    Commit commit;
    commit.feed_url = url;
    commit.claim = claim.id;
    commit.next_due = claim.now + 24h;
    commit.before = commit.state = claim.state;
    commit.state.state = "healthy";
    commit.state.rhythm.imported = commit.state.last.at = claim.now;
    commit.state.push.advert = {url, {"https://hub.example/"}, 0};  // else the worker ends the subscription
    commit.document = true;
    const Commit* const one = &commit;
    if (!Ingest(store).commit(std::span(&one, 1)).front()) std::abort();
    PushRecord record;
    record.token = random_token();
    record.hash = hash_of_token(record.token);
    record.feed_url = record.topic = url;
    record.hub = record.hub_url = "https://hub.example/";
    record.secret = random_secret();
    Pushes pushes(store);
    if (!pushes.begin(record)) std::abort();
    if (!pushes.answer({record.hash, "subscribe", url, 240h, 120h, ""})) std::abort();
    records.push_back(record);
  }

  std::vector<std::string> requests(std::size_t bytes, const char* method, std::size_t of_feeds = feeds) const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < of_feeds; ++i) {
      const std::string body = document(bytes, 1);
      all.push_back("POST /w/" + records[i].token +
                    " HTTP/1.1\r\nHost: x\r\nContent-Type: application/atom+xml\r\nX-Hub-Signature: " +
                    test::hub_signature(method, records[i].secret, body) +
                    "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    }
    return all;
  }

  test::RedisServer redis;
  Store store;
  asio::io_context loop{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{loop.get_executor()};
  Metrics metrics{{"bench", "bench", ""}};
  int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  Log log{{.level = LogLevel::error, .format = LogFormat::json, .worker = "", .fd = nowhere}};
  StorePool pool{loop.get_executor(), StoreOptions{.url = redis.url()}, 2};
  MemoryBudget memory{512U << 20U};
  ReadingThreads threads{1, memory};
  Fetcher fetcher{loop.get_executor(), {}};
  Refresher refresher{fetcher, threads,           pool,
                      memory,  refresh_options(), [](const StoreResult<Committed>&, std::chrono::duration<double>) {}};
  std::optional<WebSub> websub;
  std::unique_ptr<CallbackListener> callbacks;
  std::unique_ptr<Listener> blind;
  std::vector<PushRecord> records;
  std::uint64_t claims = 0;
  std::future<void> running;
  std::thread runner;
};

void print(const char* what, const Load& load) {
  std::printf("%-28s %9.0f /s  p50 %6.2f ms  p99 %6.2f ms  %llu accepted, %llu others\n", what, load.per_second,
              load.p50_ms, load.p99_ms, static_cast<unsigned long long>(load.accepted),
              static_cast<unsigned long long>(load.others));
}

}  // namespace

int main() {
  Bench bench;
  const auto callbacks = bench.callbacks->endpoint(), blind = bench.blind->endpoint();
  for (const auto& [name, bytes, total] : {std::tuple("1 KiB", 1U << 10U, 40'000U), {"50 KiB", 50U << 10U, 8'000U}}) {
    const Load empty = send(blind, bench.requests(bytes, "sha256"), total);
    // Signed with sha1: verified and recorded only. With sha256: also parsed and stored, concurrently.
    const Load hints = send(callbacks, bench.requests(bytes, "sha1"), total);
    const Load content = send(callbacks, bench.requests(bytes, "sha256"), total);
    std::printf("%s bodies, %d connections\n", name, connections);
    print("  empty handler", empty);
    print("  verified and noted", hints);
    print("  and content beside", content);
    std::printf("  of the empty handler         %9.2f and %.2f\n", hints.per_second / empty.per_second,
                content.per_second / empty.per_second);
  }
  const std::uint64_t before = resident_bytes();
  const auto from = Clock::now();
  const Load flood = send(callbacks, bench.requests(1U << 10U, "sha1", 1), 50'000);
  print("flood of one feed", flood);
  const std::string used =
      test::redis_command(bench.redis, {"HGET", "state:feed:" + bench.records[0].feed_url, "push_tat"});
  const double minutes = (std::stod(used) - static_cast<double>(bench.store.now()->count())) / 60'000.0;
  std::printf("  %.1f s; fetches it is worth: %.0f; resident memory grew by %.1f MiB\n",
              std::chrono::duration<double>(Clock::now() - from).count(), std::max(std::ceil(minutes), 1.0),
              (static_cast<double>(resident_bytes()) - static_cast<double>(before)) / (1 << 20));
}
