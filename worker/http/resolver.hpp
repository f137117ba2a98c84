// Host names to addresses, asynchronously: c-ares on our event loop with a cache of our own (HTTP §8). libcurl's
// resolver would start a thread per name and join it where the loop waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/system/result.hpp>

#include "worker/base/report.hpp"

namespace feedmill {

/// What became of a look-up, for metrics (OPERATIONS §3).
enum class Lookup { cached, ok, not_found, timeout, failed };

struct ResolverOptions {
  std::string servers;                                          ///< "ADDRESS[:PORT],…"; "" for those of the system
  std::chrono::milliseconds timeout = std::chrono::seconds(2);  ///< of a try
  int tries = 2;
  std::size_t max_outstanding = 256;  ///< names asked for at once; more wait their turn
  std::size_t max_names = 50'000;     ///< in the cache, least recently used out first
  std::chrono::seconds min_ttl = std::chrono::seconds(30), max_ttl = std::chrono::hours(1);
  std::chrono::seconds not_found_ttl = std::chrono::seconds(60);
  std::chrono::seconds failure_ttl = std::chrono::seconds(30);
  std::chrono::seconds channel_age = std::chrono::seconds(60);  ///< then the system's configuration is read again
  unsigned channel_queries = 1000;                              ///< then another source port is used (HTTP D7)
  /// Told of every look-up that had an end, and how long it took. None: nobody counts.
  std::function<void(Lookup, std::chrono::duration<double>)> tell{};
};

/// dns.not_found, dns.timeout or dns.failed; worker.memory or worker.bug where we failed ourselves.
struct ResolveError {
  Reason reason{};
  std::string detail;
};

/// In the order to be tried: families take turns, IPv6 first. Not filtered: that is the egress policy's (usable()).
using Addresses = std::vector<std::string>;

/// Lives on one loop thread and must outlive every resolve() under way; neither copied nor moved.
class Resolver {
 public:
  explicit Resolver(boost::asio::any_io_executor executor, ResolverOptions options = {});
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// `host` is a name, not an address. Ends with dns.timeout at `deadline` at the latest. Those who ask for the same
  /// name at once share one query. Cancellation unwinds with operation_aborted; the query goes on for the cache's sake.
  boost::asio::awaitable<boost::system::result<Addresses, ResolveError>> resolve(
      std::string host, std::chrono::steady_clock::time_point deadline);

  /// Reads the system's configuration again before the next query (HTTP D8).
  void reload();

  /// Queries sent to name servers so far; what the cache answered is not in it.
  std::uint64_t queries() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// True for what needs no resolving: IPv4 as four numbers, IPv6 in brackets.
bool is_address(std::string_view host);

/// "example.co.uk" of "www.example.co.uk"; the host itself when it is an address or there is nothing above it.
std::string registrable_domain(const std::string& host);

}  // namespace feedmill
