// Resolves host names asynchronously: c-ares on our event loop with our own cache (HTTP D1). libcurl's resolver would
// start a thread per name and block the loop to join it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/system/result.hpp>

#include "worker/base/report.hpp"

namespace feedmill {

/// Result of a lookup, for metrics (OPERATIONS §3).
enum class Lookup { cached, ok, not_found, timeout, failed };

/// Configuration and limits of a Resolver.
struct ResolverOptions {
  std::string servers;                                          ///< "ADDRESS[:PORT],…"; "": the system's
  std::chrono::milliseconds timeout = std::chrono::seconds(2);  ///< per try
  int tries = 2;
  std::size_t max_outstanding = 256;  ///< names queried at once; others are queued
  std::size_t max_names = 50'000;     ///< in the cache, evicting the least recently used
  std::chrono::seconds min_ttl = std::chrono::seconds(30), max_ttl = std::chrono::hours(1);
  std::chrono::seconds not_found_ttl = std::chrono::seconds(60);
  std::chrono::seconds failure_ttl = std::chrono::seconds(30);
  std::chrono::seconds channel_age = std::chrono::seconds(60);  ///< then the system's configuration is reread
  unsigned channel_queries = 1000;                              ///< then the source port changes (HTTP D1)
  /// Called with the result and duration of every completed lookup. May be empty.
  std::function<void(Lookup, std::chrono::duration<double>)> tell{};
};

/// dns.not_found, dns.timeout or dns.failed; worker.memory or worker.bug for our own failures.
struct ResolveError {
  Reason reason{};
  std::string detail;
};

/// In the order to try: alternating families, IPv6 first. Unfiltered; the egress policy is applied later.
using Addresses = std::vector<std::string>;

using LookedUp = boost::system::result<Addresses, ResolveError>;

class DnsChannel;
struct HostAddresses;

/// Lives on one loop thread and must outlive all running resolve() calls; not copyable or movable.
class Resolver {
 public:
  explicit Resolver(boost::asio::any_io_executor executor, ResolverOptions options = {});
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// `host` is a name, not an address. Fails with dns.timeout at `deadline`. Concurrent calls for a name share one
  /// query. Cancellation unwinds with operation_aborted; the query continues and fills the cache.
  boost::asio::awaitable<LookedUp> resolve(std::string host, std::chrono::steady_clock::time_point deadline);

  /// Rereads the system's configuration before the next query (HTTP D1).
  void reload() { renew_ = true; }

  /// Number of queries sent to name servers, without answers from the cache.
  std::uint64_t queries() const { return queries_; }

 private:
  class Waiter;
  /// A name that callers wait for: queued, or queried.
  struct Question {
    Resolver* resolver;
    std::string host;
    DnsChannel* channel = nullptr;
    std::vector<Waiter*> waiters;
  };
  struct Cached {
    std::string host;
    LookedUp answer;
    std::chrono::steady_clock::time_point until;
  };
  struct Circuit {
    unsigned timeouts = 0;
    std::chrono::steady_clock::time_point open_until;
  };

  static void on_answer(void* question, int status, HostAddresses v6, HostAddresses v4);

  std::optional<LookedUp> known(const std::string& host);
  bool circuit_open(const std::string& host) const;
  void tell(Lookup became, std::chrono::steady_clock::time_point from) const;
  Question& question_of(const std::string& host);
  void ask_next() noexcept;
  DnsChannel& channel();
  void drop_retired();
  void answered(const Question& question, int status, HostAddresses v6, HostAddresses v4) noexcept;
  void take(const Question& question, int status, HostAddresses v6, HostAddresses v4);
  std::unique_ptr<Question> taken_out(const Question& question) noexcept;
  void remember(const std::string& host, const LookedUp& answer, std::chrono::seconds time);
  void note(const std::string& host, bool timed_out);

  boost::asio::any_io_executor executor_;
  ResolverOptions options_;
  std::shared_ptr<Resolver*> alive_;  ///< shared with posted work; set to null on destruction
  std::uint64_t queries_ = 0;
  std::size_t outstanding_ = 0;
  bool asking_ = false;  ///< in ask_next(), which answers may re-enter
  bool renew_ = false;
  std::list<Cached> cache_;  ///< most recently used first
  std::unordered_map<std::string_view, std::list<Cached>::iterator> by_host_;
  std::unordered_map<std::string, Circuit> circuits_;
  std::unordered_map<std::string, std::unique_ptr<Question>> questions_;
  std::deque<Question*> queue_;
  std::vector<std::unique_ptr<DnsChannel>> channels_;  ///< the last is the current one
};

/// Whether `host` needs no resolving: a dotted IPv4 address, or IPv6 in brackets.
bool is_address(std::string_view host);
/// The address that is_address() has found, without brackets.
std::string bare_address(const std::string& host);

/// "example.co.uk" of "www.example.co.uk"; the host itself if it is an address or has no registrable domain.
std::string registrable_domain(const std::string& host);

}  // namespace feedmill
