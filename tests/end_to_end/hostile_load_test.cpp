// Hostile load on every listener of a worker at once: the worker stays within its unit's MemoryMax and continues to
// fetch (SECURITY M6).
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include "storage/feeds/feeds.hpp"
#include "tests/end_to_end/push_world.hpp"
#include "tests/support/deaf_receivers.hpp"
#include "tests/support/free_port.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/temporary_directory.hpp"

namespace feedmill::test::hostile_load_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using boost::asio::ip::tcp;

/// The unit's MemoryMax, in bytes.
std::uint64_t memory_of_unit() {
  std::ifstream file(FEEDMILL_UNIT);
  const std::regex limit("MemoryMax=([0-9]+)([MG])");
  for (std::string line; std::getline(file, line);) {
    std::smatch found;
    if (std::regex_match(line, found, limit)) return std::stoull(found[1]) << (found[2] == "G" ? 30U : 20U);
  }
  return 0;
}

/// Clients from many networks that send text to a port and never read. New clients replace the oldest.
class Flood {
 public:
  /// `say`: client number → the text that client sends. `at_once`: open connections.
  Flood(std::uint16_t port, std::size_t at_once, std::function<std::string(int)> say)
      : port_(port), at_once_(at_once), say_(std::move(say)), thread_([this] { run(); }) {}
  ~Flood() { end(); }
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;

  void end() {
    ended_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int clients() const { return clients_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void run() {
    boost::asio::io_context io;
    std::deque<tcp::socket> open;
    for (int i = 0; !ended_; ++i) {
      boost::system::error_code error;
      tcp::socket socket(io, tcp::v4());
      socket.set_option(boost::asio::socket_base::receive_buffer_size(4'096), error);
      const timeval patience{1, 0};
      ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
      socket.bind({boost::asio::ip::make_address_v4("127.0." + std::to_string(1 + i % 200) + ".9"), 0}, error);
      const tcp::endpoint there(boost::asio::ip::address_v4::loopback(), port_);
      if (::connect(socket.native_handle(), there.data(), static_cast<socklen_t>(there.size())) == 0) {
        const std::string said = say_(i);
        const ssize_t sent = ::send(socket.native_handle(), said.data(), said.size(), MSG_NOSIGNAL);
        if (sent > 0) {
          ++clients_;
          bytes_ += static_cast<std::uint64_t>(sent);
        }
        open.push_back(std::move(socket));
      }
      if (open.size() > at_once_) open.pop_front();
      std::this_thread::sleep_for(10ms);  // all floods and the worker may have to share two CPUs
    }
  }

  const std::uint16_t port_;
  const std::size_t at_once_;
  const std::function<std::string(int)> say_;
  std::atomic<bool> ended_ = false;
  std::atomic<int> clients_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::thread thread_;
};

class HostileLoad : public testing::Test {
 protected:
  HostileLoad() {
    std::ofstream(home / "token") << token << "\n";
    std::ofstream(home / "feedmill.toml")
        << "[api]\nlisten = \"127.0.0.1:0\"\n[api.token.program]\nasks = true\nfile = \"" << (home / "token").string()
        << "\"\n";
    const std::string outside = "127.0.0.1:" + std::to_string(free_port());
    public_url = "http://" + outside;
    world.environment["FEEDMILL_PUSH_OUT_LISTEN"] = outside;
    world.environment["FEEDMILL_PUSH_OUT_PUBLIC_URL"] = public_url;
    world.environment["FEEDMILL_SIGNALS_CONTENT"] = "true";
    world.environment["FEEDMILL_SIGNALS_CONTENT_MAX"] = "256KiB";
    world.environment["FEEDMILL_HOST_CONCURRENCY"] = "64";
    world.environment["FEEDMILL_HOST_SPACING"] = "0ms";
    // The budget that the worker would derive from the unit's limit.
    world.environment["FEEDMILL_MEMORY_BUDGET"] = std::to_string((memory_of_unit() / 10 * 6) >> 20U) + "MiB";
  }

  /// Publishes posts with text that doubles in JSON and grows sixfold in Atom.
  void publish_large(int from) {
    std::vector<PushedPost> told;  // events carry their content
    for (int i = from + 12; i-- > from;)
      told.push_back({"told-" + std::to_string(i), "Told", days_ago(1), std::string(120'000, '"')});
    world.serve_posts("/told", told, "");
    std::vector<PushedPost> posts;
    for (int i = from + 12; i-- > from;)
      posts.push_back({"large-" + std::to_string(i), "Large", days_ago(1), std::string(900'000, '"')});
    world.serve_posts("/large", posts, "");
  }
  std::uint16_t port_behind(const std::string& words) {
    const std::string log = world.worker().program().err();
    const auto at = log.find(words);
    if (at == std::string::npos) return 0;
    return static_cast<std::uint16_t>(std::stoi(log.substr(log.find(':', at + words.size()) + 1)));
  }
  std::string of_program(const std::string& method, const std::string& path, const std::string& more = "") const {
    return method + " /api/v1" + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n" +
           more + "\r\n";
  }

  const std::string token = "token-of-a-program";
  TemporaryDirectory home_directory;
  fs::path home = home_directory.path();
  PushWorld world;
  std::string public_url;
};

TEST_F(HostileLoad, AtEveryListenerStaysWithinTheUnitAndFetchingContinues) {
  const std::uint64_t most = memory_of_unit();
  ASSERT_GT(most, 0U);
  constexpr int feeds = 40, rounds = 8;
  publish_large(0);
  const std::string large = world.add_served("/large");
  std::vector<std::string> urls{large, world.add_served("/told")};
  for (int i = 0; i < feeds; ++i) urls.push_back(world.add_feed("/feed/" + std::to_string(i), {{"1", "first"}}, ""));
  for (const std::string& url : {urls[0], urls[1]}) ASSERT_EQ(world.run({"set", url, "republish=yes"}).exit, 0);
  const auto share = [&](const std::string& url) {
    const Finished shared = world.run({"topic", "add", url, "--json"});
    EXPECT_EQ(shared.exit, 0) << shared.err;
    return std::string(boost::json::parse(shared.out.substr(0, shared.out.find('\n'))).at("atom").as_string());
  };
  const auto id_of = [&](const std::string& topic) {
    const std::string path = topic.substr(public_url.size());
    return path.substr(3, path.find('.') - 3);
  };
  const std::string topic = share(large), id = id_of(topic), told_id = id_of(share(urls[1]));
  world.start({}, {"--push-out", "--config", (home / "feedmill.toml").string()});
  std::string callback;
  {
    const std::string subscribed = world.subscribed_feed("/pushed");
    callback = world.target_of(world.subscriber(subscribed).callback);
  }
  Program& worker = world.worker().program();
  const auto fetched = [&](std::size_t times) {
    return std::ranges::all_of(
        urls, [&](const std::string& url) { return world.http.count(url.substr(world.http.url("").size())) >= times; });
  };
  ASSERT_TRUE(eventually([&] { return fetched(1); })) << worker.err();
  const std::uint16_t outside = port_behind("others at http://"), programs = port_behind("programs at http://"),
                      admin = port_behind("ready, http://"), hubs = world.worker().port();
  ASSERT_TRUE(outside != 0 && programs != 0 && admin != 0);
  const std::string first_id = world.signals().at(0).id;
  DeafReceivers deaf;
  const auto post = [](const std::string& target, std::size_t length, const std::string& body) {
    return "POST " + target + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n" +
           "Content-Length: " + std::to_string(length) + "\r\n\r\n" + body;
  };
  const auto form = [&](const std::string& address) {
    return "hub.mode=subscribe&hub.topic=" + percent_encoded(topic) + "&hub.callback=" + percent_encoded(address);
  };
  const auto subscription = [&](int i) {
    const std::string body = form("http://127.0." + std::to_string(1 + i % 200) + ".7:" + std::to_string(deaf.port()) +
                                  "/" + std::to_string(i));
    return post("/hub", body.size(), body);
  };
  const auto endless_head = [](const std::string& begin, std::size_t bytes) {
    return begin + " HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(7'000, 'x') +
           "\r\nY: " + std::string(std::min<std::size_t>(bytes, 7'500), 'y');
  };
  const std::string before = "?before=9999999999:x", entries = "/feed/entries?limit=100&url=" + percent_encoded(large);
  const std::string some(1'900'000, '<');

  std::vector<std::pair<std::string, std::unique_ptr<Flood>>> floods;
  const auto flood = [&](const std::string& name, std::uint16_t port, std::size_t at_once,
                         std::function<std::string(int)> say) {
    floods.emplace_back(name, std::make_unique<Flood>(port, at_once, std::move(say)));
  };
  flood("topics", outside, 200, [&](int i) {
    const std::string format = i % 2 == 0 ? ".atom" : ".json";
    return "GET /t/" + id + format + before + std::to_string(i) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  });
  flood("hub", outside, 200, [&](int i) {
    if (i % 3 == 0) return subscription(i);
    return i % 3 == 1 ? post("/hub", 8'000, form("http://x.example/")) : endless_head("POST /hub", 7'500);
  });
  flood("live", outside, 800, [&](int i) {
    return "GET /events?topic=" + (i % 4 == 0 ? id : told_id) + " HTTP/1.1\r\nHost: localhost\r\n" +
           (i % 2 == 0 ? "Last-Event-ID: " + first_id + "\r\n\r\n" : "\r\n");
  });
  flood("api", programs, 120, [&](int i) {
    switch (i % 4) {
      case 0:
        return of_program("POST", "/import", "Content-Length: 2000000\r\n") + some;
      case 1:
        return of_program("GET", "/export");
      case 2:
        return of_program("GET", "/events?limit=100");
      default:
        return of_program("GET", entries);
    }
  });
  flood("callback", hubs, 200, [&](int i) {
    if (i % 3 == 0) return endless_head("POST " + callback, 7'500);
    return post(callback, 4'000'000, some);
  });
  flood("admin", admin, 40, [&](int i) {
    if (i % 3 == 0) return endless_head("GET /status", 7'500);
    return std::string(i % 3 == 1 ? "GET /metrics" : "GET /status/feed?url=" + percent_encoded(large)) +
           " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  });

  for (int round = 1; round <= rounds && !worker.ended(); ++round) {
    std::map<std::string, int> so_far;
    for (const auto& [name, one] : floods) so_far[name] = one->clients();
    publish_large(12 * round);
    ASSERT_TRUE(Feeds(world.store).wake(urls, Milliseconds(0), true));
    const auto all_fetched = [&] { return fetched(static_cast<std::size_t>(round) + 1) || worker.ended(); };
    ASSERT_TRUE(eventually(all_fetched)) << "round " << round << ": every feed that is due is fetched\n"
                                         << world.run({"explain", large}).out << world.run({"explain", urls[1]}).out
                                         << world.worker().page("/metrics") << worker.err();
    EXPECT_TRUE(eventually([&] {
      return std::ranges::all_of(floods,
                                 [&](const auto& one) { return one.second->clients() >= so_far[one.first] + 60; });
    })) << "each flood is still running";
    EXPECT_TRUE(eventually([&] { return world.worker().page("/livez").find(" 200 ") != std::string::npos; }));
  }
  EXPECT_FALSE(worker.ended()) << worker.err();
  for (const auto& [name, one] : floods) {
    one->end();
    std::printf("%s: %d clients, %.1f MB said\n", name.c_str(), one->clients(),
                static_cast<double>(one->bytes()) / 1e6);
  }
  EXPECT_GT(deaf.posts(), 0U) << "deliveries were under way";
  worker.signal(SIGTERM);
  const Finished done = worker.wait();
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(count_of(done.err, "event=bug"), 0U) << done.err;
  std::printf("at most %.0f MB in memory, of %.0f MB\n", static_cast<double>(done.peak_bytes) / 1e6,
              static_cast<double>(most) / 1e6);
  if (!is_sanitized) {
    EXPECT_LE(done.peak_bytes, most);
  }
}

}  // namespace
}  // namespace feedmill::test::hostile_load_test
