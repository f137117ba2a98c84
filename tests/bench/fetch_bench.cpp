// What fetching costs the loop's thread if servers are slow, silent or many. Servers are threads of this process; CPU
// is that of the loop's thread alone. Figures are comparable within a run, not between machines.
//   feedmill_fetch_bench slow [SERVERS]      good servers next to as many slow ones, and without them
//   feedmill_fetch_bench tarpit [NAMES]      unanswered names next to good ones: the loop's longest stall
//   feedmill_fetch_bench resume [HOSTS]      a round of TLS over HOSTS hosts, then another that can resume sessions
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <time.h>

#include "tests/support/certificates.hpp"
#include "tests/support/dns_server.hpp"
#include "tests/support/http_server.hpp"
#include "worker/http/fetch.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;
using std::chrono::duration;
using std::chrono::steady_clock;

double thread_cpu() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

double resident_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  }
  return 0;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

FetchOptions options(std::size_t connections) {
  FetchOptions wanted;
  wanted.egress = *EgressPolicy::parse(std::vector<std::string>{"127.0.0.0/8:1024-65535"}, {}, {});
  wanted.max_connections = connections;
  wanted.stall_time = std::chrono::seconds(60);
  return wanted;
}

/// Measures how late a 1 ms timer fires, which is how late everything else on the loop runs.
class Heartbeat {
 public:
  explicit Heartbeat(asio::io_context& context) : timer_(context) { beat(); }
  double longest_ms() const { return longest_ * 1e3; }
  void stop() { timer_.cancel(); }

 private:
  void beat() {
    const auto due = steady_clock::now() + std::chrono::milliseconds(1);
    timer_.expires_at(due);
    timer_.async_wait([this, due](boost::system::error_code error) {
      if (error) return;
      longest_ = std::max(longest_, duration<double>(steady_clock::now() - due).count());
      beat();
    });
  }

  asio::steady_timer timer_;
  double longest_ = 0;
};

struct Figures {
  std::size_t answers = 0;
  double cpu_us = 0;   ///< CPU of the loop's thread per answer
  double took_ms = 0;  ///< mean duration of a fetch
  double longest_stall_ms = 0;
};

/// Fetches `urls`, at most `at_once` concurrently; runs the loop until all are done.
Figures fetch_all(asio::io_context& context, Fetcher& by, const std::vector<std::string>& urls, std::size_t at_once) {
  Figures figures;
  std::size_t next = 0, ended = 0;
  double took = 0;
  Heartbeat heartbeat(context);
  const std::function<void()> start = [&] {
    if (next == urls.size()) return;
    const std::string& url = urls[next++];
    const auto from = steady_clock::now();
    asio::co_spawn(context, by.fetch(FetchRequest{.feed_url = url, .url = url, .validators = {}}),
                   [&, from](const std::exception_ptr&, const FetchResult& result) {
                     took += duration<double>(steady_clock::now() - from).count();
                     figures.answers += std::holds_alternative<FetchResponse>(result) ? 1 : 0;
                     ++ended;
                     start();
                   });
  };
  const double cpu = thread_cpu();
  for (std::size_t i = 0; i < at_once; ++i) start();
  context.restart();
  while (ended < urls.size()) context.run_one();
  const auto each = static_cast<double>(urls.size());
  figures.cpu_us = (thread_cpu() - cpu) / each * 1e6;
  figures.took_ms = took / each * 1e3;
  figures.longest_stall_ms = heartbeat.longest_ms();
  heartbeat.stop();
  context.poll();
  return figures;
}

int slow(std::size_t servers) {
  test::HttpServer http, late;
  http.forget_requests();
  late.forget_requests();
  const std::string body(20'000, 'x');
  http.serve_rest(
      [&](const test::ServedRequest&) { return test::Response{.body = body, .end = test::Response::End::close}; });
  late.serve_rest([](const test::ServedRequest&) {
    return test::Response{.silent = true, .end = test::Response::End::hang};  // held until we leave
  });
  std::vector<std::string> good;
  for (std::size_t i = 0; i < servers; ++i) good.push_back(http.url("/" + std::to_string(i)));
  std::vector<double> cpu_ratios, time_ratios;
  for (int round = 0; round < 5; ++round) {
    asio::io_context context;
    Fetcher by(context.get_executor(), options(2 * servers + 600));
    fetch_all(context, by, good, 64);  // warm-up
    const Figures alone = fetch_all(context, by, good, 64);
    const double before = resident_mib();
    std::size_t waiting = 0;
    std::vector<asio::cancellation_signal> leave(servers);
    for (std::size_t i = 0; i < servers; ++i) {
      const std::string url = late.url("/" + std::to_string(i));
      asio::co_spawn(context, by.fetch(FetchRequest{.feed_url = url, .url = url, .validators = {}}),
                     asio::bind_cancellation_slot(leave[i].slot(),
                                                  [&](const std::exception_ptr&, const FetchResult&) { --waiting; }));
      ++waiting;
    }
    context.restart();
    while (late.connections() < servers * static_cast<std::size_t>(round + 1)) context.run_one();
    const double after = resident_mib();
    const Figures beside = fetch_all(context, by, good, 64);
    cpu_ratios.push_back(beside.cpu_us / alone.cpu_us);
    time_ratios.push_back(beside.took_ms / alone.took_ms);
    std::printf("alone  %5zu answers, %6.1f us CPU each, %6.2f ms each\n", alone.answers, alone.cpu_us, alone.took_ms);
    std::printf(
        "beside %5zu answers, %6.1f us CPU each, %6.2f ms each; %zu slow in flight, %.1f KiB each (both ends)\n",
        beside.answers, beside.cpu_us, beside.took_ms, waiting, (after - before) * 1024 / static_cast<double>(servers));
    for (asio::cancellation_signal& signal : leave) signal.emit(asio::cancellation_type::terminal);
    context.restart();
    while (waiting > 0) context.run_one();
  }
  std::printf("median of beside : alone   CPU %.3f   time %.3f\n", median(cpu_ratios), median(time_ratios));
  return 0;
}

int tarpit(std::size_t names) {
  test::DnsServer dns;
  test::HttpServer http;
  http.forget_requests();
  http.serve_rest([](const test::ServedRequest&) { return test::Response{.body = "x"}; });
  dns.serve_rest([](const std::string& name) {
    return name.starts_with("good") ? test::DnsAnswer{.addresses = {"127.0.0.1"}} : test::DnsAnswer{.silent = true};
  });
  for (const bool with : {false, true}) {
    asio::io_context context;
    FetchOptions wanted = options(2 * names + 600);
    wanted.resolver.servers = dns.address();
    wanted.resolver.timeout = std::chrono::milliseconds(500);
    Fetcher by(context.get_executor(), wanted);
    std::vector<std::string> urls;
    for (std::size_t i = 0; i < names; ++i) {
      if (with) urls.push_back(http.url("tar" + std::to_string(i) + ".com", "/"));
      urls.push_back(http.url("good" + std::to_string(i) + ".com", "/"));
    }
    const Figures figures = fetch_all(context, by, urls, 256);
    std::printf("%s tarpits: %zu of %zu good fetched, %.1f us CPU a name, longest stall of the loop %.2f ms\n",
                with ? "with   " : "without", figures.answers, names, figures.cpu_us, figures.longest_stall_ms);
  }
  return 0;
}

int resume(std::size_t hosts) {
  const test::Authority authority;
  test::DnsServer dns;
  dns.serve_rest([](const std::string&) { return test::DnsAnswer{.addresses = {"127.0.0.1"}}; });
  test::HttpServer https(authority.issue({.names = {"DNS:*.hosts.example"}}));
  https.forget_requests();
  https.serve_rest(
      [](const test::ServedRequest&) { return test::Response{.body = "x", .end = test::Response::End::close}; });
  asio::io_context context;
  FetchOptions wanted = options(600);
  wanted.resolver.servers = dns.address();
  wanted.ca_bundle = authority.file();
  Fetcher by(context.get_executor(), wanted);
  std::vector<std::string> urls;
  for (std::size_t i = 0; i < hosts; ++i) urls.push_back(https.url("h" + std::to_string(i) + ".hosts.example", "/"));
  std::vector<double> cpu;
  for (int round = 0; round < 3; ++round) {
    const std::size_t before = https.resumptions();
    const double memory = resident_mib();
    const Figures figures = fetch_all(context, by, urls, 32);
    cpu.push_back(figures.cpu_us);
    std::printf("round %d: %zu answers, %zu resumed, %.1f us CPU each, %+.1f MiB\n", round + 1, figures.answers,
                https.resumptions() - before, figures.cpu_us, resident_mib() - memory);
  }
  std::printf("resumed : full   CPU %.3f\n", cpu.back() / cpu.front());
  return 0;
}

}  // namespace
}  // namespace feedmill

int main(int argc, char** argv) {
  rlimit descriptors{};
  getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = descriptors.rlim_max;
  setrlimit(RLIMIT_NOFILE, &descriptors);
  const std::string_view what = argc > 1 ? argv[1] : "";
  const std::size_t count = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
  if (what == "slow") return feedmill::slow(count > 0 ? count : 5000);
  if (what == "tarpit") return feedmill::tarpit(count > 0 ? count : 1000);
  if (what == "resume") return feedmill::resume(count > 0 ? count : 10'000);
  std::fputs("usage: feedmill_fetch_bench slow|tarpit|resume [COUNT]\n", stderr);
  return 64;
}
