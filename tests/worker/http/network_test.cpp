// Real connections in a network namespace with every address on loopback, so that a canary notices each attempt at a
// blocked one (SECURITY §1, E3; HTTP D1). Skipped without permission to create namespaces. Tests that work without a
// namespace come first, before the process enters one.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <sys/mount.h>
#include <thread>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <curl/curl.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <sched.h>
#include <unistd.h>

#include "tests/support/await.hpp"
#include "tests/support/dns_server.hpp"
#include "tests/support/http_server.hpp"
#include "worker/egress/address_guard.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/http/fetch.hpp"

namespace {
std::atomic<int> lookups = 0;
}

// Overrides the C library's function for the whole process, libcurl included (HTTP D1).
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** result) {
  ++lookups;
  using Function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(node, service, hints, result);
}

namespace feedmill::network_test {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using asio::ip::tcp;
using test::DnsAnswer;
using test::DnsServer;

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

size_t ignore(char*, size_t size, size_t count, void*) {
  return size * count;
}

// HTTP D1
TEST(SystemResolver, IsNeverAsked) {
  test::HttpServer server;
  server.serve_rest([](const test::ServedRequest&) { return test::Response{.body = "x"}; });
  DnsServer names;
  names.serve_rest([](const std::string&) { return DnsAnswer{.addresses = {"127.0.0.1"}}; });
  FetchOptions wanted;
  wanted.egress = *EgressPolicy::parse(std::vector<std::string>{"127.0.0.0/8:1024-65535"}, {}, {});
  wanted.resolver.servers = names.address();
  asio::io_context context;
  Fetcher by(context.get_executor(), wanted);
  lookups = 0;
  constexpr std::size_t all = 1000, at_once = 50;  // limits the load on the test's name server, however slow that is
  std::map<std::string, std::size_t> endings;
  std::size_t ended = 0;
  for (std::size_t i = 0; i < all; ++i) {
    while (i - ended >= at_once) context.run_one();
    const std::string host = "h" + std::to_string(i) + ".example";
    const std::string url = "http://" + host + ":" + std::to_string(server.port()) + "/";
    asio::co_spawn(context, by.fetch(FetchRequest{.feed_url = url, .url = url, .validators = {}}),
                   [&](std::exception_ptr, const FetchResult& result) {
                     const auto* error = std::get_if<FetchError>(&result);
                     ++endings[error == nullptr ? "" : error->detail];
                     ++ended;
                   });
  }
  while (ended < all) context.run_one();
  EXPECT_EQ(endings, (std::map<std::string, std::size_t>{{"", all}}));
  EXPECT_EQ(lookups, 0);

  // The control: libcurl on its own is counted.
  CURL* const easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &ignore);
  const std::string other = "http://no-such-name.invalid:" + std::to_string(server.port()) + "/";
  curl_easy_setopt(easy, CURLOPT_URL, other.c_str());
  curl_easy_perform(easy);
  curl_easy_cleanup(easy);
  EXPECT_GT(lookups, 0);
}

// --- in a namespace ------------------------------------------------------------------------------------------------

/// Why there is no namespace; "" inside one.
std::string no_namespace;

bool shell(const std::string& command) {
  return std::system((command + " 2>/dev/null").c_str()) == 0;
}

void enter_namespace() {
  if (unshare(CLONE_NEWNET) != 0) {
    no_namespace = "needs the right to make a network namespace (run as root)";
  } else if (!shell("ip link set lo up && ip route add local default dev lo && ip -6 route add local default dev lo")) {
    no_namespace = "needs ip (package iproute2) and IPv6";
  }
}

/// Listens on all addresses of the namespace and records which of them were connected to.
class Canary {
 public:
  explicit Canary(std::uint16_t port) {
    for (const auto& any : {tcp::endpoint(tcp::v4(), port), tcp::endpoint(tcp::v6(), port)}) {
      tcp::acceptor& acceptor = acceptors_.emplace_back(context_);
      acceptor.open(any.protocol());
      acceptor.set_option(tcp::acceptor::reuse_address(true));
      if (any.protocol() == tcp::v6()) acceptor.set_option(asio::ip::v6_only(true));
      acceptor.bind(any);
      acceptor.listen(4096);
    }
    for (tcp::acceptor& acceptor : acceptors_) asio::co_spawn(context_, accept(acceptor), asio::detached);
    thread_ = std::thread([this] { context_.run(); });
  }
  ~Canary() {
    context_.stop();
    thread_.join();
  }
  Canary(const Canary&) = delete;
  Canary& operator=(const Canary&) = delete;

  /// Number of connections so far, by address; most_at_once(): most held open at a time, by /24.
  std::map<std::string, std::size_t> attempts() const {
    const std::lock_guard lock(mutex_);
    return attempts_;
  }
  std::size_t most_at_once(const std::string& network) const {
    const std::lock_guard lock(mutex_);
    const auto found = most_.find(network);
    return found == most_.end() ? 0 : found->second;
  }
  /// From now on, no host in that /24 answers.
  void silence(const std::string& network) {
    const std::lock_guard lock(mutex_);
    silent_.insert(network);
  }

 private:
  asio::awaitable<void> accept(tcp::acceptor& acceptor) {
    for (;;) {
      auto [error, socket] = co_await acceptor.async_accept(as_result);
      if (!error) asio::co_spawn(context_, session(std::move(socket)), asio::detached);
    }
  }
  asio::awaitable<void> session(tcp::socket socket) {
    const std::string address = socket.local_endpoint().address().to_string();
    const std::string network = EgressPolicy().network_of(address);
    bool silent = false;
    {
      const std::lock_guard lock(mutex_);
      ++attempts_[address];
      most_[network] = std::max(most_[network], ++open_[network]);
      silent = silent_.contains(network);
    }
    std::string buffer;
    auto [cut, size] = co_await asio::async_read_until(socket, asio::dynamic_buffer(buffer), "\r\n\r\n", as_result);
    const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
    if (!cut && silent) {
      co_await asio::async_read_until(socket, asio::dynamic_buffer(buffer), "never", as_result);
    } else if (!cut) {
      co_await asio::async_write(socket, asio::buffer(answer), as_result);
    }
    const std::lock_guard lock(mutex_);
    --open_[network];
  }

  mutable std::mutex mutex_;
  std::map<std::string, std::size_t> attempts_, open_, most_;
  std::set<std::string> silent_;
  asio::io_context context_{1};
  std::list<tcp::acceptor> acceptors_;
  std::thread thread_;
};

constexpr const char* private_v4[] = {"127.0.0.1",  "127.255.255.254", "10.0.0.1",      "10.255.255.254",
                                      "172.16.0.1", "172.31.255.254",  "192.168.0.1",   "192.168.255.254",
                                      "100.64.0.1", "169.254.169.254", "169.254.0.1",   "0.0.0.0",
                                      "0.0.0.1",    "192.0.0.192",     "198.18.0.1",    "224.0.0.1",
                                      "240.0.0.1",  "255.255.255.255", "168.63.129.16", "100.100.100.200"};

std::string printed(const char* format, unsigned a, unsigned b = 0, unsigned c = 0, unsigned d = 0) {
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), format, a, b, c, d);
  return text.data();
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size()) text.replace(at, what.size(), by);
  return text;
}

/// Spellings of an address that have been used to get past string checks (SECURITY E3).
std::vector<std::string> spellings(const std::string& address) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  std::sscanf(address.c_str(), "%u.%u.%u.%u", &a, &b, &c, &d);
  const unsigned whole = a << 24 | b << 16 | c << 8 | d;
  std::string full_width = address, circled = address;
  for (char digit = '0'; digit <= '9'; ++digit) {
    const std::string wide = std::string("\xef\xbc") + static_cast<char>(0x90 + digit - '0');
    full_width = replaced(full_width, std::string(1, digit), wide);
    if (digit > '0') {
      circled =
          replaced(circled, std::string(1, digit), std::string("\xe2\x91") + static_cast<char>(0x9f + digit - '0'));
    }
  }
  std::string percent;
  for (const char character : address) percent += printed("%%%02x", static_cast<unsigned char>(character));
  return {address,
          address + ".",
          printed("%u", whole),
          printed("0x%x", whole),
          printed("0X%X", whole),
          printed("0%o", whole),
          printed("0x%02x.0x%02x.0x%02x.0x%02x", a, b, c, d),
          printed("0%o.0%o.0%o.0%o", a, b, c, d),
          printed("0x%x.%u.0%o.%u", a, b, c, d),
          printed("000%o.000%o.000%o.000%o", a, b, c, d),
          printed("0x0000%x.%u.%u.%u", a, b, c, d),
          printed("%u.%u", a, whole & 0xffffff),
          printed("%u.%u.%u", a, b, whole & 0xffff),
          printed("0x%x.0x%x", a, whole & 0xffffff),
          printed("0%o.0%o", a, whole & 0xffffff),
          printed("%u.%u.%u.%u.", a, b, c, d),
          full_width,
          circled,
          percent,
          replaced(address, ".", "\xe3\x80\x82"),  // ideographic full stop
          replaced(address, ".", "\xef\xbc\x8e"),  // full-width full stop
          replaced(address, ".", "%2e"),
          "[::ffff:" + address + "]",
          printed("[::ffff:%x:%x]", whole >> 16, whole & 0xffff),
          printed("[0:0:0:0:0:FFFF:%x:%x]", whole >> 16, whole & 0xffff),
          printed("[0000:0000:0000:0000:0000:ffff:%04x:%04x]", whole >> 16, whole & 0xffff),
          "[::" + address + "]",
          printed("[::%x:%x]", whole >> 16, whole & 0xffff),
          "[64:ff9b::" + address + "]",
          printed("[64:ff9b:1::%x:%x]", whole >> 16, whole & 0xffff),
          printed("[2002:%x:%x::1]", whole >> 16, whole & 0xffff),
          printed("[2001:0:%x:%x::1]", whole >> 16, whole & 0xffff)};
}

std::vector<std::string> all_spellings() {
  std::vector<std::string> all;
  for (const char* address : private_v4) {
    for (std::string& one : spellings(address)) all.push_back(std::move(one));
  }
  for (const char* one : {"localhost", "localhost.", "LOCALHOST", "x.localhost", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]",
                          "[fe80::1]", "[fe80::1%25lo]", "[fd00:ec2::254]", "[fc00::1]", "[fec0::1]", "[ff02::1]",
                          "[100::1]", "[2001:db8::1]", "[3fff::1]", "[5f00::1]", "[::ffff:0:127.0.0.1]"}) {
    all.emplace_back(one);
  }
  return all;
}

class NetworkTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { enter_namespace(); }
  void SetUp() override {
    if (!no_namespace.empty()) GTEST_SKIP() << no_namespace;
    canary.emplace(80);
  }

  FetchOptions options() {
    FetchOptions wanted;
    wanted.resolver.servers = names.address();
    wanted.resolver.min_ttl = wanted.resolver.max_ttl = std::chrono::seconds(0);
    wanted.resolver.not_found_ttl = std::chrono::seconds(0);
    return wanted;
  }
  FetchResult fetch(Fetcher& by, const std::string& url) {
    return test::await(context, by.fetch(FetchRequest{.feed_url = url, .url = url, .validators = {}}));
  }
  Reason reason(Fetcher& by, const std::string& url) {
    const FetchResult result = fetch(by, url);
    const auto* error = std::get_if<FetchError>(&result);
    return error == nullptr ? Reason::none : error->reason;
  }
  static bool is_refusal(Reason reason) {
    return reason == Reason::egress_blocked || reason == Reason::egress_port || reason == Reason::dns_not_found ||
           reason == Reason::redirect_invalid || reason == Reason::url_invalid;
  }
  /// Expects no connection to an address that the policy blocks.
  void expect_no_attempts() {
    for (const auto& [address, times] : canary->attempts()) {
      EXPECT_EQ(EgressPolicy().check(address, 80), Egress::allowed) << address << " " << times;
    }
  }

  DnsServer names;
  asio::io_context context;
  std::optional<Canary> canary;
};

// The control: the canary notices allowed connections.
TEST_F(NetworkTest, PublicAddressesAreReached) {
  Fetcher by(context.get_executor(), options());
  for (const char* host : {"93.184.216.34", "[2606:4700::1111]", "[64:ff9b::5db8:d822]", "1572395042"}) {
    const auto url = canonical_feed_url(std::string("http://") + host + "/feed");
    ASSERT_TRUE(url) << host;
    EXPECT_EQ(reason(by, *url), Reason::none) << host;
  }
  EXPECT_EQ(canary->attempts().size(), 3u);
}

// SECURITY E3: as a feed's address, as a redirect's target, and as the result of a look-up.
TEST_F(NetworkTest, NoSpellingOfAPrivateAddressIsConnectedTo) {
  const std::vector<std::string> all = all_spellings();
  EXPECT_GE(all.size(), 500u);
  test::HttpServer redirecting;
  FetchOptions wanted = options();
  wanted.egress = *EgressPolicy::parse(std::vector{"127.0.0.1:" + std::to_string(redirecting.port())}, {}, {});
  Fetcher by(context.get_executor(), wanted);
  std::size_t refused_as_feed = 0;
  for (const std::string& host : all) {
    const auto url = canonical_feed_url("http://" + host + "/");
    if (url) {
      EXPECT_TRUE(is_refusal(reason(by, *url))) << host;
    } else {
      ++refused_as_feed;
    }
    redirecting.serve("/from", test::Response{.status = 302, .headers = {{"Location", "http://" + host + "/"}}});
    EXPECT_TRUE(is_refusal(reason(by, redirecting.url("/from")))) << host;
    redirecting.serve("/from", test::Response{.status = 302, .headers = {{"Location", "//" + host + "/"}}});
    EXPECT_TRUE(is_refusal(reason(by, redirecting.url("/from")))) << host;
  }
  EXPECT_LT(refused_as_feed, all.size() / 2);  // decided by the address, not the string
  std::size_t number = 0;
  for (const char* address : private_v4) {
    const std::string mapped = std::string("::ffff:") + address, nat64 = std::string("64:ff9b::") + address;
    for (const std::string& one : {std::string(address), mapped, nat64}) {
      const std::string host = "h" + std::to_string(++number) + ".example";
      names.serve(host, DnsAnswer{.addresses = {one}});
      EXPECT_TRUE(is_refusal(reason(by, "http://" + host + "/"))) << one;
      names.serve("c" + host, DnsAnswer{.addresses = {one}, .ttl = 0, .cname = "target.example"});
      EXPECT_TRUE(is_refusal(reason(by, "http://c" + host + "/"))) << one;
    }
  }
  EXPECT_TRUE(canary->attempts().empty());
  expect_no_attempts();
}

// SECURITY E3: the answers flip with every query.
TEST_F(NetworkTest, RebindingReachesNothing) {
  Fetcher by(context.get_executor(), options());
  std::atomic<unsigned> asked = 0;
  names.serve_rest([&](const std::string&) {
    static constexpr const char* answers[] = {"93.184.216.34", "169.254.169.254", "10.0.0.1", "127.0.0.1"};
    const unsigned turn = asked++;
    return DnsAnswer{.addresses = {answers[turn % 4], answers[turn / 4 % 4]}, .ttl = 0};
  });
  std::size_t tries = 0, reached = 0;
  constexpr std::size_t most = 10'000, at_once = 50;
  std::function<void()> start = [&] {
    const std::string url = "http://flip" + std::to_string(tries++) + ".example/";
    asio::co_spawn(context, by.fetch(FetchRequest{.feed_url = url, .url = url, .validators = {}}),
                   [&](std::exception_ptr, const FetchResult& result) {
                     reached += std::holds_alternative<FetchResponse>(result) ? 1 : 0;
                     if (tries < most) start();
                   });
  };
  for (std::size_t i = 0; i < at_once; ++i) start();
  context.restart();
  context.run();
  EXPECT_EQ(tries, most);
  EXPECT_GT(reached, most / 10);
  expect_no_attempts();
}

// SECURITY E6
TEST_F(NetworkTest, OwnAddressesAreBlockedUnlessAllowed) {
  ASSERT_TRUE(shell("ip address add 93.184.216.99/32 dev lo && ip address add 2606:4700::9999/128 dev lo"));
  Fetcher by(context.get_executor(), options());
  EXPECT_EQ(reason(by, "http://93.184.216.99/"), Reason::egress_blocked);
  EXPECT_EQ(reason(by, "http://[2606:4700::9999]/"), Reason::egress_blocked);
  EXPECT_TRUE(canary->attempts().empty());
  FetchOptions allowing = options();
  allowing.egress = *EgressPolicy::parse(std::vector<std::string>{"93.184.216.99"}, {}, {});
  Fetcher lenient(context.get_executor(), allowing);
  EXPECT_EQ(reason(lenient, "http://93.184.216.99/"), Reason::none);
  // An address added later is known after a reload, or within own_addresses_age.
  EXPECT_EQ(reason(by, "http://93.184.216.98/"), Reason::none);
  ASSERT_TRUE(shell("ip address add 93.184.216.98/32 dev lo"));
  by.reload();
  EXPECT_EQ(reason(by, "http://93.184.216.98/"), Reason::egress_blocked);
  ASSERT_TRUE(shell("ip address del 93.184.216.98/32 dev lo; ip address del 93.184.216.99/32 dev lo"));
}

// Hubs of one network are limited to their share too, and other hubs do not wait for them.
TEST_F(NetworkTest, OneNetworkHoldsAFewPosts) {
  canary->silence("93.184.216.0");
  Fetcher by(context.get_executor(), options());
  std::map<Reason, std::size_t> slow;
  std::size_t good = 0, held_when_good = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  const std::string feed_url = "https://example.org/feed";
  const FeedSettings settings;
  const auto begin = [&](const std::string& url, auto told) {
    asio::co_spawn(context, by.post_form(feed_url, settings, url, "hub.mode=subscribe", deadline),
                   [told](std::exception_ptr, const HttpResult& result) { told(result); });
  };
  for (int i = 1; i <= 100; ++i) {
    begin("http://93.184.216." + std::to_string(i) + "/", [&](const HttpResult& result) {
      const auto* failure = std::get_if<HttpFailure>(&result);
      ++slow[failure == nullptr ? Reason::none : failure->reason];
    });
    begin("http://93.185." + std::to_string(i) + ".1/", [&](const HttpResult& result) {
      good += std::holds_alternative<HttpResponse>(result) ? 1 : 0;
      held_when_good = slow[Reason::http_timeout];
    });
  }
  context.restart();
  context.run();
  EXPECT_EQ(good, 100u);
  EXPECT_EQ(held_when_good, 0u) << "none of those that wait had ended";
  EXPECT_EQ(slow[Reason::worker_host_wait], 84u);
  EXPECT_EQ(slow[Reason::http_timeout], 16u);
  EXPECT_EQ(canary->most_at_once("93.184.216.0"), 16u);
}

// HTTP H8: slow servers of one network are limited to their share, and all others are served at the same time.
TEST_F(NetworkTest, OneNetworkHoldsAFewConnections) {
  canary->silence("93.184.216.0");
  FetchOptions wanted = options();
  wanted.max_per_network = 8;
  wanted.network_wait = std::chrono::milliseconds(50);
  wanted.wall = std::chrono::seconds(2);
  Fetcher by(context.get_executor(), wanted);
  std::map<Reason, std::size_t> slow;
  std::size_t good = 0, ended = 0;
  const auto begin = [&](const std::string& url, auto told) {
    asio::co_spawn(context, by.fetch(FetchRequest{.feed_url = url, .url = url, .validators = {}}),
                   [&ended, told](std::exception_ptr, const FetchResult& result) {
                     told(result);
                     ++ended;
                   });
  };
  for (int i = 1; i <= 200; ++i) {
    begin("http://93.184.216." + std::to_string(i) + "/", [&](const FetchResult& result) {
      const auto* error = std::get_if<FetchError>(&result);
      ++slow[error == nullptr ? Reason::none : error->reason];
      EXPECT_EQ(error != nullptr && error->sent, error != nullptr && error->reason == Reason::http_timeout);
    });
    begin("http://93.185." + std::to_string(i) + ".1/",
          [&](const FetchResult& result) { good += std::holds_alternative<FetchResponse>(result) ? 1 : 0; });
  }
  context.restart();
  while (ended < 400) context.run_one();
  EXPECT_EQ(good, 200u);
  EXPECT_EQ(slow[Reason::http_timeout], 8u);
  EXPECT_EQ(slow[Reason::worker_host_wait], 192u);
  EXPECT_EQ(canary->most_at_once("93.184.216.0"), 8u);
}

// A waiting fetch starts when a slot is freed.
TEST_F(NetworkTest, PlacesInANetworkAreTakenInTurn) {
  FetchOptions wanted = options();
  wanted.max_per_network = 3;
  wanted.network_wait = std::chrono::seconds(30);
  Fetcher by(context.get_executor(), wanted);
  std::size_t good = 0;
  for (int i = 1; i <= 100; ++i) {
    const std::string url = "http://93.184.216." + std::to_string(i) + "/";
    asio::co_spawn(context, by.fetch(FetchRequest{.feed_url = url, .url = url, .validators = {}}),
                   [&](std::exception_ptr, const FetchResult& result) {
                     good += std::holds_alternative<FetchResponse>(result) ? 1 : 0;
                   });
  }
  context.restart();
  while (good < 100) ASSERT_GT(context.run_one(), 0u);
  EXPECT_LE(canary->most_at_once("93.184.216.0"), 4u);  // the canary sees a connection end a little after we do
}

// HTTP D1: the system's configuration changes while we run.
TEST_F(NetworkTest, AChangedResolverConfigurationIsPickedUp) {
  // Mounts stay private only if / is a mount point that can be made private: in a chroot it may not be one.
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    GTEST_SKIP() << "needs / to be a mount point, and the right to mount";
  }
  const fs::path file = fs::temp_directory_path() / ("feedmill-resolv-" + std::to_string(getpid()));
  const auto configure = [&](const std::string& server) { std::ofstream(file) << "nameserver " << server << '\n'; };
  DnsServer first("127.0.0.153", 53), second("127.0.0.154", 53);
  first.serve_rest([](const std::string&) { return DnsAnswer{.addresses = {"93.184.216.34"}}; });
  second.serve_rest([](const std::string&) { return DnsAnswer{.addresses = {"93.184.216.35"}}; });
  configure("127.0.0.153");
  ASSERT_EQ(mount(file.c_str(), "/etc/resolv.conf", nullptr, MS_BIND, nullptr), 0);
  const auto found = [&](Resolver& resolver, const std::string& host) {
    const auto answer =
        test::await(context, resolver.resolve(host, std::chrono::steady_clock::now() + std::chrono::seconds(20)));
    return answer ? answer->front() : answer.error().detail;
  };
  Resolver told(context.get_executor());
  ResolverOptions brief;
  brief.channel_age = std::chrono::seconds(0);
  Resolver by_itself(context.get_executor(), brief);
  EXPECT_EQ(found(told, "a.example"), "93.184.216.34");
  EXPECT_EQ(found(by_itself, "a.example"), "93.184.216.34");
  configure("127.0.0.154");
  EXPECT_EQ(found(told, "b.example"), "93.184.216.34");  // not yet 60 s old
  EXPECT_EQ(found(by_itself, "b.example"), "93.184.216.35");
  told.reload();
  EXPECT_EQ(found(told, "c.example"), "93.184.216.35");
  EXPECT_EQ(umount("/etc/resolv.conf"), 0);
  fs::remove(file);
}

}  // namespace
}  // namespace feedmill::network_test
